"""Settings that steer a build, from the setting to the examples: what is asked, what is left out, how it is split."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from functools import partial
from pathlib import Path

import polars as pl
import pytest
from making import build_corpus, make_school

import agro_data
from agro_data.config import STRUCTURAL
from agro_data.estimate import estimate
from agro_data.pipeline import sources
from agro_data.stages.inputs import check_inputs

pytestmark = pytest.mark.ci

SECRET = "Zanzibar-4711"
LOG = "\n".join(
    f"SELECT city, COUNT(*) FROM customer WHERE note <> '{SECRET}{n}' GROUP BY city HAVING COUNT(*) > {n};"
    if n % 4
    else "SELECT kind, COUNT(*) FROM customer GROUP BY kind;"
    for n in range(200)
)


build = partial(build_corpus, size=60, certify=False)


def examples(result: agro_data.Build) -> pl.DataFrame:
    return result.version.examples().collect()


@pytest.fixture(scope="module")
def school(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_school(tmp_path_factory.mktemp("databases") / "school.sqlite")


@pytest.fixture(scope="module")
def plain(school: Path, tmp_path_factory: pytest.TempPathFactory) -> agro_data.Build:
    return build(tmp_path_factory.mktemp("plain"), school)


def groups(frame: pl.DataFrame) -> float:
    """Share of rows that group."""
    return frame["constructs"].list.contains("group_by").mean()  # type: ignore[return-value]


def test_a_query_log_moves_what_is_asked_and_leaves_no_trace(
    school: Path, plain: agro_data.Build, tmp_path: Path
) -> None:
    (tmp_path / "log.sql").write_text(f"# started\nrubbish {SECRET}\n{LOG}\n")
    moved = build(tmp_path, school, query_log=str(tmp_path / "log.sql"))
    assert groups(examples(moved)) > groups(examples(plain)) + 0.1
    assert examples(moved)["constructs"].list.contains("having").sum() > 0
    assert any("200 queries read" in note and "2 pieces ignored" in note for note in moved.notes), moved.notes
    for file in [*(tmp_path / "out").rglob("*"), *(tmp_path / "cache").rglob("*")]:
        if file.suffix == ".parquet":
            assert SECRET not in pl.read_parquet(file, glob=False).write_json()
        elif file.is_file():
            assert SECRET.encode() not in file.read_bytes()


def test_a_log_of_another_engine_is_told_by_its_sql(school: Path, tmp_path: Path) -> None:
    asked = tmp_path / "asked.sql"
    asked.write_text("SELECT COUNT(*) FROM student;\nSELECT TOP 5 [name] FROM [dbo].[student];\n")
    config = agro_data.BuildConfig(databases=str(school), query_log=str(asked), embedding_model=STRUCTURAL)
    problems, [note] = check_inputs(config, ["sqlite"])
    assert not problems
    assert "tsql knows each function of 2 statements, sqlite of 1" in note
    assert "--log-dialect tsql" in note
    asked.write_text("SELECT TOP 5 [name] FROM [dbo].[student];\n")
    [problem], notes = check_inputs(config, ["sqlite"])
    assert not notes
    assert "--log-dialect tsql" in problem


def test_a_log_without_a_query_is_a_problem_and_changes_nothing(
    school: Path, plain: agro_data.Build, tmp_path: Path
) -> None:
    (tmp_path / "log.txt").write_text("nothing\nof the kind\n")
    result = build(tmp_path, school, query_log=str(tmp_path / "log.txt"))
    assert any("log.txt: holds no query" in problem for problem in result.problems)
    assert examples(result)["sql"].to_list() == examples(plain)["sql"].to_list()


def excluded_file(kind: str, rows: pl.DataFrame, folder: Path) -> Path:
    path = folder / f"known.{kind}"
    if kind == "json":
        path.write_text(json.dumps(rows.to_dicts()))
    elif kind == "jsonl":
        rows.write_ndjson(path)
    elif kind == "csv":
        rows.write_csv(path)
    elif kind == "parquet":
        rows.write_parquet(path)
    else:
        path = folder / "spider"
        path.mkdir()
        (path / "tables.json").write_text(json.dumps([{"db_id": "school", "table_names": ["teacher"]}]))
        spider = rows.rename({"sql": "query"}).with_columns(db_id=pl.lit("school"))
        (path / "dev.json").write_text(json.dumps(spider.to_dicts()))
    return path


@pytest.mark.parametrize("kind", ["json", "csv", "jsonl", "parquet", "spider"])
def test_what_is_excluded_is_gone_and_says_why(kind: str, school: Path, plain: agro_data.Build, tmp_path: Path) -> None:
    known = examples(plain).select("question", "sql")
    result = build(tmp_path, school, exclude=(str(excluded_file(kind, known, tmp_path)),), size=40)
    assert not set(examples(result)["sql"]) & set(known["sql"])
    assert not set(examples(result)["question"]) & set(known["question"])
    reasons = result.version.rejected().collect()["reason"].value_counts()
    assert reasons.filter(pl.col("reason").is_in(["excluded_sql", "excluded_question"]))["count"].sum() >= 20


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"exclude": ("absent.json",)}, "absent.json"),
        ({"query_log": "absent.sql"}, "absent.sql"),
        ({"query_log": __file__, "log_dialect": "cobol"}, "cobol.*use .*postgres, .*snowflake"),
        ({"embedding_model": "no-such-model"}, "no-such-model"),
        ({"only": ("college",)}, "college"),
    ],
)
def test_what_cannot_be_used_is_said_before_anything_is_built(
    settings: dict[str, object], message: str, school: Path, tmp_path: Path
) -> None:
    with pytest.raises(agro_data.ConfigError, match=message):
        build(tmp_path, school, **settings)
    assert not (tmp_path / "cache" / "work").exists()


def test_an_exclusion_without_questions_or_sql_is_refused(school: Path, tmp_path: Path) -> None:
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    with pytest.raises(agro_data.ConfigError, match=r"other\.csv"):
        build(tmp_path, school, exclude=(str(tmp_path / "other.csv"),))


def test_only_uses_only_those(tmp_path: Path) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    for name in ("a", "b", "c"):
        make_school(folder / f"{name}.sqlite", tag=name)
    result = build(tmp_path, folder, only=("a", "c"), size=30)
    assert set(examples(result)["db_id"]) == {"a", "c"}
    assert [source["db_id"] for source in result.version.manifest["databases"]] == ["a", "c"]


def test_what_others_lack_is_nothing_where_databases_are_named(tmp_path: Path) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    make_school(folder / "a.sqlite")
    (folder / "b.sqlite").write_bytes(b"no database")
    make_school(folder / "c.sqlite", tag="c")
    with closing(sqlite3.connect(folder / "c.sqlite")) as connection:
        connection.execute("CREATE TABLE unused (id INTEGER)")
    everything = sources(agro_data.BuildConfig(databases=str(folder)))
    assert {problem.path for problem in everything.problems} == {"b.sqlite", "c.sqlite"}
    assert not sources(agro_data.BuildConfig(databases=str(folder), only=("a",))).problems
    [empty] = sources(agro_data.BuildConfig(databases=str(folder), only=("c",))).problems
    assert "have no rows: unused" in empty.reason


@pytest.mark.parametrize("only", [("b",), ("a", "b"), ("c",)])
def test_one_that_is_named_and_cannot_be_used_is_said_with_the_reason(only: tuple[str, ...], tmp_path: Path) -> None:
    """Before a build as before an estimate of it."""
    make_school(tmp_path / "a.sqlite")
    (tmp_path / "b.sqlite").write_bytes(b"no database")
    config = agro_data.BuildConfig(databases=str(tmp_path), only=only)
    for ask in (sources, lambda config: estimate(config, agro_data.RunConfig())):
        with pytest.raises(
            agro_data.ConfigError, match=rf"no database named {only[-1]} .*there are a\n  b.sqlite: not a"
        ):
            ask(config)


def test_a_setting_that_is_none_is_said_in_words(school: Path) -> None:
    with pytest.raises(agro_data.ConfigError, match="unknown setting sizes; known are"):
        agro_data.build(school, sizes=3)
    with pytest.raises(agro_data.ConfigError, match="only: "):
        agro_data.build(school, only="school")


@pytest.mark.parametrize("split_by", ["skeleton", "database"])
def test_split_by_is_what_was_asked_for(split_by: str, tmp_path: Path) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    make_school(folder / "a.sqlite")
    for name, source in SHOPS.items():
        import sqlite3

        with sqlite3.connect(folder / f"{name}.sqlite") as connection:
            connection.executescript(source)
    result = build(tmp_path, folder, split_by=split_by, size=60)
    frame = examples(result)
    key = {"skeleton": "skeleton", "database": "db_id"}[split_by]
    assert frame.group_by(key).agg(pl.col("split").n_unique())["split"].max() == 1
    assert frame["split"].n_unique() == 3


SHOPS = {
    "garage": """CREATE TABLE car (plate TEXT PRIMARY KEY, brand TEXT, power REAL, doors INTEGER);
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60)
        INSERT INTO car SELECT 'P-' || i, CASE i % 4 WHEN 0 THEN 'Fiat' WHEN 1 THEN 'Opel' WHEN 2 THEN 'Saab'
        ELSE 'Lada' END, 40 + i * 1.5, 2 + i % 3 FROM n;""",
    "forest": """CREATE TABLE tree (tag INTEGER PRIMARY KEY, species TEXT, height REAL, planted INTEGER);
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60)
        INSERT INTO tree SELECT i, CASE i % 3 WHEN 0 THEN 'oak' WHEN 1 THEN 'pine' ELSE 'beech' END, 3 + i * 0.25,
        1950 + i FROM n;""",
}

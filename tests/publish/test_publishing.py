"""A built version, published: what is on the Hub, what is not, and what `datasets` reads there."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import huggingface_hub.constants
import polars as pl
import publish_samples as samples
import pytest
import yaml
from click.testing import CliRunner
from hub_server import TOKEN, Hub, running
from hypothesis import given
from hypothesis import strategies as st
from making import make_school
from test_hub import NAME, load_from

from agro_data import build
from agro_data.config import BuildConfig, ConfigError, RunConfig
from agro_data.publish.card import setting
from agro_data.publish.explain import explain
from agro_data.publish.publication import personal
from agro_data.publish.publication.checks import Check, check_version, sources_of
from agro_data.publish.publication.personal import find, personal_rows, scan_files
from agro_data.publish.publication.publishing import publish_version
from agro_data.publish.publication.release import EVERY, Declaration, make_release
from agro_data.publish.read import Version, open_version
from agro_data.publish.retention import published
from agro_data.publish.version import MUTANTS, Beside, Instances, write_version
from agro_data.records import EXAMPLE, INSTANCE_INDEX
from agro_data.verbs.drift import version_named
from agro_data.verbs.publish import publish_command

LICENSED = Declaration(license="cc-by-4.0", source_licenses={EVERY: "cc0-1.0"}, share=frozenset({EVERY}))
PASSED = [Check("all", True, "made for a test")]


@pytest.fixture(scope="module")
def school(tmp_path_factory: pytest.TempPathFactory) -> Version:
    place = tmp_path_factory.mktemp("school")
    make_school(place / "school.sqlite")
    config = BuildConfig(databases=str(place / "school.sqlite"), name="school", size=30, embedding_model="structural")
    return build(config=config, run=RunConfig(out=place / "out", cache=place / "cache", workers=1)).version


def version_of(root: Path, rows: pl.DataFrame, *, instances: Instances | None = None, **manifest: Any) -> Version:
    path = write_version(
        root,
        "shop",
        fingerprint="a" * 64,
        examples=rows,
        rejected=samples.rejected(7),
        manifest=samples.manifest(**manifest),
        beside=Beside(instances or Instances()),
    )
    return open_version(path)


def released(place: Path) -> Path:
    """The empty folder of a release."""
    (place / "released").mkdir()
    return place / "released"


def written(root: Path, questions: str = "") -> Version:
    """A version of made-up rows, one of which may say something personal."""
    examples = samples.examples(30)
    if questions:
        examples = examples.with_columns(
            question=pl.when(pl.col("seed") == 3).then(pl.lit(questions)).otherwise(pl.col("question"))
        )
    return version_of(root, examples)


@pytest.mark.ci
def test_a_version_is_checked_published_and_read_back(
    school: Version, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_DISABLE_XET", True)
    with running(Hub()) as hub:
        environment = {"HF_TOKEN": TOKEN, "HF_ENDPOINT": hub.url}
        made = publish_version(school, NAME, LICENSED, environment=environment)
        assert made.published is not None
        assert made.published.new
        assert not publish_version(school, NAME, LICENSED, environment=environment).published.new  # type: ignore[union-attr]
        told = load_from(hub, school.name, tmp_path)
    assert told["columns"] == ["question", "sql", "schema", "db_id", "hardness", "evidence", "example_id"]
    assert told["rows"] == {k: v for k, v in school.manifest["counts"]["splits"].items() if v}
    assert set(school.examples().collect_schema()) == set(told["certificate"])  # type: ignore[call-overload]
    assert 'CREATE TABLE "lesson"' in told["row"]["schema"]  # type: ignore[index]
    assert published(school.path.parent.parent, "school") == [school.name]
    assert all(check["passed"] for check in made.manifest["checks"])


def test_the_card_says_what_the_manifest_says(school: Version, tmp_path: Path) -> None:
    manifest = make_release(school, tmp_path, LICENSED, PASSED)
    card = (tmp_path / "README.md").read_text()
    head = yaml.safe_load(card.split("---")[1])
    assert head["license"] == "cc-by-4.0"
    assert [one["config_name"] for one in head["configs"]] == ["default", "certificate"]
    assert head["configs"][0]["default"] is True
    assert f"{manifest['counts']['mutants']['killed']:,} are told apart" in card
    assert "`cc0-1.0`" in card
    assert school.fingerprint in card
    assert "agro build --config manifest.json" in card
    assert str(school.manifest["config"]["databases"]) not in card + json.dumps(manifest)  # a place of this machine
    assert "{{" not in card
    for path in (tmp_path / "plots").iterdir():
        assert f"plots/{path.name}" in card


def test_the_same_declaration_gives_the_same_bytes(school: Version, tmp_path: Path) -> None:
    manifests: list[dict[str, Any]] = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        manifests.append(make_release(school, tmp_path / name, LICENSED, PASSED))
    assert manifests[0] == manifests[1]


@pytest.mark.parametrize(
    ("declared", "says"),
    [
        (Declaration(source_licenses={EVERY: "mit"}), "no licence"),
        (Declaration(license="mit"), "no licence is declared for 1 of 1 source databases"),
        (Declaration(license="MIT licence", source_licenses={EVERY: "mit"}), "write it as the Hub does"),
        (Declaration(license="foo", source_licenses={EVERY: "mit"}), "'foo' is none that the Hub takes"),
        (Declaration(license="mit", source_licenses={EVERY: "mit", "scool": "mit"}), "scool"),
    ],
)
def test_what_is_not_declared_is_asked_for(school: Version, declared: Declaration, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        publish_version(school, NAME, declared, environment={"HF_TOKEN": TOKEN}, dry_run=True)


@pytest.mark.parametrize(
    ("source", "rows", "says"),
    [
        ("cc-by-nc-4.0", "mit", "allows no commercial use; mit of the rows drops that"),
        ("cc-by-nc-sa-4.0", "cc-by-nc-4.0", "asks that derivatives are shared alike"),
        ("cc-by-nd-4.0", "cc-by-4.0", "allows no derivatives to be shared"),
        ("odbl", "cc-by-4.0", "asks that derivatives are shared alike"),
        ("cc-by-sa-4.0", "cc-by-sa-4.0", ""),
        ("mit", "cc-by-nc-4.0", ""),
        ("cc-by-nc-4.0", "other", ""),
        ("an-own-licence", "mit", ""),
    ],
)
def test_a_licence_freer_than_a_sources_is_told(source: str, rows: str, says: str) -> None:
    declared = Declaration(license=rows, source_licenses={EVERY: source, "free": "cc0-1.0"})
    found = declared.warnings(["a", "b", "free"])
    assert len(found) == bool(says)
    assert not says or (says in found[0] and f"{source} of 2 source databases, such as a" in found[0])


def test_the_verb_warns_of_a_freer_licence_in_a_dry_run(school: Version) -> None:
    given = ["--license", "mit", "--source-license", "cc-by-nc-4.0", "--dry-run", "--json"]
    done = CliRunner().invoke(publish_command, [str(school.path), "--repo-id", NAME, *given])
    assert done.exit_code == 0, done.output
    warnings = json.loads(done.stdout)["warnings"]
    assert "allows no commercial use" in warnings[0]
    assert "allows no commercial use" in done.stderr
    # What a private column holds, and what to do, is said in the same place.
    assert re.search(r"teacher.salary holds earnings of people, and [1-9]\d* examples ask for it: hide it", warnings[1])
    assert warnings[1:] == [line for line in done.stderr.splitlines() if "teacher.salary" in line]


def test_what_was_published_is_a_version_wherever_it_was_put(school: Version, tmp_path: Path) -> None:
    """`data` holds few columns, as most people want them; `agro` reads the whole rows."""
    make_release(school, released(tmp_path), LICENSED, PASSED)
    got = open_version(tmp_path / "released")
    assert got.examples().collect().equals(school.examples().collect())
    some = got.examples().collect().row(0, named=True)
    told = explain(got, some["example_id"])
    assert told == explain(school, some["example_id"])
    assert version_named(tmp_path / "released") == got
    card = (tmp_path / "released" / "README.md").read_text()
    assert [name for name in EXAMPLE if f"| `{name}` |" not in card] == []
    assert "search_path" not in card + told  # SQLite has neither schemas nor time zones
    assert "SET TimeZone = 'UTC'" in setting(["duckdb"])


def test_a_private_column_is_named_unless_it_is_meant(school: Version, tmp_path: Path) -> None:
    source = tmp_path / "school.sqlite"
    make_school(source)

    def released(name: str) -> dict[str, Any]:
        (tmp_path / name).mkdir()
        return make_release(school, tmp_path / name, LICENSED, PASSED, sources_of(school, source))

    (column,) = released("silent")["personal_data"]["columns"]
    assert (column["column"], column["holds"]) == ("teacher.salary", "earnings of people")
    assert column["examples"] > 0
    assert column["instances"] > 0
    assert "| school | teacher.salary | earnings of people |" in (tmp_path / "silent" / "README.md").read_text()
    wanted = "tables: {teacher: {columns: {salary: {hidden: false}}}}"
    (tmp_path / "school.semantics.yml").write_text(wanted)  # said after the build
    assert released("meant")["personal_data"]["columns"] == []
    assert "teacher.salary" not in (tmp_path / "meant" / "README.md").read_text().split("## Personal data")[1]


def test_instances_leave_the_house_only_where_that_was_said(school: Version, tmp_path: Path) -> None:
    silent = Declaration(license="mit", source_licenses={EVERY: "mit"})
    make_release(school, tmp_path, silent, PASSED)
    assert not list((tmp_path / "instances").rglob("*.sqlite"))
    assert pl.read_parquet(tmp_path / "instances" / "index.parquet").is_empty()
    assert "grading is limited" in (tmp_path / "README.md").read_text()


def test_a_version_that_fails_a_check_is_not_published(school: Version, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"digests_replay.*--databases"):
        publish_version(school, NAME, LICENSED, databases=tmp_path, dry_run=True)
    assert [check.name for check in check_version(school, sources_of(school, None)) if not check.passed] == [
        "digests_replay"
    ]
    version = written(tmp_path)
    file = next((version.path / "data").iterdir())
    file.chmod(0o644)
    file.write_bytes(file.read_bytes()[:-1] + b"x")
    (whole,) = check_version(version, [])
    assert not whole.passed


def test_sources_are_told_by_content_whatever_they_are_called_now(school: Version, tmp_path: Path) -> None:
    shutil.copyfile(school.manifest["config"]["databases"], tmp_path / "another name.sqlite")
    (found,) = sources_of(school, tmp_path)
    assert (found.db_id, found.path.parent) == ("school", tmp_path)
    assert all(check.passed for check in check_version(school, [found]))


def test_a_dry_run_needs_no_token_and_sends_nothing(school: Version) -> None:
    with running(Hub()) as hub:
        made = publish_version(school, NAME, LICENSED, dry_run=True, environment={"HF_ENDPOINT": hub.url})
        assert not hub.requests
    assert made.published is None
    assert made.card.startswith("---\n")


def test_personal_data_is_refused_dropped_or_said(tmp_path: Path) -> None:
    version = written(tmp_path / "v", "Which singer has the mail address ann.lee@gmail.com?")
    declared = {"license": "mit", "source_licenses": {EVERY: "mit"}}
    for policy in ("refuse", "drop", "keep"):
        (tmp_path / policy).mkdir()
    with pytest.raises(ConfigError, match=r"1 email|email"):
        make_release(version, tmp_path / "refuse", Declaration(**declared), PASSED)  # type: ignore[arg-type]
    dropped = make_release(version, tmp_path / "drop", Declaration(**declared, personal_data="drop"), PASSED)  # type: ignore[arg-type]
    assert dropped["counts"]["examples"] == 29
    assert dropped["personal_data"]["found"] == {}
    kept = make_release(version, tmp_path / "keep", Declaration(**declared, personal_data="keep"), PASSED)  # type: ignore[arg-type]
    assert "report.html" in kept["personal_data"]["found"]
    assert "| mail address |" in (tmp_path / "keep" / "README.md").read_text()


def test_a_split_of_questions_without_an_answer_has_no_file_of_pairs_and_the_card_names_none(tmp_path: Path) -> None:
    rows = samples.examples(30).with_columns(answerable=pl.col("split") != "test")
    make_release(version_of(tmp_path / "v", rows), released(tmp_path), LICENSED, PASSED)
    for config in yaml.safe_load((tmp_path / "released" / "README.md").read_text().split("---")[1])["configs"]:
        for file in config["data_files"]:
            assert list((tmp_path / "released").glob(file["path"])), file


def test_a_version_of_a_release_that_kept_no_mutants_is_published(tmp_path: Path) -> None:
    version = version_of(tmp_path / "v", samples.examples(9))
    (version.path / "instances" / "mutants.parquet").unlink()
    make_release(version, released(tmp_path), LICENSED, PASSED)
    assert pl.read_parquet(tmp_path / "released" / "instances" / "mutants.parquet").is_empty()


def test_a_published_manifest_repeats_the_build_and_names_no_place(tmp_path: Path) -> None:
    made = BuildConfig(
        databases="/home/ann/databases",
        embedding_model="/home/ann/models/mini",
        writer="some-org/model",
        generator="llm",
        exclude=("/home/ann/held_out.json",),
    )
    took = {"candidates": {"requests": 2.0, "tokens_read": 800.0, "tokens_written": 100.0}, "questions": {}}
    version = version_of(tmp_path / "v", samples.examples(9), config=made.to_dict(), asked_of_a_model=took)
    make_release(version, released(tmp_path), LICENSED, PASSED)
    read = BuildConfig.from_file(tmp_path / "released" / "manifest.json")
    assert (read.databases, read.embedding_model, read.exclude) == ("databases", "mini", ("held_out.json",))
    assert read.writer == "some-org/model"
    assert read.query_log == ""
    assert "| 100 tokens, read and written |" in (tmp_path / "released" / "README.md").read_text()


@pytest.mark.parametrize(
    ("address", "left"),
    [
        ("http://ann:secret@gpu-7.lab:8000/v1#some-org/model", "some-org/model"),
        ("https://gpu-7.lab:8000#m", "m"),
        ("http://gpu-7.lab:8000/v1", "v1"),
        ("http://gpu-7.lab:8000", "server"),
        ("vllm:/home/gpu-7.lab/models/mini", "mini"),
    ],
)
def test_nothing_that_is_published_says_where_a_model_was(address: str, left: str, tmp_path: Path) -> None:
    made = BuildConfig(databases="/home/ann/databases", writer=address, generator="llm")
    solvers = [{"name": "m", "model": "m", "weights": address}, {"name": "plain"}]
    judge = {"model": address, "settings": json.dumps({"model": address, "seed": 1})}
    alignment = {"of": "v1", "solvers": solvers, "judge": judge}
    version = version_of(tmp_path / "v", samples.examples(9), config=made.to_dict(), alignment=alignment)
    manifest = make_release(version, released(tmp_path), LICENSED, PASSED)
    assert [one.get("weights") for one in manifest["alignment"]["solvers"]] == [left, None]
    assert BuildConfig.from_file(tmp_path / "released" / "manifest.json").writer == left
    for name in ("manifest.json", "README.md", "report.html"):
        assert "gpu-7" not in (tmp_path / "released" / name).read_text(), name


def test_an_id_of_digits_alone_is_no_payment_card(tmp_path: Path) -> None:
    card = "3601285898024579"
    assert [one.kind for one in find(card)] == ["card"]
    rows = samples.examples(9).with_columns(
        example_id=pl.when(pl.col("seed") == 3).then(pl.lit(card)).otherwise(pl.col("example_id"))
    )
    for policy in ("refuse", "drop"):
        declared = Declaration("mit", {EVERY: "mit"}, personal_data=policy)
        place = tmp_path / policy
        place.mkdir()
        assert make_release(version_of(tmp_path / "v", rows), place, declared, PASSED)["counts"]["examples"] == 9


def instances_of(place: Path, rows: pl.DataFrame) -> Instances:
    """Of each example two instances of its database, with a mutant that each told apart; `mail` holds an address."""
    asked = rows.select("db_id", "example_id").rows()
    files: dict[str, Path] = {}
    for db_id, name in {(db_id, name) for db_id, _ in asked for name in ("mail", "plain")}:
        files[f"{db_id}/{name}.sqlite"] = place / f"{db_id}-{name}.sqlite"
        with closing(sqlite3.connect(place / f"{db_id}-{name}.sqlite")) as connection, connection:
            connection.execute(f"CREATE TABLE t AS SELECT '{'ann.lee@gmail.com' if name == 'mail' else 'Ann'}' AS a")
    held = [(db_id, one, f"{db_id}/{name}.sqlite") for db_id, one in asked for name in ("mail", "plain")]
    index = pl.DataFrame([(*one, "0" * 64) for one in held], schema=INSTANCE_INDEX, orient="row")
    fates = [(one, "literal", "1 -> 2", "killed", file, "SELECT 2", "got ('Ann')") for _, one, file in held]
    return Instances(files, index, pl.DataFrame(fates, schema=MUTANTS, orient="row"))


def test_the_rows_of_an_instance_stay_where_the_instance_stays(tmp_path: Path) -> None:
    rows = samples.examples(9)
    version = version_of(tmp_path / "v", rows, instances=instances_of(tmp_path, rows))
    declared = Declaration("mit", {EVERY: "mit"}, share=frozenset({"db_1"}), personal_data="drop")
    made = make_release(version, released(tmp_path), declared, PASSED)
    published = pl.read_parquet(tmp_path / "released" / "instances" / "mutants.parquet")
    told = published.filter(pl.col("difference").is_not_null())
    assert set(told["example_id"]) == set(rows.filter(pl.col("db_id") == "db_1")["example_id"])
    assert set(told["by"]) == {"db_1/plain.sqlite"}
    assert published.height == 18
    assert {one["db_id"]: one["instances"] for one in made["databases"]}["db_1"] == 1


def test_the_card_counts_the_instances_that_are_there(tmp_path: Path) -> None:
    rows = samples.examples(9)
    given = instances_of(tmp_path, rows)
    mails = {name: path for name, path in given.files.items() if "mail" in name}
    kept = [
        frame.filter(pl.col(name).is_in(list(mails))) for frame, name in ((given.index, "file"), (given.mutants, "by"))
    ]
    version = version_of(tmp_path / "v", rows, instances=Instances(mails, *kept))
    declared = Declaration("mit", {EVERY: "mit"}, share=frozenset({EVERY}), personal_data="drop")
    make_release(version, released(tmp_path), declared, PASSED)
    assert not list((tmp_path / "released").rglob("*.sqlite"))
    card = (tmp_path / "released" / "README.md").read_text()
    assert f"are included for 0 of {len(version.manifest['databases'])} databases" in card
    assert f"Left out, and named all the same: {len(mails)} files that hold personal data." in card


def test_all_of_a_file_is_looked_at(tmp_path: Path) -> None:
    mail = "ann.lee@gmail.com"
    with closing(sqlite3.connect(tmp_path / "a.sqlite")) as connection, connection:
        connection.execute(f"CREATE TABLE t (a TEXT DEFAULT '{mail}')")
    with duckdb.connect(str(tmp_path / "b.duckdb")) as duck:
        duck.execute(f"CREATE VIEW v AS SELECT '{mail}' AS a")
        duck.execute(f"CREATE TYPE e AS ENUM ('{mail}')")
    (tmp_path / "c.json").write_text(json.dumps({mail: 1}))
    found = scan_files(tmp_path, ["a.sqlite", "b.duckdb", "c.json"])
    assert found == {"a.sqlite": {"email": 1}, "b.duckdb": {"email": 2}, "c.json": {"email": 1}}


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("write to ann.lee@gmail.com", ["email"]),
        ("write to ann@example.com", []),
        ("call +49 30 901820 today", ["phone"]),
        ("call (650) 253-0000", ["phone"]),
        ("account DE89 3704 0044 0532 0130 00", ["iban"]),
        ("card 4111 1111 1111 1111", ["card"]),
        ("card 4111 1111 1111 1112", []),
        ("$2b$12$" + "abcdefghij/" * 4 + "klmnopqrs", ["credential"]),
        ("the key sk_live_" + "f0a1b2c3d4e5", ["credential"]),
        ("a task_live_ and a skull", []),
        ("number 536-90-4399", ["ssn"]),
        ("born on 2024-01-13, paid 1234567.89", []),
        ("at 2024-01-13 09:30:00 (1989-12-11 16:40:57)", []),
        ("2024-01-13 650-253-0000", ["phone"]),
        ("at 2024-01-13 09:30 from (650) 253-0000", ["phone"]),
        ("row 1: got (469756878.0), expected (2025550123.0)", []),
        ("call 548.373.3603x59134 between 1868-1930", ["phone"]),
        ("SELECT COUNT(*) FROM t WHERE year BETWEEN 1990 AND 2010", []),
        ("id 6502530000", []),
        ("a mean of 0.4111111111111111", []),
    ],
)
def test_what_leads_to_a_person_is_found(text: str, kinds: list[str]) -> None:
    assert [finding.kind for finding in find(text)] == kinds


def test_a_moment_is_known_without_asking_for_the_number_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(personal, "_numbers", lambda _: pytest.fail("a moment was looked through for phone numbers"))
    assert not find("from '2024-01-13 09:30:00' to '1989-12-11 16:40:57', on 13/01/2024 09:30")


@given(st.text(), st.text())
def test_a_mail_address_is_found_in_any_text(before: str, after: str) -> None:
    text = f"{before} ann.lee@gmail.com {after}"
    assert any(text[one.start : one.end].endswith("ann.lee@gmail.com") for one in find(text))


def test_nested_texts_are_looked_at() -> None:
    frame = pl.DataFrame({"steps": [[{"sql": "x = 'ann.lee@gmail.com'"}], [{"sql": "x = 1"}]]})
    assert personal_rows(frame).to_list() == [True, False]

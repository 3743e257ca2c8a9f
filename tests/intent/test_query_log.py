"""Query logs: read whatever their form, and only their shapes are kept."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from agro_data.intent.logs.query_log import (
    Likely,
    Logged,
    LogReading,
    likely_engines,
    prior_from_log,
    read_log,
    shape_of,
)
from agro_data.intent.sampling.prior import default_prior

LOG = """2024-01-01 12:00:00 UTC LOG: statement: SELECT city, COUNT(*) FROM a GROUP BY city HAVING COUNT(*) > 2
nothing to read here
SELECT a FROM b WHERE c = 'semi;colon; select';
DELETE FROM a;
SELECT year(day),
   count(*)
FROM x
GROUP BY 1;
SELECT
"""


def test_statements_are_found_with_and_without_semicolons(tmp_path: Path) -> None:
    (tmp_path / "log.sql").write_text(LOG)
    reading = read_log(tmp_path / "log.sql", "duckdb")
    assert reading.shapes == {"date_group": 1, "having": 1, "list": 1}
    assert reading.ignored == 3, "a line of prose, a DELETE, a SELECT of nothing"


def test_bytes_that_are_no_text_are_ignored(tmp_path: Path) -> None:
    (tmp_path / "log.sql").write_bytes(b"\xff\xfe\x00;;'\nSELECT COUNT(*) FROM t\n")
    assert read_log(tmp_path / "log.sql", "sqlite").shapes == {"count": 1}


COUNTED = "SELECT count(*) FROM visit WHERE day > $1"
GROUPED = "SELECT city, count(*)\nFROM shop GROUP BY city"
STATEMENTS = [{"queryid": 7, "query": COUNTED, "calls": 12}, {"queryid": 8, "query": GROUPED, "calls": None}]


def write_table(path: Path) -> None:
    frame = pl.DataFrame([*STATEMENTS, {"queryid": 9, "query": "VACUUM", "calls": 3}])
    match path.suffix:
        case ".parquet":
            frame.write_parquet(path)
        case ".csv":
            frame.write_csv(path)
        case ".tsv":
            frame.write_csv(path, separator="\t")
        case ".json":
            frame.write_json(path)
        case _:
            frame.write_ndjson(path)


@pytest.mark.parametrize("suffix", ["parquet", "csv", "tsv", "json", "jsonl"])
def test_a_table_says_how_often_each_was_asked(tmp_path: Path, suffix: str) -> None:
    write_table(tmp_path / f"statements.{suffix}")
    reading = read_log(tmp_path / f"statements.{suffix}", "duckdb")
    assert reading.queries == (
        Logged("SELECT COUNT(*) FROM visit WHERE day > '?'", "count", 12),
        Logged(GROUPED, "group", 1),
    )
    assert reading.ignored == 3, "calls, as on the other side"


def test_a_table_may_be_written_as_spreadsheets_do(tmp_path: Path) -> None:
    lines = ["query;calls", '"SELECT count(*) FROM caf\u00e9";7']
    (tmp_path / "asked.csv").write_text("\r\n".join(lines), encoding="utf-16")
    [one] = read_log(tmp_path / "asked.csv", "duckdb").queries
    assert (one.sql, one.times) == ("SELECT count(*) FROM caf\u00e9", 7)


def test_a_servers_csvlog_has_no_names(tmp_path: Path) -> None:
    said = "duration: 1 ms  statement: " + COUNTED.replace("$1", "9")
    lines = [f'"10:0{minute}","ada","shop","{said}",,"psql"' for minute in (1, 2)]
    (tmp_path / "server.csv").write_text("\n".join([*lines, '"10:03","ada","shop","checkpoint",,""']) + "\n")
    assert read_log(tmp_path / "server.csv", "duckdb").shapes == {"count": 2}


def test_a_table_without_queries_is_read_as_text(tmp_path: Path) -> None:
    for name in ("broken.parquet", "broken.json", "odd.csv"):
        (tmp_path / name).write_text("SELECT a FROM t;\nSELECT COUNT(*) FROM t;\n")
        assert read_log(tmp_path / name, "sqlite").shapes == {"count": 1, "list": 1}, name


def test_queries_that_differ_in_what_they_compare_are_one(tmp_path: Path) -> None:
    """And those that differ in anything else are not: a date's part, a column's number."""
    same = [f"SELECT a FROM t WHERE b = {n} AND c IN ('x{n}', 'y') AND d LIKE '{n}%'" for n in range(50)]
    other = [f"SELECT strftime('{part}', d), e FROM t ORDER BY {n}" for part in ("%Y", "%m") for n in (1, 2)]
    (tmp_path / "log.sql").write_text("\n".join([*same, *other]))
    reading = read_log(tmp_path / "log.sql", "sqlite")
    assert [one.times for one in reading.queries] == [50, 1, 1, 1, 1]
    assert [one.sql for one in reading.queries] == [same[0], *other]


def test_lines_that_begin_with_a_tab_go_on(tmp_path: Path) -> None:
    (tmp_path / "server.log").write_text(
        "10:01 LOG:  statement: SELECT city,\n\tcount(*) FROM shop\n\tGROUP BY city\n10:02 LOG:  checkpoint\n"
    )
    assert read_log(tmp_path / "server.log", "duckdb").shapes == {"group": 1}


def test_another_engines_sql_is_read_as_ours(tmp_path: Path) -> None:
    (tmp_path / "log.sql").write_text(
        "SELECT TOP 5 [name] FROM [dbo].[shop] WHERE opened > DATEADD(day, -7, GETDATE())"
    )
    assert not read_log(tmp_path / "log.sql", "duckdb").queries
    [one] = read_log(tmp_path / "log.sql", "duckdb", "tsql").queries
    assert one.sql == 'SELECT "name" FROM "shop" WHERE opened > \'?\' LIMIT 5'


@pytest.mark.parametrize(
    ("log", "whose"),
    [
        ("SELECT a FROM t;\nSELECT TOP 5 [a]\nFROM [dbo].[t];\nSELECT b FROM t;", (("tsql",), 3, 2)),
        ("SELECT FORMAT_DATE('%Y', a) FROM `p.d.t`;\nSELECT a FROM d.t;\nDELETE FROM t;", (("bigquery",), 2, 1)),
        ("10:01 LOG: SELECT a FROM t\n10:02 LOG: SELECT IFF(b, 1, 0) FROM t", (("snowflake",), 2, 1)),
        ("SELECT our_own(a) FROM t;\nSELECT ;", None),
        ("SELECT strftime(d, '%Y') FROM t;", None),
        ("nothing here", None),
    ],
)
def test_whose_sql_a_log_is_shows_in_its_functions(
    tmp_path: Path, log: str, whose: tuple[tuple[str, ...], int, int] | None
) -> None:
    (tmp_path / "log.sql").write_text(log)
    found = likely_engines(tmp_path / "log.sql", "duckdb")
    assert found == (Likely(*whose) if whose is not None else None)
    if found is not None:
        assert likely_engines(tmp_path / "log.sql", "duckdb", found.engines[0]) is None


def test_calls_count_on_both_sides(tmp_path: Path) -> None:
    (tmp_path / "asked.csv").write_text("query,calls\nSELECT a FROM t,5\nSELECT [a] FROM [dbo].[t] t2,40\n")
    assert read_log(tmp_path / "asked.csv", "duckdb").ignored == 40
    found = likely_engines(tmp_path / "asked.csv", "duckdb")
    assert found is not None
    assert (found.known, found.known_as_read) == (45, 5)


@pytest.mark.parametrize(
    ("sql", "shape"),
    [
        ("SELECT a FROM t", "list"),
        ("SELECT COUNT(*) FROM t", "count"),
        ("SELECT AVG(a) FROM t", "aggregate"),
        ("SELECT a, COUNT(*) FROM t GROUP BY a", "group"),
        ("SELECT a FROM t GROUP BY a HAVING COUNT(*) > 1", "having"),
        ("SELECT a FROM t ORDER BY b DESC LIMIT 1", "superlative"),
        ("SELECT a FROM t UNION SELECT a FROM u", "set_operation"),
        ("SELECT a, RANK() OVER (ORDER BY b) FROM t", "window"),
        ("SELECT a FROM t WHERE b > (SELECT AVG(b) FROM t)", "compare_average"),
        ("SELECT a FROM t WHERE a NOT IN (SELECT b FROM u)", "related_none"),
        ("UPDATE t SET a = 1", None),
        ("not sql at all", None),
    ],
)
def test_each_statement_counts_for_its_most_telling_shape(sql: str, shape: str | None) -> None:
    assert shape_of(sql, "sqlite") == shape


def test_the_prior_moves_towards_the_log_and_forgets_nothing() -> None:
    base = default_prior()
    moved = prior_from_log(LogReading([Logged("", "group", 30), Logged("", "having", 70)], ignored=5), base)
    share = {shape: weight / sum(moved.shapes.values()) for shape, weight in moved.shapes.items()}
    assert share["having"] > 0.4
    assert share["group"] > 0.2
    assert min(share[shape] for shape, weight in base.shapes.items() if weight > 0) > 0
    assert prior_from_log(LogReading([], ignored=9), base) == base

"""Instances of DuckDB declare no keys, which would take two thirds of the file; their rows keep them all the same."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import duckdb
import pytest
from making import profile_of

from agro_data.populate.instances import instance_schema
from agro_data.populate.schema import PopulateError, Rows, Schema
from agro_data.populate.writer import write_duckdb
from agro_data.verify.certificates.views import views_of

ROWS: Rows = {
    "hub": {"code": ["a", "b"], "opened": ["2024-01-31", "2023-05-01"]},
    "trip": {"hub": ["b", "a", "b"], "leg": [2, 1, 1], "twice": [None] * 3, "note": [None, "x", "y"]},
}
CONTENTS = (
    "FROM hub",
    "FROM trip",
    "FROM late ORDER BY ALL",
    "SELECT column_name, column_type FROM (DESCRIBE late)",
    "SELECT typeof(opened) FROM hub",
)


@pytest.fixture
def schema(tmp_path: Path) -> Schema:
    (tmp_path / "source").mkdir()
    with duckdb.connect(tmp_path / "source" / "freight.duckdb") as con:
        con.execute("""
            CREATE TABLE hub (code VARCHAR PRIMARY KEY, opened DATE UNIQUE NOT NULL);
            CREATE TABLE trip (hub VARCHAR REFERENCES hub (code), leg INTEGER, twice INTEGER AS (leg * 2),
                note VARCHAR, PRIMARY KEY (hub, leg));
            CREATE VIEW late AS SELECT hub, twice FROM trip JOIN hub ON hub = code WHERE opened > '2024-01-01';
            INSERT INTO hub VALUES ('x', '2020-01-01'), ('y', '2021-01-01');
            INSERT INTO trip VALUES ('x', 1, NULL), ('y', 2, 'n');
        """)
    profile = profile_of(tmp_path / "source")
    return instance_schema(profile, [view.spec for view in views_of(profile)])


def test_a_bare_file_is_smaller_and_answers_alike(schema: Schema, tmp_path: Path) -> None:
    paths = [write_duckdb(schema, ROWS, tmp_path / f"{bare}.duckdb", bare=bare) for bare in (False, True)]
    answers, keys = [], []
    for path in paths:
        with duckdb.connect(path, read_only=True) as con:
            answers.append([con.execute(sql).fetchall() for sql in CONTENTS])
            found = con.execute("SELECT DISTINCT constraint_type FROM duckdb_constraints()").fetchall()
            keys.append({kind for (kind,) in found})
    assert answers[0] == answers[1]
    hubs = [("a", date(2024, 1, 31)), ("b", date(2023, 5, 1))]
    assert answers[0][:2] == [hubs, [("b", 2, 4, None), ("a", 1, 2, "x"), ("b", 1, 2, "y")]]
    assert (keys[0], keys[1]) == ({"PRIMARY KEY", "UNIQUE", "FOREIGN KEY", "NOT NULL"}, {"NOT NULL"})
    assert paths[1].stat().st_size < paths[0].stat().st_size / 2


@pytest.mark.parametrize(
    ("table", "column", "values"),
    [("hub", "code", ["a", "a"]), ("hub", "opened", ["2024-01-31"] * 2), ("trip", "hub", ["b", "a", "nowhere"])],
)
def test_rows_that_break_a_key_are_refused(
    schema: Schema, tmp_path: Path, table: str, column: str, values: list[str]
) -> None:
    rows = {**ROWS, table: {**ROWS[table], column: values}}
    with pytest.raises(PopulateError, match=f"freight: {table}: Constraint Error"):
        write_duckdb(schema, rows, tmp_path / "broken.duckdb", bare=True)
    assert not list(tmp_path.glob("broken*"))

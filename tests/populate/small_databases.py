"""Two small databases, a query of the first, queries read, and what every instance of a schema keeps to."""

from __future__ import annotations

from agro_data.populate.schema import Rows, Schema
from agro_data.profiling.profile import DatabaseProfile
from agro_data.sql.names.resolution import Resolution
from agro_data.sql.names.scope import resolve
from agro_data.sql.parse import parse_select

SCHOOL = """
CREATE TABLE student (id INTEGER PRIMARY KEY, name TEXT, age INT, home TEXT, mentor INT REFERENCES student (id));
CREATE TABLE pet (pet_id INTEGER PRIMARY KEY, kind TEXT, weight REAL);
CREATE TABLE has_pet (student_id INT REFERENCES student (id), pet_id INT REFERENCES pet (pet_id),
  PRIMARY KEY (student_id, pet_id));
INSERT INTO student VALUES (1, 'Ann', 20, 'Rome', NULL), (2, 'Bob', 21, 'Oslo', 1), (3, 'Cid', 19, 'Rome', 1);
INSERT INTO pet VALUES (1, 'cat', 3.5), (2, 'dog', 9.25), (3, 'dog', 12.0);
INSERT INTO has_pet VALUES (1, 1), (1, 2), (2, 3);
"""
GROUNDS = """
CREATE TABLE ground (ground_id INTEGER PRIMARY KEY, built INT);
CREATE TABLE team (team_id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE,
  ground_id INT NOT NULL UNIQUE REFERENCES ground (ground_id));
CREATE TABLE game (game_id INTEGER PRIMARY KEY, home INT NOT NULL REFERENCES team (team_id), goals INT);
INSERT INTO ground VALUES (1, 1901), (2, 1923), (3, 1950);
INSERT INTO team VALUES (1, 'Reds', 1), (2, 'Blues', 2);
INSERT INTO game VALUES (1, 1, 3), (2, 2, 0), (3, 1, 1);
"""
OF_ROME = "SELECT name FROM student WHERE age > 19 AND home = 'Rome'"


def read(profile: DatabaseProfile, sql: str) -> Resolution:
    found = resolve(parse_select(sql, profile.dialect), profile.dialect, profile.schema)
    assert not found.problems
    return found


def check(schema: Schema, rows: Rows) -> None:
    """Keys unique, foreign keys whole, NULL only where allowed."""
    for table in schema.tables:
        columns = rows[table.name]
        assert list(columns) == [column.name for column in table.columns]
        for column in table.columns:
            assert column.nullable or None not in columns[column.name], f"{table.name}.{column.name}"
        for key in table.keys:
            values = [v for v in zip(*(columns[c] for c in key), strict=True) if None not in v]
            assert len(values) == len(set(values)), f"{table.name} {key}"
    for foreign in schema.foreign_keys:
        parents = set(zip(*(rows[foreign.ref_table][c] for c in foreign.ref_columns), strict=True))
        children = zip(*(rows[foreign.table][c] for c in foreign.columns), strict=True)
        assert all(value in parents for value in children if None not in value), foreign

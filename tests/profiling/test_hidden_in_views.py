"""What is hidden in a table is hidden in views that show it again."""

from __future__ import annotations

import dataclasses
import hashlib
from pathlib import Path

import duckdb
import pytest
from making import run_sqlite

from agro_data.databases.types import Database, Dialect
from agro_data.profiling.profile import DatabaseProfile
from agro_data.profiling.profiler import profile_database

TABLES = """
CREATE TABLE customer (id INTEGER PRIMARY KEY, name TEXT, email TEXT, city TEXT);
CREATE TABLE sale (id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customer(id), amount REAL);
INSERT INTO customer VALUES (1, 'Ann', 'ann@a.example', 'York'), (2, 'Bo', 'bo@b.example', 'Hull');
INSERT INTO sale VALUES (1, 1, 2.5), (2, 1, 3.5), (3, 2, 4.5);
"""
HIDDEN = "tables: {customer: {columns: {email: {hidden: true}}}}"


def seen(profile: DatabaseProfile, view: str) -> list[str]:
    """The columns of a view that are known, with values or without."""
    return [column.name for table in profile.tables if table.name == view for column in table.columns]


def at(path: Path, script: str) -> Database:
    if path.suffix == ".sqlite":
        run_sqlite(path, script)
    else:
        with duckdb.connect(path) as connection:
            connection.execute(script)
    dialect: Dialect = "sqlite" if path.suffix == ".sqlite" else "duckdb"
    content = hashlib.sha256(path.read_bytes()).hexdigest()
    return Database(path.stem, dialect, dialect, path, content, path.name)


def hiding(database: Database, text: str) -> DatabaseProfile:
    path = database.path.parent / "semantics.yml"
    path.write_text(text, encoding="utf-8")
    return profile_database(dataclasses.replace(database, semantics=path))


@pytest.mark.parametrize(
    ("statement", "left"),
    [
        ("SELECT id, email FROM customer", ["id"]),
        ("SELECT * FROM customer", ["id", "name", "city"]),
        ("SELECT c.id, lower(c.email) AS address, s.amount FROM customer c JOIN sale s ON s.customer_id = c.id",
         ["id", "amount"]),
        ("WITH known AS (SELECT id, email AS e FROM customer) SELECT id, e FROM known", ["id"]),
        ("SELECT id, contact FROM (SELECT id, name || email AS contact FROM customer)", ["id"]),
        ("SELECT id, name FROM customer UNION SELECT id, email FROM customer", ["id"]),
        ("SELECT id, (SELECT email FROM customer c WHERE c.id = s.customer_id) AS who FROM sale s", ["id"]),
        ("SELECT id, name FROM customer WHERE email LIKE '%a%'", ["id", "name"]),
        ("SELECT amount, CASE WHEN amount > 3 THEN 'much' ELSE 'little' END AS size FROM sale", ["amount", "size"]),
    ],
)  # fmt: skip
def test_a_view_shows_no_column_that_is_hidden(statement: str, left: list[str], tmp_path: Path) -> None:
    database = at(tmp_path / "shop.sqlite", f"{TABLES} CREATE VIEW v AS {statement};")
    profile = hiding(database, HIDDEN)
    assert seen(profile, "v") == left
    assert not any(trace in repr(profile.tables) for trace in ("example", "%a%"))
    said = [problem for problem in profile.problems if problem.startswith("view 'v' shows what is hidden")]
    assert bool(said) == (len(left) < len(seen(profile_database(database), "v")))


def test_views_of_views_and_names_of_their_own(tmp_path: Path) -> None:
    views = (
        "CREATE VIEW first (a, b) AS SELECT id, email FROM customer; CREATE VIEW second AS SELECT a, b AS c FROM first;"
    )
    database = at(tmp_path / "shop.sqlite", TABLES + views)
    profile = hiding(database, HIDDEN)
    assert (seen(profile, "first"), seen(profile, "second")) == (["a"], ["a"])
    meant = hiding(database, f"{HIDDEN[:-1]}, second: {{columns: {{c: {{hidden: false}}}}}}}}")
    assert (seen(meant, "first"), seen(meant, "second")) == (["a"], ["a", "c"])


def test_views_alone_are_asked_about_where_their_tables_are_hidden(tmp_path: Path) -> None:
    views = "CREATE VIEW v AS SELECT s.amount, c.name, c.email FROM sale s JOIN customer c ON s.customer_id = c.id;"
    hidden = "tables: {sale: {hidden: true}, customer: {hidden: true, columns: {email: {hidden: true}}}}"
    profile = hiding(at(tmp_path / "shop.sqlite", TABLES + views), hidden)
    assert [table.name for table in profile.tables] == ["v"]
    assert seen(profile, "v") == ["amount", "name"]


def test_what_cannot_be_followed_is_taken_to_show_all(tmp_path: Path) -> None:
    views = "CREATE VIEW v AS SELECT j.value AS x FROM customer, json_each(json_array(email)) AS j;"
    profile = hiding(at(tmp_path / "shop.sqlite", TABLES + views), HIDDEN)
    assert seen(profile, "v") == []


def test_views_of_duckdb(tmp_path: Path) -> None:
    tables = TABLES.replace(" customer (", " crm.customer (").replace("INTO customer", "INTO crm.customer")
    tables = tables.replace("REFERENCES customer(id)", "")
    view = "CREATE VIEW v AS SELECT * EXCLUDE (name) FROM crm.customer;"
    database = at(tmp_path / "shop.duckdb", f"CREATE SCHEMA crm; {tables} {view}")
    assert seen(hiding(database, HIDDEN), "v") == ["id", "city"]


def test_passwords_are_unread_under_another_name(tmp_path: Path) -> None:
    script = """
    CREATE TABLE member (id INTEGER PRIMARY KEY, password TEXT);
    INSERT INTO member VALUES (1, 'swordfish'), (2, 'xyzzy');
    CREATE VIEW login AS SELECT id, password AS word FROM member;
    """
    profile = profile_database(at(tmp_path / "app.sqlite", script))
    assert profile.table("login").column("word").hidden
    assert "swordfish" not in repr(profile)

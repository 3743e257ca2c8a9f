"""A folder of databases as companies have them: broken ones, and odd ones that can be used all the same."""

from __future__ import annotations

import os
from pathlib import Path

import duckdb
from making import make_school, run_sqlite

WIDE = 1_500  # columns


def script(path: Path, text: str) -> Path:
    """A SQLite file made by `text`."""
    return run_sqlite(path, text)


# --- cannot be used -----------------------------------------------------------------------------------------------


def make_unusable(folder: Path) -> dict[str, str]:
    """Databases that give nothing; by file name, what a person must be told."""
    school = make_school(folder / "cut.sqlite")
    school.write_bytes(school.read_bytes()[: school.stat().st_size // 2])
    (folder / "noise.sqlite").write_bytes(b"no database at all, " * 500)
    (folder / "empty.db").write_bytes(b"")
    script(folder / "tableless.sqlite", "PRAGMA user_version = 1")
    script(folder / "rowless.sqlite", "CREATE TABLE t (a INTEGER, b TEXT); CREATE TABLE u (a INTEGER)")
    script(folder / "only_broken_views.sqlite", "CREATE VIEW v AS SELECT * FROM absent_table")
    make_school(folder / "new\nline.sqlite")
    rotten = bytearray(make_school(folder / "rotten.sqlite").read_bytes())
    rotten[100:2_000] = b"\xaa" * 1_900
    (folder / "rotten.sqlite").write_bytes(rotten)
    (folder / "dangling.sqlite").symlink_to(folder / "nowhere")
    os.mkfifo(folder / "pipe.sqlite")
    with duckdb.connect(folder / "half.duckdb") as connection:
        connection.execute("CREATE TABLE t AS SELECT i FROM range(1000) r(i)")
    duck = folder / "half.duckdb"
    duck.write_bytes(duck.read_bytes()[:5_000])
    return {
        "cut.sqlite": "truncated SQLite file",
        "noise.sqlite": "not a database",
        "empty.db": "empty file",
        "tableless.sqlite": "no table that can be read",
        "rowless.sqlite": "no table has a row",
        "only_broken_views.sqlite": "no table that can be read",
        "new\\nline.sqlite": "newline in the file name",
        "rotten.sqlite": "malformed|not a database",
        "dangling.sqlite": "cannot be read",
        "pipe.sqlite": "not a regular file",
        "half.duckdb": "cannot be opened",
        "files/orders.csv": "is table 'orders' already, from Orders.csv",
        "files/latin.csv": "cannot be read as a table",
    }


# --- odd, and usable ----------------------------------------------------------------------------------------------


def make_usable(folder: Path) -> dict[str, str]:
    """Odd databases that must give examples; by id, what a person is told of them ("" for nothing)."""
    make_school(folder / "good.sqlite")
    make_odd_names(folder / "odd_names.sqlite")
    make_dirty_cells(folder / "dirty_cells.sqlite")
    make_keys(folder / "keys.sqlite")
    make_dates(folder / "dates.sqlite")
    make_wide(folder / "wide.sqlite")
    make_duck(folder / "duck.duckdb")
    make_files(folder / "files")
    (folder / "a").mkdir()
    (folder / "b").mkdir()
    make_school(folder / "a" / "twin.sqlite", tag=" east")
    make_school(folder / "b" / "twin.sqlite", tag=" west")
    make_school(folder / "told.sqlite", tag=" told")
    (folder / "told.semantics.yml").write_text(
        "tables:\n  teachers: {name: tutor}\n  school: {columns: {town: {name: place}}}\n"
        "metrics:\n  wealth: {table: teacher, sql: SUM(fortune), definition: All fortunes.}\n"
        "joins:\n  - {from: lesson.room, to: room.id}\n",
        encoding="utf-8",
    )
    return {
        "good": "",
        "odd_names": "",
        "dirty_cells": "view 'broken': cannot be read",
        "keys": "refers to table 'vanished', which does not exist",
        "dates": "",
        "wide": "",
        "duck": "",
        "files": "",
        "a.twin": "one id for a/twin.sqlite, b/twin.sqlite",
        "b.twin": "one id for a/twin.sqlite, b/twin.sqlite",
        "told": "there is no table 'teachers'; did you mean 'teacher'",
    }


def make_odd_names(path: Path) -> None:
    """Spaces, quotes, unicode, reserved words, and tables that differ only by case as Unicode sees it."""
    script(
        path,
        """
        CREATE TABLE "order" ("select" INTEGER PRIMARY KEY, "a ""b"" c" TEXT, "Größe" REAL, "unit.price" REAL,
                              "from" TEXT, "owner's name" TEXT,
                              "group" INTEGER REFERENCES "Customer Group"("group id"));
        CREATE TABLE "Customer Group" ("group id" INTEGER PRIMARY KEY, "Full Name" TEXT NOT NULL, "where" TEXT);
        CREATE TABLE "Ärzte" (id INTEGER PRIMARY KEY, "名前" TEXT, "salary [EUR]" INTEGER);
        CREATE TABLE "ärzte" (id INTEGER PRIMARY KEY, "Ünit" TEXT, "`tick`" INTEGER);
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40)
        INSERT INTO "order" SELECT i, 'kind ' || (i % 5), i * 1.5, i * i * 0.25, 'City ' || (i % 7),
            CASE WHEN i % 4 THEN 'O''Neil ' || (i % 6) ELSE 'Say "hi" ' || (i % 3) END, 1 + i % 6 FROM n;
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 7)
        INSERT INTO "Customer Group" SELECT i, 'Group ' || i, 'Côte ' || (i % 3) FROM n;
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20)
        INSERT INTO "Ärzte" SELECT i, '山田' || (i % 6), 1000 + 37 * i FROM n;
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20)
        INSERT INTO "ärzte" SELECT i, 'Straße ' || (i % 4), 11 * i FROM n;
        """,
    )


def make_dirty_cells(path: Path) -> None:
    """Blobs, text that is not UTF-8, several types in one column, infinite floats and NaN, a broken view."""
    script(
        path,
        """
        CREATE TABLE sample (id INTEGER PRIMARY KEY, label TEXT, weight REAL, reading, picture BLOB, note TEXT);
        CREATE TABLE empty_one (id INTEGER PRIMARY KEY, name TEXT);
        CREATE VIEW broken AS SELECT * FROM nowhere;
        CREATE VIEW heavy AS SELECT id, label, weight FROM sample WHERE weight > 20;
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60)
        INSERT INTO sample SELECT i, 'label ' || (i % 9),
            CASE i WHEN 7 THEN 9e999 WHEN 8 THEN -9e999 WHEN 9 THEN 9e999 - 9e999 ELSE i * 0.75 END,
            CASE i % 4 WHEN 0 THEN i WHEN 1 THEN 'about ' || i WHEN 2 THEN i * 1.5 ELSE NULL END,
            randomblob(0) || zeroblob(i % 5 + 1),
            CASE WHEN i % 20 = 0 THEN CAST(x'ff41fe' AS TEXT) ELSE 'remark ' || (i % 12) END FROM n;
        """,
    )


def make_keys(path: Path) -> None:
    """Foreign keys in a circle, to their own table, to tables that are missing, and with orphans."""
    script(
        path,
        """
        CREATE TABLE department (id INTEGER PRIMARY KEY, name TEXT, head_id INTEGER REFERENCES employee(id));
        CREATE TABLE employee (id INTEGER PRIMARY KEY, name TEXT, salary REAL, boss_id INTEGER REFERENCES employee(id),
                               department_id INTEGER REFERENCES department(id),
                               desk_id INTEGER REFERENCES vanished(id));
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40)
        INSERT INTO employee SELECT i, 'Person ' || i, 900 + 41.5 * i, CASE WHEN i > 4 THEN 1 + i % 4 END,
            CASE WHEN i % 13 THEN 1 + i % 6 ELSE 99 END, i FROM n;
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 6)
        INSERT INTO department SELECT i, 'Department ' || i, i * 3 FROM n;
        """,
    )


def make_dates(path: Path) -> None:
    """Dates written in five ways, and one column that mixes them."""
    script(
        path,
        """
        CREATE TABLE visit (id INTEGER PRIMARY KEY, iso_day TEXT, moment TEXT, us_day TEXT, german_day TEXT,
                            spelled_day TEXT, any_day TEXT, guests INTEGER);
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60),
        d(i, y, m, t) AS (SELECT i, 2019 + i % 5, 1 + i % 12, 1 + (i * 7) % 28 FROM n)
        INSERT INTO visit SELECT i, printf('%04d-%02d-%02d', y, m, t),
            printf('%04d-%02d-%02d %02d:%02d:00', y, m, t, i % 24, i % 60),
            printf('%02d/%02d/%04d', m, t, y), printf('%02d.%02d.%04d', t, m, y),
            printf('%d Mar %04d', t, y),
            CASE i % 3 WHEN 0 THEN printf('%04d-%02d-%02d', y, m, t) WHEN 1 THEN printf('%02d/%02d/%04d', m, t, y)
                       ELSE printf('%02d.%02d.%04d', t, m, y) END, 3 * i FROM d;
        """,
    )


def make_wide(path: Path) -> None:
    """A table of 1,500 columns beside a plain one."""
    columns = ", ".join(f"measure_{n} INTEGER" for n in range(WIDE))
    values = ", ".join(f"i * {1 + n % 50} + {n}" for n in range(WIDE))
    script(
        path,
        f"""
        CREATE TABLE survey ({columns});
        CREATE TABLE place (id INTEGER PRIMARY KEY, name TEXT);
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30)
        INSERT INTO survey SELECT {values} FROM n;
        INSERT INTO place VALUES (1, 'Oslo'), (2, 'Lyon'), (3, 'Graz'), (4, 'Bern');
        """,
    )


def make_duck(path: Path) -> None:
    """DuckDB with infinite floats, NaN, blobs, lists, and names that need quotes."""
    with duckdb.connect(path) as connection:
        connection.execute(
            """
            CREATE TABLE "Sensor Reading" ("reading id" INTEGER PRIMARY KEY, "select" VARCHAR, level DOUBLE,
                                           "Taken At" DATE, raw BLOB, tags VARCHAR[]);
            INSERT INTO "Sensor Reading" SELECT i, 'probe ' || (i % 6),
                CASE i WHEN 3 THEN 'nan'::DOUBLE WHEN 4 THEN 'inf' WHEN 5 THEN '-inf' ELSE i / 2 END,
                DATE '2020-01-01' + i::INTEGER * 17, encode('x' || i), ['a', 'b' || i] FROM range(1, 61) r(i);
            """
        )


def make_files(folder: Path) -> None:
    """CSV files: a header whose names differ only by case, and two files that are one table."""
    folder.mkdir()
    rows = "".join(f"{n},Name {n % 8},Label {n},{n * 3}\n" for n in range(1, 50))
    (folder / "Orders.csv").write_text("id,Name,name,total\n" + rows, encoding="utf-8")
    (folder / "orders.csv").write_text("id,other\n1,x\n", encoding="utf-8")
    (folder / "latin.csv").write_bytes("id,city\n1,M\xfcnchen\n".encode("latin-1"))

"""One small shop, written as every kind of source that a build reads."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import duckdb

SHOP = """
CREATE TYPE channel AS ENUM ('web', 'shop', 'phone');
CREATE TABLE customer (
    customer_id INTEGER PRIMARY KEY, full_name VARCHAR NOT NULL, birth_date DATE, loyal BOOLEAN, tags VARCHAR[]);
CREATE TABLE purchase (
    purchase_id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customer (customer_id), bought_at TIMESTAMP,
    total DECIMAL(9, 2), via channel, weight DOUBLE);
INSERT INTO customer SELECT i,
    ['Ana', 'Bela', 'Cato', 'Dora', 'Emil', 'Fay'][1 + i % 6] || ' ' || ['Stone', 'Marsh', 'Hill', 'Vale'][1 + i % 4],
    DATE '1950-01-01' + (i * 397)::INTEGER, i % 3 = 0, CASE WHEN i % 2 = 0 THEN ['new', 'mail'] ELSE ['old'] END
FROM range(1, 13) r(i);
INSERT INTO purchase SELECT i, 1 + (i * i) % 11, TIMESTAMP '2022-01-01 08:00:00' + INTERVAL (i * 53) HOUR,
    (i * 7.35)::DECIMAL(9, 2), (['web', 'shop', 'phone'][1 + i % 3])::channel, i * 0.3
FROM range(1, 121) r(i);
"""


def duckdb_shop(path: Path) -> Path:
    with duckdb.connect(path) as connection:
        connection.execute(SHOP)
    return path


def parquet_shop(folder: Path) -> Path:
    folder.mkdir(parents=True)
    with duckdb.connect() as connection:
        connection.execute(SHOP)
        for table in ("customer", "purchase"):
            connection.execute(f"COPY {table} TO '{folder}/{table}.parquet'")
    return folder


def csv_shop(folder: Path) -> Path:
    folder.mkdir(parents=True)
    with duckdb.connect() as connection:
        connection.execute(SHOP)
        for table, columns in (("customer", "* EXCLUDE (tags)"), ("purchase", "*")):
            connection.execute(f"COPY (SELECT {columns} FROM {table}) TO '{folder}/{table}.csv' (HEADER)")
    return folder


def coded_sqlite(path: Path) -> Path:
    """A stable of horses whose names say little: `hrs(hid, nm, brd, ht_cm)` and `rce(rid, hid, yr, plc)`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            """
            CREATE TABLE hrs (hid INTEGER PRIMARY KEY, nm TEXT, brd TEXT, ht_cm REAL);
            CREATE TABLE rce (rid INTEGER PRIMARY KEY, hid INTEGER REFERENCES hrs(hid), yr INTEGER, prz REAL, st TEXT);
            """
        )
        names = ["Alto", "Bolt", "Cloud", "Dusty", "Ember", "Flash", "Ghost", "Hazel", "Iris", "Jet"]
        breeds = ["Arab", "Friesian", "Hanover"]
        connection.executemany(
            "INSERT INTO hrs VALUES (?,?,?,?)",
            [(n, f"{names[n % 10]} {chr(65 + n)}", breeds[n % 3], 140 + 1.5 * n) for n in range(1, 21)],
        )
        connection.executemany(
            "INSERT INTO rce VALUES (?,?,?,?,?)",
            [(n, 1 + (n * n) % 17, 2015 + n % 8, 100 + 12.5 * n, "WFD"[n % 3]) for n in range(1, 81)],
        )
        connection.commit()
    return path


def spider_layout(root: Path) -> Path:
    """`database/stable/stable.sqlite` and `tables.json` with Spider's natural names."""
    coded_sqlite(root / "database" / "stable" / "stable.sqlite")
    entry = {
        "db_id": "stable",
        "table_names_original": ["hrs", "rce"],
        "table_names": ["race horse", "race"],
        "column_names_original": [
            [-1, "*"], [0, "hid"], [0, "nm"], [0, "brd"], [0, "ht_cm"],
            [1, "rid"], [1, "hid"], [1, "yr"], [1, "prz"], [1, "st"],
        ],
        "column_names": [
            [-1, "*"], [0, "horse id"], [0, "stable name"], [0, "breed"], [0, "height"],
            [1, "race id"], [1, "horse id"], [1, "race year"], [1, "prize money"], [1, "finish"],
        ],
        "column_types": ["text", "number", "text", "text", "number", "number", "number", "number", "number", "text"],
        "primary_keys": [1, 5],
        "foreign_keys": [[6, 1]],
    }  # fmt: skip
    (root / "tables.json").write_text(json.dumps([entry]))
    return root


def bird_layout(root: Path) -> Path:
    """`stable/stable.sqlite` beside `database_description/*.csv`, as BIRD has them."""
    coded_sqlite(root / "stable" / "stable.sqlite")
    folder = root / "stable" / "database_description"
    folder.mkdir()
    head = "original_column_name,column_name,column_description,data_format,value_description\n"
    (folder / "hrs.csv").write_text(
        head + "hid,horse id,id of the horse,integer,\nnm,stable name,what it is called,text,\n"
        "brd,breed,its breed,text,\nht_cm,height,height at the withers,real,\n"
    )
    (folder / "rce.csv").write_text(
        head + "rid,race id,id of the race,integer,\nhid,horse id,the horse,integer,\n"
        "yr,race year,when it was run,integer,\nprz,prize money,what was won,real,\n"
        'st,finish,how it ended,text,"W: won\nF: finished\nD: did not finish"\n'
    )
    return root

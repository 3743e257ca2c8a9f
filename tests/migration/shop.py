"""A small shop in SQLite and DuckDB, and what is asked of it; migrations change it afterwards."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import polars as pl

from agro_data.databases.discovery.catalog import find_databases
from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.databases.types import Database, Dialect
from agro_data.hashing import stable_hash
from agro_data.profiling.profiler import profile_database
from agro_data.records import ANSWERABLE, EXAMPLE
from agro_data.sql.facts import sql_facts

SCHEMA = """
CREATE TABLE customer (customer_id INTEGER PRIMARY KEY, full_name TEXT NOT NULL, city TEXT, birth_year INTEGER,
                       cust_cd TEXT);
CREATE TABLE product (product_id INTEGER PRIMARY KEY, title TEXT NOT NULL, category TEXT, price REAL, height INTEGER,
                      width INTEGER);
CREATE TABLE stock (product_id INTEGER PRIMARY KEY, shelf TEXT, amount INTEGER);
CREATE TABLE purchase (purchase_id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL, product_id INTEGER NOT NULL,
                       quantity INTEGER, day TEXT, status TEXT);
CREATE TABLE staff (staff_id INTEGER PRIMARY KEY, name TEXT NOT NULL, boss_id INTEGER);
"""

ASKED = {
    "in_paris": ("Which customers live in Paris?", "SELECT full_name FROM customer WHERE city = 'Paris'"),
    "per_city": ("How many customers live in each city?", "SELECT city, COUNT(*) FROM customer GROUP BY city"),
    "dear": ("Which products cost more than 50?", "SELECT title FROM product WHERE price > 50"),
    "tall": ("Which products have a height above 30?", "SELECT title, height FROM product WHERE height > 30"),
    "wider": ("Which products are wider than high?", "SELECT title FROM product WHERE width > height"),
    "per_shelf": ("How many articles lie on each shelf?", "SELECT shelf, SUM(amount) FROM stock GROUP BY shelf"),
    "shelf_of": (
        "On which shelf are the products of which more than 20 are there?",
        "SELECT T1.title, T2.shelf FROM product AS T1 JOIN stock AS T2 ON T1.product_id = T2.product_id "
        "WHERE T2.amount > 20",
    ),
    "open": (
        "How many open purchases does each customer have?",
        "SELECT T1.full_name, COUNT(*) FROM customer AS T1 JOIN purchase AS T2 ON T1.customer_id = T2.customer_id "
        "WHERE T2.status = 'open' GROUP BY T1.customer_id, T1.full_name",
    ),
    "unsold": (
        "Which products were never bought?",
        "SELECT title FROM product WHERE product_id NOT IN (SELECT product_id FROM purchase)",
    ),
    "units": (
        "How many units of each category were bought?",
        "SELECT category, SUM(quantity) FROM product JOIN purchase USING (product_id) GROUP BY category",
    ),
    "bosses": (
        "Who is the boss of each member of staff?",
        "SELECT a.name, b.name FROM staff AS a JOIN staff AS b ON a.boss_id = b.staff_id",
    ),
    "aliased": (
        "Who was born before 1970?",
        "SELECT product.full_name FROM customer AS product WHERE product.birth_year < 1970",
    ),
    "codes": ("What is the cust_cd of those born after 1990?", "SELECT cust_cd FROM customer WHERE birth_year > 1990"),
    "big_cities": (
        "Which cities have more than four customers?",
        "SELECT s.city FROM (SELECT city, COUNT(*) AS n FROM customer GROUP BY city) AS s WHERE s.n > 4",
    ),
}


def contents() -> list[str]:
    """INSERTs that both engines read; the same every time."""
    chance = random.Random(20)
    found: list[str] = []
    for n in range(1, 31):
        city = ("Paris", "Rome", "Oslo", "Bonn", "Paris", "Bern")[chance.randrange(6)]
        row = (
            n,
            f"{chance.choice(FIRST)} {chance.choice(LAST)}",
            city,
            chance.randrange(1950, 2005),
            f"C{n * 37 % 997}",
        )
        found.append(f"INSERT INTO customer VALUES {row}")
    for n in range(1, 26):
        size = chance.randrange(10, 60), chance.randrange(5, 70)
        row = (n, f"{chance.choice(THINGS)} {n}", chance.choice(KINDS), chance.randrange(100, 9900) / 100, *size)
        found.append(f"INSERT INTO product VALUES {row}")
        found.append(f"INSERT INTO stock VALUES {(n, chance.choice(SHELVES), chance.randrange(0, 40))}")
    for n in range(1, 81):
        day = f"2024-{chance.randrange(1, 13):02d}-{chance.randrange(1, 28):02d}"
        status = chance.choice(("open", "paid", "void"))
        row = (n, chance.randrange(1, 31), chance.randrange(1, 20), chance.randrange(1, 9), day, status)
        found.append(f"INSERT INTO purchase VALUES {row}")
    for n, name in enumerate(FIRST, 1):
        found.append(f"INSERT INTO staff VALUES ({n}, '{name}', {'NULL' if n == 1 else n // 2})")
    return found


FIRST = ("Ana", "Ben", "Cleo", "Dan", "Eva", "Finn", "Gus", "Hal", "Ida", "Jon")
LAST = ("Marsh", "Stone", "Hill", "Vale", "Ford", "Reed")
THINGS = ("Lamp", "Chair", "Desk", "Shelf", "Vase")
SHELVES = ("upper", "lower", "cellar")
KINDS = ("home", "office", "garden")


def make_shop(folder: Path, dialect: Dialect, changes: Sequence[str] = ()) -> Database:
    """The shop as it was, then `changes` one after the other."""
    folder.mkdir(parents=True, exist_ok=True)
    statements = [*SCHEMA.strip().split(";\n"), *contents(), *changes]
    if dialect == "sqlite":
        path = folder / "shop.sqlite"
        with closing(sqlite3.connect(path)) as connection:
            for statement in filter(str.strip, statements):
                connection.execute(statement)
            connection.commit()
    else:
        path = folder / "shop.duckdb"
        with duckdb.connect(path) as connection:
            for statement in filter(str.strip, statements):
                connection.execute(statement)
    return find_databases(path).databases[0]


def rows(database: Database, sandbox: Sandbox, asked: dict[str, tuple[str, str]] = ASKED) -> dict[str, dict[str, Any]]:
    """Rows of `records.EXAMPLE` for what is asked, by their names, as a build on `database` would have stored them."""
    schema = profile_database(database).schema
    found: dict[str, dict[str, Any]] = {}
    results = sandbox.run(database, [sql for _, sql in asked.values()])
    for (name, (question, sql)), result in zip(asked.items(), results, strict=True):
        assert result.ok, (name, result.error)
        facts = sql_facts(sql, database.dialect, schema)
        found[name] = {
            "example_id": stable_hash([database.content_hash, database.dialect, sql, question, None])[:16],
            "db_id": database.db_id,
            "dialect": database.dialect,
            "split": "train",
            "question": question,
            "style": "interrogative",
            "evidence": None,
            "sql": sql,
            **facts.stored(),
            "steps": [{"name": "answer", "intent": question, "sql": sql, "inputs": [], "columns": list(facts.columns)}],
            "order_matters": facts.order_matters,
            "tie_policy": "none",
            "alternatives": [],
            "result_digest": result.digest_if(facts.order_matters),
            "result_rows": result.row_count,
            "result_columns": result.column_count,
            "instances": [],
            "mutants_total": 0,
            "mutants_killed": 0,
            "mutants_equivalent": 0,
            "mutants_undecided": 0,
            "alignment_method": "construction",
            "alignment_score": 1.0,
            "plausibility": 0.5,
            "generator": "hand",
            "seed": 0,
        }
    plain = pl.Schema({name: kind for name, kind in EXAMPLE.items() if name not in ANSWERABLE})
    whole = pl.DataFrame(list(found.values()), schema=plain).with_columns(**ANSWERABLE)
    return dict(zip(found, whole.to_dicts(), strict=True))

"""A small shop, built in SQLite and DuckDB, with a profile whose figures are computed from its rows."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from random import Random

import duckdb

from agro_data.databases.types import Dialect
from agro_data.profiling.profile import (
    ColumnProfile,
    DatabaseProfile,
    ForeignKey,
    Kind,
    Metric,
    Role,
    TableProfile,
)

# table -> (singular, plural, kind, labels, columns as (name, type, role, kind))
_TABLES: dict[str, tuple[str, str, str, tuple[str, ...], tuple[tuple[str, str, Role, Kind], ...]]] = {
    "categories": ("category", "categories", "lookup", ("name",), (
        ("category_id", "INTEGER", "identifier", "integer"), ("name", "TEXT", "text", "text"))),
    "employees": ("employee", "employees", "entity", ("first_name", "last_name"), (
        ("employee_id", "INTEGER", "identifier", "integer"), ("first_name", "TEXT", "text", "text"),
        ("last_name", "TEXT", "text", "text"), ("manager_id", "INTEGER", "identifier", "integer"),
        ("salary", "DOUBLE", "measure", "real"), ("hired", "DATE", "date", "date"),
        ("city", "TEXT", "category", "text"))),
    "customers": ("customer", "customers", "entity", ("name",), (
        ("customer_id", "INTEGER", "identifier", "integer"), ("name", "TEXT", "text", "text"),
        ("city", "TEXT", "category", "text"), ("birth_year", "INTEGER", "year", "integer"),
        ("is_member", "BOOLEAN", "boolean", "boolean"), ("notes", "TEXT", "free_text", "text"))),
    "products": ("product", "products", "entity", ("title",), (
        ("product_id", "INTEGER", "identifier", "integer"), ("title", "TEXT", "text", "text"),
        ("category_id", "INTEGER", "identifier", "integer"), ("unit price", "DOUBLE", "measure", "real"),
        ("min_stock", "INTEGER", "measure", "integer"), ("max_stock", "INTEGER", "measure", "integer"))),
    "order": ("order", "orders", "event", (), (
        ("order_id", "INTEGER", "identifier", "integer"), ("customer_id", "INTEGER", "identifier", "integer"),
        ("employee_id", "INTEGER", "identifier", "integer"), ("ordered", "DATE", "date", "date"),
        ("status", "TEXT", "category", "text"), ("total", "DOUBLE", "measure", "real"))),
    "order_items": ("order item", "order items", "bridge", (), (
        ("order_id", "INTEGER", "identifier", "integer"), ("product_id", "INTEGER", "identifier", "integer"),
        ("quantity", "INTEGER", "measure", "integer"), ("price", "DOUBLE", "measure", "real"))),
}  # fmt: skip
_KEYS = {
    "categories": ("category_id",), "employees": ("employee_id",), "customers": ("customer_id",),
    "products": ("product_id",), "order": ("order_id",), "order_items": ("order_id", "product_id"),
}  # fmt: skip
_REFERENCES = (
    ("employees", "manager_id", "employees", "employee_id"), ("products", "category_id", "categories", "category_id"),
    ("order", "customer_id", "customers", "customer_id"), ("order", "employee_id", "employees", "employee_id"),
    ("order_items", "order_id", "order", "order_id"), ("order_items", "product_id", "products", "product_id"),
)  # fmt: skip


def rows(seed: int = 7) -> dict[str, list[tuple[object, ...]]]:
    rng = Random(seed)
    cities = ["Lyon", "Oslo", "New York", "Porto", "Ghent"]
    first = ["Ada", "Ben", "Cleo", "Dan", "Eva", "Finn", "Gus", "Hana", "Ivo", "Jo", "O'Neil", "Léa"]
    last = ["Moss", "Reed", "Stone", "Park", "Lake", "Hill"]

    def day(low: int, high: int) -> str:
        return f"{rng.randint(low, high)}-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d}"

    categories = [(i, n) for i, n in enumerate(["Books", "Toys", "Garden", "Music", "Sports"], 1)]
    employees = [
        (i, first[i % 12], last[i % 6], None if i < 3 else rng.randint(1, min(i - 1, 5)),
         round(rng.uniform(1500, 6000), 2), day(2010, 2022), rng.choice(cities))
        for i in range(1, 16)
    ]  # fmt: skip
    customers = [
        (i, f"{rng.choice(first)} {rng.choice(last)} {i}", rng.choice(cities[:4]), rng.randint(1950, 2004),
         i % 3 == 0, f"Prefers {rng.choice(['mail', 'phone'])} at {rng.choice(['home', 'work'])}." if i % 2 else None)
        for i in range(1, 41)
    ]  # fmt: skip
    products = [
        (i, f"{rng.choice(['Red', 'Big', 'Old', 'Fast'])} {rng.choice(['Kite', 'Drum', 'Novel', 'Spade'])} {i}",
         rng.randint(1, 4), round(rng.uniform(2, 90), 2), rng.randint(0, 20), rng.randint(21, 90))
        for i in range(1, 31)
    ]  # fmt: skip
    orders = [
        (i, rng.randint(1, 33), rng.randint(3, 12), day(2019, 2023), rng.choice(["open", "paid", "paid", "sent"]),
         round(rng.uniform(5, 900), 2))
        for i in range(1, 121)
    ]  # fmt: skip
    items = [
        (o, p, rng.randint(1, 9), round(rng.uniform(2, 90), 2))
        for o in range(1, 121)
        for p in rng.sample(range(1, 26), 2)
    ]
    return {"categories": categories, "employees": employees, "customers": customers, "products": products,
            "order": orders, "order_items": items}  # fmt: skip


def build_sqlite(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path)
    for statement in _ddl():
        connection.execute(statement)
    for table, body in rows().items():
        marks = ", ".join("?" * len(body[0]))
        connection.executemany(f'INSERT INTO "{table}" VALUES ({marks})', body)
    connection.commit()
    return connection


def build_duckdb() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(config={"threads": 1})  # with more, which of two tied groups a LIMIT keeps varies
    for statement in _ddl():
        connection.execute(statement)
    for table, body in rows().items():
        marks = ", ".join("?" * len(body[0]))
        connection.executemany(f'INSERT INTO "{table}" VALUES ({marks})', body)
    return connection


def _ddl() -> list[str]:
    made = []
    for table, (_, _, _, _, columns) in _TABLES.items():
        body = ", ".join(f'"{name}" {kind}' for name, kind, _, _ in columns)
        made.append(f'CREATE TABLE "{table}" ({body})')
    return made


def profile(dialect: Dialect = "sqlite") -> DatabaseProfile:
    data = rows()
    tables = tuple(
        TableProfile(
            name=table,
            rows=len(data[table]),
            columns=tuple(_column(spec, [row[i] for row in data[table]]) for i, spec in enumerate(columns)),
            singular=singular,
            plural=plural,
            primary_key=_KEYS[table],
            label_columns=labels,
            kind=kind,  # type: ignore[arg-type]
            sample_rows=tuple(data[table][:300]),  # type: ignore[arg-type]
        )
        for table, (singular, plural, kind, labels, columns) in _TABLES.items()
    )
    keys = tuple(ForeignKey(a, (b,), c, (d,)) for a, b, c, d in _REFERENCES)
    revenue = Metric("revenue", "order_items", "SUM(quantity * price)", "Revenue is the sum of quantity times price.")
    return DatabaseProfile("shop", dialect, "0" * 64, tables, keys, (revenue,))


def _column(spec: tuple[str, str, Role, Kind], values: list[object]) -> ColumnProfile:
    name, declared, role, kind = spec
    known = sorted(v for v in values if v is not None)  # type: ignore[type-var]
    counts: dict[object, int] = {}
    for value in known:
        counts[value] = counts.get(value, 0) + 1
    ordered = role in ("measure", "year", "date")
    return ColumnProfile(
        name=name,
        declared_type=declared,
        kind=kind,
        role=role,
        phrase=name.replace("_", " "),
        null_share=1 - len(known) / len(values),
        distinct=len(counts),
        unique=len(counts) == len(known),
        minimum=known[0],  # type: ignore[arg-type]
        maximum=known[-1],  # type: ignore[arg-type]
        quantiles=tuple(known[(len(known) - 1) * i // 10] for i in range(11)) if ordered else (),  # type: ignore[misc]
        common=tuple(sorted(counts.items(), key=lambda item: (-item[1], str(item[0])))[:50]),  # type: ignore[arg-type]
        date_format="iso" if role == "date" else "",
        integral=all(isinstance(v, int) for v in known),
    )

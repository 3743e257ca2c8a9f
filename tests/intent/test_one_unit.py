"""Amounts in several currencies: shown as they are, summed and compared only in one."""

from __future__ import annotations

import hashlib
import sqlite3
from itertools import islice
from pathlib import Path
from random import Random

import pytest

from agro_data.databases.types import Database
from agro_data.intent.questions import render_question
from agro_data.intent.rendering.to_sql import render_sql
from agro_data.intent.sampling.atlas import Atlas
from agro_data.intent.sampling.one_unit import mixes_units
from agro_data.intent.sampling.plausibility import plausibility
from agro_data.intent.sampling.sample import sample_intents
from agro_data.profiling.profile import DatabaseProfile
from agro_data.profiling.profiler import profile_database
from agro_data.synthesis.read_back.reading import Unread, read_intent

_SCRIPT = """
CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE bills (id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customers(id), total REAL, tax REAL,
  pages INTEGER, currency TEXT, issued TEXT);
CREATE TABLE bookings (id INTEGER PRIMARY KEY, side TEXT, amount REAL, purpose TEXT);
CREATE TABLE lines (bill_id INTEGER REFERENCES bills(id), number INTEGER, amount REAL, PRIMARY KEY (bill_id, number));
"""


@pytest.fixture(scope="module")
def bills(tmp_path_factory: pytest.TempPathFactory) -> DatabaseProfile:
    path = tmp_path_factory.mktemp("bills") / "bills.sqlite"
    rng = Random(1)
    with sqlite3.connect(path) as connection:
        connection.executescript(_SCRIPT)
        connection.executemany("INSERT INTO customers VALUES (?, ?)", [(n, f"Customer {n}") for n in range(30)])
        rows = [
            (n, rng.randrange(30), n * 7.25 % 900, n % 89 / 2, rng.randrange(2, 50), rng.choice(("EUR", "USD", "JPY")),
             f"20{rng.randrange(20, 25)}-0{rng.randrange(1, 9)}-1{rng.randrange(9)}")
            for n in range(300)
        ]  # fmt: skip
        connection.executemany("INSERT INTO bills VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
        bookings = [(n, rng.choice("DC"), rng.randrange(900) / 4, rng.choice(("rent", "pay"))) for n in range(90)]
        connection.executemany("INSERT INTO bookings VALUES (?, ?, ?, ?)", bookings)
        lines = [(n, line, rng.randrange(900) / 4) for n in range(300) for line in range(1, 4)]
        connection.executemany("INSERT INTO lines VALUES (?, ?, ?)", lines)
    connection.close()
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return profile_database(Database("bills", "sqlite", "sqlite", path, digest, path.name))


def test_what_is_drawn_is_in_one_currency(bills: DatabaseProfile) -> None:
    found = list(islice(sample_intents(bills, 3), 600))
    sql = [render_sql(intent, bills) for intent in found]
    summed = [text for text in sql if "SUM(total)" in text or "AVG(total)" in text]
    assert summed
    assert any("lines" in text for text in sql)
    assert all("currency = '" in text or "GROUP BY currency" in text for text in summed)
    assert any("(pages)" in text and "currency" not in text for text in sql)
    assert not any(mixes_units(intent.query, bills) for intent in found)
    for intent, text in zip(found, sql, strict=True):
        if text in summed and "currency = '" in text:
            said = render_question(intent, bills, "formal", 1).text
            assert any(code in said for code in ("EUR", "USD", "JPY")), said


def test_the_table_that_says_the_unit_is_joined_where_it_was_not_asked(bills: DatabaseProfile) -> None:
    sql = [render_sql(intent, bills) for intent in islice(sample_intents(bills, 4), 600)]
    summed = [text for text in sql if "SUM(" in text and "amount)" in text and "lines" in text]
    assert any("currency = '" in text for text in summed)


@pytest.mark.parametrize(
    ("sql", "mixed"),
    [
        ("SELECT SUM(total) FROM bills", True),
        ("SELECT SUM(total) FROM bills WHERE currency = 'EUR'", False),
        ("SELECT SUM(total) FROM bills WHERE currency = 'EUR' OR currency = 'USD'", True),
        ("SELECT currency, SUM(total) FROM bills GROUP BY currency", False),
        ("SELECT currency, SUM(total) FROM bills GROUP BY currency ORDER BY SUM(total) DESC LIMIT 1", True),
        ("SELECT currency FROM bills GROUP BY currency HAVING SUM(total) > 90", True),
        ("SELECT issued FROM bills ORDER BY total DESC LIMIT 1", True),
        ("SELECT issued FROM bills WHERE total > 100", True),
        ("SELECT issued FROM bills WHERE total > tax", False),
        ("SELECT issued, total FROM bills WHERE pages > 10", False),
        ("SELECT SUM(pages), COUNT(total) FROM bills", False),
        ("SELECT issued FROM bills WHERE total = (SELECT MAX(total) FROM bills)", True),
        ("SELECT name FROM customers AS c JOIN bills AS b ON b.customer_id = c.id WHERE b.total < 9", True),
        ("SELECT SUM(amount) FROM lines", True),
        ("SELECT SUM(amount) FROM lines AS l JOIN bills AS b ON l.bill_id = b.id", True),
        ("SELECT SUM(amount) FROM lines AS l JOIN bills AS b ON l.bill_id = b.id WHERE b.currency = 'EUR'", False),
        ("SELECT b.id, SUM(amount) FROM lines AS l JOIN bills AS b ON l.bill_id = b.id GROUP BY b.id", False),
        ("SELECT SUM(amount) FROM lines AS l JOIN bills AS b ON l.bill_id = b.id WHERE b.id = 7", False),
        ("SELECT bill_id, SUM(amount) FROM lines GROUP BY bill_id", False),
        ("SELECT number, COUNT(*) FROM lines GROUP BY number", False),
        ("SELECT purpose, SUM(amount) FROM bookings GROUP BY purpose", True),
        ("SELECT side, SUM(amount) FROM bookings GROUP BY side", False),
        ("SELECT AVG(amount) FROM bookings", False),
        ("SELECT purpose FROM bookings WHERE amount > 90", False),
    ],
)
def test_units_are_mixed_where_nothing_holds_them_to_one(sql: str, mixed: bool, bills: DatabaseProfile) -> None:
    intent = read_intent(sql, Atlas(bills))
    assert not isinstance(intent, Unread), intent
    assert mixes_units(intent.query, bills) == mixed
    assert (plausibility(intent.query, bills) == 0) == mixed


def test_no_figures_are_asked_of_rows_of_which_one_is_the_total(tmp_path: Path) -> None:
    path = tmp_path / "census.sqlite"
    parts = [(f"State {n}", 310_407 + 97_003 * n, 20 + n) for n in range(9)]
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE regions (region TEXT, inhabitants INTEGER, altitude INTEGER)")
        whole = ("Republic", sum(people for _, people, _ in parts), 24)
        connection.executemany("INSERT INTO regions VALUES (?, ?, ?)", [*parts, whole])
    connection.close()
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    census = profile_database(Database("census", "sqlite", "sqlite", path, digest, path.name))
    assert any("'Republic' in 'region'" in problem for problem in census.problems)
    sql = [render_sql(intent, census) for intent in islice(sample_intents(census, 1), 200)]
    assert any("inhabitants" in text for text in sql)
    assert not any(f"{name}(inhabitants" in text for text in sql for name in ("SUM", "AVG", "MAX", "MIN"))
    assert not any(f"inhabitants {sign}" in text for text in sql for sign in ("<", ">", "BETWEEN", "DESC"))

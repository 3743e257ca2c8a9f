"""Two keys to one parent: each is called by its role, and what is asked may be of both."""

from __future__ import annotations

import hashlib
import re
import sqlite3
from itertools import islice
from random import Random

import pytest

from agro_data.databases.types import Database
from agro_data.intent.questions import render_question
from agro_data.intent.rendering.to_sql import render_sql
from agro_data.intent.sampling.atlas import Atlas
from agro_data.intent.sampling.sample import sample_intents
from agro_data.profiling.profile import DatabaseProfile
from agro_data.profiling.profiler import profile_database

_SCRIPT = """
CREATE TABLE airports (airport_id INTEGER PRIMARY KEY, name TEXT NOT NULL, city TEXT NOT NULL);
CREATE TABLE flights (flight_id INTEGER PRIMARY KEY, origin_airport_id INTEGER NOT NULL REFERENCES airports,
  destination_airport_id INTEGER NOT NULL REFERENCES airports, minutes INTEGER NOT NULL, cancelled INTEGER NOT NULL,
  departed_at TEXT NOT NULL, domestic INTEGER NOT NULL);
CREATE TABLE bookings (booking_id INTEGER PRIMARY KEY, flight_id INTEGER NOT NULL REFERENCES flights,
  price REAL NOT NULL, seat TEXT NOT NULL);
"""


@pytest.fixture(scope="module")
def flights(tmp_path_factory: pytest.TempPathFactory) -> DatabaseProfile:
    path = tmp_path_factory.mktemp("flights") / "flights.sqlite"
    rng = Random(3)
    cities = ("Oslo", "Rome", "Bern", "Oslo", "Faro", "Lyon", "Bern", "Riga")
    with sqlite3.connect(path) as connection:
        connection.executescript(_SCRIPT)
        airports = [(n, f"{city} {n}", city) for n, city in enumerate(cities)]
        connection.executemany("INSERT INTO airports VALUES (?, ?, ?)", airports)
        trips = [
            (
                n,
                *rng.sample(range(8), 2),
                40 + n * 7 % 300,
                n % 9 == 0,
                f"2024-0{1 + n % 9}-1{n % 7} 10:30:00",
                n % 4 == 0,
            )
            for n in range(120)
        ]
        connection.executemany("INSERT INTO flights VALUES (?, ?, ?, ?, ?, ?, ?)", trips)
        bought = [(n, rng.randrange(120), n * 3.5 % 700, rng.choice(("aisle", "window"))) for n in range(400)]
        connection.executemany("INSERT INTO bookings VALUES (?, ?, ?, ?)", bought)
    connection.close()
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return profile_database(Database("flights", "sqlite", "sqlite", path, digest, path.name))


@pytest.fixture(scope="module")
def asked(flights: DatabaseProfile) -> list[tuple[str, str]]:
    """SQL with its question."""
    found = islice(sample_intents(flights, 3), 500)
    return [(render_sql(one, flights), render_question(one, flights, "formal", n).text) for n, one in enumerate(found)]


def test_both_ends_of_a_flight_are_asked_about(asked: list[tuple[str, str]]) -> None:
    both = [said for sql, said in asked if sql.count("JOIN airports") == 2 and "INTERSECT" not in sql]
    assert len(both) > 5
    assert all("origin airport" in said and "destination airport" in said for said in both)


def test_a_booking_has_the_ends_of_its_flight(flights: DatabaseProfile, asked: list[tuple[str, str]]) -> None:
    keys = {edge.child_columns for edge in Atlas(flights).ways("bookings") if edge.parent == "airports"}
    assert keys == {("origin_airport_id",), ("destination_airport_id",)}
    beyond = [said for sql, said in asked if "bookings" in sql and "airports" in sql]
    assert beyond
    assert all(re.search("(origin|destination) airport", said) for said in beyond)


def test_a_flight_has_its_ends_and_belongs_to_none(asked: list[tuple[str, str]]) -> None:
    owned = "flights? (of|for|that belongs? to) (the |an? )?(origin|destination) airport"
    assert not [said for _, said in asked if re.search(owned, said)]
    assert any(re.search("with (the|an?) (origin|destination) airport", said) for _, said in asked)


def test_flags_are_told_as_people_tell_them(asked: list[tuple[str, str]]) -> None:
    cancelled = [said for sql, said in asked if "cancelled = " in sql]
    assert cancelled
    assert all("cancelled" in said and "cancelled flag" not in said for said in cancelled)
    domestic = [said for sql, said in asked if "domestic = " in sql]
    assert domestic
    assert not [said for said in domestic if "domestic flag" in said]
    assert not [sql for sql, _ in asked if "cancelled <>" in sql or "DISTINCT cancelled" in sql]
    assert any("departure time" in said for _, said in asked)

"""A state that says where another column is NULL: what is proved holds of all rows that keep it."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing

import pytest

from agro_data.populate.schema import ColumnSpec, Schema, TableSpec
from agro_data.profiling.profile import NullRule
from agro_data.verify.proofs import proved_equivalent

RULES = (
    NullRule("shipped", "status", ("pending",), True, False),
    NullRule("damage", "status", ("pending", "sent"), True, False),
    NullRule("died", "alive", (1,), True, True),
)
SCHEMA = Schema(
    "post",
    (
        TableSpec(
            "parcel",
            (
                ColumnSpec("id", "INTEGER", "integer", nullable=False),
                ColumnSpec("status", "TEXT", "text", nullable=False),
                ColumnSpec("shipped", "INTEGER", "integer"),
                ColumnSpec("damage", "INTEGER", "integer"),
                ColumnSpec("alive", "INTEGER", "integer", nullable=False),
                ColumnSpec("died", "INTEGER", "integer"),
            ),
            ("id",),
            checks=('"alive" IN (0, 1)',),
            null_rules=RULES,
        ),
        TableSpec("owner", (ColumnSpec("id", "INTEGER", "integer", nullable=False),), ("id",)),
    ),
    (),
    "",
)
BY_STATE = "SELECT id FROM parcel WHERE {}"
OF_OWNER = "SELECT o.id FROM owner AS o LEFT JOIN parcel AS p ON o.id = p.id WHERE {}"


@pytest.mark.parametrize(
    ("asked", "one", "other", "same"),
    [
        (BY_STATE, "status = 'pending'", "shipped IS NULL", True),
        (BY_STATE, "status <> 'pending'", "shipped IS NOT NULL", True),
        (BY_STATE, "shipped > 3 AND status <> 'pending'", "shipped > 3", True),
        (BY_STATE, "damage > 2 AND status <> 'sent'", "damage > 2", True),
        (BY_STATE, "shipped > 2 AND status <> 'lost'", "shipped > 2", False),
        (BY_STATE, "status = 'sent'", "shipped IS NOT NULL", False),  # or lost
        (BY_STATE, "alive = 0", "died IS NOT NULL", True),
        (BY_STATE, "alive <> 0 OR id = 1", "died IS NULL OR id = 1", True),
        (BY_STATE, "alive = 2", "died IS NOT NULL", False),
        (OF_OWNER, "p.status = 'pending'", "p.shipped IS NULL", False),  # nor has who has no parcel
    ],
)
def test_a_state_is_what_it_says_of_null(asked: str, one: str, other: str, same: bool) -> None:
    first, second = asked.format(one), asked.format(other)
    assert bool(proved_equivalent(first, second, "sqlite", SCHEMA)) is same
    answers = [answer for seed in range(20) for answer in _answers(seed, first, second)]
    assert (answers[::2] == answers[1::2]) is same


def _answers(seed: int, *queries: str) -> list[list[tuple[int]]]:
    chance = random.Random(seed)
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE parcel (id INTEGER PRIMARY KEY, status TEXT, shipped, damage, alive, died)")
        connection.execute("CREATE TABLE owner (id INTEGER PRIMARY KEY)")
        for number in range(1, 12):
            status, alive = chance.choice(("pending", "sent", "lost")), chance.choice((0, 1))
            shipped = None if status == "pending" else chance.randrange(7)
            damage = chance.randrange(7) if status == "lost" else None
            died = None if alive else chance.randrange(7)
            connection.execute(
                "INSERT INTO parcel VALUES (?, ?, ?, ?, ?, ?)", (number, status, shipped, damage, alive, died)
            )
            connection.execute("INSERT INTO owner VALUES (?)", (number + 4,))
        return [sorted(connection.execute(query).fetchall()) for query in queries]

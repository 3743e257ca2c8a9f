"""Bounds that a question counts in and the SQL does not, or the other way round; and what agrees, or may well."""

from __future__ import annotations

import pytest

from agro_data.pairs.question.bounds import check_bounds
from agro_data.sql.names.scope import resolve
from agro_data.sql.parse import parse_select

SCHEMA = {"stall": {"name": "TEXT", "town": "TEXT", "size": "INTEGER"}}
# a phrase, the sign that the SQL has, and the one that is asked for; "" where nothing is said
CASES = [
    ("at least 10", ">", ">="),
    ("at least 10", ">=", ""),
    ("no fewer than 10", ">", ">="),
    ("not less than 10", ">", ">="),
    ("10 or more", ">", ">="),
    ("10 metres or more", ">", ">="),
    ("a minimum of 10", ">", ">="),
    ("ten or more", ">", ">="),
    ("greater than or equal to 10", ">", ">="),
    ("equal to or greater than 10", ">=", ""),
    ("greater or equal to 10", ">", ">="),
    ("more than 10 or equal to it", ">=", ""),
    ("more than 10 or equal to it", ">", ">="),
    ("10 and under 20", "<", ""),
    ("more than 10", ">=", ">"),
    ("more than 10", ">", ""),
    ("over 10", ">=", ">"),
    ("above the age of 10", ">=", ">"),
    ("exceeding 10", ">=", ">"),
    ("at most 10", "<", "<="),
    ("no more than 10", "<", "<="),
    ("up to 10", "<", "<="),
    ("10 or fewer", "<", "<="),
    ("less than or equal to 10", "<", "<="),
    ("fewer than 10", "<=", "<"),
    ("less than ten", "<=", "<"),
    ("below 10", "<=", "<"),
    ("no more than 10", ">", ""),  # what EXCEPT takes away
    ("about 10", ">", ""),
    ("at least 11", ">", ""),  # another number
    ("more than 10, or at least 10,", ">=", ""),
    ("from 10", ">", ""),
]


def _found(question: str, sql: str) -> list[str]:
    names = resolve(parse_select(sql, "sqlite"), "sqlite", SCHEMA)
    return [one.mended for one in check_bounds(question, names, "sqlite")]


@pytest.mark.parametrize(("phrase", "has", "asked"), CASES)
def test_a_bound_is_compared_as_it_is_asked_for(phrase: str, has: str, asked: str) -> None:
    sql = "SELECT town FROM stall WHERE name <> 'x' GROUP BY town HAVING SUM(size) {} 10 LIMIT 10"
    question = f"Which towns have stalls of {phrase} in all?"
    assert _found(question, sql.format(has)) == ([sql.format(asked)] if asked else [])


def test_the_number_may_stand_first() -> None:
    assert _found("Size of at least 10?", "SELECT name FROM stall WHERE 10 < size") == [
        "SELECT name FROM stall WHERE 10 <= size"
    ]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT name FROM stall WHERE size > 9",  # the same of whole numbers
        "SELECT name FROM stall WHERE NOT size > 10",
        "SELECT name FROM stall WHERE size > 10 INTERSECT SELECT name FROM stall WHERE size > 10",  # which of both?
        "SELECT name FROM stall WHERE size = 10",
    ],
)
def test_in_doubt_nothing(sql: str) -> None:
    assert _found("Which are at least 10?", sql) == []


def test_large_numbers() -> None:
    for said in ("1,500,000", "1.5 million", "$1500000"):
        assert _found(f"Size of over {said}, by name", "SELECT name FROM stall WHERE size >= 1500000") == [
            "SELECT name FROM stall WHERE size > 1500000"
        ]

"""Diverse trajectories cover more than random ones, every stratum has its share, and a seed gives the same choice."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from agro_train.trajectories.selection import choose, hybrid_vectors
from agro_train.trajectories.store import TRAJECTORY


def trajectory(number: int, sql: str, thought: str, hardness: str = "easy", features: tuple[str, ...] = ()) -> dict:
    ran = {"error_class": "", "learnt": True}
    turns = [
        {"thought": thought, "action": "sql", "text": sql, "observation": "x\n1", **ran},
        {"thought": "It is done.", "action": "solution", "text": sql, "observation": None, **ran},
    ]
    return {
        "trajectory_id": f"{number:016x}",
        "example_id": f"{number:016x}",
        "db_id": "shop",
        "split": "train",
        "hardness": hardness,
        "features": list(features),
        "turns": turns,
        "prompt": "Which?",
        "transcript": sql,
    }


@pytest.fixture
def rows() -> pl.DataFrame:
    """Two hundred of one kind, ten of ten others: a random choice of twelve sees few of the latter."""
    common = [trajectory(n, f"SELECT name FROM pet WHERE age > {n}", "Give the names.") for n in range(200)]
    rare = [
        trajectory(200 + n, f"SELECT {word}(weight) FROM visit GROUP BY {word}", f"Give the {word} of the weights.")
        for n, word in enumerate(("AVG", "MAX", "MIN", "SUM", "COUNT", "TOTAL", "LENGTH", "UPPER", "LOWER", "ABS"))
    ]
    return pl.DataFrame(common + rare, schema=TRAJECTORY)


def test_literals_are_masked(rows: pl.DataFrame) -> None:
    vectors = hybrid_vectors(rows, None)
    assert np.array_equal(vectors[0], vectors[199])
    assert not np.array_equal(vectors[0], vectors[200])


def test_diverse_covers_more_than_random(rows: pl.DataFrame) -> None:
    vectors = hybrid_vectors(rows, None)
    chosen = choose(rows, vectors, 12, seed=0)
    assert len(set(chosen.rows)) == 12
    assert chosen.rows == sorted(chosen.rows)
    assert sum(row >= 200 for row in chosen.rows) == 10
    assert chosen.radius.largest < chosen.random.largest
    assert chosen == choose(rows, vectors, 12, seed=0)
    at_random = choose(rows, vectors, 12, seed=0, diverse=False)
    assert at_random.radius == at_random.random


def test_every_stratum_has_a_part_and_more_than_there_are_gives_all() -> None:
    frame = pl.DataFrame(
        [
            *(trajectory(n, f"SELECT {n}", "a") for n in range(40)),
            trajectory(40, "SELECT a", "b", "hard"),
            trajectory(41, "SELECT b", "c", "easy", ("wrong_query",)),
        ],
        schema=TRAJECTORY,
    )
    vectors = hybrid_vectors(frame, None)
    chosen = choose(frame, vectors, 5, seed=1)
    assert {40, 41} <= set(chosen.rows)
    assert sum(chosen.strata.values()) == 5
    assert choose(frame, vectors, 100, seed=1).rows == list(range(42))


def test_fewer_than_there_are_strata_are_not_those_that_were_made_first(rows: pl.DataFrame) -> None:
    """Of nine strata with one of each kind that is rare, and two hundred that are alike."""
    kinds = [f"kind {number % 9}" for number in range(rows.height)]
    mixed = rows.with_columns(hardness=pl.Series(kinds, dtype=pl.String))
    vectors = hybrid_vectors(mixed, None)
    chosen = choose(mixed, vectors, 4, seed=0)
    assert len(chosen.rows) == sum(chosen.strata.values()) == 4
    assert sum(row >= 200 for row in chosen.rows) == 3
    assert chosen.radius.mean < chosen.random.mean

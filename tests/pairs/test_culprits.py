"""A pair that the checks fail on, which is a fault of theirs, costs no other pair anything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import cast

import pytest
import sqlglot
from hypothesis import given
from hypothesis import strategies as st
from pairs.market import duckdb_market, sqlite_market, write_pairs
from sqlglot import exp

from agro_data.databases.discovery.catalog import find_databases
from agro_data.databases.hostile.sandbox import own_sandbox
from agro_data.databases.types import Dialect
from agro_data.evaluation.load import load_pairs
from agro_data.evaluation.loaded import Loaded, Pair
from agro_data.pairs.checking import check_pairs
from agro_data.pairs.culprits import by_halves
from agro_data.pairs.verify import SOURCE, verify_pairs
from agro_data.profiling.profiler import profile_database

ASKED = [
    ("Towns of stalls?", "SELECT town FROM stall ORDER BY town"),
    ("Names?", "SELECT nane FROM stall"),
    ("How many sales in 2021?", "SELECT COUNT() FROM sale WHERE day LIKE '2021%'"),
    ("Days?", "SELECT day FROM sale"),
]


@given(st.lists(st.integers(0, 30), max_size=25), st.sets(st.integers(0, 30), max_size=4))
def test_only_culprits_are_without_an_answer(items: list[int], culprits: set[int]) -> None:
    def doubled(some: Sequence[int]) -> list[int]:
        assert not culprits.intersection(some)
        return [2 * one for one in some]

    pieces = list(by_halves(doubled, items))
    assert [place for piece in pieces for place in piece.places] == list(range(len(items)))
    for piece in pieces:
        some = [items[place] for place in piece.places]
        if piece.answer is None:
            assert len(some) == 1
            assert some[0] in culprits
            assert "AssertionError" in piece.fault
        else:
            assert piece.answer == [2 * one for one in some]


def test_what_the_machine_is_to_blame_for_is_nobodys_fault() -> None:
    def full(some: Sequence[int]) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        list(by_halves(full, [1, 2]))


def test_a_fault_leaves_its_own_pair_unchecked(tmp_path: Path) -> None:
    place = sqlite_market(tmp_path / "d")
    loaded = load_pairs(write_pairs(tmp_path / "a.json", ASKED))
    spoilt = replace(loaded.pairs[2], alternatives=(cast(str, None),))  # which no reader gives, so no check expects it
    broken = Loaded((*loaded.pairs[:2], spoilt, *loaded.pairs[3:]))
    whole, found = (verify_pairs(one, place, cache=tmp_path / "cache", workers=1) for one in (loaded, broken))
    assert [one.unchecked != "" for one in found.checked] == [False, False, True, False]
    assert found.checked[2].unchecked.startswith("a fault of agro: TypeError: ")
    assert [one.findings for one in found.checked if not one.unchecked] == [
        one.findings for place, one in enumerate(whole.checked) if place != 2
    ]
    assert len(found.problems) == 1
    assert not any(one.unchecked for one in whole.checked)


# Of these, parts stand in the place of parts of others: statements that run, and that nobody would write.
WRITTEN = (
    "SELECT s.name, COUNT(*) AS n FROM stall AS s JOIN sale AS x ON s.stall_id = x.stall_id GROUP BY s.name HAVING "
    "COUNT(*) > 1 ORDER BY n DESC, s.name LIMIT 2",
    "SELECT name FROM stall WHERE stall_id IN (SELECT stall_id FROM sale WHERE amount > 7.5) AND town <> 'Hull'",
    "SELECT town, AVG(opened) FROM stall WHERE opened BETWEEN 1990 AND 2005 OR name LIKE 'P%' GROUP BY town",
    "SELECT DISTINCT day FROM sale UNION SELECT name FROM stall EXCEPT SELECT note FROM sale WHERE note IS NOT NULL",
    "WITH big AS (SELECT stall_id, SUM(amount) AS total FROM sale GROUP BY stall_id) SELECT s.name FROM stall AS s "
    "LEFT JOIN big AS b ON s.stall_id = b.stall_id WHERE b.total = (SELECT MAX(total) FROM big)",
    "SELECT name, ROW_NUMBER() OVER (PARTITION BY town ORDER BY opened DESC) AS place FROM stall",
    "SELECT COUNT(), COUNT(DISTINCT town), MAX(opened) - MIN(opened), COUNT(*) FILTER (WHERE opened > 2000) FROM stall",
    "SELECT CASE WHEN amount > 10 THEN 'much' ELSE NULL END, CAST(amount AS INTEGER) / 2, amount * 2 || 'x' FROM sale",
    "SELECT name FROM stall AS s WHERE NOT EXISTS (SELECT 1 FROM sale AS x WHERE x.stall_id = s.stall_id AND x.day > "
    "'2020-06-01') ORDER BY LOWER(name)",
)


def spliced(trees: Sequence[exp.Expr], chance: Random, dialect: Dialect) -> str:
    """One of the statements, with one to three parts of others in the place of parts of the same kind."""
    tree = chance.choice(trees).copy()
    for _ in range(chance.choice((1, 1, 2, 3))):
        part = chance.choice([node for node in tree.walk() if node.parent is not None])
        given = [node for node in chance.choice(trees).walk() if node.arg_key == part.arg_key]
        if given:
            part.replace(chance.choice(given).copy())
    return tree.sql(dialect)


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
def test_what_nobody_would_write_is_checked(tmp_path: Path, dialect: Dialect) -> None:
    place = sqlite_market(tmp_path) if dialect == "sqlite" else duckdb_market(tmp_path)
    (database,) = find_databases(place).databases
    trees = [sqlglot.parse_one(sql, dialect=dialect) for sql in WRITTEN]
    chance = Random(0)
    pairs = [Pair("", "market", "How many are there?", spliced(trees, chance, dialect)) for _ in range(300)]
    found = check_pairs(database, profile_database(database), pairs, own_sandbox(SOURCE))
    assert found.faults == {}
    assert len(found.results) > 40

"""Intents on engines: every SQL and step runs, and engines and renderings give the same rows."""

from __future__ import annotations

import sqlite3
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agro_data.intent.rendering.renderings import renderings
from agro_data.intent.rendering.to_sql import render_sql
from agro_data.intent.steps.decompose import MOST, decompose
from agro_data.intent.tree import (
    Intent,
    Query,
)

sys.path.insert(0, str(Path(__file__).parent))
from intent import shop

Fetch = Callable[[str], list[tuple[Any, ...]]]


def fetcher(dialect: str, folder: Path) -> Fetch:
    if dialect == "sqlite":
        shop.build_sqlite(folder / "shop.sqlite").close()
        connection = sqlite3.connect(f"file:{folder / 'shop.sqlite'}?mode=ro", uri=True)
        return lambda sql: connection.execute(sql).fetchall()
    duck = shop.build_duckdb()
    return lambda sql: duck.execute(sql).fetchall()


@pytest.mark.ci
@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
def test_every_sql_and_step_runs_on_its_engine(dialect: str, intents: list[Intent], tmp_path: Path) -> None:
    fetch = fetcher(dialect, tmp_path)
    profile = shop.profile("sqlite" if dialect == "sqlite" else "duckdb")
    empty = 0
    asked = intents if dialect == "sqlite" else intents[::2]
    for intent in asked:
        steps = decompose(intent, profile)
        assert 1 <= len(steps) <= MOST
        assert steps[-1].sql == render_sql(intent, profile)
        known: set[str] = set()
        for step in steps:
            assert set(step.inputs) <= known, intent
            known.add(step.name)
            fetch(step.sql)
        empty += not fetch(steps[-1].sql)
    assert empty < 0.05 * len(asked)


@pytest.mark.ci
def test_both_engines_give_the_same_rows(intents: list[Intent], tmp_path: Path) -> None:
    """Meaning does not depend on the dialect."""
    lite, duck = fetcher("sqlite", tmp_path), fetcher("duckdb", tmp_path)

    def rows(found: list[tuple[Any, ...]]) -> Counter[tuple[str, ...]]:
        def cell(value: Any) -> str:
            if isinstance(value, bool):
                return str(int(value))
            return f"{float(value):.9g}" if isinstance(value, int | float) else str(value)

        return Counter(tuple(cell(v) for v in row) for row in found)

    for intent in intents[::2]:
        a, b = render_sql(intent, shop.profile("sqlite")), render_sql(intent, shop.profile("duckdb"))
        if "UPPER(" in a or "LOWER(" in a:
            continue  # SQLite changes the case of ASCII letters only
        if intent.tie_policy != "total_order":
            assert rows(lite(a)) == rows(duck(b)), f"{a}\n{b}"


def test_renderings_of_one_intent_agree(intents: list[Intent], tmp_path: Path) -> None:
    fetch, profile = fetcher("sqlite", tmp_path), shop.profile()
    compared: Counter[str] = Counter()
    for intent in intents:
        query = intent.query
        options = dict.fromkeys(renderings(query, profile))
        if isinstance(query, Query):
            query = replace(query, limit=None)  # which of equals comes first may differ; verification rejects that
        results = []
        for name in options:
            found = fetch(render_sql(replace(intent, query=query, rendering=name), profile))
            results.append(sorted(found, key=repr))
            compared[name] += 1
        assert all(r == results[0] for r in results), intent
    named = {"in", "exists", "left_join", "join", "set_difference", "group_by_key", "cte", "subquery", "bounds"}
    assert named <= set(compared)

"""Lines of steps: they say all that their queries do, also where a plan's steps are not kept."""

from __future__ import annotations

import sys
from collections import Counter
from contextlib import closing
from pathlib import Path

from making import database_at

from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.intent.rendering.to_sql import render_sql
from agro_data.intent.steps.decompose import decompose
from agro_data.intent.tree import (
    Between,
    Case,
    Comparison,
    InList,
    Intent,
    Like,
    Query,
    Shape,
    Value,
    to_json,
    walk,
)
from agro_data.stages.shard.verified import _steps

sys.path.insert(0, str(Path(__file__).parent))
from intent import shop


def test_the_lines_of_steps_say_all_that_their_queries_do(intents: list[Intent]) -> None:
    """Trajectories think them before the SQL, most without the steps: what no line says a model would not learn."""
    profile = shop.profile()
    shapes: Counter[Shape] = Counter()
    for intent in intents:
        plan = " ".join(step.intent for step in decompose(intent, profile))
        tests = [n for n in walk(intent.query) if isinstance(n, Comparison | Between | Like | InList)]
        for value in (n for n in walk(tests) if isinstance(n, Value)):
            assert str(value.value) in plan, f"{plan}\n{render_sql(intent, profile)}"
        queries = [n for n in walk(intent.query) if isinstance(n, Query)]
        assert not any(q.distinct for q in queries[:1]) or "different " in plan
        assert not any(q.limit for q in queries) or "first" in plan
        for case in (n for n in walk(intent.query) if isinstance(n, Case)):
            assert all(f"{label.value!r} where " in plan for _, label in case.branches)
        shapes[intent.shape] += bool(tests)
    assert len(shapes) > 15


def test_of_a_plan_whose_steps_give_nothing_one_line_is_left_that_says_all(
    intents: list[Intent], tmp_path: Path
) -> None:
    with closing(shop.build_sqlite(tmp_path / "shop.sqlite")) as connection, connection:
        database = database_at(tmp_path / "shop.sqlite")
        for table in shop.profile().tables:
            connection.execute(f'DELETE FROM "{table.name}"')
    plans = {intent: decompose(intent, shop.profile()) for intent in intents[:200]}
    several = {intent: plan for intent, plan in plans.items() if len(plan) > 1}
    records = [{"intent": to_json(intent)} for intent in several]
    with Sandbox(workers=1) as sandbox:
        stored = _steps(records, database, shop.profile(), sandbox)
    lone = [(plan, steps) for plan, steps in zip(several.values(), stored, strict=True) if len(steps) == 1]
    assert len(lone) > 20
    for plan, [step] in lone:
        assert (step["sql"], step["intent"]) == (plan[-1].sql, " ".join(one.intent for one in plan))

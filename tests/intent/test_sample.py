"""The stream of intents: every shape and column comes, no tree twice, and the same seed gives the same stream."""

from __future__ import annotations

import sys
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agro_data.intent.rename import rename_sources
from agro_data.intent.rendering.renderings import rewrite
from agro_data.intent.sampling.plausibility import plausibility
from agro_data.intent.sampling.prior import default_prior
from agro_data.intent.sampling.sample import canonical, identity, sample_intents, touched
from agro_data.intent.tree import (
    Column,
    Intent,
    Join,
    Output,
    Query,
    Shape,
    Source,
    from_json,
    to_json,
)

sys.path.insert(0, str(Path(__file__).parent))
from intent import shop


@pytest.mark.ci
def test_every_shape_is_sampled() -> None:
    many = islice(sample_intents(shop.profile(), seed=2), 2_000)  # the rarest has one in 300
    assert {i.shape for i in many} == set(get_args(Shape))


def test_same_seed_same_stream_and_other_seed_another() -> None:
    first, again = (list(islice(sample_intents(shop.profile(), seed=3), 200)) for _ in range(2))
    other = list(islice(sample_intents(shop.profile(), seed=4), 200))
    assert first == again
    assert {i.query for i in first} != {i.query for i in other}


def test_no_tree_twice_and_round_trip_through_json(intents: list[Intent]) -> None:
    assert len({i.query for i in intents}) == len(intents)
    for intent in intents[:300]:
        assert from_json(to_json(intent)) == intent
        assert canonical(intent.query) == intent.query
        assert rewrite(intent.query, "no such rendering", shop.profile()) == intent.query


def test_what_only_joins_in_another_order_is_the_same_intent() -> None:
    order, customer, shop_ = Source("t1", "orders"), Source("t2", "customer"), Source("t3", "shop")
    bought, sold = Join("t1", "t2", (("customer_id", "id"),)), Join("t1", "t3", (("shop_id", "id"),))
    shown = (Output(Column("t2", "name")), Output(Column("t3", "name")))
    one = Query((order, customer, shop_), shown, (bought, sold))
    other = rename_sources(replace(one, sources=(order, shop_, customer), joins=(sold, bought)), {"t2": "a", "t3": "b"})
    assert canonical(one) != canonical(other)
    assert identity(one) == identity(other)
    assert identity(one) != identity(replace(one, select=shown[::-1]))
    kept = replace(other, joins=(replace(other.joins[0], kind="left"), other.joins[1]))
    assert identity(kept) == canonical(kept)


def test_coverage_reaches_every_column_within_two_hundred() -> None:
    profile = shop.profile()
    used = set().union(*(touched(i.query) for i in islice(sample_intents(profile, seed=5), 200)))
    wanted = {(t.name, c.name) for t in profile.tables for c in t.columns}
    assert not wanted - used


def test_a_tiny_database_ends_the_stream() -> None:
    profile = shop.profile()
    lone = type(profile)("tiny", "sqlite", "1" * 64, (profile.tables[0],))
    found = list(sample_intents(lone, seed=1))
    assert 10 < len(found) < 5000


def test_prior_can_switch_shapes_off_and_names_unknown_ones() -> None:
    only = default_prior().with_shapes({s: 0 for s in get_args(Shape) if s != "having"})
    found = list(islice(sample_intents(shop.profile(), 1, only, coverage=0), 50))
    assert {i.shape for i in found} == {"having"}
    with pytest.raises(ValueError, match="no such shape: jion"):
        default_prior().with_shapes({"jion": 1})


@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 2**31))
def test_plausibility_is_a_share_and_never_depends_on_aliases(seed: int) -> None:
    profile = shop.profile()
    for intent in islice(sample_intents(profile, seed), 20):
        assert 0 < intent.plausibility <= 1
        assert plausibility(intent.query, profile) == intent.plausibility

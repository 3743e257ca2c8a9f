"""Whatever somebody wrote is read, varied and taken apart without a fault that would cost more than itself."""

from __future__ import annotations

from itertools import islice

import pytest
from hostile_corpus import Hostile, hostile
from intent import shop

from agro_data.intent.logs.query_log import Logged
from agro_data.intent.sampling.atlas import Atlas
from agro_data.intent.sampling.prior import default_prior
from agro_data.intent.tree import Intent
from agro_data.sql.parse import SqlRefused
from agro_data.synthesis.decomposition import steps_of
from agro_data.synthesis.ideas import ideas_of_log
from agro_data.synthesis.read_back.reading import Unread, read_intent
from agro_data.synthesis.seeds import seeds_of

LONGEST = 20_000  # characters; the gate reads no more
CASES = [case for case in hostile("sqlite") if len(case.sql) <= LONGEST]
ATLAS = Atlas(shop.profile())


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case)[:40])
def test_nothing_that_is_written_raises(case: Hostile) -> None:
    assert isinstance(read_intent(case.sql, ATLAS), Intent | Unread)
    try:
        steps = steps_of(case.sql, "sqlite", ATLAS.profile.schema)
    except SqlRefused:
        return
    assert steps[-1].sql == case.sql


def test_a_hostile_log_gives_seeds_that_the_gate_has_seen() -> None:
    seeds = seeds_of((Logged(case.sql, "list") for case in CASES), "sqlite", ATLAS.profile.schema).seeds
    ideas = list(islice(ideas_of_log(seeds, ATLAS, default_prior(), 1), 20))
    assert ideas
    assert [idea for idea in ideas if idea.fault] == []

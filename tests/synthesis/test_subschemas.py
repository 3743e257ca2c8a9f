"""Parts of a schema: joinable, and every table and column gets its turn; what a model is asked follows from them."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import islice

import pytest
from intent import shop
from scripted_model import Scripted

from agro_data.intent.sampling.atlas import Atlas
from agro_data.llm.client import Client
from agro_data.llm.types import Failure, Request, Sampling
from agro_data.prompts.vary_query import KINDS
from agro_data.sql.difficulty import COMPLEXITY
from agro_data.synthesis.seeds import Seed
from agro_data.synthesis.subschemas import WINDOW, subschemas
from agro_data.synthesis.writing import queries_wanted, variations_wanted, write_queries

ATLAS = Atlas(shop.profile())


def test_every_column_has_its_turn_before_any_has_another() -> None:
    turns = Counter(part.target for part in islice(subschemas(ATLAS, 1), 2 * len(ATLAS.targets)))
    assert turns == dict.fromkeys(ATLAS.targets, 2)
    shown = Counter(
        (table.name, column.name)
        for part in islice(subschemas(ATLAS, 1), len(ATLAS.targets))
        for table in part.profile.tables
        for column in table.columns
    )
    assert set(shown) >= set(ATLAS.targets), "after one round all have been shown"


def test_a_part_hangs_together_and_is_small() -> None:
    sizes = Counter[int]()
    for part in islice(subschemas(ATLAS, 2), 200):
        names = set(part.tables)
        sizes[len(names)] += 1
        keys = part.profile.foreign_keys
        assert len(names) == 1 or all(any(name in (k.table, k.ref_table) for k in keys) for name in names)
        assert part.target[1] in part.profile.table(part.target[0]).by_name
        assert all(len(table.columns) <= WINDOW + 4 for table in part.profile.tables)
        assert all({*key.columns} <= set(part.profile.table(key.table).by_name) for key in keys)
    assert set(sizes) == {1, 2, 3, 4}


def test_the_same_is_asked_again_and_each_complexity_as_often() -> None:
    wanted = queries_wanted(ATLAS, 40, seed=3)
    assert wanted == queries_wanted(ATLAS, 40, seed=3)
    assert Counter(one.complexity for one in wanted) == dict.fromkeys(COMPLEXITY, 10)
    assert {one.outputs for one in wanted} >= {1, 2}
    assert all(one.column.rpartition(".")[2] in one.schema for one in wanted)


def test_replies_are_ideas_or_have_a_class() -> None:
    def reply(request: Request) -> str | Failure:
        text = request.messages[-1].content
        if "How hard: simple" in text:
            return Failure("timeout", "too slow")
        return "```sql\nSELECT name FROM customers\n```" if "How hard: complex" in text else "```sql\nSELECT 1 +\n```"

    seeds = [Seed("SELECT name FROM customers WHERE city = '?'", "list", 1, ("customers.city",), ())]
    assert [one.kind for one in variations_wanted(ATLAS, seeds, 3, 0)] != ["values"] * 3
    ideas, unwritten = write_queries(Client(Scripted(reply)), ATLAS, seeds, 16, 3, Sampling())
    assert len(ideas) + len(unwritten) == 16
    assert [one.kind for one in unwritten] == ["timeout", "timeout"]
    assert {idea.generator for idea in ideas} >= {"llm:complex", "llm:moderate"}


@pytest.mark.parametrize("count", [1, 3, 6, 8])
def test_every_seed_is_varied_in_every_way_before_any_is_again(count: int) -> None:
    seeds = [Seed(f"SELECT {number}", "list", 1, ("customers.city",), ()) for number in range(count)]
    wanted = variations_wanted(ATLAS, seeds, 2 * len(KINDS) * count, 0)
    assert set(Counter((one.sql, one.kind) for one in wanted).values()) == {2}


def test_what_is_wanted_twice_is_asked_twice() -> None:
    table = ATLAS.profile.table("categories")
    small = Atlas(replace(ATLAS.profile, tables=(table,), foreign_keys=(), metrics=()))
    asked: list[Request] = []

    def reply(request: Request) -> str:
        asked.append(request)
        return "```sql\nSELECT name FROM categories\n```"

    write_queries(Client(Scripted(reply)), small, (), 60, 3, Sampling())
    texts = Counter(request.messages for request in asked)
    assert len(texts) < 60 == len(set(asked))
    assert {request.sample for request in asked} == set(range(max(texts.values())))

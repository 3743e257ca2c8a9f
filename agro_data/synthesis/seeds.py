"""Seeds: the queries of a log, without the values in them, those first that are asked often and bring something new.

An organisation's own queries show what is asked there (ECLAIR, METHODS 4). Nothing of a log but its structure is kept:
names of tables and columns that the database has, what is done with them, and aliases that are plain words.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import log2

import sqlglot

from agro_data.databases.types import Dialect
from agro_data.intent.logs.query_log import Logged
from agro_data.sql.facts import SqlFacts, facts_of
from agro_data.sql.names.scope import Schema
from agro_data.sql.parse import SqlRefused
from agro_data.synthesis.literals import Elsewhere, anonymised
from agro_data.verify.gate import check_statement

OFTEN = 1.0  # what being asked twice as often is worth, in columns or constructs that no seed before has


@dataclass(frozen=True)
class Seed:
    """A query with blanks for its values, how often it was asked with any values, and the shape it is nearest to."""

    sql: str
    shape: str
    count: int
    columns: tuple[str, ...]
    constructs: tuple[str, ...]


@dataclass(frozen=True)
class Seeds:
    """Seeds in the order of their worth; `refused` counts the log's queries that gave none, by reason."""

    seeds: tuple[Seed, ...]
    refused: tuple[tuple[str, int], ...] = ()


def seeds_of(queries: Iterable[Logged], dialect: Dialect, schema: Schema) -> Seeds:
    """One seed for each skeleton among `queries` that this database can answer, ranked by `ranked`."""
    counts: Counter[str] = Counter()
    first: dict[str, tuple[str, str, SqlFacts]] = {}
    refused: Counter[str] = Counter()
    for one in queries:
        try:
            blank = anonymised(one.sql, dialect, schema)
            gate = check_statement(blank, dialect, schema)
        except Elsewhere:
            refused["text_elsewhere"] += 1
            continue
        except (SqlRefused, sqlglot.errors.SqlglotError):
            refused["not_read"] += 1
            continue
        if gate.names is None or not gate.ok:
            refused[gate.reason] += 1
            continue
        facts = facts_of(gate.names, dialect)
        counts[facts.skeleton] += one.times
        first.setdefault(facts.skeleton, (blank, one.shape, facts))
    seeds = [
        Seed(blank, shape, counts[skeleton], facts.columns, facts.constructs)
        for skeleton, (blank, shape, facts) in first.items()
    ]
    return Seeds(tuple(ranked(seeds)), tuple(sorted(refused.items())))


def ranked(seeds: Sequence[Seed]) -> list[Seed]:
    """`seeds` by frequency and coverage: next comes the one that is asked most and covers most that is not covered.

    The worth of a seed is `OFTEN * log2(count)` and one for each of its columns and constructs that no seed before it
    has. It only falls while others are taken, so that a queue of old worths finds the best without asking all again.
    """
    covered: set[str] = set()

    def worth(seed: Seed) -> float:
        return OFTEN * log2(seed.count) + len(_brings(seed) - covered)

    queue = [(-worth(seed), seed.sql, place) for place, seed in enumerate(seeds)]
    heapq.heapify(queue)
    order: list[Seed] = []
    while queue:
        _, sql, place = heapq.heappop(queue)
        now = -worth(seeds[place])
        if queue and (now, sql) > queue[0][:2]:
            heapq.heappush(queue, (now, sql, place))
            continue
        order.append(seeds[place])
        covered |= _brings(seeds[place])
    return order


def _brings(seed: Seed) -> set[str]:
    return {*seed.columns, *seed.constructs}

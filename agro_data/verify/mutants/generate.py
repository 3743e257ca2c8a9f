"""All mutants of a query: every kind of mistake in every SELECT, thinned out, without duplicates.

A kind that offers more than its share keeps the likeliest ones: the lightest (names alike, steps of one), among
equals those that a seed of the query's text picks. `LIMITS` says how many of each kind are kept.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator
from random import Random

from agro_data.databases.types import Dialect
from agro_data.hashing import seed_of
from agro_data.populate.schema import stream
from agro_data.sql.forms.canonical import canonical_sql
from agro_data.sql.names.resolution import Resolution
from agro_data.sql.names.scope import Schema, resolve
from agro_data.sql.parse import parse_select
from agro_data.verify.mutants.conditions import of_conditions
from agro_data.verify.mutants.edit import Edit, Mutant, Parts, Place
from agro_data.verify.mutants.rows import of_rows
from agro_data.verify.mutants.sets import of_sets, of_subqueries
from agro_data.verify.mutants.sources import of_sources
from agro_data.verify.mutants.values import of_values

MOST = 60  # mutants of one query
LIMITS = {
    "column": 16,
    "comparison": 10,
    "literal": 9,
    "aggregate": 6,
    "count": 6,
    "condition_dropped": 8,
    "join_key": 6,
    "group_key": 5,
    "order": 6,
    "pattern": 5,
    "list": 3,
    "case": 4,
    "window": 6,
}
OTHERWISE = 4  # of a kind not named above


def mutants_of(
    found: Resolution,
    dialect: Dialect,
    schema: Schema,
    with_nulls: Collection[tuple[str, str]] = (),
    parts: Parts | None = None,
) -> list[Mutant]:
    """Mutants of a resolved query, in a fixed order; at most `MOST`. `with_nulls`: the (table, column) that hold NULL;
    `parts` of columns: what an order may be mistaken to go by.

    Each parses, and none has the canonical text of the query or of another. The tree is edited in place and
    restored. Some may fail in the engine: the caller finds out which.
    """
    place = Place(found, dialect, schema, with_nulls, parts or {})
    gold = place.text(found.tree)
    seen = {gold, canonical_sql(resolve(found.tree.copy(), dialect, schema), dialect)}
    made: list[Mutant] = []
    for edit in _thinned(list(_edits(place)), seed_of("mutants", gold)):
        words = place.words(edit)
        sql = place.render(edit)
        if sql in seen:
            continue
        read = resolve(parse_select(sql, dialect), dialect, schema)
        if read.problems:
            continue  # a name that has become ambiguous: the engine would refuse it
        canonical = canonical_sql(read, dialect)
        if canonical not in seen:
            made.append(Mutant(edit.kind, words, sql))
        seen |= {sql, canonical}
    return made


def _edits(place: Place) -> Iterator[Edit]:
    for scope in place.found.scopes:
        yield from of_conditions(place, scope)
        yield from of_sources(place, scope)
        yield from of_values(place, scope)
        yield from of_rows(place, scope)
        yield from of_subqueries(place, scope)
    yield from of_sets(place)


def _thinned(edits: list[Edit], seed: int) -> list[Edit]:
    """The edits that are made, in the order in which they were found."""
    kinds: dict[str, list[int]] = defaultdict(list)
    for number, edit in enumerate(edits):
        kinds[edit.kind].append(number)
    kept: list[int] = []
    for kind, numbers in kinds.items():
        kept.extend(_lightest(edits, numbers, LIMITS.get(kind, OTHERWISE), stream(seed, kind)))
    if len(kept) > MOST:
        kept = _lightest(edits, kept, MOST, stream(seed, "all"))
    return [edits[number] for number in sorted(kept)]


def _lightest(edits: list[Edit], numbers: list[int], most: int, chance: Random) -> list[int]:
    return sorted(numbers, key=lambda number: (int(edits[number].weight), chance.random()))[:most]

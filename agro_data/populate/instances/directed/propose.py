"""Instances for one query, the most telling first: witness rows, noise about them, and less of either each time."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import count

from sqlglot import exp

from agro_data.hashing import seed_of
from agro_data.populate.instances.compose import compose
from agro_data.populate.instances.directed.focus import focus_of, group_columns, places_of, read_places
from agro_data.populate.instances.directed.one_row import with_names_once
from agro_data.populate.instances.directed.proposal import Focus, PartialRow, Proposal
from agro_data.populate.instances.directed.witness import witnesses
from agro_data.populate.schema import Rows, Schema, stream
from agro_data.profiling.profile import DatabaseProfile
from agro_data.sql.constructs import number_of
from agro_data.sql.names.resolution import Resolution

_MANY_TABLES = 12
_SPARSE = 4  # of so many instances, one has few rows
_SHARE_OF_FEW = 0.12
_ALONE = 0.5  # share of those in which rows seldom refer to others
_UNKNOWN = 0.75  # share of the instances against another query in which what one of the two alone reads is mostly NULL


def instances(
    found: Resolution,
    schema: Schema,
    profile: DatabaseProfile,
    seed: int,
    against: Resolution | None = None,
    numbers: Iterable[int] | None = None,
) -> Iterator[Rows]:
    """Rows of one instance after another, without end, or of those of these `numbers`. `against`: a query that is to be
    told apart from this one.

    Whether an instance is valid for the query (its answer not empty and not open to chance) shows when it is run.
    """
    schema = with_names_once(schema, found)
    plain = focus_of(found, schema)
    grouped = _ranks_groups(found)
    group_keys = {
        place for scope in found.scopes for column in group_columns(found, scope) for place in places_of(found, column)
    }
    cramped = any(schema.by_name[table].checks for table in found.tables) or _keeps_several(found) or _divides(found)
    references = frozenset((key.table, column) for key in schema.foreign_keys for column in key.columns)
    further = read_places(against) ^ read_places(found) if against is not None else frozenset()
    for number in count() if numbers is None else numbers:
        if number == 3:  # what does a query say that finds nothing?
            rows = _noise(found, schema, stream(seed, "few"), inside=2)
            yield compose(schema, profile, {}, [rows], seed, Focus(shunned=plain.literals))
            continue
        chosen = seed_of(seed, "instance", number)
        rng = stream(chosen, "recipe")
        share = (0.9, 0.6, 0.35, 0.6)[number % 4]
        lost = bool(further) and rng.random() < _UNKNOWN
        focus, other = (replace(plain, unknown=further), None) if lost else (plain, against)
        if cramped and number % _SPARSE == 1:  # many rows hold all values that may stand, or are all that is kept
            few = _few(found, schema, profile, chosen, other, rng if number % (2 * _SPARSE) == 1 else None)
            few.append(_noise(found, schema, rng, inside=0))
            lonely = replace(focus, unknown=references) if rng.random() < _ALONE else focus
            yield compose(schema, profile, {}, few, chosen, lonely)
            continue
        proposals = witnesses(found, schema, profile, chosen, other, share)
        if grouped and number % 3 < 2:
            proposals = [p for p in proposals if p.kind in ("group", "order", "absent")]
            rows = _noise(found, schema, rng, inside=0)
            apart = replace(focus, ordered=focus.ordered | group_keys)
            yield compose(schema, profile, {}, [*proposals, rows], chosen, apart)
            continue
        if number % 2 == 0 and (_cuts(found) or _lists(found)):  # a row has one partner, so that none ties with itself
            tying = ("sibling", "absent", "group", *(("namesake",) if _lists(found) else ()))
            proposals = [p for p in proposals if p.kind not in tying]
            noise = _noise(found, schema, rng, inside=0)
            yield compose(schema, profile, {}, [*proposals, noise], chosen, focus)
            continue
        if not grouped and rng.random() < 0.5:
            proposals = [p for p in proposals if p.kind != "group"]
        noise = _noise(found, schema, rng, inside=(0, 6, 10)[number % 3])
        yield compose(schema, profile, {}, [*proposals, noise], chosen, focus)


def _few(
    found: Resolution,
    schema: Schema,
    profile: DatabaseProfile,
    seed: int,
    against: Resolution | None,
    of_groups: random.Random | None,
) -> list[Proposal]:
    """A few of the witness rows, or one proposal `of_groups`, drawn by it, where there are any: each further row would
    be one more of some group.
    """
    if of_groups is not None:
        groups = [p for p in witnesses(found, schema, profile, seed, against) if p.kind == "group"]
        if groups:
            return [of_groups.choice(groups)]
    return witnesses(found, schema, profile, seed, against, _SHARE_OF_FEW)


def _ranks_groups(found: Resolution) -> bool:
    """Whether some SELECT orders its groups: equal groups would leave the answer open."""
    return any(
        scope.select.args.get("group") is not None and scope.select.args.get("order") is not None
        for scope in found.scopes
    )


def _cuts(found: Resolution) -> bool:
    """Whether rows of a join are ordered and cut."""
    return any(
        len(scope.sources) > 1 and scope.select.args.get("limit") is not None and scope.select.args.get("group") is None
        for scope in found.scopes
    )


def _keeps_several(found: Resolution) -> bool:
    """Whether some SELECT keeps a number of rows: what the last of them tell shows only if there are no more."""
    return any((number_of(scope.select, "limit") or 0) > 1 for scope in found.scopes)


def _divides(found: Resolution) -> bool:
    """Whether it asks for what has all of some rows: by a count of them in HAVING, or by a NOT EXISTS in another."""
    havings = (scope.select.args.get("having") for scope in found.scopes)
    counted = any(having is not None and having.find(exp.Query) is not None for having in havings)
    tests: Iterator[exp.Exists] = found.tree.find_all(exp.Exists)
    return counted or any(test.find_ancestor(exp.Exists) is not None for test in tests)


def _lists(found: Resolution) -> bool:
    """Whether the order of all rows is seen: two that are equal in the keys would leave the answer open."""
    tree = found.tree
    ordered = isinstance(tree, exp.Select) and tree.args.get("order") is not None
    return ordered and tree.args.get("limit") is None and tree.args.get("group") is None


def _noise(found: Resolution, schema: Schema, rng: random.Random, inside: int) -> Proposal:
    """Rows without conditions: `inside` in each table of the query, a few in every other."""
    outside = 5 if len(schema.tables) <= _MANY_TABLES else 2
    rows: list[PartialRow] = []
    for table in schema.tables:
        number = inside if table.name in found.tables else outside
        rows += [PartialRow(table.name, {}) for _ in range(rng.randint(number // 2, number) if number else 0)]
    return Proposal("noise", "rows of which nothing is said", tuple(rows))

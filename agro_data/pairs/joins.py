"""Joins over columns that are no key: neither refers to the other, nor do both to one.

Hardly any model's answer with such a join is right beyond the one database (docs/experiments.md, E14).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sqlglot import exp

from agro_data.databases.quoting import folded
from agro_data.pairs.finding import Finding
from agro_data.profiling.profile import DatabaseProfile
from agro_data.profiling.same_key import Keys, Place
from agro_data.sql.resolution import Binding, Resolution, Scope
from agro_data.verify.mutants.edit import conditions, leaves


def check_joins(names: Mapping[str, Resolution], profile: DatabaseProfile) -> dict[str, list[Finding]]:
    """By SQL, the pairs of tables that it joins, but not over a key. Columns of one name may be a key that nobody
    declared, so that they pass unless they are called no more than `id`; so does a table that is joined with itself.
    """
    keys = Keys.of(profile)
    return {sql: [*_of_query(found, keys)] for sql, found in names.items()} if keys.roots else {}


def _of_query(found: Resolution, keys: Keys) -> Iterator[Finding]:
    for scope in found.scopes:
        first: dict[frozenset[int], str] = {}  # of each two sources that are linked, how
        keyed: set[frozenset[int]] = set()
        for equality, left, right in _links(found, scope):
            both = frozenset((id(left.source), id(right.source)))
            first.setdefault(both, equality.sql())
            if keys.same(_place(left), _place(right)) or _place(left)[1] == _place(right)[1] != "id":
                keyed.add(both)
        for both, equality_sql in first.items():
            if both not in keyed:
                yield Finding("join_without_key", f"{equality_sql} joins two tables over columns that are no key.")


def _links(found: Resolution, scope: Scope) -> Iterator[tuple[exp.EQ, Binding, Binding]]:
    """The equalities of columns of two tables, of this FROM or of one around it."""
    for *_, condition in conditions(scope):
        for part in (leaf.unnest() for leaf in leaves(condition)):
            if not isinstance(part, exp.EQ):
                continue
            left, right = found.binding(part.left), found.binding(part.right)
            if left and right and _place(left)[0] and _place(right)[0] and _place(left)[0] != _place(right)[0]:
                yield part, left, right


def _place(bound: Binding) -> Place:
    """The table is "" where the column is one of a derived table."""
    source = bound.source
    return (folded(source.table), folded(source.columns[bound.name])) if source is not None else ("", "")

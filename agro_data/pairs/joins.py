"""Joins over columns that are no key: neither refers to the other, nor do both to one.

Of answers of models that have one, hardly any is right beyond the one database (docs/experiments.md, E14).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sqlglot import exp

from agro_data.databases.opening import folded
from agro_data.pairs.finding import Finding
from agro_data.profiling.profile import DatabaseProfile
from agro_data.sql.scope import Resolution, Scope, Source, local_nodes

Place = tuple[str, str]
"""A table and a column of it, in lower case."""


def check_joins(names: Mapping[str, Resolution], profile: DatabaseProfile) -> dict[str, list[Finding]]:
    """By SQL, the pairs of tables that it joins, but not over a key. Columns of one name may be a key that nobody
    declared, so that they pass unless they are called no more than `id`; so does a table that is joined with itself.
    """
    roots = _roots(profile)
    return {sql: [*_of_query(found, roots)] for sql, found in names.items()} if roots else {}


def _of_query(found: Resolution, roots: Mapping[Place, Place]) -> Iterator[Finding]:
    for scope in found.scopes:
        linked: dict[tuple[int, int], list[tuple[str, bool]]] = {}
        for equality, left, right in _links(found, scope):
            one, other = sorted((id(left[0]), id(right[0])))
            linked.setdefault((one, other), []).append((equality.sql(), _is_key(_place(*left), _place(*right), roots)))
        for links in linked.values():
            if not any(key for _, key in links):
                yield Finding("join_without_key", f"{links[0][0]} joins two tables over columns that are no key.")


def _links(found: Resolution, scope: Scope) -> Iterator[tuple[exp.EQ, tuple[Source, str], tuple[Source, str]]]:
    """The equalities of columns of two tables, each with the sources and the names of its columns."""
    clauses = [scope.select.args.get("where"), *(scope.select.args.get("joins") or ())]
    for node in (part for clause in clauses if clause is not None for part in local_nodes(clause)):
        sides = [found.binding(side) for side in (node.left, node.right)] if isinstance(node, exp.EQ) else []
        own = [(b.source, b.name) for b in sides if b is not None and b.source is not None and b.source.table]
        if isinstance(node, exp.EQ) and len(own) == 2 and folded(own[0][0].table) != folded(own[1][0].table):
            yield node, own[0], own[1]


def _place(source: Source, name: str) -> Place:
    return folded(source.table), folded(source.columns[name])


def _is_key(left: Place, right: Place, roots: Mapping[Place, Place]) -> bool:
    same_name = left[1] == right[1] != "id"
    return same_name or roots.get(left, left) == roots.get(right, right)


def _roots(profile: DatabaseProfile) -> dict[Place, Place]:
    """Columns that refer to others or are referred to, each with one that stands for all that hold the same key."""
    roots: dict[Place, Place] = {}

    def root(place: Place) -> Place:
        while roots.setdefault(place, place) != place:
            place = roots[place]
        return place

    for key in profile.foreign_keys:
        for column, referred in zip(key.columns, key.ref_columns, strict=True):
            roots[root((folded(key.table), folded(column)))] = root((folded(key.ref_table), folded(referred)))
    return {place: root(place) for place in list(roots)}

"""Joins over columns that are no key: neither refers to the other, nor do both to one.

Hardly any model's answer with such a join is right beyond the one database (docs/experiments.md, E14). Many databases
declare no keys, or not all: what one column holds of the other speaks for a key, too. Numbers that count rows do so by
chance; they speak for one only where they repeat in a column that refers to nothing, and do not in the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from sqlglot import exp

from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.databases.quoting import folded, quoted
from agro_data.databases.types import Database
from agro_data.pairs.finding import Finding
from agro_data.pairs.places import profile_at
from agro_data.profiling.columns.statistics import as_number
from agro_data.profiling.keys.same_key import Keys, Place
from agro_data.profiling.profile import DatabaseProfile
from agro_data.sql.conditions import conditions, leaves
from agro_data.sql.names.resolution import Binding, Resolution, Scope
from agro_data.verify.execution import execute

LOOKED_AT = 5_000  # distinct values of a column
TEXTS, NUMBERS = 0.5, 0.9  # of them, from which a column's values are taken for those of the other
FEW = 3  # values, of which chance may find all
SPARSE = 10  # numbers in the range of a column for each that it holds, from which they count nothing


@dataclass(frozen=True)
class _Link:
    """How two sources are linked first, and the columns that are equal there, as the schema spells them."""

    says: str
    left: Place
    right: Place


def check_joins(
    database: Database, names: Mapping[str, Resolution], profile: DatabaseProfile, sandbox: Sandbox
) -> dict[str, list[Finding]]:
    """By SQL, the pairs of tables that it joins, but not over a key. Columns of one name may be a key that nobody
    declared, so that they pass unless they are called no more than `id`; so does a table that is joined with itself.
    """
    keys = Keys.of(profile)
    if not keys.roots:
        return {}
    links = {sql: [*_of_query(found, keys)] for sql, found in names.items()}
    places = dict.fromkeys((link.left, link.right) for some in links.values() for link in some)
    held = _held(database, list(places), profile, sandbox)
    says = "joins two tables over columns that are no key."
    return {
        sql: [
            Finding("join_without_key", f"{link.says} {says}") for link in some if (link.left, link.right) not in held
        ]
        for sql, some in links.items()
    }


def _held(
    database: Database, places: Iterable[tuple[Place, Place]], profile: DatabaseProfile, sandbox: Sandbox
) -> set[tuple[Place, Place]]:
    """The pairs of columns of which one holds values of the other, so many that it is hardly by chance."""
    asked = [(both, way) for both in places for way in (both, both[::-1]) if _may_refer(*way, profile)]
    results = execute([(database, _share(*way)) for _, way in asked], sandbox, "rows")
    found: set[tuple[Place, Place]] = set()
    for (both, (child, _)), result in zip(asked, results, strict=True):
        values, same = result.rows[0] if result.ok else (0, 0)
        least = TEXTS if profile_at(child, profile).kind == "text" else NUMBERS
        if isinstance(values, int) and isinstance(same, int) and values >= FEW and same >= least * values:
            found.add(both)
    return found


def _may_refer(child: Place, parent: Place, profile: DatabaseProfile) -> bool:
    """Whether values of the child that are there in the parent would show something."""
    one, other = profile_at(child, profile), profile_at(parent, profile)
    if {one.kind, other.kind} == {"text"}:
        return not any(as_number(value) is not None for value, _ in one.common[:FEW])
    if {one.kind, other.kind} != {"integer"} or not isinstance(other.minimum, int | float):
        return False
    if other.unique and not one.unique and not _refers(child, profile):
        return True
    least, most = other.minimum, other.maximum
    return isinstance(most, int | float) and most - least >= SPARSE * other.distinct


def _refers(place: Place, profile: DatabaseProfile) -> bool:
    return any(key.table == place[0] and place[1] in key.columns for key in profile.foreign_keys)


def _share(child: Place, parent: Place) -> str:
    """How many values the child has, and how many of these the parent."""
    (table, column), (other, referred) = child, parent
    values = f"SELECT DISTINCT {quoted(column)} AS v FROM {quoted(table)} WHERE {quoted(column)} IS NOT NULL"
    same = f"v IN (SELECT {quoted(referred)} FROM {quoted(other)})"
    return f"SELECT COUNT(*), COUNT(CASE WHEN {same} THEN 1 END) FROM ({values} LIMIT {LOOKED_AT}) AS child"


def _of_query(found: Resolution, keys: Keys) -> Iterator[_Link]:
    """The first link of each two tables that no link joins over a key."""
    for scope in found.scopes:
        first: dict[frozenset[int], _Link] = {}
        keyed: set[frozenset[int]] = set()
        for equality, left, right in _links(found, scope):
            both = frozenset((id(left.source), id(right.source)))
            first.setdefault(both, _Link(equality.sql(), _spelt(left), _spelt(right)))
            if keys.same(_place(left), _place(right)) or _place(left)[1] == _place(right)[1] != "id":
                keyed.add(both)
        yield from (link for both, link in first.items() if both not in keyed)


def _links(found: Resolution, scope: Scope) -> Iterator[tuple[exp.EQ, Binding, Binding]]:
    """The equalities of columns of two tables, of this FROM or of one around it."""
    for *_, condition in conditions(scope):
        for part in (leaf.unnest() for leaf in leaves(condition)):
            if not isinstance(part, exp.EQ):
                continue
            left, right = found.binding(part.left), found.binding(part.right)
            if left and right and _place(left)[0] and _place(right)[0] and _place(left)[0] != _place(right)[0]:
                yield part, left, right


def _spelt(bound: Binding) -> Place:
    """A column of a table as the schema spells it."""
    assert bound.source is not None
    return bound.source.table, bound.source.columns[bound.name]


def _place(bound: Binding) -> Place:
    """The table is "" where the column is one of a derived table."""
    source = bound.source
    return (folded(source.table), folded(source.columns[bound.name])) if source is not None else ("", "")

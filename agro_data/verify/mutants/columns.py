"""Columns that a wrong query would use instead of the right one: they have the same type and a similar name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from sqlglot import exp

from agro_data.databases.quoting import folded
from agro_data.populate.schema import kind_of
from agro_data.sql.identifiers import identifier
from agro_data.sql.names.resolution import Binding, Scope, Source
from agro_data.sql.names.scope import Schema
from agro_data.verify.mutants.edit import Place

_CLASSES = {
    "integer": "number",
    "real": "number",
    "boolean": "number",
    "date": "date",
    "datetime": "date",
    "time": "date",
    "text": "text",
    "blob": "blob",
}


@dataclass(frozen=True)
class Candidate:
    """A column that could stand in the place of another; `distance` is 0 for one of the same name."""

    source: Source
    name: str  # lower case
    distance: float

    def node(self, scope: Scope) -> exp.Column:
        return reference(self.source, self.name, scope)


def reference(source: Source, name: str, scope: Scope) -> exp.Column:
    """A reference to a column, qualified where the FROM has several sources."""
    spelling = source.columns[name]
    table = identifier(source.node.alias_or_name) if len(scope.sources) > 1 else None
    return exp.Column(this=identifier(spelling), table=table)


def kind_class(source: Source, name: str, schema: Schema) -> str:
    """`number`, `date`, `text` or `blob` by the declared type; "" for a column of a CTE or a derived table."""
    if not source.table:
        return ""
    return _class_of(schema[source.table].get(source.columns[name], ""))


@cache
def _class_of(declared: str) -> str:
    return _CLASSES[kind_of(declared)]


def unnamed_with_nulls(place: Place, scope: Scope) -> Iterator[exp.Column]:
    """Of each table of a FROM the first column that holds NULL and that the SELECT does not name."""
    bindings = map(place.found.binding, scope.select.find_all(exp.Column))
    named = {(id(found.source), found.name) for found in bindings if found is not None and found.source is not None}
    for source in scope.sources:
        for name, spelling in source.columns.items():
            if (source.table, spelling) in place.with_nulls and (id(source), name) not in named:
                yield reference(source, name, scope)
                break


def candidates(binding: Binding, scope: Scope, schema: Schema) -> list[Candidate]:
    """Other columns of this FROM of the same class of type, the most similar name first."""
    own = binding.source
    if own is None:
        return []
    wanted = kind_class(own, binding.name, schema)
    found = [
        Candidate(source, name, distance(binding.name, name))
        for source in scope.sources
        for name in source.columns
        if not (source is own and name == binding.name)
        and kind_class(source, name, schema) in {wanted, "" if source.table == "" else wanted}
    ]
    return sorted(found, key=lambda candidate: candidate.distance)


@cache
def distance(left: str, right: str) -> float:
    """0 for the same name, 1 for names without a common pair of letters (Dice's coefficient over pairs)."""
    mine, theirs = _pairs(left), _pairs(right)
    if not mine or not theirs:
        return 0.0 if left == right else 1.0
    return 1.0 - 2 * len(mine & theirs) / (len(mine) + len(theirs))


@cache
def _pairs(name: str) -> frozenset[str]:
    return frozenset(name[place : place + 2] for place in range(len(name) - 1))


def tables_with(names: set[str], schema: Schema) -> Iterator[str]:
    """The tables that have all these columns (lower case), in the schema's order."""
    for table, columns in schema.items():
        if names <= {folded(column) for column in columns}:
            yield table

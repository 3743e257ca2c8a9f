"""The values that a query asks for, and whether they are still there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from sqlglot import exp

from agro_data.migration.evidence import Place, Side, plain
from agro_data.migration.likeness import family
from agro_data.migration.matching import Matching
from agro_data.pairs.values.literals import uses_of
from agro_data.sql.names.resolution import Resolution, value_of
from agro_data.sql.names.scope import resolve
from agro_data.sql.parse import parse_select

SHOWN = (exp.Select, exp.Group, exp.Count)  # what a column may stand in without its values being computed with


@dataclass(frozen=True)
class Values:
    """The values before and after, column by column. Queries are written for the old schema."""

    before: Side
    after: Side
    matching: Matching

    def emptied(self, places: Iterable[Place]) -> Iterator[str]:
        """Columns that had values and have none, although their table has rows."""
        for old in sorted(places):
            new = self.matching.columns[old].new
            if new is not None and self.before.known[old].values and not self.after.known[new].values:
                table = self.after.profile.table(new[0])
                if table.rows and not table.column(new[1]).has_values:
                    yield f"{'.'.join(new)} has no value any more"

    def lost(self, sql: str) -> Iterator[str]:
        """Values that the query asks for and that its columns have lost, or all of them have been replaced."""
        found = self._read(sql)
        for use in uses_of(found, self.before.profile.dialect):
            old = (use.table, use.column)
            new = self.matching.columns[old].new
            if new is None or " LIKE " in use.condition or " ILIKE " in use.condition:
                continue
            value, was, now = plain(use.value), self.before.known[old].values, self.after.known[new]
            if value in was and now.complete and value not in now.values:
                yield f"the value {use.value!r} that it asks for is not in {'.'.join(new)} any more"
        for node in found.tree.find_all(exp.Predicate):
            sides = list(node.iter_expressions())
            if not any(value_of(side, found) is not None for side in sides):
                continue
            for _, old in _columns(found, sides):
                match = self.matching.columns[old]
                if match.replaced and match.new is not None:
                    yield f"it compares {'.'.join(match.new)} with a value, and the values of that are others now"

    def computed_otherwise(self, sql: str) -> str:
        """A column that was a number and is a text, or the other way, and is not only shown; "" where there is none.

        SQLite compares and adds texts without a word, and in another order than numbers.
        """
        found = self._read(sql)
        for node, (table, column) in _columns(found, found.tree.find_all(exp.Column)):
            new = self.matching.columns[table, column].new
            around = node.parent.parent if isinstance(node.parent, exp.Alias) else node.parent
            if new is None or isinstance(around, SHOWN):
                continue
            was = family(self.before.profile.table(table).column(column))
            now = family(self.after.profile.table(new[0]).column(new[1]))
            if was != now and "number" in (was, now):
                return ".".join(new)
        return ""

    def _read(self, sql: str) -> Resolution:
        profile = self.before.profile
        return resolve(parse_select(sql, profile.dialect), profile.dialect, profile.schema)


def _columns(found: Resolution, nodes: Iterable[exp.Expr]) -> Iterator[tuple[exp.Expr, Place]]:
    """Those of the nodes that are columns of a table, with the place that they mean."""
    for node in nodes:
        place = found.place(node)
        if place is not None:
            yield node, place

"""What views show of tables: a column that is hidden must not be read where a view shows it again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from functools import cached_property

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from agro_data.databases.quoting import folded
from agro_data.databases.schema.table_info import TableInfo
from agro_data.databases.types import Dialect, Placed
from agro_data.sql.names.lineage import places_shown
from agro_data.sql.names.resolution import Place
from agro_data.sql.names.scope import resolve
from agro_data.sql.parse import SqlRefused, parse_select


class Views:
    """The views of a database. What they show is looked at when something is hidden: few databases hide anything."""

    def __init__(self, tables: Sequence[TableInfo], dialect: Dialect) -> None:
        self._tables = tables
        self._dialect: Dialect = dialect

    def showing(self, hidden: Set[Place], meant: Set[Place] = frozenset()) -> set[Place]:
        """The columns of views that show something `hidden`, those that show it of another view, too; without those
        that a person has `meant` to be asked for.
        """
        gone = set(hidden)
        while gone and (more := {place for place, made in self._shown.items() if made & gone} - gone - meant):
            gone |= more
        return gone - hidden

    @cached_property
    def _shown(self) -> Mapping[Place, Set[Place]]:
        """Each column of a view, and the columns of tables and other views of which it is made: all that the tables
        have which a view names, where its statement cannot be followed.
        """
        tables = self._tables
        schema = Placed(
            {table.name: {column.name: column.declared_type for column in table.columns} for table in tables},
            {table.name: table.namespace for table in tables},
        )
        shown: dict[Place, Set[Place]] = {}
        for view in (table for table in tables if table.is_view):
            made = _followed(view, self._dialect, schema) or [_named(view, tables)] * len(view.columns)
            shown |= {(view.name, column.name): places for column, places in zip(view.columns, made, strict=True)}
        return shown


def _followed(view: TableInfo, dialect: Dialect, schema: Placed) -> list[frozenset[Place]]:
    """What each column of a view is made of; empty where that is not known."""
    try:
        statement = sqlglot.parse_one(view.definition, dialect=dialect)
        query = statement.args.get("expression")
        if not isinstance(query, exp.Query):
            return []
        found = resolve(parse_select(query.sql(dialect=dialect), dialect), dialect, schema)
    except (SqlglotError, SqlRefused, RecursionError):
        return []
    if found.problems or len(found.outputs[id(found.tree)]) != len(view.columns):
        return []
    return [places_shown(found, place) for place in range(len(view.columns))]


def _named(view: TableInfo, tables: Sequence[TableInfo]) -> frozenset[Place]:
    text = folded(view.definition)
    named = (table for table in tables if table is not view and folded(table.name) in text)
    return frozenset((table.name, column.name) for table in named for column in table.columns)

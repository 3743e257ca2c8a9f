"""By which column of a SELECT the rows of a table are known, and what a question calls them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from sqlglot import exp

from agro_data.profiling.profile import DatabaseProfile
from agro_data.sql.identifiers import identifier
from agro_data.sql.names.resolution import Place, Resolution, Scope, Source
from agro_data.sql.said import plain


@dataclass(frozen=True)
class RowKey:
    """A column of a source by which the rows of a table are known: their key, or what refers to it."""

    source: Source
    column: str

    @property
    def node(self) -> exp.Column:
        return exp.column(identifier(self.column), table=identifier(self.source.node.alias_or_name))

    @property
    def place(self) -> Place:
        return self.source.table, self.column


def row_keys(scope: Scope, profile: DatabaseProfile) -> dict[str, RowKey | None]:
    """The tables whose rows a SELECT joins or refers to, each with its key there; None where there is none, or several
    are.
    """
    keys: dict[str, RowKey | None] = {}
    for source in scope.sources:
        if source.table:
            key = profile.table(source.table).primary_key
            whole = RowKey(source, key[0]) if len(key) == 1 and source.table not in keys else None
            keys[source.table] = whole
    own = set(keys)
    for source in scope.sources:
        for link in profile.foreign_keys:
            if link.table == source.table and link.ref_table not in own and len(link.columns) == 1:
                keys[link.ref_table] = None if link.ref_table in keys else RowKey(source, link.columns[0])
    return keys


def only_table(nodes: Iterable[exp.Expr], found: Resolution) -> Source | None:
    """The one source whose columns these expressions name, if it is a table."""
    bound = [found.binding(column) for node in nodes for column in node.find_all(exp.Column)]
    sources = {id(one.source): one.source for one in bound if one is not None and one.source is not None}
    source = next(iter(sources.values())) if len(sources) == 1 else None
    return source if source is not None and source.table else None


def is_in_each_row(key: RowKey, select: exp.Select, profile: DatabaseProfile) -> bool:
    """Whether the key is NULL in no row of the FROM of a SELECT: NOT IN asks nothing of NULL, and all fail one."""
    joins = select.args.get("joins") or ()
    outer = any(join.side in ("RIGHT", "FULL") or (join.side and join.this is key.source.node) for join in joins)
    return not outer and profile.table(key.source.table).never_null(key.column)


def nouns_of(table: str, profile: DatabaseProfile) -> str:
    """What a question calls several rows of a table, as alternatives of a pattern over `said.plain` text."""
    called = profile.table(table)
    nouns = [plain(noun) for noun in (called.plural, *called.synonyms)]
    return "|".join(re.escape(noun) for noun in nouns if noun) or r"\Z.\A"

"""By which column of a SELECT the rows of a table are known, and what a question calls them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sqlglot import exp

from agro_data.profiling.profile import DatabaseProfile
from agro_data.sql.identifiers import identifier
from agro_data.sql.resolution import Place, Scope, Source
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


def nouns_of(table: str, profile: DatabaseProfile) -> str:
    """What a question calls several rows of a table, as alternatives of a pattern over `said.plain` text."""
    called = profile.table(table)
    nouns = [plain(noun) for noun in (called.plural, *called.synonyms)]
    return "|".join(re.escape(noun) for noun in nouns if noun) or r"\Z.\A"

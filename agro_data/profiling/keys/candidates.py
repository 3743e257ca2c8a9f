"""Keys that a database may have, before a row is read: declared, stated beside it, or proposed by names and views."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agro_data.databases.schema.table_info import TableInfo
from agro_data.profiling.columns.statistics import declared_kind
from agro_data.profiling.keys.foreign_keys import KeyTable, Proposal, propose, propose_by_values
from agro_data.profiling.names.naming import Names
from agro_data.profiling.profile import ForeignKey
from agro_data.profiling.reading import Group
from agro_data.profiling.side_files.knowledge import JoinSemantics, Semantics

_SHOWN = 0.9  # confidence in a key that a view shows of a table


@dataclass(frozen=True)
class Candidates:
    """Keys that are declared, or stated by a person or a file, and those that something speaks for."""

    known: tuple[ForeignKey, ...]
    proposals: tuple[Proposal, ...]

    def groups(self) -> dict[str, tuple[Group, ...]]:
        """The columns of each table whose values tell which of them are keys."""
        groups: dict[str, dict[Group, None]] = {}
        for key in self.known:
            groups.setdefault(key.table, {})[key.columns] = None
            groups.setdefault(key.ref_table, {})[key.ref_columns] = None
        for proposal in self.proposals:
            groups.setdefault(proposal.table, {})[(proposal.column,)] = None
            groups.setdefault(proposal.ref_table, {})[(proposal.ref_column,)] = None
        return {table: tuple(named) for table, named in groups.items()}


def key_candidates(tables: Sequence[TableInfo], names: Mapping[str, Names], semantics: Semantics) -> Candidates:
    """What may be a key between `tables`, without what a person says to avoid."""
    avoided = frozenset(join.ends for join in semantics.joins if join.avoid)
    declared = _declared_keys(tables, semantics, avoided)
    known = (*declared, *_stated_keys(tables, semantics, declared))
    taken = frozenset((key.table, column) for key in known for column in key.columns)
    keyed = [_key_table(table, names[table.name], semantics) for table in tables]
    proposed = (*propose(keyed, taken), *_shown_by_views(tables, declared), *propose_by_values(keyed, taken))
    proposals = tuple(
        proposal
        for proposal in proposed
        if (proposal.table, (proposal.column,), proposal.ref_table, (proposal.ref_column,)) not in avoided
    )
    return Candidates(known, proposals)


def _declared_keys(tables: Sequence[TableInfo], semantics: Semantics, avoided: frozenset[object]) -> list[ForeignKey]:
    """The keys the database declares, without those a person says to avoid, with the verb a person gives them."""
    verbs = {join.ends: join.verb for join in semantics.joins if join.verb}
    names = {table.name: {column.name for column in table.columns} for table in tables}
    return [
        ForeignKey(*ends, verb=verbs.get(ends, ""))
        for table in tables
        for key in table.foreign_keys
        if (ends := (table.name, key.columns, key.ref_table, key.ref_columns)) not in avoided
        and names.get(key.ref_table, set()).issuperset(key.ref_columns)
    ]


def _stated_keys(tables: Sequence[TableInfo], semantics: Semantics, declared: Sequence[ForeignKey]) -> list[ForeignKey]:
    """Joins of the side files between visible columns that the database does not declare itself.

    Files that know one-column joins only (Spider) tear a reference to a composite key apart; here it is one again.
    """
    by_name = {table.name: table for table in tables}
    names = {table.name: {column.name for column in table.columns} for table in tables}
    known = {(key.table, key.columns, key.ref_table, key.ref_columns) for key in declared}
    parts = {(key.table, column) for key in declared for column in key.columns}
    joins = [
        join
        for join in semantics.joins
        if not join.avoid
        and join.ends not in known
        and names.get(join.table, set()).issuperset(join.columns)
        and names.get(join.ref_table, set()).issuperset(join.ref_columns)
        and (join.confidence == 1.0 or (join.table, join.columns[0]) not in parts)
    ]
    torn: dict[tuple[str, str], list[JoinSemantics]] = {}
    keys: list[ForeignKey] = []
    for join in joins:
        primary = by_name[join.ref_table].primary_key
        if join.confidence < 1.0 and len(primary) > 1 and join.ref_columns[0] in primary:
            torn.setdefault((join.table, join.ref_table), []).append(join)
        else:
            keys.append(ForeignKey(*join.ends, declared=False, confidence=join.confidence, verb=join.verb))
    for (child, parent), pieces in torn.items():
        primary = by_name[parent].primary_key
        pairs = {piece.ref_columns[0]: piece.columns[0] for piece in pieces}
        if set(pairs) == set(primary):
            columns = tuple(pairs[column] for column in primary)
            keys.append(ForeignKey(child, columns, parent, primary, declared=False, confidence=pieces[0].confidence))
    return keys


def _key_table(table: TableInfo, names: Names, semantics: Semantics) -> KeyTable:
    primary = table.primary_key or semantics.table(table.name).primary_key
    single = [key[0] for key in (primary, *table.unique_keys) if len(key) == 1]
    if not primary:
        single += [
            column
            for column, words in names.columns.items()
            if words in (["id"], ["code"], ["key"], *([*names.words, kind] for kind in ("id", "code", "key")))
        ]
    unique = tuple(name for name in dict.fromkeys(single) if name in names.columns)
    keyless = not (primary or table.unique_keys or table.is_view)
    texts = frozenset(column.name for column in table.columns if declared_kind(column.declared_type) == "text")
    return KeyTable(table.name, names.words, names.columns, primary or unique[:1], unique, texts, keyless)


def _shown_by_views(tables: Sequence[TableInfo], declared: Sequence[ForeignKey]) -> list[Proposal]:
    """What a view's column refers to by the key of the table that the view shows: names such as "boss" do not say."""
    columns = {table.name: {column.name for column in table.columns} for table in tables}
    return [
        Proposal(view.name, key.columns[0], key.ref_table, key.ref_columns[0], _SHOWN)
        for view in tables
        if view.is_view
        for key in declared
        if len(key.columns) == 1
        and key.columns[0] in columns[view.name]
        and 2 * len(columns[view.name] & columns[key.table]) > len(columns[view.name])
    ]

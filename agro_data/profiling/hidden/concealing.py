"""A profile as it would be of a database without some of it: what a schema shows when something is hidden."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from agro_data.databases.schema.checks import columns_of, constants_of
from agro_data.databases.types import Cell
from agro_data.profiling.hidden.bookkeeping import keeps_books
from agro_data.profiling.profile import (
    ColumnProfile,
    DatabaseProfile,
    ForeignKey,
    Metric,
    NullRule,
    TableProfile,
    Versions,
)
from agro_data.profiling.serialising.texts import Texts
from agro_data.sql.concealing import Hidden


def texts_without(texts: Texts, hidden: Sequence[Hidden]) -> Texts:
    """`texts` without the texts of tables with anything hidden: hidden rows hold them, too."""
    tables = {one.table for one in hidden}
    return {name: held for name, held in texts.items() if name[0] not in tables}


def without(profile: DatabaseProfile, hidden: Sequence[Hidden]) -> DatabaseProfile:
    """`profile` without the tables, columns and values of `hidden`, nor the keys and metrics that need them."""
    tables = {one.table for one in hidden if not one.column}
    columns = {(one.table, one.column) for one in hidden if one.column and not one.value}
    values = {(one.table, one.column, one.value) for one in hidden if one.value}
    left = [_table(table, columns, values) for table in profile.tables if table.name not in tables]
    return replace(
        profile,
        tables=tuple(left),
        foreign_keys=tuple(key for key in profile.foreign_keys if _key_holds(key, tables, columns)),
        metrics=tuple(metric for metric in profile.metrics if _metric_holds(metric, tables, columns)),
    )


def asked_about(profile: DatabaseProfile, *, views: bool = False) -> DatabaseProfile:
    """`profile` without what nobody asks about, unless somebody has described it: a framework's books of itself, and
    (without `views`) views, which hold again, joined or summed up, what tables hold.

    A database of nothing else keeps them.
    """
    aside = [
        Hidden(table.name)
        for table in profile.tables
        if not table.described and (keeps_books(table) or (table.is_view and not views))
    ]
    return profile if len(aside) == len(profile.tables) else without(profile, aside)


def _table(table: TableProfile, gone: set[tuple[str, str]], values: set[tuple[str, str, str]]) -> TableProfile:
    dropped = {column for name, column in gone if name == table.name}
    taken = {(column, value) for name, column, value in values if name == table.name}
    if not dropped and not taken:
        return table
    names = [column.name for column in table.columns]
    kept = [place for place, name in enumerate(names) if name not in dropped]
    rows = [row for row in table.sample_rows if not any(row[names.index(name)] == value for name, value in taken)]
    return replace(
        table,
        columns=tuple(_column(column, taken) for column in table.columns if column.name not in dropped),
        primary_key=() if dropped & set(table.primary_key) else table.primary_key,
        unique_keys=tuple(key for key in table.unique_keys if not dropped & set(key)),
        label_columns=tuple(name for name in table.label_columns if name not in dropped),
        checks=tuple(check for check in table.checks if not _tells(check, dropped, taken)),
        partial_keys=tuple(
            key for key in table.partial_keys if not dropped & set(key[0]) and not _tells(key[1], dropped, taken)
        ),
        null_rules=tuple(rule for rule in table.null_rules if not _says(rule, dropped, taken)),
        versions=_versions(table.versions, dropped, taken),
        deleted=None if table.deleted is not None and table.deleted.column in dropped else table.deleted,
        unknown=None if table.unknown is not None and table.unknown.key in dropped else table.unknown,
        sample_rows=tuple(tuple(row[place] for place in kept) for row in rows),
    )


def _tells(check: str, dropped: set[str], taken: set[tuple[str, str]]) -> bool:
    """Whether a condition names a column that is gone, or one of its values."""
    values = {value for _, value in taken}
    return bool(dropped & columns_of(check)) or any(str(constant) in values for constant in constants_of(check))


def _says(rule: NullRule, dropped: set[str], taken: set[tuple[str, str]]) -> bool:
    """Whether a rule names a column that is gone, or one with a value that is."""
    return bool({rule.column, rule.state} & (dropped | {column for column, _ in taken}))


def _versions(versions: Versions | None, dropped: set[str], taken: set[tuple[str, str]]) -> Versions | None:
    if (
        versions is None
        or {versions.key, versions.column} & dropped
        or (versions.column, str(versions.current)) in taken
    ):
        return None
    return replace(
        versions,
        steady=tuple(name for name in versions.steady if name not in dropped),
        validity=tuple(name for name in versions.validity if name not in dropped),
    )


def _column(column: ColumnProfile, taken: set[tuple[str, str]]) -> ColumnProfile:
    gone = {value for name, value in taken if name == column.name}
    if not gone:
        return column

    def shown(value: Cell) -> Cell:
        return None if value in gone else value

    return replace(
        column,
        distinct=max(column.distinct - len(gone), 0),
        minimum=shown(column.minimum),
        maximum=shown(column.maximum),
        common=tuple((value, count) for value, count in column.common if value not in gone),
        codes=tuple((value, meaning) for value, meaning in column.codes if value not in gone),
    )


def _key_holds(key: ForeignKey, tables: set[str], columns: set[tuple[str, str]]) -> bool:
    ends = {(key.table, name) for name in key.columns} | {(key.ref_table, name) for name in key.ref_columns}
    return not tables & {key.table, key.ref_table} and not columns & ends


def _metric_holds(metric: Metric, tables: set[str], columns: set[tuple[str, str]]) -> bool:
    named = {name.lower() for table, name in columns if table == metric.table}
    return metric.table not in tables and not named & {word.lower() for word in re.findall(r"\w+", metric.sql)}

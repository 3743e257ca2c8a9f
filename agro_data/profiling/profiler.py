"""From a database to its profile: one reading of each table, then names, keys, roles and kinds."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from agro_data.databases.errors import DatabaseError
from agro_data.databases.schema.checks import allows, constants_of
from agro_data.databases.schema.table_info import TableInfo
from agro_data.databases.trusted.connections import open_database
from agro_data.databases.types import Database
from agro_data.profiling.columns.deletion import mark_of
from agro_data.profiling.columns.roles import Place, role_of, unit_of
from agro_data.profiling.columns.statistics import is_uuid, rounded
from agro_data.profiling.columns.stocks import with_days_of_stocks
from agro_data.profiling.columns.unit_columns import with_units, with_units_of_parents
from agro_data.profiling.hidden.credentials import holds_credentials, unread
from agro_data.profiling.hidden.hiding import guarded, hidden_places, lost_keys, said_of_views, visible_part
from agro_data.profiling.hidden.private import said_of_private
from agro_data.profiling.hidden.views import Views
from agro_data.profiling.keys.candidates import key_candidates
from agro_data.profiling.keys.link_keys import link_key
from agro_data.profiling.keys.row_versions import keeps_versions, with_versions
from agro_data.profiling.keys.settling import settled_keys
from agro_data.profiling.keys.unknown_members import with_unknown_members
from agro_data.profiling.kinds import label_columns, table_kind
from agro_data.profiling.names.denoting import Numbering
from agro_data.profiling.names.naming import Hints, Names, name_database
from agro_data.profiling.names.phrases import with_role
from agro_data.profiling.names.row_nouns import with_row_nouns
from agro_data.profiling.names.titles import title_of
from agro_data.profiling.profile import ColumnProfile, DatabaseProfile, ForeignKey, TableProfile, keys_by_table
from agro_data.profiling.reading import Group, TableRead, read_values, stable_seed
from agro_data.profiling.remarks import remarks
from agro_data.profiling.side_files.knowledge import Semantics
from agro_data.profiling.side_files.sources import read_semantics

SAMPLE_ROWS = 300
SEED = 0  # of the rows that are sampled


def profile_database(database: Database, *, values: bool = True, side_values: bool = True) -> DatabaseProfile:
    """All that can be known of `database`: its schema, its values, and what is written beside it.

    With `values=False` everything structural is computed, but the profile holds no value of the source: no ranges,
    quantiles, common values, sample rows or codes. `side_values=False` is for a synthetic stand-in: its own values
    count, and the codes that were written for its source do not. A table that cannot be read is left out and named
    in `problems` and `faults`. Raises `DatabaseError` when the database cannot be opened.
    """
    with open_database(database) as connection:
        listed = connection.objects()
        schema = {table.name: [column.name for column in table.columns] for table in listed}
        semantics = read_semantics(database, schema, values=values and side_values)
        views = Views(listed, database.dialect)
        hidden, in_views = hidden_places(listed, semantics, views)
        tables = [visible for table in listed if (visible := visible_part(table, hidden | in_views)) is not None]
        names = name_database(
            {table.name: [column.name for column in table.columns] for table in tables},
            {table.name: _hints(table, semantics) for table in tables},
        )
        candidates = key_candidates(tables, names, semantics)
        needed = candidates.groups()
        problems = [*semantics.problems, *lost_keys(listed, tables), *said_of_views(in_views)]
        reads: dict[str, TableRead] = {}
        unread: list[str] = []
        for table in tables:
            try:
                seed = stable_seed(SEED, database.content_hash, table.name)
                reads[table.name] = read_values(
                    connection, table, needed.get(table.name, ()), seed=seed, sample_rows=SAMPLE_ROWS
                )
            except DatabaseError as error:
                unread.append(f"table {table.name!r}: cannot be read, left out: {error}")
        keys = settled_keys(connection, reads, candidates)
        problems = [*connection.problems, *problems, *unread]
        faults = (*connection.faults, *unread)
        numbered = Numbering()
        for name, read in reads.items():
            numbered.add(name, names[name].words, read.statistics.values())
        up = keys_by_table(keys)
        made = [
            with_unknown_members(
                connection,
                with_versions(
                    connection,
                    _table_profile(read, names[name], own, semantics, numbered, link_key(connection, read, own, names)),
                    (names[name].singular, names[name].plural),
                    {column for key in own for column in key.columns},
                ),
                keys,
            )
            for name, read in reads.items()
            for own in [up.get(name, [])]
        ]
    profiles = with_days_of_stocks(with_units_of_parents(guarded(made, semantics, views), keys), keys)
    profiles = with_row_nouns(profiles, keys)
    profile = DatabaseProfile(
        db_id=database.db_id,
        dialect=database.dialect,
        content_hash=database.content_hash,
        tables=profiles,
        foreign_keys=tuple(keys),
        metrics=tuple(metric for metric in semantics.metrics if metric.table in reads),
        problems=(*problems, *remarks(profiles, keys, {name: read.statistics for name, read in reads.items()})),
        faults=faults,
        domain=semantics.domain,
        construct_prior=semantics.prior,
    )
    if not values:
        return without_values(profile)
    private = said_of_private(profile, semantics) if side_values else ()  # no value of a stand-in is anybody's
    return replace(profile, problems=(*profile.problems, *private))


_NAME = re.compile(r'"(?:[^"]|"")*"')  # as a formula quotes every name
_CONSTANT = re.compile(r"['\d]")


def without_values(profile: DatabaseProfile) -> DatabaseProfile:
    """The profile without anything that was read from the source's cells, counts and shares apart."""
    return replace(
        profile,
        tables=tuple(
            replace(
                table,
                sample_rows=(),
                definition="",
                checks=tuple(check for check in table.checks if not constants_of(check)),
                partial_keys=tuple(key for key in table.partial_keys if not constants_of(key[1])),
                null_rules=(),
                versions=None,
                deleted=None,
                unknown=None,
                columns=tuple(
                    replace(
                        column.without_values(),
                        declared_type="ENUM" if "'" in column.declared_type else column.declared_type,  # lists them
                        formula="" if _CONSTANT.search(_NAME.sub("", column.formula)) else column.formula,
                    )
                    for column in table.columns
                ),
            )
            for table in profile.tables
        ),
    )


def _hints(table: TableInfo, semantics: Semantics) -> Hints:
    known = semantics.table(table.name)
    columns = [(column.name, semantics.column(table.name, column.name)) for column in table.columns]
    key = table.primary_key or known.primary_key
    return Hints(
        key=key[0] if len(key) == 1 else "",
        noun=known.name,
        plural=known.plural,
        words=known.words,
        column_words={name: column.words for name, column in columns if column.words},
        phrases={name: column.name for name, column in columns if column.name},
    )


def _table_profile(
    read: TableRead,
    names: Names,
    outgoing: Sequence[ForeignKey],
    semantics: Semantics,
    numbered: Numbering,
    link: Group,
) -> TableProfile:
    table = read.info
    known = semantics.table(table.name)
    primary = _primary_key(read, names, semantics) or link
    uniques = _unique_keys(read, semantics)
    columns = tuple(
        _column_profile(read, column.name, names, primary, uniques, outgoing, semantics, numbered)
        for column in table.columns
    )
    sample = tuple(
        tuple(None if column.hidden else cell for column, cell in zip(columns, row, strict=True)) for row in read.sample
    )
    columns = with_units(columns)
    columns = _called(columns, names, frozenset(key.columns[0] for key in outgoing if len(key.columns) == 1))
    by_phrase = {column.phrase: column.name for column in columns}
    versions = "" not in names.given and keeps_versions(columns, names.singular)
    return TableProfile(
        name=table.name,
        rows=read.total,
        columns=columns,
        singular=f"{names.singular} version" if versions else names.singular,
        plural=f"{names.singular} versions" if versions else names.plural,
        primary_key=primary,
        unique_keys=uniques,
        label_columns=known.label or label_columns(columns, by_phrase, names.singular, outgoing),
        kind=known.kind or table_kind(read.total, names.singular, columns, primary, outgoing),
        sampled=read.sampled,
        sample_rows=sample,
        description=known.description,
        synonyms=known.synonyms,
        named="" in names.given,
        is_view=table.is_view,
        definition=table.definition,
        checks=_kept_checks(read),
        partial_keys=tuple((key.columns, key.condition) for key in table.partial_keys),
        null_rules=read.null_rules,
        deleted=None if table.is_view else mark_of(columns),
        described=known.described,
        namespace=table.namespace,
    )


def _called(columns: tuple[ColumnProfile, ...], names: Names, keys: frozenset[str]) -> tuple[ColumnProfile, ...]:
    """The columns with phrases that fit their roles; what a person states as the rules would have it is no name."""
    said = with_role(columns, names.singular, keys)
    plain = [replace(c, phrase=names.given.get(c.name, c.phrase), named=False) for c in columns]
    ruled = with_role(plain, names.singular, keys)
    return tuple(replace(c, named=c.named and c.phrase != r.phrase) for c, r in zip(said, ruled, strict=True))


def _kept_checks(read: TableRead) -> tuple[str, ...]:
    """The checks that the rows at hand do not fail: others are not kept by whoever writes the table."""
    names = [column.name for column in read.info.columns]
    rows = [dict(zip(names, row, strict=True)) for row in read.sample]
    return tuple(check for check in read.info.checks if all(allows(check, row) for row in rows))


def _primary_key(read: TableRead, names: Names, semantics: Semantics) -> Group:
    """The declared key; else the one that a side file states or a name suggests, if the data bear it out."""
    table = read.info
    if table.primary_key or table.is_view or read.sampled or not read.total:
        return table.primary_key
    stated = semantics.table(table.name).primary_key
    by_name = [
        (column,)
        for column, words in names.columns.items()
        if words in (["id"], ["key"], *([*names.words, kind] for kind in ("id", "code", "key")))
    ]
    for group in (stated, *by_name):
        whole = [read.statistics.get(column) for column in group]
        if len(group) == 1 and whole[0] is not None and whole[0].unique and not whole[0].nulls:
            return group
    return ()


def _unique_keys(read: TableRead, semantics: Semantics) -> tuple[Group, ...]:
    stated = [
        key
        for key in semantics.table(read.info.name).unique_keys
        if len(key) == 1 and (statistics := read.statistics.get(key[0])) and statistics.unique
    ]
    return tuple(dict.fromkeys((*read.info.unique_keys, *stated)))


def _column_profile(
    read: TableRead,
    name: str,
    names: Names,
    primary: Group,
    uniques: Sequence[Group],
    outgoing: Sequence[ForeignKey],
    semantics: Semantics,
    numbered: Numbering,
) -> ColumnProfile:
    info = next(column for column in read.info.columns if column.name == name)
    statistics = read.statistics[name]
    known = semantics.column(read.info.name, name)
    words = names.columns[name]
    place = Place(
        sole_key=(name,) == primary or (name,) in uniques,
        part_of_key=name in primary,
        refers=any(name in key.columns for key in outgoing),
        opaque=is_uuid(info.declared_type),
        called_as_table=words == names.words,
        names_rows=numbered.names_rows(read.info.name, words, statistics),
    )
    column = ColumnProfile(
        name=name,
        declared_type=info.declared_type,
        kind=statistics.kind,
        role=known.role or role_of(words, statistics, place),
        phrase=names.phrases[name],
        nullable=not info.not_null and name not in read.info.primary_key,
        null_share=rounded(statistics.null_share),
        searched=name in read.searched,
        distinct=statistics.distinct,
        unique=place.sole_key or (statistics.unique and not read.sampled),
        minimum=statistics.minimum,
        maximum=statistics.maximum,
        quantiles=statistics.quantiles,
        common=statistics.common,
        date_format=statistics.date_format,
        form=statistics.form,
        structured=statistics.structured,
        integral=statistics.integral,
        description=known.description,
        synonyms=known.synonyms,
        named=name in names.given,
        codes=known.codes or (title.codes if (title := title_of(name)) else ()),
        unit=known.unit or unit_of(words),
        total=read.totals.get(name, ""),
        collation=info.collation,
        formula=info.formula,
    )
    values = [value for value, _ in statistics.common]
    guarded = known.hidden is None and holds_credentials(words, statistics.kind, values)
    return unread(column) if guarded else column

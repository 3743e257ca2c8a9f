"""From a database to its profile: one reading of each table, then names, keys, roles and kinds."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from agro_data.databases.errors import DatabaseError
from agro_data.databases.quoting import quoted
from agro_data.databases.schema.checks import allows, constants_of
from agro_data.databases.schema.table_info import Connection, TableInfo
from agro_data.databases.trusted.connections import open_database
from agro_data.databases.types import Cell, Database
from agro_data.profiling.columns.deletion import mark_of
from agro_data.profiling.columns.roles import Place, role_of, unit_of
from agro_data.profiling.columns.statistics import declared_kind, is_uuid, rounded
from agro_data.profiling.columns.stocks import with_days_of_stocks
from agro_data.profiling.columns.unit_columns import with_units, with_units_of_parents
from agro_data.profiling.hidden.credentials import holds_credentials, unread
from agro_data.profiling.hidden.hiding import guarded, hidden_places, lost_keys, said_of_views, visible_part
from agro_data.profiling.hidden.views import Views
from agro_data.profiling.keys.foreign_keys import Containment, KeyTable, Proposal, infer, propose, propose_by_values
from agro_data.profiling.keys.link_keys import link_key
from agro_data.profiling.keys.row_versions import keeps_versions, with_versions
from agro_data.profiling.keys.trees import is_tree
from agro_data.profiling.kinds import label_columns, table_kind
from agro_data.profiling.names.denoting import NumberedRows, names_rows, numbered_rows
from agro_data.profiling.names.naming import Hints, Names, name_database
from agro_data.profiling.names.phrases import with_role
from agro_data.profiling.names.row_nouns import with_row_nouns
from agro_data.profiling.names.titles import title_of
from agro_data.profiling.profile import ColumnProfile, DatabaseProfile, ForeignKey, TableProfile
from agro_data.profiling.reading import Group, TableRead, Tuples, read_values, stable_seed
from agro_data.profiling.remarks import remarks
from agro_data.profiling.side_files.knowledge import JoinSemantics, Semantics
from agro_data.profiling.side_files.sources import read_semantics

SAMPLE_ROWS = 300
SEED = 0  # of the rows that are sampled
_SHOWN = 0.9  # confidence in a key that a view shows of a table
_ASKED = 200  # child values that are looked up in a parent too large to hold


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
        avoided = frozenset(join.ends for join in semantics.joins if join.avoid)
        declared = _declared_keys(tables, semantics, avoided)
        stated = _stated_keys(tables, semantics, declared)
        taken = frozenset((key.table, column) for key in (*declared, *stated) for column in key.columns)
        keyed = [_key_table(table, names[table.name], semantics) for table in tables]
        valued = propose_by_values(keyed, taken)
        proposals = [
            proposal
            for proposal in (*propose(keyed, taken), *_shown_by_views(tables, declared), *valued)
            if (proposal.table, (proposal.column,), proposal.ref_table, (proposal.ref_column,)) not in avoided
        ]
        needed = _needed_groups(declared + stated, proposals)
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
        keys = _all_keys(connection, reads, declared + stated, proposals)
        problems = [*connection.problems, *problems, *unread]
        faults = (*connection.faults, *unread)
        numbered = [
            rows
            for name, read in reads.items()
            for rows in numbered_rows(name, names[name].words, read.statistics.values())
        ]
        made = [
            with_versions(
                connection,
                _table_profile(read, names[name], keys, semantics, numbered, link_key(connection, read, keys, names)),
                (names[name].singular, names[name].plural),
                {column for key in keys if key.table == name for column in key.columns},
            )
            for name, read in reads.items()
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
    return profile if values else without_values(profile)


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


# --- before reading ------------------------------------------------------------------------------------------------


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


def _needed_groups(keys: Sequence[ForeignKey], proposals: Sequence[Proposal]) -> dict[str, tuple[Group, ...]]:
    groups: dict[str, dict[Group, None]] = {}
    for key in keys:
        groups.setdefault(key.table, {})[key.columns] = None
        groups.setdefault(key.ref_table, {})[key.ref_columns] = None
    for proposal in proposals:
        groups.setdefault(proposal.table, {})[(proposal.column,)] = None
        groups.setdefault(proposal.ref_table, {})[(proposal.ref_column,)] = None
    return {table: tuple(named) for table, named in groups.items()}


# --- keys ----------------------------------------------------------------------------------------------------------


def _all_keys(
    connection: Connection,
    reads: Mapping[str, TableRead],
    known: Sequence[ForeignKey],
    proposals: Sequence[Proposal],
) -> list[ForeignKey]:
    """Declared keys, then stated ones, then inferred ones, each with its share of orphans."""
    contain = partial(_containment, connection, reads)
    kept: list[ForeignKey] = []
    for key in known:
        if key.table not in reads or key.ref_table not in reads:
            continue
        values = contain(key.table, key.columns, key.ref_table, key.ref_columns)
        # A schema file that values contradict is no evidence; what a person states in semantics.yml stands.
        if key.declared or key.confidence == 1.0 or (values.orphan_share <= 0.5 and _has_key(reads, key)):
            kept.append(replace(key, orphan_share=rounded(values.orphan_share)))
    possible = [
        proposal
        for proposal in proposals
        if proposal.table in reads and proposal.ref_table in reads and _is_key(reads, proposal)
    ]
    kinds = {(name, column): s.kind for name, read in reads.items() for column, s in read.statistics.items()}
    linked = {(key.table, key.columns) for key in kept}
    inferred = infer(possible, kinds, lambda p: contain(p.table, (p.column,), p.ref_table, (p.ref_column,)))
    found = kept + [key for key in inferred if (key.table, key.columns) not in linked]
    return [replace(key, tree=True) if is_tree(connection, key, reads[key.table]) else key for key in found]


def _has_key(reads: Mapping[str, TableRead], key: ForeignKey) -> bool:
    """Whether the parent's columns are a key, as declared or in the data."""
    held = reads[key.ref_table].groups[key.ref_columns]
    return not held or max(held.values()) == 1


def _is_key(reads: Mapping[str, TableRead], proposal: Proposal) -> bool:
    """Whether the parent column really is a key: declared as one, or without a double in the data.

    Where only values speak for the reference, each row has one, text or number, and the child is no key itself.
    """
    parent = reads[proposal.ref_table]
    column = (proposal.ref_column,)
    statistics = parent.statistics[proposal.ref_column]
    if proposal.by_values:
        child = reads[proposal.table].statistics[proposal.column]
        whole = statistics.unique and not statistics.nulls and not parent.sampled
        return whole and statistics.kind in ("text", "integer") and not child.unique
    return column in (parent.info.primary_key, *parent.info.unique_keys) or statistics.unique or not statistics.rows


def _containment(
    connection: Connection,
    reads: Mapping[str, TableRead],
    table: str,
    columns: Group,
    ref_table: str,
    ref_columns: Group,
) -> Containment:
    child = reads[table].groups[columns]
    parent = reads[ref_table]
    held: frozenset[tuple[Cell, ...]] | Tuples = parent.groups[ref_columns]
    if parent.sampled:
        child, held = _looked_up(connection, child, ref_table, ref_columns)
    missing = {key: count for key, count in child.items() if key not in held}
    share = sum(missing.values()) / child.total() if child else 0.0
    return Containment(len(child), share, len(child) - len(missing))


def _looked_up(
    connection: Connection, child: Tuples, ref_table: str, ref_columns: Group
) -> tuple[Tuples, frozenset[tuple[Cell, ...]]]:
    """Some of the child's values, and which of them the parent has, by a query to the engine."""
    if len(ref_columns) > 1:
        return Counter(), frozenset()
    asked: Tuples = Counter(dict(child.most_common(_ASKED)))
    if not asked:
        return asked, frozenset()
    column = quoted(ref_columns[0])
    marks = ", ".join("?" * len(asked))
    sql = f"SELECT DISTINCT {column} FROM {quoted(ref_table)} WHERE {column} IN ({marks})"
    try:
        return asked, frozenset(connection.execute(sql, [key[0] for key in asked]))
    except DatabaseError as error:  # DuckDB converts them to the column's type, and may not be able to
        where = f"{ref_table}.{ref_columns[0]}"
        connection.problems.append(f"column {where!r}: taken to hold no value of a column that refers to it: {error}")
        return asked, frozenset()


# --- after reading -------------------------------------------------------------------------------------------------


def _table_profile(
    read: TableRead,
    names: Names,
    keys: Sequence[ForeignKey],
    semantics: Semantics,
    numbered: Sequence[NumberedRows],
    link: Group,
) -> TableProfile:
    table = read.info
    known = semantics.table(table.name)
    outgoing = [key for key in keys if key.table == table.name]
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
    numbered: Sequence[NumberedRows],
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
        names_rows=names_rows(read.info.name, words, statistics, numbered),
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
        collation=info.collation,
        formula=info.formula,
    )
    values = [value for value, _ in statistics.common]
    guarded = known.hidden is None and holds_credentials(words, statistics.kind, values)
    return unread(column) if guarded else column

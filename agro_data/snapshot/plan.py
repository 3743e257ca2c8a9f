"""The plan of a snapshot: which tables are copied with which columns, and which keys DuckDB can declare."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import chain, count

from agro_data.databases.errors import DatabaseError
from agro_data.databases.opening import precedence
from agro_data.databases.quoting import folded, quoted
from agro_data.databases.types import MAIN
from agro_data.snapshot.catalog import Column, Reference, Table
from agro_data.snapshot.checks import conditions
from agro_data.snapshot.kinds import TEXT, Kind, compares_as_text, kept, nested
from agro_data.snapshot.outcome import Snapshot
from agro_data.words import some

FILE = "agro_snapshot"  # by which the file that is being written is attached


@dataclass(frozen=True)
class Planned:
    """A table to be copied: its columns with the kinds in which they are kept, its keys and checks of these columns,
    and which keys to other tables are declared; `references` name the columns in the order of the parent's own key."""

    table: Table
    columns: tuple[tuple[Column, Kind], ...]
    primary: tuple[str, ...] = ()
    unique: tuple[tuple[str, ...], ...] = ()
    references: tuple[Reference, ...] = ()
    declared: tuple[Reference, ...] = ()
    checks: tuple[str, ...] = ()

    @property
    def types(self) -> Mapping[str, str]:
        """DuckDB's type of each column."""
        return {column.name: kind.duckdb for column, kind in self.columns}

    @property
    def place(self) -> str:
        """Its name in DuckDB, with the file's name, since a schema may have the same name as a file."""
        return f"{FILE}.{quoted(self.table.schema)}.{quoted(self.table.kept)}"

    @property
    def keys(self) -> tuple[tuple[str, ...], ...]:
        """What DuckDB takes a foreign key to."""
        return tuple(filter(None, (self.primary, *self.unique)))

    @property
    def parents(self) -> set[int]:
        """Places of the tables that its keys refer to."""
        return {key.table for key in self.references}

    def has(self, names: Sequence[str]) -> bool:
        """Whether all of these columns are copied."""
        return {*names} <= self.types.keys()


def chosen_tables(
    tables: Sequence[Table], schemas: Sequence[str], only: Sequence[str], views: bool, made: Snapshot
) -> dict[int, Table]:
    """The tables that are wanted, by place."""
    if unknown := sorted({*only} - {name for table in tables for name in table.names}):
        raise DatabaseError(f"PostgreSQL has no table {unknown[0]} that the role may see")
    if unknown := sorted({*schemas} - {table.schema for table in tables}):
        raise DatabaseError(f"PostgreSQL has no schema {unknown[0]} with tables that the role may see")
    wanted = {
        place: table
        for place, table in enumerate(tables)
        if (not schemas or table.schema in schemas) and (not only or table.names & {*only})
    }
    readable = {place for place, table in wanted.items() if table.columns}
    found: dict[int, Table] = {}
    parts: list[str] = []
    taken: set[str] = set()
    own = {folded(table.name) for table in wanted.values()}
    foreign: list[str] = []
    left_out = 0
    for place, table in sorted(wanted.items(), key=_precedence(tables)):
        if table.kind == "view" and not (views or only):
            left_out += 1
        elif table.kind == "foreign table" and not only:  # which may be anything, as a file of the server's machine
            foreign.append(str(table))
        elif table.part_of in readable and not only:
            parts.append(str(table))
        else:
            alone = _by_name(table, taken, own)
            taken.add(folded(alone.kept))
            found[place] = alone
            if alone.alias and table.columns:
                made.notes.append(f"{table}: kept as {alone.alias}, as another table has its name")
    if parts:
        made.notes.append(f"left out, as the tables that they inherit from give their rows: {some(parts)}")
    if left_out:
        made.notes.append(f"views left out: {left_out}; --views copies what they give, as tables")
    if foreign:
        made.notes.append(f"foreign tables left out: {some(foreign)}; --only copies what they give, as tables")
    return dict(sorted(found.items()))


def _precedence(tables: Sequence[Table]) -> Callable[[tuple[int, Table]], tuple[int, int, int]]:
    """The less, the sooner the table at a place keeps its name where another has it, too: as in a DuckDB file, and of
    schemas that say nothing the one to whose table more keys refer."""
    referred = Counter(key.table for table in tables for key in table.references)

    def of(placed: tuple[int, Table]) -> tuple[int, int, int]:
        place, table = placed
        return precedence(MAIN if table.schema == "public" else table.schema)[0], -referred[place], place

    return of


def _by_name(table: Table, taken: Set[str], own: Set[str]) -> Table:
    """The table under a name that no other has, but for its case: with its schema's where its own is `taken`, or with a
    number. `own`: the names of all tables."""
    if folded(table.name) not in taken:
        return table
    stem = f"{table.schema}_{table.name}"
    names = chain((stem,), (f"{stem}_{number}" for number in count(2)))
    return replace(table, alias=next(name for name in names if folded(name) not in taken | own))


def plan(tables: Mapping[int, Table], made: Snapshot) -> dict[int, Planned]:
    """The tables with the columns that can be kept, by place."""
    found: dict[int, Planned] = {}
    if closed := [str(table) for table in tables.values() if table.unreadable and not table.columns]:
        made.notes.append(f"the role may not read {some(closed)}")
    for place, table in tables.items():
        if str(table) in closed:
            continue
        if table.filtered:
            made.notes.append(f"{table}: row level security lets the role see some of its rows; these are copied")
        if columns := _kept_columns(table, made):
            bare = Planned(table, columns)
            primary = table.primary if bare.has(table.primary) else ()
            unique = tuple(filter(bare.has, table.unique))
            found[place] = replace(bare, primary=primary, unique=unique, checks=conditions(table, [*bare.types]))
        else:
            made.lost.append(f"{table}: none of its columns can be copied")
    return {place: replace(one, references=_references(one, found)) for place, one in found.items()}


def _kept_columns(table: Table, made: Snapshot) -> tuple[tuple[Column, Kind], ...]:
    """The columns that can be kept; what is not there, or no longer what it was, is noted."""
    made.notes.extend(f"{table}.{name}: the role may not read it, left out" for name in table.unreadable)
    columns: list[tuple[Column, Kind]] = []
    texts: list[str] = []
    for column in table.columns:
        kind = kept(column.declared, column.labels)
        if kind is None:
            made.notes.append(f"{table}.{column.name}: {column.declared} is not copied")
        elif folded(column.name) in {folded(other.name) for other, _ in columns}:
            made.notes.append(f"{table}.{column.name}: another column has this name but for its case, left out")
        else:
            columns.append((column, kind))
            if kind.duckdb == TEXT.duckdb and not compares_as_text(column.declared):
                texts.append(f"{column.name} ({column.declared})")
    if texts:
        made.notes.append(f"{table}: kept as text, which compares otherwise than on the server: {', '.join(texts)}")
    return tuple(columns)


def _references(one: Planned, planned: Mapping[int, Planned]) -> tuple[Reference, ...]:
    """Its keys between columns that are copied."""
    return tuple(
        _in_order_of(key, planned[key.table].keys)
        for key in one.table.references
        if one.has(key.columns) and key.table in planned and planned[key.table].has(key.ref_columns)
    )


def _in_order_of(key: Reference, keys: Sequence[tuple[str, ...]]) -> Reference:
    """The same pairs of columns as one of the parent's `keys` has its own, which DuckDB insists on."""
    order = next((names for names in keys if {*names} == {*key.ref_columns}), key.ref_columns)
    pairs = dict(zip(key.ref_columns, key.columns, strict=True))
    return replace(key, columns=tuple(pairs[name] for name in order), ref_columns=tuple(order))


def plainer(one: Planned) -> Planned:
    """The table with texts in place of lists, JSON and intervals."""
    return replace(one, columns=tuple((column, TEXT if nested(kind) else kind) for column, kind in one.columns))


def attempts(one: Planned, done: Mapping[int, Planned]) -> list[Planned]:
    """The table with all its keys, without those to other tables, and without any, and each without its checks: what
    holds on the server may not in DuckDB, as of texts without case, or of rows that the role sees only some of."""
    keyed = (_with_references(one, done), one, replace(one, primary=(), unique=()))
    return [*dict.fromkeys(tried for each in keyed for tried in (each, replace(each, checks=())))]


def _with_references(one: Planned, done: Mapping[int, Planned]) -> Planned:
    """The table with the keys that DuckDB can hold: to a table of the same schema that is there, to columns that are
    declared to be unique, and of their type, which the columns of a key therefore take."""
    taken: dict[str, str] = {}
    declared: list[Reference] = []
    for key in one.references:
        parent = done.get(key.table)
        if parent is None or parent.table.schema != one.table.schema or key.ref_columns not in parent.keys:
            continue
        types = {name: parent.types[ref] for name, ref in zip(key.columns, key.ref_columns, strict=True)}
        if all(taken.get(name, kind) == kind for name, kind in types.items()):
            taken |= types
            declared.append(key)
    columns = tuple((column, replace(kind, duckdb=taken.get(column.name, kind.duckdb))) for column, kind in one.columns)
    return replace(one, columns=columns, declared=tuple(declared))

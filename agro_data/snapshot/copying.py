"""Tables of a PostgreSQL server copied into a DuckDB file, all as they were at one moment.

The server is read in one transaction that may write nothing. What DuckDB cannot declare (a key within its own table, in
a circle, or to another schema) and the comments go into `semantics.yml` beside the file. A table that cannot be copied
is left out with its reason; the file is whole or absent.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import yaml

from agro_data.databases.opening import DatabaseError, first_line, folded, literal, quoted
from agro_data.snapshot.catalog import Column, Reference, Table, read_tables
from agro_data.snapshot.kinds import DOUBLE, Kind, decimal, kept, unmeasured
from agro_data.work import write_text

if TYPE_CHECKING:
    import psycopg

MISSING = "reading PostgreSQL needs psycopg: pip install 'agro-sql[postgres]'"
_UNFIT = re.compile(r'Error when converting column "c(\d+)"\. (.*)')
LONGEST_ROW = 64 * 2**20  # bytes
_FILE: dict[str, str | bool | int | float | list[str]] = {
    "autoload_known_extensions": "false",
    "autoinstall_known_extensions": "false",
    "python_enable_replacements": "false",
}
# The role may be allowed more than to read, and a table may be locked for a change of its columns.
_SESSION = (
    "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY",
    "SET LOCAL lock_timeout = '10s'",
    "SET LOCAL statement_timeout = 0",
    "SET LOCAL idle_in_transaction_session_timeout = 0",
    "SET LOCAL DateStyle = 'ISO, YMD'",
    "SET LOCAL IntervalStyle = 'postgres'",
    "SET LOCAL extra_float_digits = 1",
)


@dataclass(frozen=True)
class Copied:
    """A table that is in the file, with its number of rows and columns."""

    name: str
    rows: int
    columns: int


@dataclass
class Snapshot:
    """What was copied. `lost`: why each table is missing that should have been; `notes`: what else is not there."""

    path: Path
    tables: list[Copied] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    semantics: Path | None = None


@dataclass(frozen=True)
class _Planned:
    """A table to be copied: its columns with the kinds in which they are kept, and its keys that are declared."""

    table: Table
    columns: tuple[tuple[Column, Kind], ...]
    declared: tuple[Reference, ...] = ()

    @property
    def types(self) -> Mapping[str, str]:
        """DuckDB's type of each column."""
        return {column.name: kind.duckdb for column, kind in self.columns}

    @property
    def place(self) -> str:
        """Its name in DuckDB."""
        schema = "main" if self.table.schema == "public" else self.table.schema
        return f"{quoted(schema)}.{quoted(self.table.name)}"

    def has(self, names: Sequence[str]) -> bool:
        """Whether all of these columns are copied."""
        return {*names} <= self.types.keys()


def take_snapshot(
    url: str,
    target: Path,
    *,
    schemas: Sequence[str] = (),
    only: Sequence[str] = (),
    views: bool = False,
    replace: bool = False,
    report: Callable[[str], object] = lambda said: None,
) -> Snapshot:
    """Copy the server's tables into `target`: those of `schemas`, or named in `only`, or all; with `views` what these
    give, as tables. `url` is what libpq takes (`postgresql://role@host/database`, `service=shop`, "" for the
    environment's PGHOST and the rest).

    Raises `DatabaseError` when psycopg is not installed, the server cannot be reached, `target` is there already and
    not to be `replace`d, or nothing could be copied.
    """
    if target.suffix != ".duckdb":
        raise DatabaseError(f"{target}: a snapshot is a DuckDB file, named so: {target.with_suffix('.duckdb')}")
    if target.exists() and not replace:
        raise DatabaseError(f"{target}: is there already; --replace takes its place")
    target.parent.mkdir(parents=True, exist_ok=True)
    made = Snapshot(target)
    with tempfile.TemporaryDirectory(prefix=f".{target.name}-", dir=target.parent) as folder:
        part = Path(folder) / "part.duckdb"
        with _reading(url) as server, closing(duckdb.connect(part, config=_FILE)) as file:
            planned = _planned(_chosen(read_tables(server), schemas, only, views, made), made)
            done, joins = _copy_all(planned, server, file, Path(folder), made, report)
            file.execute("CHECKPOINT")
        if not made.tables:
            raise DatabaseError("; ".join(["nothing could be copied", *made.lost, *made.notes]))
        os.replace(part, target)
    _describe(done, joins, made)
    return made


@contextmanager
def _reading(url: str) -> Iterator[psycopg.Connection[Any]]:
    """One transaction that only reads."""
    try:
        import psycopg  # noqa: PLC0415
    except ImportError as error:
        raise DatabaseError(MISSING) from error
    try:
        with psycopg.connect(url, connect_timeout=10, client_encoding="UTF8", application_name="agro") as connection:
            for statement in _SESSION:
                connection.execute(statement)
            yield connection
            connection.rollback()
    except psycopg.Error as error:
        raise DatabaseError(f"PostgreSQL: {first_line(error)}") from error


def _chosen(
    tables: Sequence[Table], schemas: Sequence[str], only: Sequence[str], views: bool, made: Snapshot
) -> dict[int, Table]:
    """The tables that are wanted, by place."""
    known = {name for table in tables for name in (table.name, str(table), f"{table.schema}.{table.name}")}
    if unknown := sorted({*only} - known):
        raise DatabaseError(f"PostgreSQL has no table {unknown[0]} that the role may see")
    if unknown := sorted({*schemas} - {table.schema for table in tables}):
        raise DatabaseError(f"PostgreSQL has no schema {unknown[0]} with tables that the role may see")
    found: dict[int, Table] = {}
    taken: set[str] = set()
    left_out = 0
    for place, table in enumerate(tables):
        named = {table.name, str(table), f"{table.schema}.{table.name}"} & {*only}
        wanted = (not schemas or table.schema in schemas) and (not only or bool(named))
        if wanted and table.is_view and not views and not named:
            wanted = False
            left_out += 1
        if wanted and folded(table.name) in taken:
            made.lost.append(f"{table}: another table has this name but for its schema or its case")
            wanted = False
        if wanted:
            taken.add(folded(table.name))
            found[place] = table
    if left_out:
        made.notes.append(f"views left out: {left_out}; --views copies what they give, as tables")
    return found


def _planned(chosen: Mapping[int, Table], made: Snapshot) -> dict[int, _Planned]:
    """The tables with the columns that can be kept, by place."""
    found: dict[int, _Planned] = {}
    if closed := [str(table) for table in chosen.values() if table.unreadable and not table.columns]:
        more = f" and {len(closed) - 3} more" if len(closed) > 3 else ""
        made.notes.append(f"the role may not read {', '.join(closed[:3])}{more}")
    for place, table in chosen.items():
        if str(table) in closed:
            continue
        made.notes.extend(f"{table}.{name}: the role may not read it, left out" for name in table.unreadable)
        columns: list[tuple[Column, Kind]] = []
        for column in table.columns:
            kind = kept(column.declared)
            if kind is None:
                made.notes.append(f"{table}.{column.name}: {column.declared} is not copied")
            elif folded(column.name) in {folded(other.name) for other, _ in columns}:
                made.notes.append(f"{table}.{column.name}: another column has this name but for its case, left out")
            else:
                columns.append((column, kind))
        if columns:
            found[place] = _Planned(table, tuple(columns))
        else:
            made.lost.append(f"{table}: none of its columns can be copied")
    return found


def _copy_all(
    planned: dict[int, _Planned],
    server: psycopg.Connection[Any],
    file: duckdb.DuckDBPyConnection,
    folder: Path,
    made: Snapshot,
    report: Callable[[str], object],
) -> tuple[Sequence[_Planned], list[tuple[Table, Reference, Table]]]:
    """Copy parents before children. Gives what was copied, and the keys between these that could not be declared."""
    import psycopg  # noqa: PLC0415

    waiting = dict(planned)
    done: dict[int, _Planned] = {}
    left: list[tuple[int, Reference]] = []
    for schema in sorted({one.table.schema for one in planned.values()} - {"public"}):
        file.execute(f"CREATE SCHEMA {quoted(schema)}")
    while waiting:
        place = next((place for place, one in waiting.items() if not _parents(place, one) & {*waiting}), min(waiting))
        one = waiting.pop(place)
        try:
            with server.transaction():  # a savepoint: what fails ends nothing else
                one = _with_keys(_measured(one, server), done)
                rows = _copy(one, [done[key.table] for key in one.declared], server, file, folder)
        except (psycopg.Error, duckdb.Error) as error:
            file.execute(f"DROP TABLE IF EXISTS {one.place}")
            made.lost.append(f"{one.table}: {_reason(error, one)}")
            continue
        done[place] = one
        left += [(place, key) for key in one.table.references if key not in one.declared and one.has(key.columns)]
        made.tables.append(Copied(str(one.table), rows, len(one.columns)))
        report(f"{one.table}: {rows:,} rows ({len(done) + len(made.lost)} of {len(planned)} tables)")
    joins = [
        (done[place].table, key, done[key.table].table)
        for place, key in left
        if key.table in done and done[key.table].has(key.ref_columns)
    ]
    return [*done.values()], joins


def _reason(error: Exception, one: _Planned) -> str:
    """In one line; of a value that DuckDB has no place for with its column."""
    found = _UNFIT.search(str(error))
    return f"{one.columns[int(found[1])][0].name}: {found[2]}" if found else first_line(error)


def _parents(place: int, one: _Planned) -> set[int]:
    return {key.table for key in one.table.references} - {place}


def _with_keys(one: _Planned, done: Mapping[int, _Planned]) -> _Planned:
    """The table with the keys that DuckDB can hold: to a table of the same schema that is there, to columns that are
    declared to be unique, and of their type, which the columns of a key therefore take."""
    taken: dict[str, str] = {}
    declared: list[Reference] = []
    for key in one.table.references:
        parent = done.get(key.table)
        if parent is None or parent.table.schema != one.table.schema or not one.has(key.columns):
            continue
        unique = {frozenset(names) for names in (parent.table.primary, *parent.table.unique) if parent.has(names)}
        if frozenset(key.ref_columns) not in unique:
            continue
        types = {name: parent.types[ref] for name, ref in zip(key.columns, key.ref_columns, strict=True)}
        if all(taken.get(name, kind) == kind for name, kind in types.items()):
            taken |= types
            declared.append(key)
    columns = tuple((column, replace(kind, duckdb=taken.get(column.name, kind.duckdb))) for column, kind in one.columns)
    return _Planned(one.table, columns, tuple(declared))


def _copy(
    one: _Planned,
    parents: Sequence[_Planned],
    server: psycopg.Connection[Any],
    file: duckdb.DuckDBPyConnection,
    folder: Path,
) -> int:
    """Make the table in the file and fill it; gives its number of rows."""
    lines = [
        f"{quoted(column.name)} {kind.duckdb}{' NOT NULL' if column.required else ''}" for column, kind in one.columns
    ]
    if one.table.primary and one.has(one.table.primary):
        lines.append(f"PRIMARY KEY ({_listed(one.table.primary)})")
    lines += [f"UNIQUE ({_listed(names)})" for names in one.table.unique if one.has(names)]
    lines += [
        f"FOREIGN KEY ({_listed(key.columns)}) REFERENCES {parent.place} ({_listed(key.ref_columns)})"
        for key, parent in zip(one.declared, parents, strict=True)
    ]
    file.execute(f"CREATE TABLE {one.place} ({', '.join(lines)})")
    asked = ", ".join(kind.expression.format(quoted(column.name)) for column, kind in one.columns)
    rows = folder / "rows.csv"
    copy = f"COPY (SELECT {asked} FROM {_source(one.table)}) TO STDOUT (FORMAT csv)".encode()
    with server.cursor() as cursor, rows.open("wb") as stream, cursor.copy(copy) as blocks:
        for block in blocks:
            stream.write(block)
    read = ", ".join(f"{literal(f'c{place}')}: {literal(kind.duckdb)}" for place, (_, kind) in enumerate(one.columns))
    file.execute(
        f"""INSERT INTO {one.place} SELECT * FROM read_csv({literal(str(rows))}, auto_detect = false, header = false,
            columns = {{{read}}}, delim = ',', quote = '"', escape = '"', nullstr = '', allow_quoted_nulls = false,
            parallel = false, max_line_size = {LONGEST_ROW})"""
    )
    rows.unlink()
    counted = file.execute(f"SELECT COUNT(*) FROM {one.place}").fetchone()
    return int(counted[0]) if counted else 0


def _measured(one: _Planned, server: psycopg.Connection[Any]) -> _Planned:
    """The table with numbers that say nothing of their digits given as many as their values have; binary where one is
    none."""
    names = [quoted(column.name) for column, _ in one.columns if unmeasured(column.declared)]
    if not names:
        return one
    asked = ", ".join(
        f"coalesce(max(scale({name})), 0), coalesce(max(length(trunc(abs({name}))::text)), 1), "
        f"coalesce(bool_or({name}::text ~ '[A-Za-z]'), false)"
        for name in names
    )
    found = iter(server.execute(f"SELECT {asked} FROM {_source(one.table)}".encode()).fetchone() or ())

    def kind(column: Column, as_it_was: Kind) -> Kind:
        if not unmeasured(column.declared):
            return as_it_was
        scale, whole, no_number = next(found), next(found), next(found)
        return DOUBLE if no_number else decimal(whole + scale, scale)

    return _Planned(one.table, tuple((column, kind(column, as_it_was)) for column, as_it_was in one.columns))


def _source(table: Table) -> str:
    return f"{'ONLY ' if table.only else ''}{quoted(table.schema)}.{quoted(table.name)}"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(quoted, names))


def _describe(copied: Sequence[_Planned], joins: Sequence[tuple[Table, Reference, Table]], made: Snapshot) -> None:
    """Write what the file cannot say beside it, unless a person's own words lie there."""
    said: dict[str, Any] = {"tables": {}, "joins": []}
    for one in copied:
        about: dict[str, Any] = {"description": one.table.comment} if one.table.comment else {}
        if commented := {column.name: {"description": column.comment} for column, _ in one.columns if column.comment}:
            about["columns"] = commented
        if about:
            said["tables"][one.table.name] = about
    for child, key, parent in joins:
        if len(key.columns) > 1:
            made.notes.append(f"{child}: its key ({', '.join(key.columns)}) to {parent} can be declared nowhere")
            continue
        said["joins"].append({"from": f"{child.name}.{key.columns[0]}", "to": f"{parent.name}.{key.ref_columns[0]}"})
    said = {key: value for key, value in said.items() if value}
    if not said:
        return
    path = made.path.with_name(f"{made.path.stem}.semantics.yml")
    if path.exists():
        made.notes.append(f"{path.name} is there already and was left as it is; the server's comments are not in it")
        return
    write_text(path, yaml.safe_dump(said, sort_keys=False, allow_unicode=True, width=10_000))
    made.semantics = path

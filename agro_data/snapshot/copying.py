"""Tables of a PostgreSQL server copied into a DuckDB file, all as they were at one moment.

The server is read in one transaction that may write nothing. What DuckDB cannot declare (a key within its own table, in
a circle, or to another schema, or one that does not hold there) and the comments go into `semantics.yml` beside the
file. A table that cannot be copied is left out with its reason; the file is whole or absent.
"""

from __future__ import annotations

import glob
import os
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from agro_data.databases.errors import DatabaseError, discreet_line, first_line
from agro_data.databases.quoting import literal, quoted, quoted_list
from agro_data.snapshot.address import refuse_unclear
from agro_data.snapshot.catalog import Column, Table, read_tables
from agro_data.snapshot.description import Join, describe
from agro_data.snapshot.kinds import DOUBLE, TEXT, WIDEST, Kind, decimal, listing, nested, unmeasured
from agro_data.snapshot.outcome import Copied, Snapshot
from agro_data.snapshot.plan import FILE, Planned, attempts, chosen_tables, plainer, plan

if TYPE_CHECKING:
    import psycopg

_ASKED = "; PGPASSWORD or ~/.pgpass gives the role's password"
MISSING = "reading PostgreSQL needs psycopg: pip install 'agro-sql[postgres]'"
_UNFIT = re.compile(r'.*\nError when converting column "c([1-9]\d*)"', re.DOTALL)  # below the row itself
_QUOTED = re.compile(r'".*"')
ROWS = "rows.csv"
_ROOMY = 18  # digits that take no more room than fewer: the next snapshot, and instances, may hold a greater number
_CENTS = 2  # digits behind the point of a number of which no value is there
LONGEST_ROW = 64 * 2**20  # bytes
_CSV = (  # as PostgreSQL writes it: what is empty without quotes is NULL
    """auto_detect = false, header = false, delim = ',', quote = '"', escape = '"', nullstr = '', """
    f"allow_quoted_nulls = false, parallel = false, hive_partitioning = false, max_line_size = {LONGEST_ROW}"
)
_ENGINE: dict[str, str | bool | int | float | list[str]] = {
    "autoload_known_extensions": "false",
    "autoinstall_known_extensions": "false",
    "python_enable_replacements": "false",
}
_ENDS = (duckdb.IOException, duckdb.FatalException, duckdb.InternalException)  # such as a full disk; end the whole file
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
    """Copy the server's tables into `target`: the tables of `schemas`, or those named in `only`, or all. With `views`
    the rows of views are copied, too, as tables. `url` is what libpq takes (`postgresql://role@host/database`,
    `service=shop`, "" for the environment's PGHOST and the rest).

    Raises `DatabaseError` when psycopg is not installed, the server cannot be reached, `target` is there already and
    not to be `replace`d, or nothing could be copied.
    """
    if target.suffix != ".duckdb":
        raise DatabaseError(f"{target}: a snapshot is a DuckDB file, named so: {target.with_suffix('.duckdb')}")
    if target.exists() and not replace:
        raise DatabaseError(f"{target}: is there already; --replace takes its place")
    target.parent.mkdir(parents=True, exist_ok=True)
    made = Snapshot(target)
    try:
        with tempfile.TemporaryDirectory(prefix=".snapshot-", dir=target.parent) as folder:
            part = Path(folder) / "part.duckdb"
            config = {**_ENGINE, "temp_directory": folder}
            with _reading(url) as server, closing(duckdb.connect(":memory:", config=config)) as file:
                file.execute(f"ATTACH {literal(part)} AS {FILE}")
                planned = plan(chosen_tables(read_tables(server), schemas, only, views, made), made)
                done, joins = _copy_all(planned, server, file, Path(folder), made, report)
                file.execute(f"CHECKPOINT {FILE}")
            if not made.tables:
                raise DatabaseError("; ".join(["nothing could be copied", *made.lost, *made.notes]))
            os.replace(part, target)
    except (OSError, *_ENDS) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else discreet_line(error)
        raise DatabaseError(f"{target}: cannot be written, and nothing of it is kept: {why}") from error
    describe(done, joins, made)
    return made


@contextmanager
def _reading(url: str) -> Iterator[psycopg.Connection[Any]]:
    """One transaction that only reads."""
    try:
        import psycopg  # noqa: PLC0415
    except ImportError as error:
        raise DatabaseError(MISSING) from error
    refuse_unclear(url)
    try:
        with psycopg.connect(url, connect_timeout=10, client_encoding="UTF8", application_name="agro") as connection:
            for statement in _SESSION:
                connection.execute(statement)
            yield connection
            connection.rollback()
    except psycopg.Error as error:
        said = first_line(error)
        asked = isinstance(error, psycopg.OperationalError) and "password" in said
        raise DatabaseError(f"PostgreSQL: {said}{_ASKED if asked else ''}") from error


def _copy_all(
    planned: dict[int, Planned],
    server: psycopg.Connection[Any],
    file: duckdb.DuckDBPyConnection,
    folder: Path,
    made: Snapshot,
    report: Callable[[str], object],
) -> tuple[Sequence[Planned], list[Join]]:
    """Copy parents before children. Gives what was copied, and the keys between these that could not be declared."""
    import psycopg  # noqa: PLC0415

    waiting = dict(planned)
    done: dict[int, Planned] = {}
    for schema in sorted({one.table.schema for one in planned.values()}):
        file.execute(f"CREATE SCHEMA IF NOT EXISTS {FILE}.{quoted(schema)}")
    while waiting:
        place = next(
            (place for place, one in waiting.items() if not (one.parents - {place}) & {*waiting}), min(waiting)
        )
        one = waiting.pop(place)
        try:
            one, rows, refused = _copied(one, done, server, file, folder / ROWS)
        except (psycopg.Error, duckdb.Error, DatabaseError) as error:
            if server.closed or isinstance(error, _ENDS):  # so it is for all that are left
                raise
            made.lost.append(f"{one.table}: {_reason(error, one)}")
            continue
        done[place] = one
        made.notes += refused
        made.tables.append(Copied(str(one.table), rows, len(one.columns)))
        report(f"{one.table}: {rows:,} rows ({len(planned) - len(waiting)} of {len(planned)} tables)")
    joins: list[Join] = []
    for one in done.values():
        for key in (key for key in one.references if key not in one.declared):
            parent = planned[key.table].table
            if key.table in done:
                joins.append((one.table, key, parent))
            else:
                made.notes.append(f"{one.table}: its key ({', '.join(key.columns)}) is left out with {parent}")
    return [*done.values()], joins


def _copied(
    wanted: Planned,
    done: Mapping[int, Planned],
    server: psycopg.Connection[Any],
    file: duckdb.DuckDBPyConnection,
    place: Path,
) -> tuple[Planned, int, list[str]]:
    """Ask the server for a table and put it into the file; the table as it is there, its number of rows, and notes."""
    with server.transaction():  # a savepoint: what fails ends nothing else
        one = _measured(wanted, server)
        rows = _sent(one, server, place)
    try:
        made, notes = _filled(one, done, place, rows, file)
    except duckdb.ConversionException:
        plain = plainer(one)
        if plain == one:
            raise
        with server.transaction():
            _sent(plain, server, place)
        made, notes = _filled(plain, done, place, rows, file)
        texts = [column.name for column, kind in one.columns if nested(kind)]
        notes = [f"{one.table}: kept as text, as DuckDB refuses a value: {', '.join(texts)}", *notes]
    return made, rows, [*_other_kinds(one), *notes]


def _reason(error: Exception, one: Planned) -> str:
    """The error in one line without any value: the column with a value that DuckDB cannot hold, or another cause."""
    import psycopg  # noqa: PLC0415

    if isinstance(error, psycopg.DataError | psycopg.errors.RaiseException):  # such as a view's computation
        return _QUOTED.sub("(a value)", first_line(error))
    if not isinstance(error, duckdb.Error):
        return first_line(error)
    if "Maximum line size" in str(error):
        return f"a row is longer than {LONGEST_ROW // 2**20} MiB, the most that is copied"
    found = _UNFIT.match(str(error))
    if found is None or int(found[1]) > len(one.columns):
        return discreet_line(error)
    column, kind = one.columns[int(found[1]) - 1]
    return f"{column.name}: DuckDB's {kind.duckdb} has no place for one of its values, as for NaN or too distant a day"


def _sent(one: Planned, server: psycopg.Connection[Any], rows: Path) -> int:
    """Write the table's rows as the server gives them; gives their number."""
    asked = ", ".join(kind.expression.format(quoted(column.name)) for column, kind in one.columns)
    # The first column says nothing: without it a line with a single NULL would be empty, and a text that starts with
    # U+FEFF a mark of the encoding.
    copy = f"COPY (SELECT 0, {asked} FROM {_source(one.table)}) TO STDOUT (FORMAT csv)".encode()
    with server.cursor() as cursor, rows.open("wb") as stream:
        with cursor.copy(copy) as blocks:
            for block in blocks:
                stream.write(block)
        return cursor.rowcount


def _filled(
    wanted: Planned, done: Mapping[int, Planned], rows: Path, sent: int, file: duckdb.DuckDBPyConnection
) -> tuple[Planned, list[str]]:
    """Make the table in the file and fill it, with as many of its keys and checks as DuckDB takes; notes of those that
    it does not."""
    tried = attempts(wanted, done)
    refused = ""
    for one in tried:
        file.execute("BEGIN")
        try:
            file.execute(f"CREATE TABLE {one.place} ({', '.join(_lines(one, done))})")
            _fill(one, rows, sent, file)
        except (duckdb.Error, DatabaseError) as error:
            file.execute("ROLLBACK")
            if one is tried[-1]:
                raise
            refused = discreet_line(error)
        else:
            file.execute("COMMIT")
            break
    if not refused:
        return one, []
    whole = tried[0]
    lost = ["checks are not declared"] if one.checks != whole.checks else []
    if one.keys != whole.keys:
        lost += ["keys are not declared"]
    elif one.declared != whole.declared:
        lost += ["foreign keys are not declared but joins"]
    return one, [f"{one.table}: its {' and its '.join(lost)}, as DuckDB does not take them: {refused}"]


def _lines(one: Planned, done: Mapping[int, Planned]) -> Iterator[str]:
    """Columns, keys and checks as CREATE TABLE has them."""
    for column, kind in one.columns:
        yield f"{quoted(column.name)} {kind.duckdb}{' NOT NULL' if column.required else ''}"
    if one.primary:
        yield f"PRIMARY KEY ({quoted_list(one.primary)})"
    for names in one.unique:
        yield f"UNIQUE ({quoted_list(names)})"
    for check in one.checks:
        yield f"CHECK ({check})"
    for key in one.declared:
        parent = f"{done[key.table].place} ({quoted_list(key.ref_columns)})"
        yield f"FOREIGN KEY ({quoted_list(key.columns)}) REFERENCES {parent}"


def _fill(one: Planned, rows: Path, sent: int, file: duckdb.DuckDBPyConnection) -> None:
    kinds = [kind for _, kind in one.columns]
    types = ["INTEGER", *(kind.given for kind in kinds)]
    read = ", ".join(f"{literal(f'c{place}')}: {literal(kind)}" for place, kind in enumerate(types))
    given = f"read_csv({literal(glob.escape(str(rows)))}, columns = {{{read}}}, {_CSV})"
    taken = ", ".join(kind.taken(f"c{place}") for place, kind in enumerate(kinds, 1))
    file.execute(f"INSERT INTO {one.place} SELECT {taken} FROM {given}")
    ((arrived,),) = file.execute(f"SELECT COUNT(*) FROM {one.place}").fetchall()
    if arrived != sent:
        raise DatabaseError(f"the server gave {sent:,} rows, and {arrived:,} arrived")


def _measured(one: Planned, server: psycopg.Connection[Any]) -> Planned:
    """The table with numbers that say nothing of their digits given as many as their values have and some to spare,
    binary where one is none, and with lists of lists as text."""
    asked = [said for column, kind in one.columns for said in _asked(column, kind)]
    if not asked:
        return one
    found = iter(server.execute(f"SELECT {', '.join(asked)} FROM {_source(one.table)}".encode()).fetchone() or ())
    return replace(one, columns=tuple((column, _fitting(column, kind, found)) for column, kind in one.columns))


def _asked(column: Column, kind: Kind) -> tuple[str, ...]:
    """What has to be known of the values of a column before they are sent."""
    name = quoted(column.name)
    if unmeasured(column.declared):
        return (
            f"coalesce(max(scale({name})), {_CENTS})",
            f"coalesce(max(length(trunc(abs({name}))::text)), 1)",
            f"coalesce(bool_or({name}::text ~ '[A-Za-z]'), false)",
        )
    return (f"coalesce(max(array_ndims({name})), 1)",) if kind.through else ()


def _fitting(column: Column, kind: Kind, found: Iterator[Any]) -> Kind:
    """The kind for a column whose values are as the answers to `_asked` say."""
    if unmeasured(column.declared):
        scale, whole, no_number = next(found), next(found), next(found)
        return DOUBLE if no_number else decimal(max(whole + scale, _ROOMY), scale)
    return TEXT if kind.through and next(found) > 1 else kind


def _other_kinds(one: Planned) -> Iterator[str]:
    """Notes of the columns that are not what they were: numbers that are no longer exact, and lists of lists."""
    if listed := [column.name for column, kind in one.columns if kind == DOUBLE and unmeasured(column.declared)]:
        yield f"{one.table}: kept as binary numbers, for more than {WIDEST} digits or a NaN: {', '.join(listed)}"
    if listed := [
        column.name for column, kind in one.columns if kind == TEXT and listing(column.declared, column.labels)
    ]:
        yield f"{one.table}: kept as text, for arrays of several dimensions: {', '.join(listed)}"


def _source(table: Table) -> str:
    return f"{quoted(table.schema)}.{quoted(table.name)}"

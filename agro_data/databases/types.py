"""What a database is to the rest of the factory: an id, a dialect, a place and a content hash."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

Dialect = Literal["sqlite", "duckdb"]
Layout = Literal["sqlite", "duckdb", "files"]
Stamp = tuple[tuple[str, int, int, int], ...]  # see `databases.opening.stamp`
Status = Literal["ok", "error", "timeout", "too_large", "crashed"]
MAIN = "main"  # the schema that every DuckDB file has


@dataclass(frozen=True)
class Database:
    """One database of a catalog.

    `content_hash` is the SHA-256 (hex) of the content: a SQLite file's bytes, a DuckDB file's definitions and rows, the
    sorted (name, bytes) pairs of a folder of Parquet/CSV files (see `databases.discovery.content`). `layout` says how
    `path` is opened: a SQLite file, a DuckDB file, or a folder whose Parquet/CSV files are each one table read through
    DuckDB.
    """

    db_id: str
    dialect: Dialect
    layout: Layout
    path: Path
    content_hash: str
    relative_path: str
    spider_tables: Path | None = None  # a Spider `tables.json` that names this database's tables and columns
    descriptions: Path | None = None  # a BIRD `database_description/` folder
    semantics: Path | None = None  # a `semantics.yml` beside the database
    dbt_manifest: Path | None = None  # a dbt `manifest.json` beside the database
    seen: Stamp = field(default=(), compare=False)  # of its files, just before their content was hashed


class Placed(dict[str, dict[str, str]]):
    """`{table: {column: declared type}}` of a database, and the `namespaces` of its tables: the schema of a DuckDB file
    in which a table stands and with which queries may call it (`sales.orders`), "" for `main`."""

    def __init__(self, columns: Mapping[str, dict[str, str]], namespaces: Mapping[str, str]) -> None:
        super().__init__(columns)
        self.namespaces = dict(namespaces)


@dataclass(frozen=True)
class Problem:
    """Something that was left out, in words for the person who gave the input.

    With `left_out` False it is only a note: the database is used, but a person should know.
    """

    path: str
    reason: str
    remedy: str = ""
    left_out: bool = True

    def __str__(self) -> str:
        where = "the folder" if self.path == "." else self.path
        return f"{where}: {self.reason}" + (f" ({self.remedy})" if self.remedy else "")


@dataclass(frozen=True)
class Catalog:
    """The databases found under one path, sorted by `db_id`, and what was left out."""

    root: Path
    databases: tuple[Database, ...]
    problems: tuple[Problem, ...] = ()


# The limit for a statement whose outcome is kept or decides a reward: about a second of SQLite's virtual machine. The
# bound is the same on every machine, however busy it is.
STEPS = 30_000_000


@dataclass(frozen=True)
class Limits:
    """Bounds on one statement. A statement that meets one is stopped, and says which.

    `steps` bounds SQLite's virtual machine: unlike `seconds`, it stops the same statements on every machine. DuckDB
    counts nothing of the kind and knows `seconds` only.
    """

    seconds: float = 5.0
    rows: int = 10_000
    bytes: int = 16 * 2**20
    memory: int = 2 * 2**30  # address space of a worker, bytes, on top of what its imports take
    sql_length: int = 100_000
    steps: int = 0  # operations of SQLite's virtual machine, counted in ten thousands; 0: no bound


Cell = None | int | float | str | bytes


@dataclass(frozen=True)
class Result:
    """Outcome of one statement.

    `rows` is empty when only the digest was asked for, or there were too many; `digest`, `row_count` and
    `column_count` are always set when `status` is "ok". `ordered_digest` keeps the order of rows, `digest` does not.
    `bytes` cells are blobs or text that is not UTF-8. DuckDB values without an SQLite counterpart are
    converted to these cells: Decimal and HUGEINT to int or float, dates and times to ISO text, lists and
    structs to JSON text. With `floats`, some cell is one: digests, which round, do not show its last digits.
    """

    status: Status
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[Cell, ...], ...] = ()
    row_count: int = 0
    column_count: int = 0
    digest: str = ""
    ordered_digest: str = ""
    all_null: bool = False
    floats: bool = False
    seconds: float = 0.0
    error: str = ""

    @property
    def ok(self) -> bool:
        return self.status == "ok"

    def digest_if(self, ordered: bool) -> str:
        """The digest that counts: `ordered_digest` where the order of rows is part of the answer."""
        return self.ordered_digest if ordered else self.digest


@dataclass(frozen=True)
class Trial:
    """A statement, and for each of some databases the digests that its result may have there.

    `ordered` says which digest is meant: `Result.ordered_digest`, else `Result.digest`. A database for which no
    digest is given is the last that is looked at: whatever the statement gives there is not among those expected; nor,
    if the result is to be `exact`, are floats, which digests round.
    """

    sql: str
    databases: tuple[Database, ...]
    expected: tuple[tuple[str, ...], ...]
    ordered: bool = False
    exact: bool = False

    def __post_init__(self) -> None:
        if len(self.databases) != len(self.expected):
            raise ValueError(f"{len(self.databases)} databases, but expected digests for {len(self.expected)}")


@dataclass(frozen=True)
class TrialResult:
    """How far a trial went: the first `agreed` databases gave what was expected, the next one `different`.

    `different` is None when every database agreed. It may also be a failure, such as "timeout".
    """

    agreed: int
    different: Result | None = None

"""The profile of a database: all that the factory knows of it without reading it again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

from agro_data.databases.types import Cell, Dialect, Placed

Role = Literal[
    "identifier",  # key or code that names a row; never summed or averaged
    "category",  # few distinct values that group rows
    "measure",  # a quantity: may be summed, averaged, compared
    "year",  # a year as a number: compared and grouped, never summed
    "date",  # a date or timestamp, also one stored as text (see `date_format`)
    "boolean",
    "text",  # short text that names things (names, titles)
    "free_text",  # sentences; only LIKE and IS NULL make sense
    "other",  # blobs, mixed types: projected at most
]
Kind = Literal["integer", "real", "text", "date", "datetime", "time", "boolean", "blob", "other"]
TOLD = 3  # faults in one message


def is_zoned(declared_type: str) -> bool:
    """Whether values are moments of DuckDB that know their time zone; all sessions here read them in UTC."""
    return declared_type == "TIMESTAMP WITH TIME ZONE"


@dataclass(frozen=True)
class ColumnProfile:
    """One column. Counts and quantiles are of the sample when `TableProfile.sampled`."""

    name: str
    declared_type: str
    kind: Kind  # of the values that are stored, not of the declaration
    role: Role
    phrase: str  # natural singular noun phrase, without the table's noun: "birth date", "budget"
    nullable: bool = True  # as declared
    null_share: float = 0.0  # 0 only where no NULL was met
    searched: bool = False  # every row was looked at for NULL, though the rest is told from a sample
    distinct: int = 0  # distinct non-NULL values
    unique: bool = False  # no non-NULL value twice
    minimum: Cell = None
    maximum: Cell = None
    quantiles: tuple[Cell, ...] = ()  # 0, 10, ..., 100 % for numbers, dates and years; else ()
    common: tuple[tuple[Cell, int], ...] = ()  # up to 50 most common non-NULL values with counts
    date_format: str = ""  # "iso" (engine date functions work: "YYYY-MM-DD[ HH:MM:SS]", moments) or another name, or ""
    form: str = ""  # a regular expression that all its texts match whole (`profiling.columns.forms`), or ""
    structured: bool = False  # every text is an object or a list of JSON, blanks apart
    integral: bool = False  # every number is whole
    description: str = ""
    synonyms: tuple[str, ...] = ()
    named: bool = False  # by a person, in semantics.yml, and otherwise than the rules would: that word is kept
    codes: tuple[tuple[str, str], ...] = ()  # (value as text, meaning)
    unit: str = ""
    total: str = ""  # a value by which rows are the totals of others, by their numbers (`profiling.columns.totals`)
    within: tuple[Within, ...] = ()  # what its values must have alike to be compared or summed: a currency
    hidden: bool = False  # a name alone: never asked for, and none of its values is here (`credentials`)
    collation: str = ""  # by which its texts compare, where it is not byte by byte: NOCASE
    formula: str = ""  # by which it follows from other columns of its row

    @property
    def has_values(self) -> bool:
        return self.distinct > 0

    @property
    def is_zoned(self) -> bool:
        return is_zoned(self.declared_type)

    def without_values(self) -> ColumnProfile:
        """The column with counts and shares, and no value that was read from a cell."""
        return replace(self, minimum=None, maximum=None, quantiles=(), common=(), codes=(), form="", total="")


@dataclass(frozen=True)
class ForeignKey:
    """`table.columns` refers to `ref_table.ref_columns`. Inferred ones carry a confidence below 1. `tree`: it refers to
    its own table, and from no row of the source it leads back to this row.
    """

    table: str
    columns: tuple[str, ...]
    ref_table: str
    ref_columns: tuple[str, ...]
    declared: bool = True
    confidence: float = 1.0
    orphan_share: float = 0.0  # share of non-NULL child rows without a parent
    verb: str = ""  # optional relation phrase from semantics.yml
    tree: bool = False


def keys_by_table(keys: Iterable[ForeignKey]) -> dict[str, list[ForeignKey]]:
    """The keys by which rows of each table refer to others; a table that refers to none is not in it."""
    found: dict[str, list[ForeignKey]] = {}
    for key in keys:
        found.setdefault(key.table, []).append(key)
    return found


@dataclass(frozen=True)
class Within:
    """Rows whose quantities may be set against each other have one value in `column`, of their own table or of that to
    which `path` leads: a currency, a unit of measure, one of the values of which another is the total. If `summed`, the
    others may be compared, and not summed: balances of several days, debits and credits.
    """

    column: str
    path: tuple[ForeignKey, ...] = ()
    summed: bool = False


@dataclass(frozen=True)
class NullRule:
    """In every row of the source `column` is NULL (with `null`; else, has a value) exactly where `state` has one of
    `values`. `closed`: of the two values that it has.
    """

    column: str
    state: str
    values: tuple[Cell, ...]
    null: bool
    closed: bool

    def kept(self, row: Mapping[str, Cell]) -> bool:
        """Whether a row keeps the rule, as far as it is known."""
        if self.column not in row or self.state not in row:
            return True
        return (row[self.column] is None) == ((row[self.state] in self.values) == self.null)


@dataclass(frozen=True)
class Versions:
    """Rows are versions of a thing, called `singular`, that has its `key`. Of each at most one is current: that in
    which `column` is `current`, or NULL for None. `steady` are columns that all versions of a thing have alike,
    `validity` those that say when a version holds.
    """

    singular: str
    plural: str
    key: str
    column: str
    current: int | str | None
    steady: tuple[str, ...] = ()
    validity: tuple[str, ...] = ()


@dataclass(frozen=True)
class Mark:
    """Rows that an application takes for deleted, though they are there, are marked in `column`: what counts are the
    others, in which it is `kept`, or NULL for None.
    """

    column: str
    kept: int | str | None


@dataclass(frozen=True)
class Unknown:
    """Rows that stand for none, for others to refer to where there is no such thing: those with `numbers` in `key`."""

    key: str
    numbers: tuple[int, ...]


@dataclass(frozen=True)
class TableProfile:
    """One table or view: its columns, keys and how people call it."""

    name: str
    rows: int
    columns: tuple[ColumnProfile, ...]
    singular: str  # natural noun: "order item"
    plural: str
    primary_key: tuple[str, ...] = ()
    unique_keys: tuple[tuple[str, ...], ...] = ()
    label_columns: tuple[str, ...] = ()  # what a person calls a row by: ("name",), ("first_name", "last_name"), or ()
    kind: Literal["entity", "event", "bridge", "lookup"] = "entity"
    sampled: bool = False
    sample_rows: tuple[tuple[Cell, ...], ...] = ()  # up to 300 whole rows, in column order, seeded
    description: str = ""
    synonyms: tuple[str, ...] = ()
    named: bool = False  # as of a column
    is_view: bool = False
    definition: str = ""  # the statement that makes a view, as the database keeps it
    checks: tuple[str, ...] = ()  # what CHECK constraints say of each row, as far as it is plain
    partial_keys: tuple[tuple[tuple[str, ...], str], ...] = ()  # columns of which no two rows that meet a condition (as
    # those of `checks` are) have the same
    null_rules: tuple[NullRule, ...] = ()
    versions: Versions | None = None
    deleted: Mark | None = None
    unknown: Unknown | None = None
    described: bool = False  # in semantics.yml or dbt
    hidden: bool = False
    namespace: str = ""  # the schema of the database in which it stands, "" for `main`

    @cached_property
    def by_name(self) -> dict[str, ColumnProfile]:
        return {column.name: column for column in self.columns}

    def column(self, name: str) -> ColumnProfile:
        return self.by_name[name]

    @property
    def things(self) -> int:
        """How many things the rows are of: as many as there are, but for versions."""
        return self.rows if self.versions is None else self.by_name[self.versions.key].distinct

    def never_null(self, name: str) -> bool:
        """Whether no row holds NULL in the column; a sample that met none shows nothing."""
        column = self.by_name[name]
        return column.null_share == 0 and (column.searched or not (self.sampled and column.nullable))


@dataclass(frozen=True)
class Metric:
    """A named quantity of semantics.yml, e.g. revenue = SUM(quantity * unit_price) over order_items."""

    name: str
    table: str
    sql: str  # an aggregate expression over columns of `table`, unqualified
    definition: str = ""  # becomes `evidence`
    synonyms: tuple[str, ...] = ()


@dataclass(frozen=True)
class DatabaseProfile:
    """Everything visible of one database. Tables and columns that a person hides are already left out.

    `problems` are for who builds a corpus of it; `faults` are those of them by which a table cannot be read, which who
    asks or verifies must know, too.
    """

    db_id: str
    dialect: Dialect
    content_hash: str
    tables: tuple[TableProfile, ...]
    foreign_keys: tuple[ForeignKey, ...] = ()
    metrics: tuple[Metric, ...] = ()
    problems: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()
    domain: str = ""
    construct_prior: tuple[tuple[str, float], ...] = field(default=())  # shape -> weight, from semantics.yml

    @cached_property
    def by_name(self) -> dict[str, TableProfile]:
        return {table.name: table for table in self.tables}

    def table(self, name: str) -> TableProfile:
        return self.by_name[name]

    @property
    def closed(self) -> str:
        """Why nothing can be asked of it; "" where it shows a table."""
        if self.tables:
            return ""
        if not self.faults:
            return f"{self.db_id}: each of its tables is hidden (`hidden` in a semantics.yml)"
        told = "; ".join(self.faults[:TOLD])
        more = f"; and {len(self.faults) - TOLD:,} more" if len(self.faults) > TOLD else ""
        return f"{self.db_id}: none of its tables can be read ({told}{more})"

    @cached_property
    def phrases(self) -> frozenset[str]:
        """What tables and columns are called, in small letters."""
        return frozenset(
            phrase.lower() for t in self.tables for phrase in (t.singular, *(column.phrase for column in t.columns))
        )

    @cached_property
    def identifiers(self) -> frozenset[str]:
        """Names of tables and columns, as the database spells them."""
        return frozenset(name for t in self.tables for name in (t.name, *(column.name for column in t.columns)))

    def keys(self, table: str) -> tuple[tuple[str, ...], ...]:
        """The columns that no two rows of a table share, here and on any instance: its keys, and columns that foreign
        keys refer to.

        A name that no two rows happen to share is none: two rows may be called the same.
        """
        own = self.by_name[table]
        referred = (
            k.ref_columns
            for k in self.foreign_keys
            if k.ref_table == table and len(k.ref_columns) == 1 and own.column(k.ref_columns[0]).unique
        )
        return tuple(dict.fromkeys(key for key in (own.primary_key, *own.unique_keys, *referred) if key))

    def loose_nulls(self, named: Set[tuple[str, str]]) -> frozenset[tuple[str, str]]:
        """Those of `with_nulls` of which no column that is `named` says where they are NULL."""
        said = {(t.name, rule.column) for t in self.tables for rule in t.null_rules if (t.name, rule.state) in named}
        return self.with_nulls - said

    @cached_property
    def hidden_columns(self) -> frozenset[str]:
        """The `table.column` that are names alone."""
        return frozenset(f"{t.name}.{c.name}" for t in self.tables for c in t.columns if c.hidden)

    @cached_property
    def with_nulls(self) -> frozenset[tuple[str, str]]:
        """The (table, column) in which NULL was met."""
        return frozenset((t.name, c.name) for t in self.tables for c in t.columns if c.null_share)

    @cached_property
    def schema(self) -> Placed:
        """`{table: {column: declared type}}`, what sqlglot's `qualify` takes."""
        columns = {t.name: {c.name: c.declared_type or "TEXT" for c in t.columns} for t in self.tables}
        return Placed(columns, {t.name: t.namespace for t in self.tables})

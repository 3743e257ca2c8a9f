"""What a schema offers, and what a query has named so far, a level for each bracket: values, changed by `Scopes`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from agro_data.databases.quoting import folded
from agro_data.databases.types import Dialect
from agro_data.profiling.keys.same_key import NO_KEYS, Keys
from agro_data.sql.names.scope import Schema
from agro_train.naming.words import FUNCTIONS, JOINING

EVERY = "*"  # behind a qualifier

Columns = frozenset[str] | None  # folded; None: not known, anything may be one
Kind = Literal["query", "bracket", "window", "names"]
# What is expected next: the beginning of a query; an operand, or what follows one; what FROM names, its alias, what
# follows; a new name; a column behind a dot; what follows a CTE's name; any one word; brackets; or one given word.
Want = Literal[
    "start",
    "operand",
    "after",
    "source",
    "sourced",
    "aliased",
    "new",
    "column",
    "cte",
    "word",
    "bracket",
    "by",
    "as",
    "join",
]


@dataclass(frozen=True)
class Names:
    """What a schema offers, each name as the engines compare it (`folded`)."""

    tables: dict[str, frozenset[str]]
    columns: frozenset[str]
    dialect: Dialect
    keys: Keys = NO_KEYS

    @classmethod
    def of(cls, schema: Schema, dialect: Dialect, keys: Keys = NO_KEYS) -> Names:
        """Without `keys` tables may be joined over any columns."""
        tables = {folded(table): frozenset(map(folded, columns)) for table, columns in schema.items()}
        return cls(tables, frozenset().union(*tables.values()), dialect, keys)

    @cached_property
    def letters(self) -> frozenset[str]:
        """Letters of the names that are not ASCII, and one letter that stands for any in a string."""
        return frozenset(letter for name in (*self.tables, *self.columns, "ä") for letter in name if letter > "\x7f")

    @property
    def joining(self) -> frozenset[str]:
        return JOINING[self.dialect]

    @property
    def functions(self) -> frozenset[str]:
        return FUNCTIONS[self.dialect]


@dataclass(frozen=True)
class Source:
    """What FROM lists. `table` is the schema's, "" for anything else."""

    alias: str
    columns: Columns
    table: str = ""


@dataclass(frozen=True)
class Link:
    """The equality behind ON that must be over a key, as far as it is read: `left` is what its first column may be, as
    places of sources and columns of them."""

    want: Literal["left", "equals", "right"] = "left"
    left: frozenset[tuple[int, str]] = frozenset()


@dataclass
class Level:
    """What stands between two brackets, or the whole query. Fields hold values that are replaced, never changed."""

    kind: Kind
    want: Want
    clause: str = ""  # of a query: the keyword that began where it stands, "on" and "with" too; "" before it begins
    last: str = "("  # the keyword or bracket that stands before
    word: str = ""  # a name that has been read, and what it is the next token tells
    quote: str = ""  # its quotes
    qualifier: str = ""
    alias_may_follow: bool = False
    cases: int = 0  # CASEs that are open
    sees: bool = True  # whether names of the query around it may stand in it
    closed: bool = False  # all of FROM is read
    sources: tuple[Source, ...] = ()
    past: tuple[Source, ...] = ()  # sources of the SELECTs before a set operation
    source: Source | None = None  # read last, its alias may follow
    owed: bool = False  # whether ON or USING may follow
    free: bool = False  # whether the join that is read asks for no key: CROSS, NATURAL and their like
    link: Link | None = None  # while it is read
    tied: int = 1  # how many sources the last ON could tie
    bare: frozenset[str] = frozenset()  # columns that wait for a source
    qualified: frozenset[tuple[str, str]] = frozenset()
    outputs: frozenset[str] = frozenset()
    named: frozenset[str] = frozenset()  # outputs that have an alias
    star: bool = False
    ctes: tuple[tuple[str, Columns], ...] = ()
    cte: str = ""  # whose body is read
    renamed: frozenset[str] = frozenset()  # the columns of a list behind an alias or a CTE's name

"""What a question needs, and its database may be shown without: the ways to make one that cannot be answered.

PRACTIQ (2410.11076) names the same kinds: a column, a table or a value that is not there. A thing is taken away only
where the question says it by name and nothing that is left says the same: no key, no column of a like name beside it,
none with its values, none that it follows from. That is a claim of construction; whether the query really fails
without it is for who runs it to see.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Literal

from agro_data.intent.tree import Column, Comparison, Intent, Query, Value, conjuncts, walk
from agro_data.profiling.kinds import is_calendar
from agro_data.profiling.names.words import singular_word, word_set
from agro_data.profiling.profile import ColumnProfile, DatabaseProfile, TableProfile
from agro_data.profiling.serialising.linking import Name
from agro_data.sql.concealing import Hidden

Kind = Literal["missing_column", "missing_table", "missing_value"]

_WORD = re.compile(r"[^\W\d_]+|\d+")
_SMALL = word_set("a an the of in on at to for from by with and or")
# Words that columns of many tables end in: beside another table's noun they name another thing.
_GENERIC = word_set(
    "name title id code type date time year month day number description detail status text comment note role category"
)
_COUNTED = ("number of ", "count of ", "total ", "average ", "mean ")
_FOLLOWS = (("age", "birth"), ("age", "born"), ("year", "date"), ("month", "date"), ("duration", "start"))
_FEW = 4  # values: columns with fewer have some in common by chance
_LEFT = 0.5  # of a table's rows, when those with a value are taken away


@dataclass(frozen=True)
class Withheld:
    """One thing to hide from a question, and what a person should be told who then asks it."""

    kind: Kind
    hidden: Hidden
    clarification: str


def withholdings(intent: Intent, used: Collection[Name], question: str, profile: DatabaseProfile) -> list[Withheld]:
    """What may be taken away from the database of a question, in the order of the schema.

    `used` are the columns that its SQL reads, as (table, column).
    """
    said = stems(question)
    found = [*_columns(used, said, profile), *_tables(used, said, profile)]
    return [*found, *_values(intent, question, profile)]


@cache
def stems(text: str) -> frozenset[str]:
    """The words of a text in the singular, without the small ones."""
    return frozenset(singular_word(word) for word in _WORD.findall(text.lower()) if word not in _SMALL)


def _says(said: frozenset[str], name: str) -> bool:
    """Whether these words name it. Small words alone, such as "to", stand in any question and tell nobody anything."""
    return bool(own := stems(name)) and own <= said


def _columns(used: Collection[Name], said: frozenset[str], profile: DatabaseProfile) -> Iterator[Withheld]:
    for table in profile.tables:
        for column in table.columns:
            if (table.name, column.name) not in used or not _says(said, column.phrase):
                continue
            if _only_here(table, column, profile):
                text = f"Nothing in this database says the {column.phrase} of {table.plural}."
                yield Withheld("missing_column", Hidden(table.name, column.name), text)


def _tables(used: Collection[Name], said: frozenset[str], profile: DatabaseProfile) -> Iterator[Withheld]:
    for table in profile.tables:
        noun = stems(table.singular)
        others = [other for other in profile.tables if other is not table and other.rows]
        if is_calendar(table.columns):
            continue  # the days are in the keys, too: 20220103
        if not others or not _says(said, table.singular) or any(noun & stems(other.singular) for other in others):
            continue
        needed = [table.by_name[name] for owner, name in sorted(used) if owner == table.name]
        if any(_only_here(table, column, profile, beside=False) for column in needed):
            text = f"There is nothing about {table.plural} in this database."
            yield Withheld("missing_table", Hidden(table.name), text)


def _values(intent: Intent, question: str, profile: DatabaseProfile) -> Iterator[Withheld]:
    for value in _required(intent):
        if value.column is None or not isinstance(value.value, str) or not value.value:
            continue  # "" is nothing to name, and `Hidden` without a value is the whole column
        if value.value.lower() not in question.lower() or not stems(value.value):
            continue
        table = profile.table(value.column[0])
        column = table.column(value.column[1])
        rows = dict(column.common).get(value.value, 0)
        whole = any(key.ref_table == table.name for key in profile.foreign_keys)  # its rows hold others up
        if rows and not whole and not column.codes and table.rows - rows >= _LEFT * table.rows and not table.sampled:
            text = f"There is no {table.singular} with the {column.phrase} '{value.value}' in this database."
            yield Withheld("missing_value", Hidden(table.name, column.name, value.value), text)


def _required(intent: Intent) -> list[Value]:
    """Values that a row of the answer must have."""
    query = intent.query
    if not isinstance(query, Query):
        return []
    return [
        part.right
        for part in conjuncts(query.where)
        if isinstance(part, Comparison)
        and part.operator == "="
        and isinstance(part.left, Column)
        and isinstance(part.right, Value)
    ]


def _only_here(table: TableProfile, column: ColumnProfile, profile: DatabaseProfile, *, beside: bool = True) -> bool:
    """Whether nothing else in the database says what the column says. `beside`: also not in its own table."""
    if column.role == "identifier" or column.phrase.startswith(_COUNTED) or (table.name, column.name) in keys(profile):
        return False
    own = stems(column.phrase)
    near = {key.table for key in profile.foreign_keys if key.ref_table == table.name}
    near |= {key.ref_table for key in profile.foreign_keys if key.table == table.name}
    for other in profile.tables:
        for rival in other.columns:
            if other is table and (rival is column or not beside):
                continue
            words = stems(rival.phrase)
            if own & words and (other is table or (other.name in near and own & words - _GENERIC)):
                return False
            if other is not table and own == words and stems(table.singular) & stems(other.singular):
                return False
            if other.is_view and rival.name.lower() == column.name.lower():
                return False
            follows = any(what in own and source in words for what, source in _FOLLOWS)
            if (other is table and follows) or _same_values(column, rival):
                return False
    return True


def keys(profile: DatabaseProfile) -> frozenset[Name]:
    """Columns that rows are joined or told apart by."""
    found = {(table.name, name) for table in profile.tables for name in table.primary_key}
    for key in profile.foreign_keys:
        found |= {(key.table, name) for name in key.columns} | {(key.ref_table, name) for name in key.ref_columns}
    return frozenset(found)


def _same_values(column: ColumnProfile, other: ColumnProfile) -> bool:
    """Whether half of the values of the one with fewer, if they are texts, stand in the other."""
    if column.kind != "text" or other.kind != "text":
        return False
    mine, theirs = {value for value, _ in column.common}, {value for value, _ in other.common}
    return min(len(mine), len(theirs)) >= _FEW and 2 * len(mine & theirs) >= min(len(mine), len(theirs))


def tables_of(intent: Intent) -> dict[str, set[str]]:
    """The tables that each alias of the tree stands for: one, unless a name is used twice."""
    found: dict[str, set[str]] = {}
    for node in walk(intent):
        if type(node).__name__ == "Source":
            found.setdefault(node.alias, set()).add(node.table)
    return found

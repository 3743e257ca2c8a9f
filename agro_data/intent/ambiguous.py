"""Questions that mean several things: two columns with one natural name, and one question for both.

"The temperature" of a day that has a lowest and a highest one. The intent with each of the columns is a reading; the
question is what every reading says once all of these columns are called by the name they share. That the texts are
equal is checked, and so nothing in the question can tell the readings apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from agro_data.intent.questions import Question, render_question
from agro_data.intent.rename import transform
from agro_data.intent.tree import Column, Intent, Join, MetricCall, Output, Value, walk
from agro_data.intent.withheld import keys, tables_of
from agro_data.profiling.names.words import is_word, word_set
from agro_data.profiling.profile import ColumnProfile, DatabaseProfile, TableProfile

MOST = 4  # readings of one question
_ENDS = word_set("name id code number type flag")  # alone they name no quantity or quality


@dataclass(frozen=True)
class Reading:
    """One meaning, and the question that has no other."""

    intent: Intent
    says: str


@dataclass(frozen=True)
class Ambiguity:
    """`question` means any of `readings`; the first is the intent that it was made of."""

    question: Question
    readings: tuple[Reading, ...]
    clarification: str


def ambiguities(intent: Intent, profile: DatabaseProfile, style: str, seed: int) -> Iterator[Ambiguity]:
    """The questions in which one column of `intent` is called by a name that others of its table share."""
    aliases = {alias: next(iter(tables)) for alias, tables in tables_of(intent).items() if len(tables) == 1}
    used = {
        (aliases[node.source], node.name)
        for node in walk(intent)
        if isinstance(node, Column) and node.source in aliases and aliases[node.source] in profile.by_name
    }
    joined = {name for node in walk(intent) if isinstance(node, Join) for pair in node.columns for name in pair}
    if any(isinstance(node, MetricCall) for node in walk(intent)):
        return
    for table_name, column_name in sorted(used):
        table = profile.table(table_name)
        if column_name not in table.by_name or column_name in joined or column_name in table.label_columns:
            continue
        for shared, group in _namesakes(table, table.column(column_name), profile):
            if sum((table_name, one.name) in used for one in group) == 1:
                yield from _told(intent, profile, table, column_name, shared, group, style, seed)


def _namesakes(
    table: TableProfile, column: ColumnProfile, profile: DatabaseProfile
) -> Iterator[tuple[str, tuple[ColumnProfile, ...]]]:
    """Names that the column has in common with others of its table that could stand in its place, longest first.

    A name that is the whole phrase of some column is that column's, and nobody would take it for another's.
    """
    taken = {one.phrase.lower() for one in table.columns} | {table.singular.lower(), table.plural.lower()}
    fixed = keys(profile)
    alike = [
        one
        for one in table.columns
        if one.role == column.role
        and one.kind == column.kind
        and one.has_values
        and one.unit == column.unit
        and (table.name, one.name) not in fixed
        and one.name not in table.label_columns
    ]
    words = column.phrase.split()
    names = [" ".join(words[place:]) for place in range(1, len(words))] + list(column.synonyms)
    for name in names:
        group = tuple(one for one in alike if one.phrase.endswith(f" {name}") or name in one.synonyms)
        named = all(map(is_word, name.lower().split())) and name.lower() not in taken | _ENDS
        left = [one.phrase for one in table.columns if one not in group and f" {name} " in f" {one.phrase} "]
        if named and not left and 2 <= len(group) <= MOST and column in group:
            yield name, group


def _told(
    intent: Intent,
    profile: DatabaseProfile,
    table: TableProfile,
    column: str,
    shared: str,
    group: tuple[ColumnProfile, ...],
    style: str,
    seed: int,
) -> Iterator[Ambiguity]:
    ordered = sorted(group, key=lambda one: one.name != column)
    meant = [intent, *(swapped(intent, table.name, column, one.name) for one in ordered[1:])]
    called = _called(profile, table, {one.name for one in group}, shared)
    said = [render_question(one, called, style, seed) for one in meant]
    plain = [render_question(one, profile, style, seed) for one in meant]
    alike = len({(one.text, one.evidence) for one in said}) == 1
    if not alike or len({one.text for one in (said[0], *plain)}) <= len(meant):
        return
    which = " or ".join(f"the {one.phrase}" for one in ordered)
    readings = tuple(Reading(one, text.text) for one, text in zip(meant, plain, strict=True))
    yield Ambiguity(said[0], readings, f"Which {shared} is meant: {which}?")


def swapped(intent: Intent, table: str, column: str, other: str) -> Intent:
    """`intent` with the column `other` of `table` wherever it had `column`."""
    aliases = {alias for alias, tables in tables_of(intent).items() if tables == {table}}

    def change(node: object) -> object:
        match node:
            case Column() if node.source in aliases and node.name == column:
                return Column(node.source, other)
            case Value() if node.column == (table, column):
                return replace(node, column=(table, other))
            case Output() if node.name and column.lower() in node.name.lower():
                return replace(node, name=node.name.lower().replace(column.lower(), other.lower()))
        return node

    return transform(intent, change)


def _called(profile: DatabaseProfile, table: TableProfile, names: set[str], shared: str) -> DatabaseProfile:
    """The profile in which all these columns have the one name, and nothing else that would tell them apart."""
    columns = tuple(
        replace(one, phrase=shared, description="", synonyms=()) if one.name in names else one for one in table.columns
    )
    tables = tuple(replace(one, columns=columns) if one is table else one for one in profile.tables)
    return replace(profile, tables=tables)

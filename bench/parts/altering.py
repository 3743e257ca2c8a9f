"""Questions with one condition altered, and the SQL that they then mean: a value, a comparison, an end, a column.

Where the intent is not stored, the words are found in the question: a value or a column's phrase that stands in it
exactly once, a comparison's phrase where the SQL has exactly one such comparison.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from random import Random

from sqlglot import exp

from agro_data.databases.types import Cell
from agro_data.profiling.profile import ColumnProfile, DatabaseProfile
from agro_data.sql.comparisons import COMPARISONS
from agro_data.sql.forms.canonical import sql_text
from agro_data.sql.names.resolution import Resolution, value_of
from agro_data.sql.names.scope import resolve
from agro_data.sql.parse import parse_select

_MORE, _LESS = ("more than", "greater than", "over", "above"), ("less than", "fewer than", "under", "below")
_TURNED: tuple[tuple[tuple[str, ...], str, type[exp.Expr], type[exp.Expr]], ...] = (
    (_MORE, "less than", exp.GT, exp.LT),
    (_LESS, "more than", exp.LT, exp.GT),
    (("at least",), "at most", exp.GTE, exp.LTE),
    (("at most",), "at least", exp.LTE, exp.GTE),
    (("highest", "largest", "maximum", "greatest"), "lowest", exp.Max, exp.Min),
    (("lowest", "smallest", "minimum"), "highest", exp.Min, exp.Max),
    (("most recent", "latest"), "earliest", exp.Max, exp.Min),
    (("earliest",), "latest", exp.Min, exp.Max),
)


@dataclass(frozen=True)
class Altered:
    """Another question or evidence for a row, the SQL that it means, and what was done, for a person."""

    question: str
    evidence: str
    sql: str
    what: str


def altered_questions(question: str, sql: str, profile: DatabaseProfile, chance: Random) -> list[Altered]:
    """Every alteration that the words of the question allow, in random order."""
    found = resolve(parse_select(sql, profile.dialect), profile.dialect, profile.schema)
    made = [*_values(question, found, profile, chance), *_turned(question, found, profile)]
    made += _columns(question, found, profile, chance)
    chance.shuffle(made)
    return made


def wrong_evidence(question: str, sql: str, profile: DatabaseProfile, chance: Random) -> list[Altered]:
    """The question as it is, with evidence that has one of its values mean another one."""
    found = resolve(parse_select(sql, profile.dialect), profile.dialect, profile.schema)
    return [
        Altered(question, f"{said} is stored as {other}.", text, f"{said} is {other}")
        for said, other, text in _other_values(question, found, profile, chance)
    ]


def _values(question: str, found: Resolution, profile: DatabaseProfile, chance: Random) -> Iterator[Altered]:
    for said, other, text in _other_values(question, found, profile, chance):
        yield Altered(_said_otherwise(question, said, other), "", text, f"value {said} -> {other}")


def _other_values(
    question: str, found: Resolution, profile: DatabaseProfile, chance: Random
) -> Iterator[tuple[str, str, str]]:
    """(value as said, another of its column, SQL with that one) for values that the question says once."""
    for node in list(found.tree.find_all(exp.Literal)):
        column = _compared_with(node, found, profile)
        if column is None or value_of(node, found) is None or len(_places(question, node.name)) != 1:
            continue
        others = [value for value, _ in column.common] + list(column.quantiles)
        texts = sorted({_text(one) for one in others if one is not None and isinstance(one, str) == node.is_string})
        texts = [text for text in texts if text.strip() and text != node.name and not _places(question, text)]
        if texts:
            other = chance.choice(texts)
            new = exp.Literal.string(other) if node.is_string else exp.Literal.number(other)
            yield node.name, other, _with(found, node, new, profile)


def _text(value: Cell) -> str:
    """A value as SQL and people write it: 3, not 3.0."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _compared_with(node: exp.Expr, found: Resolution, profile: DatabaseProfile) -> ColumnProfile | None:
    """The column that a literal is compared with."""
    comparison = node.parent
    if not isinstance(comparison, COMPARISONS):
        return None
    other = comparison.expression if comparison.this is node else comparison.this
    return _column(other, found, profile)


def _turned(question: str, found: Resolution, profile: DatabaseProfile) -> Iterator[Altered]:
    for phrases, instead, kind, other in _TURNED:
        nodes = list(found.tree.find_all(kind))
        said = [phrase for phrase in phrases for _ in _places(question, phrase)]
        if len(nodes) == 1 and len(said) == 1:
            new = other(**{key: value for key, value in nodes[0].args.items() if value is not None})
            text = _with(found, nodes[0], new, profile)
            yield Altered(_said_otherwise(question, said[0], instead), "", text, f"{said[0]} -> {instead}")


def _columns(question: str, found: Resolution, profile: DatabaseProfile, chance: Random) -> Iterator[Altered]:
    for node in list(found.tree.find_all(exp.Column)):
        column = _column(node, found, profile)
        binding = found.binding(node)
        if column is None or binding is None or binding.source is None:
            continue
        same = [one for one in found.tree.find_all(exp.Column) if found.binding(one) == binding]
        if len(same) != 1 or len(_places(question, column.phrase)) != 1:
            continue
        siblings = profile.table(binding.source.table).columns
        others = [
            one
            for one in siblings
            if one is not column and one.kind == column.kind and not one.hidden and not _places(question, one.phrase)
        ]
        if others:
            other = chance.choice(others)
            new = exp.column(other.name, table=node.table or None, quoted=True)
            asked = _said_otherwise(question, column.phrase, other.phrase)
            yield Altered(asked, "", _with(found, node, new, profile), f"column {column.phrase} -> {other.phrase}")


def _column(node: exp.Expr, found: Resolution, profile: DatabaseProfile) -> ColumnProfile | None:
    place = found.place(node)
    with suppress(KeyError):
        return profile.table(place[0]).column(place[1]) if place is not None else None
    return None


def _with(found: Resolution, old: exp.Expr, new: exp.Expr, profile: DatabaseProfile) -> str:
    """The statement with one node in the place of another; the tree stays as it was."""
    shown = list(new.iter_expressions())
    old.replace(new)
    text = sql_text(found.tree, profile.dialect)
    new.replace(old)
    for child in shown:
        child.parent = old
    return text


def _places(question: str, phrase: str) -> list[re.Match[str]]:
    """Where a phrase stands in the question as whole words, whatever their case."""
    words = re.escape(phrase)
    return list(re.finditer(rf"(?<![\w.]){words}(?![\w]|\.\d)", question, re.IGNORECASE)) if phrase.strip() else []


def _said_otherwise(question: str, phrase: str, instead: str) -> str:
    place = _places(question, phrase)[0]
    return question[: place.start()] + instead + question[place.end() :]

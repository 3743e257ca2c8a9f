"""A column equal to a value, said by what the column means: "named Kyle", "living in Rome", "Private colleges"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from agro_data.databases.types import Cell
from agro_data.intent.questions.clauses.modifiers import Atom
from agro_data.intent.questions.naming import words
from agro_data.intent.questions.naming.nouns import Scene
from agro_data.intent.questions.naming.vocabulary import STATES
from agro_data.intent.questions.voice import Voice
from agro_data.intent.tree import Column, Comparison, Expression, Value
from agro_data.profiling.names.words import PREPOSITIONS, is_adjective, is_participle, pieces_of
from agro_data.profiling.profile import ColumnProfile
from agro_data.sql.said import MONTHS, WEEKDAYS

DESCRIBED = "described as "  # what a code means that has no other name: "the status Closed"
_HOMES = ("city", "town", "state", "county")
# Values of such columns stand before the noun where they are one plain word.
_ADJECTIVAL = ("category", "color", "colour", "gender", "genre", "kind", "sex", "status", "style", "type")
_SENSES = {True: ("1", "true", "yes", "y", "t"), False: ("0", "false", "no", "n", "f")}
_FLAGS = frozenset(("flag", "flg", "ind", "indicator", "yn"))  # what a flag's name may end in
_PLACING = frozenset(("at", "for", "in", "on", "over", "under"))
_OF_WEEKDAYS = ("day", "day name", "day of the week", "day of week", "weekday", "weekday name")
_OF_MONTHS = ("month", "month name")
_ADJECTIVE = re.compile(r"[A-Za-z][a-z]{3,}")


def called(scene: Scene, column: Column, predicate: Comparison, text: str) -> str:
    """ "named Kyle" where the column is what rows are called by, "described as Closed" where codes have no names."""
    table = scene.table(column.source)
    if table is None or predicate.operator != "=" or table.label_columns != (column.name,):
        return ""
    phrase = scene.phrase(column).lower()
    if phrase == "title":
        return f"titled {text}"
    if phrase == "description":
        return f"{DESCRIBED}{text}"
    if phrase in ("name", f"{table.singular} name"):
        return scene.voice.pick(*[f"named {text}"] * 5, f"called {text}")
    return ""


def stated(column: ColumnProfile, value: Cell, equal: bool = True) -> tuple[str, str] | None:
    """Plural and singular predicate of rows in which a flag that asks, `is_hidden` or `has_children`, has a value, or,
    where not `equal`, the other one.

    So of any flag that is called by how rows are, `active`, `returned_late_flag`, or by where they are,
    `on_scholarship`. None where no predicate can be made of the name, and of those of which a flag says no where others
    lack it: these are not so either.
    """
    pieces = [piece.lower() for piece in pieces_of(column.name)]
    while len(pieces) > 1 and pieces[-1] in _FLAGS:
        pieces.pop()
    sense = next((sense for sense, texts in _SENSES.items() if str(value).lower() in texts), None)
    if column.role != "boolean" or column.named or sense is None or (column.null_share and not (equal and sense)):
        return None
    no = "" if sense == equal else "not "
    stem = column.phrase.removesuffix(" flag")
    if pieces[0] == "has" and len(pieces) > 1 and stem.startswith("has "):
        have = stem.removeprefix("has ")
        return (f"do not have {have}", f"does not have {have}") if no else (f"have {have}", stem)
    asks = pieces[0] == "is" and len(pieces) > 1
    if _tells_state(pieces) or (asks and (_tells_state(stem.split(" ")) or is_adjective(stem.rsplit(" ", 1)[-1]))):
        return f"are {no}{stem}", f"is {no}{stem}"
    if asks and words.is_person(stem):
        return f"are {no}{words.plural(stem)}", f"is {no}{words.article(stem)}"
    return None


def _tells_state(said: Sequence[str]) -> bool:
    """Whether words say how something is, or where: "active", "returned late", "paid in full", "under warranty"."""
    if said[0] in _PLACING or " ".join(said) in STATES:
        return len(said) > 1 or said[0] in STATES
    end = next((at for at, word in enumerate(said) if word in PREPOSITIONS), len(said))
    return end > 0 and all(map(_is_quality, said[:end]))


def _is_quality(word: str) -> bool:
    return word in STATES or is_adjective(word) or (word.endswith("ly") and len(word) > 4)


def done_by(column: ColumnProfile) -> str:
    """ "last updated by" of a column that is named so, and called "last editor"; "" of others, and of keys."""
    pieces = [piece.lower() for piece in pieces_of(column.name)]
    told = (
        len(pieces) > 1 and pieces[-1] == "by" and is_participle(pieces[-2]) and set(pieces[:-2]) <= {"first", "last"}
    )
    return " ".join(pieces) if told and column.kind == "text" and not column.named else ""


def on_days(scene: Scene, what: Expression, base: str, values: Sequence[Expression]) -> Atom | None:
    """ "on a Friday", "in May or June", where these are what a column calls the days or months of a row; else None."""
    if not isinstance(what, Column) or not scene.same(base, scene.bearer(what)):
        return None
    phrase, meant = scene.phrase(what), [value.value for value in values if isinstance(value, Value)]
    if phrase in _OF_WEEKDAYS and {*meant} <= {*WEEKDAYS}:
        word = "on a"
    elif phrase in _OF_MONTHS and {*meant} <= {*MONTHS}:
        word = "in"
    else:
        return None
    when = f"{word} {scene.voice.twin().listed(list(map(str, meant)), 'or')}"
    return Atom(after=when, verb=(f"are {when}", f"is {when}"))


def by_meaning(made: Atom, phrase: str, text: str, person: bool, voice: Voice) -> Atom:
    """`made` with the forms that the column's phrase adds for rows (a `person` each, or not) that hold `text`."""
    if phrase in _HOMES and person:
        after = voice.pick(f"from {text}", f"living in {text}")
        return replace(made, after=after, verb=(f"live in {text}", f"lives in {text}"))
    kind = phrase.rsplit(" ", 1)[-1]
    if kind in _ADJECTIVAL and _ADJECTIVE.fullmatch(text) and (kind != "status" or is_adjective(text.lower())):
        made = replace(made, before=text)  # "Rock tracks", "Shipped orders", but no "Cancel orders"
    if phrase in ("gender", "sex") and len(text) > 3 and text.isalpha():
        return replace(made, verb=(f"are {text}", f"is {text}"))
    return made

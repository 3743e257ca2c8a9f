"""A column equal to a value, said by what the column means: "named Kyle", "living in Rome", "Private colleges"."""

from __future__ import annotations

import re
from dataclasses import replace

from agro_data.databases.types import Cell
from agro_data.intent.questions.clauses.modifiers import Atom
from agro_data.intent.questions.naming import words
from agro_data.intent.questions.naming.nouns import Scene
from agro_data.intent.questions.naming.vocabulary import STATES
from agro_data.intent.questions.voice import Voice
from agro_data.intent.tree import Column, Comparison
from agro_data.profiling.names.words import is_adjective, is_participle, pieces_of
from agro_data.profiling.profile import ColumnProfile

DESCRIBED = "described as "  # what a code means that has no other name: "the status Closed"
_HOMES = ("city", "town", "state", "county")
# Values of such columns stand before the noun where they are one plain word.
_ADJECTIVAL = ("category", "color", "colour", "gender", "genre", "kind", "sex", "status", "style", "type")
_SENSES = {True: ("1", "true", "yes", "y", "t"), False: ("0", "false", "no", "n", "f")}
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


def stated(column: ColumnProfile, value: Cell) -> tuple[str, str] | None:
    """Plural and singular predicate of rows in which a flag that asks, `is_hidden` or `has_children`, has a value.

    So of what is declared as true or false and called by an adjective alone, `hazardous`, and of any flag that is
    called by a participle, `cancelled`. None where the name does not ask, where rows may lack the flag, or where no
    predicate can be made of it.
    """
    first, *rest = [piece.lower() for piece in pieces_of(column.name)] or [""]
    bare = not rest and (is_participle(first) or (column.kind == "boolean" and is_adjective(first)))
    known = column.role == "boolean" and not column.null_share and not column.named and (bool(rest) or bare)
    sense = next((sense for sense, texts in _SENSES.items() if str(value).lower() in texts), None)
    if not known or sense is None:
        return None
    stem = column.phrase.removesuffix(" flag")
    if first == "has" and stem.startswith("has "):
        have = stem.removeprefix("has ")
        return (f"have {have}", stem) if sense else (f"do not have {have}", f"does not have {have}")
    no = "" if sense else "not "
    if first != "is" and not bare:
        return None
    if stem in STATES or is_adjective(stem.rsplit(" ", 1)[-1].lower()):
        return f"are {no}{stem}", f"is {no}{stem}"
    return (f"are {no}{words.plural(stem)}", f"is {no}{words.article(stem)}") if words.is_person(stem) else None


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

"""A column equal to a value, said by what the column means: "named Kyle", "living in Rome", "Private colleges"."""

from __future__ import annotations

import re
from dataclasses import replace

from agro_data.intent.questions.modifiers import Atom
from agro_data.intent.questions.nouns import Scene
from agro_data.intent.questions.voice import Voice
from agro_data.intent.tree import Column, Comparison

_HOMES = ("city", "town", "state", "county")
# Values of such columns stand before the noun where they are one plain word.
_ADJECTIVAL = ("category", "color", "colour", "gender", "genre", "kind", "sex", "status", "style", "type")
_ADJECTIVE = re.compile(r"[A-Za-z][a-z]{3,}")


def called(scene: Scene, column: Column, predicate: Comparison, text: str) -> str:
    """ "named Kyle" where the column is what rows are called by."""
    table = scene.table(column.source)
    if table is None or predicate.operator != "=" or table.label_columns != (column.name,):
        return ""
    phrase = scene.phrase(column).lower()
    if phrase == "title":
        return f"titled {text}"
    if phrase in ("name", f"{table.singular} name"):
        return scene.voice.pick(*[f"named {text}"] * 5, f"called {text}")
    return ""


def by_meaning(made: Atom, phrase: str, text: str, person: bool, voice: Voice) -> Atom:
    """`made` with the forms that the column's phrase adds for rows (a `person` each, or not) that hold `text`."""
    if phrase in _HOMES and person:
        after = voice.pick(f"from {text}", f"living in {text}")
        return replace(made, after=after, verb=(f"live in {text}", f"lives in {text}"))
    if phrase.rsplit(" ", 1)[-1] in _ADJECTIVAL and _ADJECTIVE.fullmatch(text):
        made = replace(made, before=text)
    if phrase in ("gender", "sex") and len(text) > 3 and text.isalpha():
        return replace(made, verb=(f"are {text}", f"is {text}"))
    return made

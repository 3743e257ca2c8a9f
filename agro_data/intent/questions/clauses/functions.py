"""What functions are called: aggregates, arithmetic, text functions, metrics. Their arguments come as phrases."""

from __future__ import annotations

from collections.abc import Sequence

from agro_data.intent.questions.clauses.comparing import sort_of
from agro_data.intent.questions.habits import AVERAGE, LATEST
from agro_data.intent.questions.naming import words
from agro_data.intent.questions.naming.nouns import Scene
from agro_data.intent.tree import Aggregate, Arithmetic, Column, Days, MetricCall, TextFunction

# Phrases that hold an aggregate's word already: "the average of the average attendance".
TAKEN = ("total ", "average ", "mean ", "maximum ", "minimum ", "max ", "min ", "highest ", "lowest ", "sum ",
          "largest ", "smallest ", "biggest ", "greatest ", "overall ", "earliest ", "latest ", "avg ")  # fmt: skip

_BOUNDS = ("maximum ", "minimum ", "max ", "min ")
NAMED = ("name", "title", "description", "text", "comment", "comments", "details", "email", "nickname", "abstract")
SPELT = "number of characters in"


def text_function(scene: Scene, expression: TextFunction, items: Sequence[str]) -> str:
    """What a text function makes of the phrases of its arguments."""
    if expression.function == "join_words":
        if [words.last_word(i) for i in items] == ["name", "name"] and items[0].startswith("first"):
            return scene.voice.pick("full name (first name, then last name)", "first and last name joined by a space") \
                if items[1].startswith("last") else f"{items[0]} and {items[1]} joined by a space"  # fmt: skip
        return f"{scene.voice.listed(items)} joined by a space"
    if expression.function == "length":
        # The length of a country is no number of letters.
        named = words.last_word(items[0]).lower() in NAMED
        return f"{scene.voice.pick('length of', 'number of characters in') if named else SPELT} the {items[0]}"
    if expression.function == "prefix":
        if expression.size == 1:
            return scene.voice.pick(f"first letter of the {items[0]}", f"initial letter of the {items[0]}")
        return f"first {expression.size} characters of the {items[0]}"
    case = "upper" if expression.function == "upper" else "lower"
    return scene.voice.pick(f"{items[0]} in {case} case", f"{items[0]} in {case}case letters")


def metric(scene: Scene, call: MetricCall) -> str:
    """A metric's own name; its definition becomes evidence."""
    found = next(m for m in scene.profile.metrics if m.name == call.name)
    name = words.spelled(found.name) if "_" in found.name else found.name
    scene.voice.note(f"{name}: {found.definition or 'as defined for this database'}".rstrip("."))
    return scene.voice.pick(name, name, *(s.replace("_", " ") for s in found.synonyms))


def function_words(scene: Scene, aggregate: Aggregate) -> tuple[str, bool]:
    """("average", True): the word, and whether it stands straight before the column's phrase."""
    if isinstance(aggregate.argument, Days):
        low, high = scene.voice.scale
        said = {"avg": scene.voice.weigh(AVERAGE), "sum": "total", "min": low, "max": high}
        return said[aggregate.function], True
    profile = scene.column(aggregate.argument) if isinstance(aggregate.argument, Column) else None
    timed = profile is not None and sort_of(profile) in ("year", "date")
    phrase = profile.phrase.lower() if profile is not None else ""
    if aggregate.function == "avg" and phrase.startswith(_BOUNDS):
        return scene.voice.weigh(AVERAGE), True  # "the average maximum occupancy"
    if not isinstance(aggregate.argument, Column) or f"{phrase} ".startswith(TAKEN):
        return {"avg": "average", "sum": "sum", "min": "minimum", "max": "maximum"}[aggregate.function], False
    if timed and aggregate.function == "sum":
        return "sum", False
    if timed:
        return {"min": "earliest", "max": scene.voice.weigh(LATEST)}.get(aggregate.function, "average"), True
    if aggregate.function == "sum":
        return "total", True
    return {"avg": scene.voice.weigh(AVERAGE), "min": scene.voice.scale[0],
            "max": scene.voice.scale[1]}[aggregate.function], True  # fmt: skip


def combined(scene: Scene, expression: Arithmetic, left: str, right: str) -> str:
    """Two phrases joined by an operator: "price times the quantity"."""
    pick = scene.voice.pick
    if expression.operator == "-":
        return pick(f"{left} minus the {right}", f"{left} minus {right}")
    if expression.operator == "*":
        return pick(
            f"product of the {left} and the {right}", f"{left} times the {right}", f"{left} multiplied by the {right}"
        )
    return f"sum of the {left} and the {right}" if expression.operator == "+" else f"ratio of the {left} to the {right}"

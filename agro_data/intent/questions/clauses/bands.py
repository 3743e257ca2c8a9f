"""The bands of a CASE, said with their bounds."""

from __future__ import annotations

from agro_data.intent.questions.clauses.phrases import term
from agro_data.intent.questions.clauses.values import say_number
from agro_data.intent.questions.naming.nouns import Scene
from agro_data.intent.tree import (
    Case,
    Comparison,
    Value,
)


def banded(scene: Scene, case: Case) -> str:
    """The bands of a CASE over rising bounds, each with its ends: '"low" below 30, "high" from 30'."""
    said: list[str] = []
    last = ""
    for predicate, label in case.branches:
        if not isinstance(predicate, Comparison) or not isinstance(predicate.right, Value):
            raise TypeError("a band is bounded by a comparison with a literal")
        bound = predicate.right.value
        number = say_number(bound) if isinstance(bound, int | float) else str(bound)
        said.append(f'"{label.value}" from {last} to below {number}' if last else f'"{label.value}" below {number}')
        last = number
    if case.otherwise is not None:
        said.append(f'"{case.otherwise.value}" from {last} up')
    return scene.voice.listed(said)


def banded_column(scene: Scene, case: Case, base: str) -> str:
    """What the bands are of."""
    first = case.branches[0][0]
    if not isinstance(first, Comparison):
        raise TypeError("a band is bounded by a comparison with a literal")
    return term(scene, first.left, base)

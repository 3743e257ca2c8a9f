"""Rewards as named terms: pure functions of what a finished rollout showed, weighted by presets.

In every preset no rollout without a right answer earns as much as one with it (tested for all that can be shown):
right means right on all instances, as `verify.grade` says. What the papers leave open is our definition and says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

Outcome = Literal["answered", "malformed", "truncated"]


@dataclass(frozen=True)
class Finished:
    """What a finished rollout showed. Shares lie between 0 and 1.

    `right` on all instances; `executed` is of the answer; `exact`: the answer's canonical text is the gold's;
    `entity`: F1 of the answer's tables and columns against the gold's; `exploration`: share of its other queries that
    ran, gave rows, read a table of the gold, and had not been asked before.
    """

    outcome: Outcome
    right: bool = False
    executed: bool = False
    exact: bool = False
    entity: float = 0.0
    exploration: float = 0.0

    def __post_init__(self) -> None:
        if (self.right or self.executed) and self.outcome != "answered":
            raise ValueError(f"a {self.outcome} rollout has no answer that could be right or run")
        if (self.exact and not self.right) or (self.right and not self.executed):
            raise ValueError("what is exact is right, and what is right has run")
        if not (0 <= self.entity <= 1 and 0 <= self.exploration <= 1):
            raise ValueError("entity and exploration are shares between 0 and 1")


BEST = Finished("answered", right=True, executed=True, exact=True, entity=1.0, exploration=1.0)

# --- terms: each a number for one rollout ------------------------------------------------------------------------


def correct(rollout: Finished) -> float:
    """1 if right on all instances."""
    return float(rollout.right)


def well_formed(rollout: Finished) -> float:
    """1 if every turn was well formed and an answer was given."""
    return float(rollout.outcome == "answered")


def malformed(rollout: Finished) -> float:
    """1 if a turn could not be read."""
    return float(rollout.outcome == "malformed")


def unanswered(rollout: Finished) -> float:
    """1 if there is no answer: malformed or truncated."""
    return float(rollout.outcome != "answered")


def executes(rollout: Finished) -> float:
    """1 if the answer runs, right or not."""
    return float(rollout.executed)


def exact_match(rollout: Finished) -> float:
    """1 if the answer is the gold's own text, letter case, spacing and alias names aside."""
    return float(rollout.exact)


def entity_match(rollout: Finished) -> float:
    """F1 of tables and columns; 1 for what is right, which is not held against the gold's way of writing it."""
    if rollout.outcome != "answered":
        return 0.0
    return 1.0 if rollout.right else rollout.entity


def exploration(rollout: Finished) -> float:
    """Share of useful lookups, if there is an answer."""
    return rollout.exploration if rollout.outcome == "answered" else 0.0


# --- presets -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Term:
    """`weight` times what `measure` gives."""

    name: str
    weight: float
    measure: Callable[[Finished], float]


@dataclass(frozen=True)
class Preset:
    """Terms that are added up. `details`: `exact`, `entity` and `exploration` are used and have to be found out."""

    name: str
    terms: tuple[Term, ...]
    details: bool = False

    @property
    def highest(self) -> float:
        """What a perfect rollout earns."""
        return reward(BEST, self).total


@dataclass(frozen=True)
class Reward:
    """`terms`: the weighted part of each, for the log."""

    total: float
    terms: Mapping[str, float]


AGRO = Preset("agro", (Term("correct", 1.0, correct), Term("malformed", -1.0, malformed)))
"""+1 right, -1 invalid format, 0 otherwise (2512.23366; the 0 is inferred). A truncated rollout earns 0."""

REEX = Preset(
    "reex",
    (
        Term("format", 2.0, well_formed),
        Term("exact_match", 1.0, exact_match),
        Term("execution", 3.0, correct),
        Term("entity", 1.0, entity_match),
        Term("exploration", 2.0, exploration),
    ),
    details=True,
)
"""ReEx-SQL's five terms and weights (2505.12768). The last two terms' formulas are not public: these are ours."""

SKYRL = Preset("skyrl", (Term("correct", 1.0, correct), Term("unanswered", -1.0, unanswered)))
"""SkyRL-SQL: +1 right, 0 wrong, -1 without a well-formed solution, thus also when turns run out."""

ARCTIC = Preset("arctic", (Term("correct", 0.9, correct), Term("executes", 0.1, executes)))
"""Arctic-R1: 1 right, 0.1 runs, 0 otherwise."""

PRESETS: Mapping[str, Preset] = {preset.name: preset for preset in (AGRO, REEX, SKYRL, ARCTIC)}


def reward(rollout: Finished, preset: Preset = AGRO) -> Reward:
    """Total and parts for one rollout."""
    parts = {term.name: term.weight * term.measure(rollout) for term in preset.terms}
    return Reward(sum(parts.values()), parts)

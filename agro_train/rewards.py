"""Rewards as named terms: pure functions of what a finished rollout showed, weighted by presets.

In every preset no rollout without a right answer earns as much as one with it (tested for all that can be shown): right
means right on all instances, as `verify.grade` says. Where a question has no one answer, asking back is right if it
names why (`clarifying`). If it has one, asking back costs so much that a model which always asks back earns no more
than one which is always wrong, as long as at most a third of the questions have no single answer
(`BuildConfig.unanswerable`). Where the papers leave something open, the definition is ours and says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

Outcome = Literal["answered", "clarified", "malformed", "truncated"]
ENDED: tuple[Outcome, ...] = ("answered", "clarified")  # by the agent, in order


@dataclass(frozen=True)
class Finished:
    """The outcome of a finished rollout. Shares lie between 0 and 1.

    `right` on all instances or, where the question is not `answerable`, asking back and naming why; `executed` is of
    the answer; `exact`: the answer's canonical text is the gold's; `entity`: F1 of the answer's tables and columns
    against the gold's; `exploration`: share of its other queries that ran, gave rows, read a table of the gold, and had
    not been asked before; `guessed`: the answer is right in one reading of a question that has several.
    """

    outcome: Outcome
    right: bool = False
    executed: bool = False
    exact: bool = False
    entity: float = 0.0
    exploration: float = 0.0
    answerable: bool = True
    guessed: bool = False

    def __post_init__(self) -> None:
        if self.executed and self.outcome != "answered":
            raise ValueError(f"a {self.outcome} rollout has no answer that could be right or run")
        if self.right and self.outcome != ("answered" if self.answerable else "clarified"):
            raise ValueError(f"a {self.outcome} rollout has no answer that could be right or run")
        if (self.exact and not self.right) or (self.right and self.answerable and not self.executed):
            raise ValueError("what is exact is right, and what is right has run")
        if self.guessed and (self.answerable or not self.executed):
            raise ValueError("only an answer that runs, to a question with several readings, is a guess")
        if not (0 <= self.entity <= 1 and 0 <= self.exploration <= 1):
            raise ValueError("entity and exploration are shares between 0 and 1")


BEST = Finished("answered", right=True, executed=True, exact=True, entity=1.0, exploration=1.0)
ASKED_BACK = Finished("clarified", right=True, answerable=False)

# --- terms: each a number for one rollout ------------------------------------------------------------------------


def correct(rollout: Finished) -> float:
    """1 if right on all instances, or if it names why there is no one answer."""
    return float(rollout.right)


def well_formed(rollout: Finished) -> float:
    """1 if every turn was well formed and the agent came to an end."""
    return float(rollout.outcome in ENDED)


def malformed(rollout: Finished) -> float:
    """1 if a turn could not be read."""
    return float(rollout.outcome == "malformed")


def unanswered(rollout: Finished) -> float:
    """1 if the agent came to no end: malformed or truncated."""
    return float(rollout.outcome not in ENDED)


def executes(rollout: Finished) -> float:
    """1 if the answer runs, right or not, or if there is rightly none."""
    return float(rollout.executed or rollout.right)


def exact_match(rollout: Finished) -> float:
    """1 if the answer is the gold's own text, letter case, spacing and alias names aside."""
    return float(rollout.exact)


def entity_match(rollout: Finished) -> float:
    """F1 of tables and columns; 1 for a right answer, however it is written."""
    if rollout.right:
        return 1.0
    return rollout.entity if rollout.outcome == "answered" else 0.0


def exploration(rollout: Finished) -> float:
    """Share of useful lookups, if the agent came to an end."""
    return rollout.exploration if rollout.outcome in ENDED else 0.0


def false_abstention(rollout: Finished) -> float:
    """1 if it asks back where there is an answer."""
    return float(rollout.outcome == "clarified" and rollout.answerable)


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
        """The reward of a perfect rollout."""
        return reward(BEST, self).total

    @property
    def correctness(self) -> float:
        """The reward for being right, whatever else there is."""
        return sum(term.weight for term in self.terms if term.measure is correct)

    @property
    def asked_back(self) -> float:
        """The reward for a right clarification."""
        return reward(ASKED_BACK, self).total


@dataclass(frozen=True)
class Reward:
    """`terms`: the weighted part of each, for the log."""

    total: float
    terms: Mapping[str, float]


# The papers know no questions without an answer: the weights of `abstention` are ours, as small as its bound allows.
AGRO = Preset(
    "agro",
    (Term("correct", 1.0, correct), Term("malformed", -1.0, malformed), Term("abstention", -0.5, false_abstention)),
)
"""+1 right, -1 invalid format, 0 otherwise (2512.23366; the 0 is inferred). A truncated rollout earns 0."""

REEX = Preset(
    "reex",
    (
        Term("format", 2.0, well_formed),
        Term("exact_match", 1.0, exact_match),
        Term("execution", 3.0, correct),
        Term("entity", 1.0, entity_match),
        Term("exploration", 2.0, exploration),
        Term("abstention", -3.0, false_abstention),
    ),
    details=True,
)
"""ReEx-SQL's five terms and weights (2505.12768). The last two terms' formulas are not public: these are ours."""

SKYRL = Preset(
    "skyrl",
    (Term("correct", 1.0, correct), Term("unanswered", -1.0, unanswered), Term("abstention", -0.5, false_abstention)),
)
"""SkyRL-SQL: +1 right, 0 wrong, -1 without a well-formed solution, thus also when turns run out."""

ARCTIC = Preset(
    "arctic",
    (Term("correct", 0.9, correct), Term("executes", 0.1, executes), Term("abstention", -0.5, false_abstention)),
)
"""Arctic-R1: 1 right, 0.1 runs, 0 otherwise."""

PresetName = Literal["agro", "reex", "skyrl", "arctic"]
PRESETS: Mapping[str, Preset] = {preset.name: preset for preset in (AGRO, REEX, SKYRL, ARCTIC)}


def reward(rollout: Finished, preset: Preset = AGRO) -> Reward:
    """Total and parts for one rollout."""
    parts = {term.name: term.weight * term.measure(rollout) for term in preset.terms}
    return Reward(sum(parts.values()), parts)

"""A tournament among candidates for one question: grouped by result, every two groups judged in both orders.

Candidates with the same result form a group, and one of them plays for all. A judge who always prefers the first of two
gives one match of each pair to either side, so this habit decides nothing. The group with the most matches won wins (a
draw counts half); then the larger group; then the one given first. (AGRO-SQL, 2512.23366, names tournament selection;
how it is played is ours.)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations

import polars as pl

from agro_data.alignment.example import Example
from agro_data.alignment.grouping import Group, Grouped, group
from agro_data.alignment.showing import as_shown
from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.llm.client import Client
from agro_data.llm.prompt import Unparsed, ask
from agro_data.llm.types import Sampling
from agro_data.prompts.compare import COMPARE, Better, Preference, TwoQueries

MOST = 6  # groups that play: 30 matches
DECIDED = Sampling(temperature=0.0)

MATCHES = pl.Schema(
    {
        "example_id": pl.String,
        "first": pl.String,  # SQL, in the order in which they were shown
        "second": pl.String,
        "better": pl.String,  # first, second or neither
        "reason": pl.String,
    }
)


@dataclass(frozen=True)
class Pairing:
    """Two queries for one question as a judge sees them, with what they give where they differ."""

    example: Example
    first: str
    second: str
    first_result: str
    second_result: str


@dataclass(frozen=True)
class Opinion:
    """Which of a pairing is better, and why; "neither" also where no opinion could be read."""

    better: Better
    reason: str


Prefer = Callable[[Sequence[Pairing]], Sequence[Opinion]]


@dataclass(frozen=True)
class Match:
    """One match: places of the groups in the order in which they were shown."""

    first: int
    second: int
    opinion: Opinion


@dataclass(frozen=True)
class Tournament:
    """The players, every match, and the points of each group. `ranking` names groups, the winner first."""

    example: Example
    entered: Grouped
    matches: tuple[Match, ...]

    @property
    def points(self) -> tuple[float, ...]:
        """A point for a match won, half a point for a draw."""
        points = [0.0] * len(self.entered.groups)
        for match in self.matches:
            better = match.opinion.better
            points[match.first] += {"first": 1.0, "neither": 0.5, "second": 0.0}[better]
            points[match.second] += {"first": 0.0, "neither": 0.5, "second": 1.0}[better]
        return tuple(points)

    @property
    def ranking(self) -> tuple[Group, ...]:
        """All groups, the winner first; groups come sorted by size and place, which settles ties."""
        points = self.points
        places = sorted(range(len(points)), key=lambda place: -points[place])
        return tuple(self.entered.groups[place] for place in places)

    @property
    def winner(self) -> str:
        """The SQL that won, "" where no candidate runs."""
        return self.ranking[0].sql if self.entered.groups else ""

    def rows(self) -> list[dict[str, str]]:
        """A row of `MATCHES` for each match."""
        groups = self.entered.groups
        return [
            {
                "example_id": self.example.example_id,
                "first": groups[match.first].sql,
                "second": groups[match.second].sql,
                "better": match.opinion.better,
                "reason": match.opinion.reason,
            }
            for match in self.matches
        ]


def play(
    entries: Sequence[tuple[Example, Sequence[str]]], prefer: Prefer, sandbox: Sandbox, most: int = MOST
) -> list[Tournament]:
    """A tournament for each example among its candidates; the matches of all are judged in one call of `prefer`.

    At most the `most` largest groups play; the example's own SQL is a candidate only where it is given as one.
    """
    entered = [Grouped(found.groups[:most], found.dropped) for found in group(entries, sandbox)]
    planned = [
        (number, first, second)
        for number, found in enumerate(entered)
        for first, second in permutations(range(len(found.groups)), 2)
    ]
    shown = _results(entries, entered, planned, sandbox)
    pairings = [
        Pairing(
            entries[number][0],
            entered[number].groups[first].sql,
            entered[number].groups[second].sql,
            *(shown[number, one, _apart(entered[number], first, second)] for one in (first, second)),
        )
        for number, first, second in planned
    ]
    matches: list[list[Match]] = [[] for _ in entries]
    for (number, first, second), opinion in zip(planned, prefer(pairings) if pairings else (), strict=True):
        matches[number].append(Match(first, second, opinion))
    return [
        Tournament(example, found, tuple(played))
        for (example, _), found, played in zip(entries, entered, matches, strict=True)
    ]


def _apart(found: Grouped, first: int, second: int) -> int:
    """The first place where two groups answer otherwise."""
    pairs = zip(found.groups[first].signature, found.groups[second].signature, strict=True)
    return next(place for place, (one, other) in enumerate(pairs) if one != other)


def _results(
    entries: Sequence[tuple[Example, Sequence[str]]],
    entered: Sequence[Grouped],
    planned: Sequence[tuple[int, int, int]],
    sandbox: Sandbox,
) -> Mapping[tuple[int, int, int], str]:
    """What a group gives at a place, as text: by tournament, group and place."""
    wanted = sorted({(n, one, _apart(entered[n], a, b)) for n, a, b in planned for one in (a, b)})
    pairs = [(entries[n][0].places[place], entered[n].groups[one].sql) for n, one, place in wanted]
    return dict(zip(wanted, as_shown(pairs, sandbox), strict=True))


def model_prefers(client: Client) -> Prefer:
    """A model as the judge of matches. A reply that cannot be read is a draw, with its class as the reason."""

    def prefer(pairings: Sequence[Pairing]) -> list[Opinion]:
        asked = [
            TwoQueries(
                schema=one.example.shown,
                question=one.example.question,
                first=one.first,
                first_result=one.first_result,
                second=one.second,
                second_result=one.second_result,
                evidence=one.example.evidence,
                dialect=one.example.engine,
            )
            for one in pairings
        ]
        return [_opinion(one.answer) for one in ask(client, COMPARE, asked, DECIDED)]

    return prefer


def _opinion(answer: Preference | Unparsed) -> Opinion:
    if isinstance(answer, Unparsed):
        return Opinion("neither", f"{answer.kind}: {answer.detail}")
    return Opinion(answer.better, answer.reason)

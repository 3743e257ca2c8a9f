"""How many of the solvers' answers are the gold's, on every instance; and what the others answer instead."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from agro_data.alignment.example import Example
from agro_data.alignment.grouping import Group, group
from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.verify.execution import execute
from agro_data.verify.golds import GoldResults, Grade
from agro_data.verify.grade import grade_many

UNALIKE = Grade(0.0, "the same rows, with columns that the gold lacks or without some of its own", "columns")


@dataclass(frozen=True)
class Ballot:
    """`grades` stand beside `answers`; `others` group those that run and are not the gold's, the largest first."""

    answers: tuple[str, ...]
    grades: tuple[Grade, ...]
    others: tuple[Group, ...]

    @property
    def votes(self) -> int:
        """Answers that are the gold's: the k of `k of n`."""
        return sum(grade.right for grade in self.grades)

    @property
    def asked(self) -> int:
        """Answers that were asked for: the n, attempts that came to nothing included."""
        return len(self.answers)

    @property
    def score(self) -> float:
        """Share of the answers that agree; 0 where nobody was asked."""
        return self.votes / self.asked if self.asked else 0.0


def vote(
    examples: Sequence[Example], answers: Sequence[Sequence[str]], sandbox: Sandbox, golds: GoldResults
) -> list[Ballot]:
    """A ballot for each example, in order; `answers` are all solvers' answers to each.

    An answer agrees when it gives the gold's rows, or an alternative's, on every instance. Its columns may be in any
    order, since a question seldom says which, but none may be missing or added: a missing column is a fault to be
    found.
    """
    asked = [(example, sql) for example, some in zip(examples, answers, strict=True) for sql in some]
    grades = grade_many([example.case(sql) for example, sql in asked], sandbox, golds, "intent", guarded=True)
    grades = _with_all_columns(asked, grades, sandbox)
    places = iter(grades)
    own = [[next(places) for _ in some] for some in answers]
    apart = [
        (example, [sql for sql, grade in zip(some, mine, strict=True) if not grade.right])
        for example, some, mine in zip(examples, answers, own, strict=True)
    ]
    return [
        Ballot(tuple(some), tuple(mine), found.groups)
        for some, mine, found in zip(answers, own, group(apart, sandbox), strict=True)
    ]


def _with_all_columns(asked: Sequence[tuple[Example, str]], grades: Sequence[Grade], sandbox: Sandbox) -> list[Grade]:
    """The grades, with answers refused that have another number of columns than the gold and its alternatives."""
    right = [(place, *asked[place]) for place, grade in enumerate(grades) if grade.right]
    held = [(one.database, sql) for _, one, answer in right for sql in (answer, one.sql, *one.alternatives)]
    counts = iter([result.column_count for result in execute(held, sandbox)])
    found = list(grades)
    for place, one, _ in right:
        answer, *golds = islice(counts, 2 + len(one.alternatives))
        if answer not in golds:
            found[place] = UNALIKE
    return found

"""What speaks against answers, as far as it can be known without a gold: by the verifier of pairs (`agro verify`).

Of what nothing speaks against most is right, of the rest little (bench/RESULTS.md), whoever answered.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from agro_data.databases.sandbox import Sandbox
from agro_data.databases.types import Database
from agro_data.evaluation.loaded import Pair
from agro_data.pairs.checking import check_pairs
from agro_data.pairs.finding import Finding, gravity
from agro_data.profiling.profile import DatabaseProfile
from agro_train.tasks import Task

# What any answer has that asks these data what is asked; one without asks something else. Of 43 such answers of other
# systems, beside 264 that have it and are right in four of five cases, none is right (Spider dev).
OF_THE_DATA = frozenset({"text_as_number"})


@dataclass(frozen=True)
class Answered:
    """A question with the SQL of its answer, "" if there is none, and the database as whoever answered was shown it;
    without a profile nothing is found."""

    pair: Pair
    database: Database
    profile: DatabaseProfile | None

    @classmethod
    def of(cls, task: Task, sql: str) -> Answered:
        pair = Pair(task.example_id, task.database.db_id, task.question, sql, task.evidence)
        return cls(pair, task.database, task.profile)


def objections(answers: Sequence[Answered], sandbox: Sandbox) -> list[tuple[Finding, ...]]:
    """What is found of each answer, in order."""
    alike: dict[int, tuple[Database, DatabaseProfile, list[int]]] = {}
    for place, one in enumerate(answers):
        if one.pair.sql and one.profile is not None:
            alike.setdefault(id(one.profile), (one.database, one.profile, []))[2].append(place)
    found: list[tuple[Finding, ...]] = [()] * len(answers)
    for database, profile, places in alike.values():
        checked = check_pairs(database, profile, [answers[place].pair for place in places], sandbox)
        for place, findings in zip(places, checked.findings, strict=True):
            found[place] = findings
    return found


def weight(findings: Iterable[Finding]) -> int:
    """How grave it is what speaks against one answer rather than another: `gravity` without what is the data's."""
    return gravity(one for one in findings if one.kind not in OF_THE_DATA)

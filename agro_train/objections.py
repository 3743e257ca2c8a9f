"""Objections to answers that need no gold: the findings of the verifier of pairs (`agro verify`).

Most answers without findings are right, few of the others are (bench/RESULTS.md), whichever model answered.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.databases.types import Database
from agro_data.evaluation.loaded import Pair
from agro_data.pairs.checking import check_pairs
from agro_data.pairs.finding import Finding, gravity
from agro_data.profiling.profile import DatabaseProfile
from agro_train.tasks import Task

# These findings come from the data: every answer that asks what the question asks has them, and an answer without them
# asks something else. On Spider dev, of other systems' answers to such questions 264 have them, and four of five are
# right; 43 do not have them, and none is right.
OF_THE_DATA = frozenset({"text_as_number"})


@dataclass(frozen=True)
class Answered:
    """A question with the SQL of its answer ("" if there is none), and the database as the answering model saw it.
    Without a profile there are no findings.
    """

    pair: Pair
    database: Database
    profile: DatabaseProfile | None

    @classmethod
    def of(cls, task: Task, sql: str) -> Answered:
        pair = Pair(task.example_id, task.database.db_id, task.question, sql, evidence=task.evidence)
        return cls(pair, task.database, task.profile)


def objections(answers: Sequence[Answered], sandbox: Sandbox) -> list[tuple[Finding, ...]]:
    """The findings on each answer, in order. One that could not be examined has that for a finding."""
    alike: dict[int, tuple[Database, DatabaseProfile, list[int]]] = {}
    for place, one in enumerate(answers):
        if one.pair.sql and one.profile is not None:
            alike.setdefault(id(one.profile), (one.database, one.profile, []))[2].append(place)
    found: list[tuple[Finding, ...]] = [()] * len(answers)
    for database, profile, places in alike.values():
        checked = check_pairs(database, profile, [answers[place].pair for place in places], sandbox)
        for place, findings in zip(places, checked.findings, strict=True):
            found[place] = findings
        for number, fault in checked.faults.items():
            found[places[number]] = (Finding("unexamined", f"It could not be examined: {fault}."),)
    return found


def weight(findings: Iterable[Finding]) -> int:
    """How grave it is what speaks against one answer rather than another: `gravity` without what is the data's."""
    return gravity(one for one in findings if one.kind not in OF_THE_DATA)

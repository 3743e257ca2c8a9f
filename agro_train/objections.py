"""What speaks against answers, as far as it can be known without a gold: by the verifier of pairs (`agro verify`).

Of what nothing speaks against most is right, of the rest little (bench/RESULTS.md), whoever answered.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from agro_data.databases.sandbox import Sandbox
from agro_data.evaluation.loaded import Pair
from agro_data.pairs.checking import check_pairs
from agro_data.pairs.finding import Finding
from agro_train.tasks import Task


def objections(answers: Sequence[tuple[Task, str]], sandbox: Sandbox) -> list[tuple[Finding, ...]]:
    """What is found of each answer, in order: of one that is "" nothing, and of tasks that have no profile."""
    by_profile: dict[int, list[int]] = defaultdict(list)
    for place, (task, sql) in enumerate(answers):
        if sql and task.profile is not None:
            by_profile[id(task.profile)].append(place)
    found: dict[int, tuple[Finding, ...]] = {}
    for places in by_profile.values():
        some = [answers[place] for place in places]
        database, profile = some[0][0].database, some[0][0].profile
        if profile is not None:
            pairs = [_pair(*one) for one in some]
            found |= dict(zip(places, check_pairs(database, profile, pairs, sandbox).findings, strict=True))
    return [found.get(place, ()) for place in range(len(answers))]


def _pair(task: Task, sql: str) -> Pair:
    return Pair(task.example_id, task.database.db_id, task.question, sql, task.evidence)

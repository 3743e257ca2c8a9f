"""Predictions graded against their golds: by database, on the source or on instances; a verdict for each."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from agro_data.databases.discovery.content import is_as_found
from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.databases.types import Database
from agro_data.evaluation.facts import Facts, facts_of
from agro_data.evaluation.instances import Instances
from agro_data.evaluation.loaded import Prediction
from agro_data.evaluation.metrics import Metric
from agro_data.evaluation.scoring import score
from agro_data.evaluation.verdict import Verdict
from agro_data.evaluation.voting import elected
from agro_data.progress import Reporter
from agro_data.verify.golds import Case, GoldResults, Grade

UNGRADABLE = ("gold_failed", "no_database", "no_gold")  # classes of verdicts for which no prediction is to blame
CHUNK = 2_000  # predictions, or as many as one database has, between two reports of progress


@dataclass
class Grader:
    """Grades predictions, those about a database together. `idle` counts golds by database, file and why they do not
    run there.
    """

    metric: Metric
    sources: Mapping[str, Database]
    missing: Mapping[str, str]  # why a database is not there
    suite: Instances | None
    with_source: bool
    sandbox: Sandbox
    golds: GoldResults
    idle: Counter[tuple[str, str]] = field(default_factory=Counter)

    def verdicts(self, rows: Sequence[Prediction], progress: Reporter) -> list[Verdict]:
        places: dict[str, list[int]] = defaultdict(list)
        for place, row in enumerate(rows):
            places[row.db_id].append(place)
        found: dict[int, Verdict] = {}
        progress("grading", 0, len(rows), "predictions")
        for place in (place for db_id, mine in places.items() if db_id not in self.sources for place in mine):
            db_id = rows[place].db_id
            why = ": ".join(filter(None, (f"no database {db_id} in the folder given", self.missing.get(db_id))))
            found[place] = _verdict(rows[place], [Grade(0.0, why, "no_database")], Facts())
        for together in _chunks([mine for db_id, mine in places.items() if db_id in self.sources]):
            found |= zip(together, self._graded([rows[place] for place in together]), strict=True)
            progress("grading", len(found), len(rows), "predictions")
        return [found[place] for place in range(len(rows))]

    def problems(self) -> Iterator[str]:
        """Files of the suite on which golds do not run, and databases that changed meanwhile."""
        for (place, why), count in sorted(self.idle.items()):
            golds = "a gold does" if count == 1 else f"{count:,} golds do"
            yield f"{place}: {golds} not run there, which tells nothing of their predictions: {why}"
        for db_id, database in self.sources.items():
            if not is_as_found(database):
                yield f"{db_id}: {database.path} has changed since it was read; run it again"

    def _graded(self, rows: Sequence[Prediction]) -> list[Verdict]:
        """Verdicts of predictions whose databases are there."""
        held = [self._held_against(row) for row in rows]
        cases: list[Case] = []
        owners: list[tuple[int, int]] = []  # row and attempt
        for number, row in enumerate(rows):
            for attempt, predicted in enumerate((row.predictions or ("",)) if row.gold else ()):
                # `strict` holds rows against one gold: each that is accepted has a case of its own
                for gold in (row.gold, *(row.alternatives if self.metric.mode == "strict" else ())):
                    cases.append(Case(gold, predicted, held[number], alternatives=row.alternatives))
                    owners.append((number, attempt))
        found: dict[tuple[int, int], Grade] = {}
        for owner, grade in zip(owners, score(self.metric, cases, self.sandbox, self.golds), strict=True):
            if owner not in found or _is_better(grade, found[owner]):
                found[owner] = grade
        grades: dict[int, list[Grade]] = defaultdict(list)
        for (number, _), grade in found.items():
            grades[number].append(grade)
        self._count_idle(rows, grades)
        no_gold = Grade(0.0, "no gold to compare with", "no_gold")
        facts = facts_of(rows, self.sources)
        voted = _votes(rows, self.sources, self.sandbox)
        return [
            _verdict(
                row, grades.get(number, [no_gold]), facts[row.db_id, row.gold], len(held[number]), voted.get(number)
            )
            for number, row in enumerate(rows)
        ]

    def _held_against(self, row: Prediction) -> tuple[Database, ...]:
        source = self.sources[row.db_id]
        if self.suite is None:
            return (source,)
        files = self.suite.of(source.db_id, row.gold, row.identity)
        return (source, *files) if source not in files and (self.with_source or not files) else files

    def _count_idle(self, rows: Sequence[Prediction], grades: Mapping[int, Sequence[Grade]]) -> None:
        golds = {(rows[number].db_id, rows[number].gold): mine[0] for number, mine in grades.items()}
        for grade in golds.values():
            if grade.error_class not in UNGRADABLE:  # they are told one by one
                self.idle.update(grade.idle)


def _is_better(grade: Grade, before: Grade) -> bool:
    """Whether a grade against a further gold takes the place of the one before it: where that one was wrong, or could
    not be told.
    """
    return grade.score > before.score or (before.error_class == "gold_failed" != grade.error_class)


def _chunks(places: Iterable[list[int]]) -> Iterator[list[int]]:
    """Databases together, so that no worker waits at the end of each; whole ones, for they share golds and files."""
    chunk: list[int] = []
    for mine in places:
        chunk += mine
        if len(chunk) >= CHUNK:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def _verdict(
    row: Prediction, grades: Sequence[Grade], facts: Facts, instances: int = 0, voted: int | None = None
) -> Verdict:
    first = grades[0]
    return Verdict(
        row.place,
        row.db_id,
        row.question,
        gold=row.gold,
        pred=row.predictions[0] if row.predictions else "",
        score=first.score,
        reason=first.reason,
        error_class=first.error_class,
        instance=first.place,
        instances=instances - len(first.idle),
        hardness=facts.hardness,
        constructs=facts.constructs,
        scores=tuple(grade.score for grade in grades),
        voted=voted,
        votes=row.votes,
    )


def _votes(rows: Sequence[Prediction], sources: Mapping[str, Database], sandbox: Sandbox) -> dict[int, int]:
    """For predictions of several attempts, the one that a vote by results chooses: the first where all fail."""
    several = [number for number, row in enumerate(rows) if len(row.predictions) > 1]
    asked = [(sources[rows[number].db_id], sql) for number in several for sql in rows[number].predictions]
    given = iter([(one.digest, one.ordered_digest) if one.ok else None for one in sandbox.run_many(asked)])
    weights = {number: rows[number].votes or [1] * len(rows[number].predictions) for number in several}
    return {number: elected([next(given) for _ in votes], votes) or 0 for number, votes in weights.items()}

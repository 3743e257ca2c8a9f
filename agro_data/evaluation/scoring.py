"""Scores of (gold, prediction) pairs under each kind of metric; one grade for each pair, in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean, pstdev

from agro_data.databases.errors import DatabaseError
from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.databases.types import Database, Result
from agro_data.evaluation.exact_match.components import Same, exact_match
from agro_data.evaluation.exact_match.grammar import Columns
from agro_data.evaluation.exact_match.names import names_of
from agro_data.evaluation.exact_match.tokens import NotRead
from agro_data.evaluation.metrics import Metric
from agro_data.evaluation.official import bird_statement, spider_ordered, spider_prediction, spider_statement
from agro_data.sql.forms.spelling import spelling
from agro_data.verify.difference import first_difference
from agro_data.verify.equivalence import soft_f1
from agro_data.verify.failures import failure_class
from agro_data.verify.golds import Case, GoldResults, Grade
from agro_data.verify.grade import grade_many

Names = tuple[Columns, Same]

TOGETHER = 16  # cases whose rows are held at a time, for soft F1
RUNS = 10  # of each statement, to time it; the official script takes 100
REWARDS = ((2.0, 1.25), (1.0, 1.0), (0.5, 0.75), (0.25, 0.5), (0.0, 0.25))  # least time ratio, reward


def score(metric: Metric, cases: Sequence[Case], sandbox: Sandbox, golds: GoldResults) -> list[Grade]:
    """Grades of cases, in order; the first instance of each is the database itself unless the metric is on a suite."""
    if metric.kind == "exact":
        return _exact(cases)
    if metric.kind == "soft-f1":
        return _soft_f1([_as_run(metric, case) for case in cases], sandbox)
    grades = grade_many([_as_run(metric, case) for case in cases], sandbox, golds, metric.mode)
    return _timed(cases, grades, sandbox) if metric.kind == "r-ves" else grades


def _as_run(metric: Metric, case: Case) -> Case:
    """The case with its statements as the official script runs them."""
    if metric.mode == "bird":
        gold, predicted = bird_statement(case.gold), bird_statement(case.predicted)
        return replace(case, gold=gold, predicted=predicted, ordered=False)
    if metric.mode != "spider":
        return case
    gold, predicted = spider_statement(case.gold), spider_statement(spider_prediction(case.predicted))
    return replace(case, gold=gold, predicted=predicted, ordered=spider_ordered(case.gold))


def _exact(cases: Sequence[Case]) -> list[Grade]:
    grades: list[Grade] = []
    names: dict[Database, Names | DatabaseError] = {}
    for case in cases:
        database = case.databases[0]
        if database not in names:
            names[database] = _names(database)
        known = names[database]
        if isinstance(known, DatabaseError):
            grades.append(Grade(0.0, str(known), "no_database"))
            continue
        columns, same = known
        try:
            equal, why = exact_match(case.gold, spider_prediction(case.predicted), columns, same)
        except NotRead as error:
            grades.append(Grade(0.0, f"the gold is not read by the official parser: {error}", "gold_failed"))
            continue
        grades.append(Grade(1.0) if equal else Grade(0.0, why, "missing" if not case.predicted else "wrong_form"))
    return grades


def _names(database: Database) -> Names | DatabaseError:
    try:
        return names_of(database)
    except DatabaseError as error:
        return error


def _soft_f1(cases: Sequence[Case], sandbox: Sandbox) -> list[Grade]:
    return [
        grade
        for start in range(0, len(cases), TOGETHER)
        for grade in _soft_grades(cases[start : start + TOGETHER], sandbox)
    ]


def _soft_grades(cases: Sequence[Case], sandbox: Sandbox) -> list[Grade]:
    statements = [(case.databases[0], sql) for case in cases for sql in (case.gold, case.predicted)]
    unique = dict.fromkeys(statements)
    results = dict(zip(unique, sandbox.run_many(unique, want="rows"), strict=True))
    return [_soft_grade(results[case.databases[0], case.gold], results, case) for case in cases]


def _soft_grade(gold: Result, results: dict[tuple[Database, str], Result], case: Case) -> Grade:
    if not case.predicted.strip():
        return Grade(0.0, "no prediction", "missing")
    if not gold.ok:
        return Grade(0.0, f"the gold does not run: {gold.error or gold.status}", "gold_failed")
    predicted = results[case.databases[0], case.predicted]
    if not predicted.ok:
        kind, reason = failure_class(predicted)
        return Grade(0.0, reason, kind)
    value = soft_f1(gold.rows, predicted.rows)
    if value == 1:
        return Grade(1.0)
    kind = "empty" if gold.rows and not predicted.rows else "wrong_rows"
    return Grade(value, first_difference(gold.rows, predicted.rows, ordered=True), kind)


def _timed(cases: Sequence[Case], grades: Sequence[Grade], sandbox: Sandbox) -> list[Grade]:
    """BIRD's R-VES: what is right gets the root of a reward for the ratio of the gold's time to the prediction's.

    The mean ratio of `RUNS` alternating runs, see `ves`. The gold itself takes its own time; the official
    script times it against itself, and chance decides between 0.87 and 1.
    """
    timed: list[Grade] = []
    for case, grade in zip(cases, grades, strict=True):
        if not grade.right:
            timed.append(grade)
            continue
        if spelling(case.gold) == spelling(case.predicted):
            timed.append(replace(grade, reason="the gold itself"))
            continue
        results = sandbox.run(case.databases[0], [case.gold, case.predicted] * (RUNS + 1))[2:]  # the first warms up
        ratios = [
            gold.seconds / max(ours.seconds, 1e-9) for gold, ours in zip(results[::2], results[1::2], strict=True)
        ]
        ratio, value = ves(ratios)
        timed.append(replace(grade, score=value, reason=f"gold's time is {ratio:.2f} times the prediction's"))
    return timed


def ves(ratios: Sequence[float]) -> tuple[float, float]:
    """The mean of the ratios within three standard deviations of their mean, and the score of it under R-VES."""
    mean, spread = fmean(ratios), pstdev(ratios)
    # A ratio is never left out for the last digits of the mean.
    ratio = fmean([one for one in ratios if abs(one - mean) <= 3 * spread + 1e-9 * abs(mean)])
    return ratio, next(reward for least, reward in REWARDS if ratio >= least) ** 0.5

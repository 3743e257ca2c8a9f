"""Figures of models on the same questions, as JSON values and as a table: how right, how they behaved, what it cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from agro_data.evaluation.grading import UNGRADABLE
from agro_data.evaluation.statistics import paired
from agro_data.evaluation.verdict import Verdict
from agro_train.comparison.scoring import Scored
from agro_train.questions import Questions
from agro_train.sql_env import RAN

# Findings of an answer that does not run.
FAILS = frozenset({"no_database", "not_a_query", "syntax", "unknown_name", "does_not_run", "over_limit"})


@dataclass(frozen=True)
class Compared:
    """All models on one set of questions. `figures` are JSON values."""

    questions: Questions
    models: tuple[Scored, ...]
    figures: dict[str, Any] = field(default_factory=dict)


def compare(questions: Questions, models: Sequence[Scored], seed: int = 0) -> dict[str, Any]:
    """Figures of models on the same questions; each is paired with every one before it."""
    metrics = list(models[0].by_metric)
    every = [found for one in models for found in one.by_metric.values()]
    return {
        "questions": questions.name,
        "count": len(questions.rows),
        "databases": len({row["db_id"] for row in questions.rows}),
        "metrics": metrics,
        "models": [
            {
                "model": one.model,
                "direct": one.direct,
                **behaviour(one),
                "asked_back": dict(one.asked_back),
                "metrics": {metric: one.by_metric[metric].summary for metric in metrics},
            }
            for one in models
        ],
        "pairs": [
            {
                "challenger": one.model,
                "against": other.model,
                "metric": metric,
                **paired(one.verdicts(metric), other.verdicts(metric), seed),
            }
            for number, one in enumerate(models)
            for other in models[:number]
            for metric in metrics
        ],
        "notes": sorted({*_worth_knowing(questions), *_noted(models)}),
        "problems": sorted(
            {
                *questions.problems,
                *(problem for found in every for problem in found.problems),
                *(said for one in models for said in _refused(one)),
            }
        ),
    }


def _worth_knowing(questions: Questions) -> list[str]:
    unknown = sum(not row["sql"] for row in questions.rows)
    told = [f"{unknown:,} of {len(questions.rows):,} questions have no SQL to be scored against"] if unknown else []
    few = f"{questions.name} is of few databases, and holds questions back: who learnt from it has read those databases"
    return [*questions.notes, *told, *([few] if questions.same_databases else [])]


def _noted(models: Sequence[Scored]) -> list[str]:
    """The notes of evaluations; one that is not of all models says of which it is."""
    of_each = {one.model: {note for found in one.by_metric.values() for note in found.notes} for one in models}
    shared = set.intersection(*of_each.values())
    told = [note if note in shared else f"{model}: {note}" for model, notes in of_each.items() for note in notes]
    return told + [f"{one.model}: was asked for a query at once, not in turns" for one in models if one.direct]


def _refused(one: Scored) -> list[str]:
    said = [answer.refusal for answer in one.answers if answer.refusal]
    if not said:
        return []
    return [f"{one.model}: refused {len(said):,} of the questions (asked anew next time), first: {said[0]}"]


def behaviour(one: Scored) -> dict[str, Any]:
    """How a model behaved, whether right or not, and what it cost. Rates are shares of the questions.

    `format_rate`: every turn of the chosen attempt was well formed and it gave an answer. `execution_rate`: that answer
    runs. It is over the questions whose gold could be graded on; if there are none, over all questions whose answers
    were checked; None if none were. `unopposed_rate`: there is an answer, and it has no finding; this needs no gold.
    Tokens and seconds are means of a question; `unit` says what is counted as a token. `latency` is the median of the
    seconds that a server let a question wait; None for a model that runs here, which answers many together.
    """
    count = max(1, len(one.answers))
    outcomes = Counter(answer.outcomes[0] for answer in one.answers)
    verdicts = one.verdicts("strict") if one.by_metric else ()
    waited = [answer.latency for answer in one.answers if answer.latency]
    unopposed = sum(
        bool(answer.predictions[0]) and not found
        for answer, found in zip(one.answers, one.findings or [()] * len(one.answers), strict=True)
    )
    return {
        "format_rate": outcomes["answered"] / count,
        "malformed_rate": outcomes["malformed"] / count,
        "truncated_rate": outcomes["truncated"] / count,
        "clarified_rate": outcomes["clarified"] / count,
        "execution_rate": _execution_rate(one, verdicts),
        "unopposed_rate": None if one.findings is None else unopposed / count,
        "turns": sum(answer.turns[0] for answer in one.answers) / count,
        "attempts": sum(len(answer.predictions) for answer in one.answers) / count,
        "tokens_read": sum(answer.read for answer in one.answers) / count,
        "tokens_written": sum(answer.written for answer in one.answers) / count,
        "seconds": sum(answer.seconds for answer in one.answers) / count,
        "latency": median(waited) if waited else None,
        "unit": one.unit,
        "error_classes": dict(
            Counter(verdict.error_class for verdict in verdicts if verdict.error_class).most_common()
        ),
    }


def _execution_rate(one: Scored, verdicts: Sequence[Verdict]) -> float | None:
    """A verdict whose gold fails does not say whether the answer runs."""
    ran = [verdict.error_class in RAN for verdict in verdicts if verdict.error_class not in UNGRADABLE]
    if not ran and one.findings is not None:
        ran = [
            bool(answer.predictions[0]) and not any(each.kind in FAILS for each in found)
            for answer, found in zip(one.answers, one.findings, strict=True)
        ]
    return sum(ran) / len(ran) if ran else None


def table(figures: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One row a model: what a person compares."""
    served = any(one["latency"] is not None for one in figures["models"])
    return [
        {
            "model": one["model"],
            **{metric: f"{one['metrics'][metric]['score']['mean']:.1%}" for metric in figures["metrics"]},
            "answers": f"{one['format_rate']:.1%}",
            **_asks_back(one["asked_back"]),
            "run": "" if one["execution_rate"] is None else f"{one['execution_rate']:.1%}",
            "unopposed": "" if one["unopposed_rate"] is None else f"{one['unopposed_rate']:.1%}",
            "read": f"{one['tokens_read']:,.0f} {one['unit']}",
            "written": f"{one['tokens_written']:,.0f}",
            "s each": f"{one['seconds']:.2f}",
            **({"latency": "" if one["latency"] is None else f"{one['latency']:.2f}"} if served else {}),
            "wrong": ", ".join(f"{name} {count}" for name, count in list(one["error_classes"].items())[:3]),
        }
        for one in figures["models"]
    ]


def _asks_back(figures: Mapping[str, Any]) -> dict[str, str]:
    """Two cells, where there are questions without an answer: asked back in vain, and rightly."""
    named = {"in vain": "false_abstention", "asks back": "abstention"}
    return {cell: f"{figures[name]:.1%}" for cell, name in named.items() if figures.get(name) is not None}

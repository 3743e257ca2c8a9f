"""Scores of a model's answers: by metric against golds, also on instances, and the findings against each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from agro_data.config import ConfigError
from agro_data.databases.discovery.identity import is_own_name
from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.databases.types import Limits as SqlLimits
from agro_data.evaluation.evaluate import Evaluation
from agro_data.evaluation.evaluate import evaluate as grade
from agro_data.evaluation.instances import SUFFIXES
from agro_data.evaluation.loaded import Pair, Prediction
from agro_data.evaluation.metrics import METRICS
from agro_data.evaluation.verdict import Verdict
from agro_data.pairs.finding import Finding
from agro_data.pairs.verify import SOURCE
from agro_data.progress import Reporter, silent
from agro_train.abstention import abstention
from agro_train.agents.agent import Agent
from agro_train.answers import Answer
from agro_train.objections import Answered, objections
from agro_train.questions import Questions

ON_INSTANCES = ("strict", "strict-ts", "spider-ex", "bird-ex")
ON_SOURCES = ("strict", "spider-ex", "bird-ex")
BUILT, NONE = "built", "none"
Suite = Path | str
"""The instances of `strict-ts` besides the database: a folder `<db_id>/*.sqlite`, built for the golds, or none."""
# Limits for an answer that is graded. The limit of steps stops the same statements everywhere, after about ten seconds.
GRADING_LIMITS = SqlLimits(seconds=30.0, rows=1_000_000, bytes=256 * 2**20, steps=300_000_000)


@dataclass(frozen=True)
class Scored:
    """One model on one set of questions: its answers and, by metric, its evaluation.

    `asked_back` has the figures of `abstention` for all questions; the other fields are about questions that have an
    answer. `findings` are the verifier's for each answer, None if it was not asked. `direct`: it was asked for queries
    at once.
    """

    model: str
    unit: str
    answers: tuple[Answer, ...]
    by_metric: Mapping[str, Evaluation]
    asked_back: Mapping[str, Any] = field(default_factory=dict)
    findings: tuple[tuple[Finding, ...], ...] | None = None
    direct: bool = False

    def verdicts(self, metric: str) -> tuple[Verdict, ...]:
        return self.by_metric[metric].verdicts


def suite_of(questions: Questions, instances: str) -> Suite:
    """The instances of the corpus, else those named: on a database alone a wrong answer may be right by luck."""
    if instances not in (BUILT, NONE) and not Path(instances).is_dir():
        raise ConfigError(f"{instances}: no such folder of instances (<db_id>/*.sqlite); or say {BUILT}, or {NONE}")
    if questions.instances is not None:
        return questions.instances
    if instances not in (BUILT, NONE):
        _check_instances(Path(instances), questions)
    return instances if instances in (BUILT, NONE) else Path(instances)


def _check_instances(folder: Path, questions: Questions) -> None:
    """Raise `ConfigError` where a folder has nothing to judge any of the answers on."""
    golds = {row["db_id"] for row in questions.rows if row["sql"]}
    names = filter(is_own_name, golds | {questions.sources[db_id].database.db_id for db_id in golds})
    if golds and not any(file.suffix in SUFFIXES for name in names for file in (folder / name).glob("*")):
        raise ConfigError(
            f"{folder}: no files {folder.name}/<db_id>/*.sqlite for any of the {len(golds)} databases asked about; "
            f"give another folder, or say {BUILT}, or {NONE}"
        )


def answerable(questions: Questions) -> Questions:
    """The questions that have an answer, with which SQL can be compared."""
    return replace(questions, rows=tuple(row for row in questions.rows if row["answerable"]))


def scored_by(
    questions: Questions,
    agent: Agent,
    answers: Sequence[Answer],
    suite: Suite,
    cache: Path,
    *,
    workers: int = 1,
    progress: Reporter = silent,
) -> Scored:
    """Scores of an agent's answers: of SQL, where the question has an answer and a known gold, and of asking back."""
    kept = tuple(answer for answer, row in zip(answers, questions.rows, strict=True) if row["answerable"])
    asked = answerable(questions)
    known = [(row, one) for row, one in zip(asked.rows, kept, strict=True) if row["sql"]]
    graded = replace(asked, rows=tuple(row for row, _ in known))
    found = score(graded, [one for _, one in known], suite, cache, workers=workers, progress=progress) if known else {}
    asked_back = abstention(questions, answers) if questions.clarify or agent.prompt_format.clarify else {}
    answered = [_answered(row, asked, one) for row, one in zip(asked.rows, kept, strict=True)]
    with Sandbox(workers, SOURCE) as sandbox:
        against = objections(answered, sandbox)
    return Scored(agent.name, agent.unit, kept, found, asked_back, tuple(against), agent.prompt_format.direct)


def _answered(row: Mapping[str, Any], asked: Questions, answer: Answer) -> Answered:
    source = asked.sources[row["db_id"]]
    pair = Pair(row["place"], row["db_id"], row["question"], answer.predictions[0], evidence=row["evidence"] or "")
    return Answered(pair, source.database, source.profile)


def score(
    questions: Questions,
    answers: Sequence[Answer],
    suite: Suite,
    cache: Path | None = None,
    *,
    workers: int = 1,
    progress: Reporter = silent,
) -> dict[str, Evaluation]:
    """Evaluations by metric. `strict-ts` is on the database and its instances; without a suite it is left out."""
    rows = [
        Prediction(
            row["place"],
            row["db_id"],
            row["question"],
            row["sql"],
            one.predictions if any(one.predictions) else (),
            evidence=row["evidence"] or "",
            identity=row["example_id"],
            alternatives=tuple(row["alternatives"]),
            votes=one.votes if any(one.predictions) and set(one.votes) != {1} else (),
        )
        for row, one in zip(questions.rows, answers, strict=True)
    ]
    databases = {name: source.database for name, source in questions.sources.items()}
    metrics = ON_SOURCES if suite == NONE else ON_INSTANCES
    return {
        metric: grade(
            rows,
            databases,
            metric=metric,
            instances=suite if METRICS[metric].suite and isinstance(suite, Path) else None,
            with_source=METRICS[metric].suite,
            cache=cache,
            workers=workers,
            limits=GRADING_LIMITS,
            progress=progress,
        )
        for metric in metrics
    }

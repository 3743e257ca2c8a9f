"""Predictions in, verdicts out: `agro evaluate`, as a function."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from agro_data.config import ConfigError
from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.databases.scratch import ScratchFolder
from agro_data.databases.types import Database, Limits
from agro_data.evaluation.exact_match.names import keys_not_listed
from agro_data.evaluation.grading import UNGRADABLE, Grader
from agro_data.evaluation.instances import Instances, given
from agro_data.evaluation.load import load_predictions, only_database, predictions_in
from agro_data.evaluation.loaded import LoadedPredictions, Prediction
from agro_data.evaluation.metrics import DEFAULT, METRICS, Metric
from agro_data.evaluation.replies import solved, spoken
from agro_data.evaluation.sources import needed_databases
from agro_data.evaluation.statistics import summary
from agro_data.evaluation.verdict import Verdict
from agro_data.folders import unkept
from agro_data.progress import Reporter, silent
from agro_data.verify.gold_cache import GoldCache
from agro_data.verify.golds import GoldResults

# Seconds of the official scripts; rows and bytes beyond what a gold of the benchmarks gives.
LIMITS = Limits(seconds=30.0, rows=1_000_000, bytes=256 * 2**20)
SELF_CHECKED = "what can be graded on may still be wrong, empty or an open tie: `agro verify` finds those golds"


@dataclass(frozen=True)
class Evaluation:
    """Verdicts in the order of the predictions, and what they say together (`statistics.summary`).

    `problems` are rows that could not be graded, databases without the instances that were asked for, and golds that
    fail against themselves; `notes` are worth knowing.
    """

    metric: str
    verdicts: tuple[Verdict, ...]
    summary: dict[str, Any]
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def evaluate(
    predictions: Path | str | Sequence[Prediction] | Sequence[Mapping[str, Any]],
    databases: Path | str | Mapping[str, Database],
    *,
    metric: str = DEFAULT,
    gold: Path | str | None = None,
    instances: Path | str | None = None,
    with_source: bool = False,
    self_check: bool = False,
    replies: bool = False,
    cache: Path | None = None,
    workers: int = 2,
    limits: Limits = LIMITS,
    seed: int = 0,
    progress: Reporter = silent,
) -> Evaluation:
    """Grade predictions (a file, or rows as a file holds them) against their golds on databases (a folder, or by id);
    one verdict for each, in order.

    `instances` is a folder `<db_id>/*.sqlite` that the -ts metrics grade on; without it instances are built for the
    golds and kept in `cache` (a temporary folder if None, or if it cannot be written). `with_source` adds the database
    itself. `self_check` puts each gold in the place of its prediction: what is then not right cannot be graded.
    `replies`: predictions are what a model replied, with blocks and thoughts, and their SQL is taken out. Raises
    `ConfigError` when nothing can be graded.
    """
    chosen = _metric(metric)
    problems: list[str] = []
    notes: list[str] = []
    loaded = _loaded(predictions, gold, only_database(databases) if isinstance(databases, (Path, str)) else "")
    problems += map(str, loaded.problems)
    notes += loaded.notes
    rows = loaded.predictions
    if not rows:
        raise ConfigError("no predictions to evaluate")
    if replies:
        rows = solved(rows)
    if self_check:
        rows = tuple(replace(row, predictions=(row.gold,) if row.gold else (), votes=()) for row in rows)
    if not any(row.gold for row in rows):
        raise ConfigError(f"{rows[0].place} and all others: no gold to compare with; give the golds with --gold FILE")
    missing: Mapping[str, str] = {}
    if isinstance(databases, (Path, str)):
        databases, missing = needed_databases(Path(databases), {row.db_id for row in rows})
    with ScratchFolder("evaluate") as scratch, Sandbox(workers, limits) as sandbox:
        said = unkept(cache) if cache is not None else ""
        kept = cache if not said else None
        suite = _suite(chosen, rows, databases, instances, cache, kept or Path(scratch), workers, progress)
        golds = GoldResults(GoldCache(kept) if kept is not None else None)
        grader = Grader(chosen, databases, missing, suite, with_source, sandbox, golds)
        verdicts = grader.verdicts(rows, progress)
    problems += suite.problems if suite is not None else ()
    problems += grader.problems()
    ungradable = [v for v in verdicts if v.error_class in UNGRADABLE]
    problems += [f"{v.place} ({v.db_id}): {v.reason}" for v in ungradable]
    if self_check:
        problems += [f"{v.place} ({v.db_id}): gold against itself: {v.reason}: {v.gold}" for v in _failing(verdicts)]
    notes += [said] if said else []
    notes += suite.notes if suite is not None else ()
    notes += _keys_not_listed(databases.values()) if chosen.kind == "exact" else ()
    of = {name: database.db_id for name, database in databases.items()}  # one, whatever rows call it
    figures = summary(metric, [replace(v, db_id=of.get(v.db_id, v.db_id)) for v in verdicts], seed)
    notes += [SELF_CHECKED] if self_check else _of_predictions(rows)
    notes += _without_interval(figures)
    return Evaluation(metric, tuple(verdicts), figures, tuple(dict.fromkeys(problems)), tuple(notes))


def _loaded(
    predictions: Path | str | Sequence[Prediction] | Sequence[Mapping[str, Any]],
    gold: Path | str | None,
    database: str,
) -> LoadedPredictions:
    if isinstance(predictions, (Path, str)):
        return load_predictions(predictions, gold, database)
    made = tuple(one for one in predictions if isinstance(one, Prediction))
    if len(made) < len(predictions):
        return predictions_in((one for one in predictions if not isinstance(one, Prediction)), gold, database)
    if gold is not None:
        raise ConfigError("gold: each Prediction has its own; it is for a file, or for rows")
    return LoadedPredictions(made)


def _keys_not_listed(databases: Iterable[Database]) -> list[str]:
    faults = dict.fromkeys(map(keys_not_listed, databases))
    return [f"{why}; the foreign keys that a database declares are taken" for why in faults if why]


def _of_predictions(rows: Sequence[Prediction]) -> Iterator[str]:
    unanswered = sum(not any(row.predictions) for row in rows)
    if unanswered:
        yield f"{unanswered:,} of {len(rows):,} questions have no prediction; they score 0"
    yield from spoken(rows)


def _without_interval(figures: Mapping[str, Any]) -> list[str]:
    drawn = {"gold": "interval_drawing_golds", "database": "interval_drawing_databases"}
    one = [what for what, name in drawn.items() if figures[name]["groups"] == 1 and figures[name]["low"] is None]
    return [f"all predictions are of one {what}: what drawing others would give cannot be told" for what in one[:1]]


def _failing(verdicts: Sequence[Verdict]) -> list[Verdict]:
    return [v for v in verdicts if v.error_class and v.error_class not in UNGRADABLE]


def _metric(name: str) -> Metric:
    if name not in METRICS:
        raise ConfigError(f"no metric {name}; there are {', '.join(METRICS)}")
    return METRICS[name]


def _suite(
    metric: Metric,
    rows: Sequence[Prediction],
    sources: Mapping[str, Database],
    instances: Path | str | None,
    cache: Path | None,
    made_in: Path,
    workers: int,
    progress: Reporter,
) -> Instances | None:
    if not metric.suite:
        if instances is not None:
            suites = ", ".join(name for name, known in METRICS.items() if known.suite)
            raise ConfigError(f"--instances is for the metrics on instances ({suites}), not {metric.name}")
        return None
    if instances is not None:
        return given(Path(instances), sources, rows)
    golds: dict[Database, list[str]] = defaultdict(list)
    for row in rows:
        if row.gold and row.db_id in sources:
            golds[sources[row.db_id]].append(row.gold)
    from agro_data.evaluation.building import built  # noqa: PLC0415 (loads what makes databases: a second)

    return built(golds, cache or made_in, workers, progress, made_in=made_in)

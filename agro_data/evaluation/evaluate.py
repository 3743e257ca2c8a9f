"""Predictions in, verdicts out: `agro evaluate`, as a function."""

from __future__ import annotations

import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from agro_data.config import ConfigError
from agro_data.databases.catalog import find_databases
from agro_data.databases.connections import open_database
from agro_data.databases.content import is_as_found
from agro_data.databases.errors import DatabaseError
from agro_data.databases.identity import is_own_name, meant
from agro_data.databases.sandbox import Sandbox
from agro_data.databases.scratch import ScratchFolder
from agro_data.databases.types import Database, Dialect, Limits, Placed
from agro_data.evaluation.exact_match.names import keys_not_listed
from agro_data.evaluation.instances import Instances, given
from agro_data.evaluation.load import load_predictions, only_database, predictions_in
from agro_data.evaluation.loaded import LoadedPredictions, Prediction
from agro_data.evaluation.metrics import DEFAULT, METRICS, Metric
from agro_data.evaluation.missing import why_missing
from agro_data.evaluation.scoring import score
from agro_data.evaluation.statistics import summary
from agro_data.evaluation.verdict import Verdict
from agro_data.evaluation.voting import elected
from agro_data.folders import unkept
from agro_data.progress import Reporter, silent
from agro_data.sql.constructs import constructs_of
from agro_data.sql.difficulty import hardness_of
from agro_data.sql.parse import SqlRefused, parse_select
from agro_data.sql.scope import Schema, resolve
from agro_data.verify.gold_cache import GoldCache
from agro_data.verify.grade import Case, GoldResults, Grade

# Seconds of the official scripts; rows and bytes beyond what a gold of the benchmarks gives.
LIMITS = Limits(seconds=30.0, rows=1_000_000, bytes=256 * 2**20)
UNGRADABLE = ("gold_failed", "no_database", "no_gold")  # classes of verdicts for which no prediction is to blame
SELF_CHECKED = "what can be graded on may still be wrong, empty or an open tie: `agro verify` finds those golds"
_FENCE = re.compile(r"^[ \t]*```", re.MULTILINE)  # a model may say something before it
CHUNK = 2_000  # predictions, or as many as one database has, between two reports of progress


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
    itself. `self_check` puts each gold in the place of its prediction: what is then not right cannot be graded. Raises
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
    if self_check:
        rows = tuple(replace(row, predictions=(row.gold,) if row.gold else (), votes=()) for row in rows)
    if not any(row.gold for row in rows):
        raise ConfigError(f"{rows[0].place} and all others: no gold to compare with; give the golds with --gold FILE")
    missing: Mapping[str, str] = {}
    if isinstance(databases, (Path, str)):
        databases, missing = _some(Path(databases), {row.db_id for row in rows})
    with ScratchFolder("evaluate") as scratch, Sandbox(workers, limits) as sandbox:
        said = unkept(cache) if cache is not None else ""
        kept = cache if not said else None
        suite = _suite(chosen, rows, databases, instances, cache, kept or Path(scratch), workers, progress)
        golds = GoldResults(GoldCache(kept) if kept is not None else None)
        grader = _Grader(chosen, databases, missing, suite, with_source, sandbox, golds)
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
    figures = summary(metric, verdicts, seed)
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
    unanswered = sum(not row.predictions for row in rows)
    if unanswered:
        yield f"{unanswered:,} of {len(rows):,} questions have no prediction; they score 0"
    fenced = sum(any(map(_FENCE.search, row.predictions)) for row in rows)
    if fenced:
        told = "predictions inside code fences, which is no SQL to any engine or official script: take them off"
        yield f"{fenced:,} of {len(rows):,} questions have {told}"


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


def named_databases(path: Path, wanted: set[str]) -> tuple[dict[str, Database], dict[str, str]]:
    """The named databases below `path`, by id, and the reason for each that is missing.

    Raises `ConfigError` when there is nothing at `path`.
    """
    at_once = _at_once(path, wanted)
    if at_once is not None:
        return at_once, {}
    if not path.exists():
        raise ConfigError(f"{path}: no such file or folder")
    catalog = find_databases(path)
    found = meant(catalog.databases, wanted)
    return found, {db_id: why_missing(db_id, catalog) for db_id in sorted(wanted - found.keys())}


def _some(path: Path, wanted: set[str]) -> tuple[dict[str, Database], dict[str, str]]:
    """Like `named_databases`. Raises `ConfigError` also when none is there."""
    found, missing = named_databases(path, wanted)
    if not found:
        named = ", ".join(sorted(wanted)[:3])
        more = f" and {len(wanted) - 3} more" if len(wanted) > 3 else ""
        why = [f"{db_id}: {why}" for db_id, why in list(missing.items())[:3]]
        raise ConfigError("\n".join([f"{path}: none of the databases of the predictions is here: {named}{more}", *why]))
    return found, missing


def _at_once(path: Path, wanted: set[str]) -> dict[str, Database] | None:
    """If `databases` has a folder `<db_id>/` for each, as Spider and BIRD do, only databases that are asked for are
    looked at.
    """
    if not all(map(is_own_name, wanted)):
        return None
    folders = [path / db_id for db_id in sorted(wanted)]
    if not all(map(os.path.isdir, folders)):  # Path.is_dir raises for a name that is too long to be one
        return None
    tables = next((place / "tables.json" for place in (path, path.parent) if (place / "tables.json").is_file()), None)
    found: dict[str, Database] = {}
    for folder in folders:
        for database in find_databases(folder).databases:
            if database.db_id == folder.name:
                found[database.db_id] = replace(database, spider_tables=database.spider_tables or tables)
    return found if len(found) == len(wanted) else None


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


@dataclass
class _Grader:
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
        facts = _facts(rows, self.sources)
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
        return (source, *files) if self.with_source or not files else files

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


@dataclass(frozen=True)
class Facts:
    """What groups a gold belongs to; empty where it cannot be read."""

    hardness: str = ""
    constructs: tuple[str, ...] = ()


def _facts(rows: Sequence[Prediction], sources: Mapping[str, Database]) -> dict[tuple[str, str], Facts]:
    golds: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        golds[row.db_id].append(row.gold)
    found: dict[tuple[str, str], Facts] = {}
    for db_id, sqls in golds.items():
        schema = _schema(sources[db_id])
        for gold in dict.fromkeys(sqls):
            found[db_id, gold] = _facts_of(gold, sources[db_id].dialect, schema)
    return found


def _schema(source: Database) -> Schema:
    try:
        with open_database(source) as connection:
            tables = connection.objects()
    except DatabaseError:
        return {}  # the verdicts say so
    columns = {table.name: {column.name: column.declared_type for column in table.columns} for table in tables}
    return Placed(columns, {table.name: table.namespace for table in tables})


def _facts_of(gold: str, dialect: Dialect, schema: Schema) -> Facts:
    try:
        tree = parse_select(gold, dialect)
    except SqlRefused:
        return Facts()
    return Facts(hardness_of(tree), constructs_of(resolve(tree, dialect, schema)))

"""How a stage runs its shards: what another build has made is taken over, what was lost stops the build, and what
failed is told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from agro_data import parallel
from agro_data.files import write_text
from agro_data.progress import Reporter, counting
from agro_data.stages import reuse, tally
from agro_data.stages.context import Context
from agro_data.stages.task import Task
from agro_data.work import Work

SHOWS = "shows how it came to that"  # what a failure says of that file
FAILURES = "failures"  # below the work folder: a traceback for each shard that raised, by stage


@dataclass(frozen=True)
class StageCounts:
    """Counts of a whole stage, over this run and the ones it continues."""

    rows_in: int
    rows_out: int
    reasons: dict[str, int] = field(default_factory=dict)
    figures: dict[str, float] = field(default_factory=dict)
    problems: Sequence[str] = ()  # what was lost
    notes: Sequence[str] = ()  # what is worth knowing, and nothing was lost by


def run(
    function: Callable[[Task], int],
    tasks: Sequence[Task],
    workers: int,
    stage: str,
    unit: str,
    progress: Reporter,
    amount: Callable[[Task], int] = lambda task: 1,
    *,
    isolate: bool = False,
    reads: reuse.Reads | None = None,
    beside: reuse.Beside = reuse.no_files,
) -> list[parallel.Outcome[Task, int]]:
    """Run shards; progress counts the `unit`s that each holds, since shards differ in size.

    With `reads`, the files that `function` reads, shards that another build has finished are linked and not run.
    Raises `parallel.ShardsLost` once all are tried where one was lost: what later stages made without it would stay,
    and its version would pass for the whole one.
    """
    add = counting(progress, stage, sum(amount(task) for task in tasks), unit)
    if reads is not None:
        there, tasks = reuse.take_over(stage, tasks, reads, beside)
        for task in there:
            add(amount(task))
    outcomes = [
        _noted(stage, outcome)
        for outcome in parallel.run_shards(
            function, tasks, workers, lambda outcome: add(amount(outcome.task)), isolate=isolate
        )
    ]
    lost = [outcome for outcome in outcomes if outcome.lost]
    if lost:
        raise parallel.ShardsLost(lost)
    return outcomes


def _noted(stage: str, outcome: parallel.Outcome[Task, int]) -> parallel.Outcome[Task, int]:
    """The outcome. If it raised, its traceback stays in the work folder until the shard is made, and the outcome names
    that file.
    """
    task = outcome.task
    path = task.context.work.root / FAILURES / stage / f"{task.shard or task.db_id}.txt"
    with suppress(OSError):  # what went wrong is said even where no file can be written
        if outcome.trace:
            write_text(path, outcome.trace)
            return replace(outcome, error=f"{outcome.error}; {path} {SHOWS}")
        path.unlink(missing_ok=True)
    return outcome


def files(work: Work, stage: str, shards: Iterable[str]) -> list[Path]:
    """The files of finished shards."""
    return [work.path(stage, f"{shard}.parquet") for shard in shards]


def lacking(context: Context, source: str, target: str) -> list[Task]:
    """A task for each shard of `source` that has none of `target` yet."""
    work = context.work
    return [Task(context, tally.database_of(s), s) for s in work.shards(source) if not work.finished(target, s)]


def failures(outcomes: Sequence[parallel.Outcome[Task, int]]) -> list[str]:
    """A line for each shard that failed."""
    return [f"{o.task}: {o.error}" for o in outcomes if o.error]

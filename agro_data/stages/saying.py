"""The stages `questions` and `distinct`: what is verified is said, and what another row says already is dropped."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from pathlib import Path

import polars as pl

from agro_data import parallel
from agro_data.progress import Reporter
from agro_data.records import DISTINCT
from agro_data.stages import running, shares, tally, yields
from agro_data.stages.context import Context
from agro_data.stages.model import spending
from agro_data.stages.shard.distinct import distinct, skeleton_cap
from agro_data.stages.shard.synthesised import said
from agro_data.stages.task import Task


def run_questions(context: Context, workers: int, progress: Reporter) -> running.StageCounts:
    """Say every verified intent in one style."""
    asked = ask_all(running.lacking(context, "verified", "questions"), workers, progress)
    return running.StageCounts(
        tally.different(context.work, "verified"),
        tally.different(context.work, "questions"),
        tally.reasons(context.work, "questions"),
        spending(context.work, "questions"),
        problems=running.failures(asked),
    )


def ask_all(tasks: Sequence[Task], workers: int, progress: Reporter) -> list[parallel.Outcome[Task, int]]:
    """Say the verified intents of the shards: a model, if there is one, in a process of its own (as in `make`)."""
    alone = bool(tasks) and bool(tasks[0].context.config.writer)
    return running.run(
        _ask,
        tasks,
        1 if alone else workers,
        "questions",
        "queries",
        progress,
        _verified_in,
        reads=_read_to_ask,
        beside=yields.beside_questions,
        isolate=alone,
    )


def _ask(task: Task) -> int:
    """Say the verified intents of one shard; how many could be said."""
    context = task.context
    shard = context.work.read("verified", task.shard)
    frame, refused = said(context, task.db_id, task.shard, shard)
    context.work.write("questions", task.shard, frame, refused)
    return frame.height


def _read_to_ask(task: Task) -> list[Path]:
    """The file that `_ask` reads."""
    return running.files(task.context.work, "verified", [task.shard])


def _verified_in(task: Task) -> int:
    return tally.rows(task.context.work, "verified", [task.shard])


def run_distinct(context: Context, workers: int, progress: Reporter) -> running.StageCounts:
    """Drop, database by database, what another row already says, and what the excluded files hold."""
    parts = tally.by_database(context.work, "questions")
    tasks = [
        Task(context, db_id, db_id, most_of_a_skeleton(context), tuple(parts.get(db_id, ())))
        for db_id in shares.usable(context)
        if not context.work.finished("distinct", db_id)
    ]
    outcomes = running.run(_sift, tasks, workers, "distinct", "databases", progress, reads=_read_to_sift)
    return running.StageCounts(
        tally.different(context.work, "questions"),
        tally.rows(context.work, "distinct"),
        tally.reasons(context.work, "distinct"),
        problems=running.failures(outcomes),
    )


def most_of_a_skeleton(context: Context) -> int:
    """The most rows of one skeleton that a database may keep."""
    return skeleton_cap(shares.wanted(context) // len(shares.usable(context)))


def _read_to_sift(task: Task) -> list[Path]:
    return running.files(task.context.work, "questions", task.parts)


def _sift(task: Task) -> int:
    kept, refused = sift(task, pl.DataFrame(schema=DISTINCT))
    task.context.work.write("distinct", task.shard, kept, refused)
    return kept.height


def sift(task: Task, before: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The rows of a task's `questions` that say something new, beside those `before` of their database.

    Those before are stored and stay, so that they go first, however plausible a new one is.
    """
    new = [task.context.work.read("questions", shard, list(DISTINCT)) for shard in task.parts]
    frame = pl.concat([before.with_columns(plausibility=pl.lit(inf)), *new])
    frame = frame.unique("candidate_id", keep="first", maintain_order=True)  # two shards may have met
    kept, refused = distinct(frame, task.context.config, cap=task.count)
    known = ~pl.col("candidate_id").is_in(before["candidate_id"].to_list())
    return kept.filter(known), refused.filter(known)

"""The stage `embeddings`: vectors of certified rows, a batch at a time."""

from __future__ import annotations

from pathlib import Path

from agro_data.config import STRUCTURAL
from agro_data.diversity.embeddings import embed, encoder_named
from agro_data.progress import Reporter
from agro_data.records import DISTINCT
from agro_data.stages import running, tally
from agro_data.stages.context import Context
from agro_data.stages.task import Task
from agro_data.stages.vectors import stored


def run_embeddings(context: Context, workers: int, progress: Reporter) -> running.StageCounts:
    """One vector a row, in a process of its own: the model's memory goes with it."""
    tasks = running.lacking(context, "certified", "embeddings")
    structural = context.config.embedding_model == STRUCTURAL
    outcomes = running.run(
        *(_embed, tasks, 1, "embeddings", "rows", progress, _rows_in),
        isolate=not structural and bool(tasks),
        reads=_read_to_embed,
    )
    return running.StageCounts(
        tally.rows(context.work, "certified"),
        tally.rows(context.work, "embeddings"),
        problems=running.failures(outcomes),
    )


def _read_to_embed(task: Task) -> list[Path]:
    return running.files(task.context.work, "certified", [task.shard])


def _embed(task: Task) -> int:
    work = task.context.work
    frame = work.read("certified", task.shard, list(DISTINCT))
    vectors = embed(frame, encoder_named(task.context.config.embedding_model))
    work.write("embeddings", task.shard, stored(frame, vectors))
    return frame.height


def _rows_in(task: Task) -> int:
    return tally.rows(task.context.work, "certified", [task.shard])

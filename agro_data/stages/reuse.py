"""Shards that another build made of the same: a build after one changed database redoes only what depends on it.

What a shard is made from has a key: code, libraries, settings, the identity of its database, what is asked of it, and
the content of the shards that it reads. Before a shard is made its key is noted in the work folder, in
`made_from/<stage>/<key>.json`; a build that needs a shard of that key links the finished file from the folder of the
one that has it. Files in work folders never change, so a link is as good as a copy and takes no room. A shard whose
model left requests without an answer is nobody else's: who makes it again asks for them.
"""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from agro_data.databases.discovery.identity import database_identity
from agro_data.files import atomic_path
from agro_data.hashing import file_hash, stable_hash
from agro_data.software import code_version, deciding_versions
from agro_data.stages.context import Context
from agro_data.stages.model import take_over_spending, unanswered
from agro_data.stages.task import Task
from agro_data.work import REJECTED_FOLDER, Work

SCHEME = 1
KEYS = "made_from"  # below the work folder, one folder a stage
PLANNING = {"name", "size", "only", "oversample", "styles_per_sql", "split_by"}  # what a shard is asked for says it all
PLANNING |= {"unanswerable"}  # of rows that were chosen

SHARDS, TAKEN = "shards", "shards taken over"  # figures of a stage

Reads = Callable[[Task], Sequence[Path]]  # the files of the shards before it that a task reads
Beside = Callable[[Work, str], Sequence[str]]  # further files of a finished shard, by their places below the folder


def no_files(work: Work, shard: str) -> Sequence[str]:
    """No files besides a shard's own and the one of its rejected rows."""
    return ()


def take_over(stage: str, tasks: Sequence[Task], reads: Reads, beside: Beside) -> tuple[list[Task], ...]:
    """Link the shards of those tasks that another build has finished: the tasks that are done, and the others."""
    done: list[Task] = []
    waiting: list[Task] = []
    if tasks:
        context = tasks[0].context
        common = _common(context, stage)
        others = _others(context.work, stage)
        for task in tasks:
            key = stable_hash([common, *_own(task), [file_hash(path) for path in reads(task)]])
            found = _linked_from(others, context.work, stage, task.shard, key, beside)
            context.work.write_json(f"{KEYS}/{stage}/{key}.json", {"shard": task.shard, "taken_over": found})
            (done if found else waiting).append(task)
    return done, waiting


def counts(work: Work, stage: str) -> dict[str, float]:
    """How many shards of a stage there are, and how many of them were taken over."""
    notes = (work.root / KEYS / stage).glob("[!.]*.json")
    taken = Counter(bool(json.loads(path.read_text(encoding="utf-8"))["taken_over"]) for path in notes)
    return {SHARDS: float(taken.total()), TAKEN: float(taken[True])} if taken else {}


def _common(context: Context, stage: str) -> list[Any]:
    settings = {k: v for k, v in context.work.read_json("build.json")["settings"].items() if k not in PLANNING}
    return [SCHEME, code_version(), settings, deciding_versions(context.config), stage]


def _own(task: Task) -> list[Any]:
    return [database_identity(task.context.database(task.db_id)), task.shard, task.count, list(task.parts)]


def _others(work: Work, stage: str) -> list[Work]:
    """The work folders beside this one that have shards of the stage, the newest first."""
    noted = [path / KEYS / stage for path in work.root.parent.iterdir() if path != work.root]
    dated = [(-folder.stat().st_mtime_ns, folder.parents[1]) for folder in noted if folder.is_dir()]
    return [Work(root) for _, root in sorted(dated)]


def _linked_from(others: Sequence[Work], work: Work, stage: str, shard: str, key: str, beside: Beside) -> str:
    """The name of the folder that the shard was linked from, or ""."""
    for other in others:
        made = other.path(KEYS, f"{stage}/{key}.json").is_file() and other.finished(stage, shard)
        if made and not unanswered(other, stage, shard):
            names = [f"{stage}/{REJECTED_FOLDER}/{shard}.parquet", f"{stage}/{shard}.parquet"]
            try:
                take_over_spending(other, work, stage, shard)
                present = [name for name in names if (other.root / name).is_file()]
                for name in (*beside(other, shard), *present):  # the shard last: a finished one is complete
                    _link(other.root / name, work.root / name)
            except FileNotFoundError:  # that folder is being removed
                continue
            return other.root.name
    return ""


def _link(source: Path, target: Path) -> None:
    with atomic_path(target) as temporary:
        temporary.unlink()
        try:
            os.link(source, temporary)
        except FileNotFoundError:
            raise
        except OSError:  # a file system without links
            shutil.copyfile(source, temporary)

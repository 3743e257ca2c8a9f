"""Instances built for the golds themselves, where none are given; kept, so that the next evaluation finds them."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.databases.scratch import ScratchFolder
from agro_data.databases.types import Database
from agro_data.evaluation.instances import ALONE, Instances, files_in
from agro_data.files import write_json
from agro_data.hashing import seed_of, stable_hash
from agro_data.parallel import run_shards
from agro_data.profiling.cache import cached_profile
from agro_data.progress import Reporter, counting, silent
from agro_data.software import code_version
from agro_data.sql.names.scope import Schema
from agro_data.verify.certificates.certifier import Certifier
from agro_data.verify.certificates.pool import LIMITS
from agro_data.verify.chance.shuffled_copy import shuffled_copy
from agro_data.verify.check import verify_statements
from agro_data.words import counted

RECORD = "pool.json"


@dataclass(frozen=True)
class _Task:
    source: Database
    golds: tuple[str, ...]
    cache: Path
    seed: int

    @property
    def folder(self) -> Path:
        """Where the instances for just these golds are, or will be."""
        own = stable_hash([self.source.content_hash, self.golds, self.seed, code_version()])[:16]
        return self.cache / "evaluation-instances" / f"{self.source.db_id}-{own}"

    @property
    def done(self) -> bool:
        return os.path.isfile(self.folder / RECORD)


def built(
    golds: Mapping[Database, Sequence[str]],
    cache: Path,
    workers: int = 2,
    progress: Reporter = silent,
    *,
    seed: int = 0,
    made_in: Path | None = None,
) -> Instances:
    """Instances that tell the golds from their mutants: those in `cache`, and others, which are made in
    `made_in` (None: there too).

    A gold for which none could be made is graded on the source alone, and named in `notes`; a database that has none
    at all, and why, in `problems`.
    """
    wanted = [_Task(source, tuple(sorted(set(sqls))), cache, seed) for source, sqls in golds.items()]
    tasks = [task if task.done else replace(task, cache=made_in or cache) for task in wanted]
    add = counting(progress, "instances", len(tasks), "databases")
    # The largest first, so that no worker is left alone with it at the end.
    ordered = sorted(tasks, key=lambda task: (-len(task.golds), task.source.db_id))
    outcomes = run_shards(_build, ordered, min(workers, max(len(ordered), 1)), lambda _: add(1))
    failed = tuple(
        f"{outcome.task.source.db_id}: no instances could be built, {ALONE}: {outcome.error}"
        for outcome in outcomes
        if outcome.error
    )
    parts = [_recalled(outcome.task.source, outcome.task.folder) for outcome in outcomes if not outcome.error]
    by_gold: dict[tuple[str, str], tuple[Database, ...]] = {}
    for part in parts:
        by_gold |= part.by_gold
    notes = tuple(note for part in parts for note in part.notes)
    return Instances({}, {}, by_gold, notes, (*failed, *(problem for part in parts for problem in part.problems)))


def _build(task: _Task) -> None:
    """Make the instances of one database, unless they are there."""
    if task.done:
        return
    profile = cached_profile(task.source, task.cache / "profiles")
    with Sandbox(1, LIMITS) as sandbox:
        certifier = Certifier(task.source, profile, sandbox, task.folder, seed_of(task.seed, task.source.db_id))
        pool = certifier.certify(task.golds)
        settled = _settled(task, profile.schema, sandbox)
    kept: list[dict[str, Any]] = [
        {
            "sql": c.sql,
            "reason": c.reason,
            "detail": c.detail,
            "files": [Path(name).name for name in c.instances],
            "source": c.sql in settled,
        }
        for c in pool.certificates
    ]
    write_json(task.folder / RECORD, {"golds": kept})


def _settled(task: _Task, schema: Schema, sandbox: Sandbox) -> set[str]:
    """The golds whose answer on the source itself leaves nothing open: there, too, a prediction has to agree."""
    with ScratchFolder("shuffled") as folder:
        shuffled = shuffled_copy(task.source, Path(folder), task.seed)
        verdicts = verify_statements(
            task.source, schema, task.golds, sandbox, shuffled, informative=False, any_cut=True
        )
    return {sql for sql, verdict in zip(task.golds, verdicts, strict=True) if verdict.ok}


def _recalled(source: Database, folder: Path) -> Instances:
    files = {file.path.name: file for file in files_in(folder, source)}
    by_gold: dict[tuple[str, str], tuple[Database, ...]] = {}
    notes: list[str] = []
    problems: list[str] = []
    golds = json.loads((folder / RECORD).read_text(encoding="utf-8"))["golds"]
    for one in golds:
        made = tuple(files[name] for name in one["files"])
        by_gold[source.db_id, one["sql"]] = (source, *made) if made and one["source"] else made
        if not made:
            told = problems if one["reason"] == "unexamined" else notes  # a fault of this program
            told.append(f"{source.db_id}: no instance for a gold, {ALONE}: {one['detail']}: {one['sql']}")
    if weak := [one for one in golds if one["files"] and one["reason"] == "weak"]:
        of, first = f"{len(weak):,} of {counted(len(golds), 'golds')}", weak[0]
        notes.append(f"{source.db_id}: some wrong SQL passes the instances of {of}: {first['detail']}: {first['sql']}")
    if not any(by_gold.values()):
        problems.append(f"{source.db_id}: no instance for any of its golds, {ALONE}")
    return Instances({}, {}, by_gold, tuple(notes), tuple(problems))

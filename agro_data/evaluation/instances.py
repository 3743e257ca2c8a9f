"""The databases a prediction is held against: the source, the files of a folder, or instances built for the golds."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from agro_data.config import ConfigError
from agro_data.databases.content import content_hash
from agro_data.databases.sandbox import Sandbox
from agro_data.databases.types import Database, Dialect, Limits
from agro_data.fingerprint import code_version, seed_of, stable_hash
from agro_data.parallel import run_shards
from agro_data.profiling.cache import cached_profile
from agro_data.progress import Reporter, silent
from agro_data.verify.certificate import certify
from agro_data.work import write_json

INDEX = "index.parquet"
RECORD = "pool.json"
SUFFIXES = (".sqlite", ".duckdb")
LIMITS = Limits(seconds=5.0, steps=3_000_000)  # of a mutant on an instance: small files, about a tenth of a second


@dataclass(frozen=True)
class Instances:
    """Files by database, and for golds that are known by id or by text, which of them are valid."""

    files: Mapping[str, tuple[Database, ...]]
    by_example: Mapping[str, frozenset[str]]  # example_id -> file names
    by_gold: Mapping[tuple[str, str], tuple[Database, ...]]  # (db_id, SQL) -> instances
    notes: tuple[str, ...] = ()

    def of(self, db_id: str, gold: str, identity: str) -> tuple[Database, ...]:
        """Those valid for a gold; all of its database where nothing says otherwise."""
        if (db_id, gold) in self.by_gold:
            return self.by_gold[db_id, gold]
        files = self.files.get(db_id, ())
        example = identity if identity in self.by_example else stable_hash([db_id, gold])[:16]
        if example in self.by_example:
            return tuple(file for file in files if file.path.name in self.by_example[example])
        return files


def given(folder: Path, databases: Mapping[str, Database]) -> Instances:
    """The files `folder/<db_id>/*.sqlite` (or `.duckdb`), and what `folder/index.parquet` says of them, if it is there.

    Raises `ConfigError` when no database has any.
    """
    if not folder.is_dir():
        raise ConfigError(f"{folder}: no such folder of instances")
    files = {db_id: _files(folder / db_id, database) for db_id, database in databases.items()}
    if not any(files.values()):
        raise ConfigError(f"{folder}: no files {folder.name}/<db_id>/*.sqlite for any of the {len(files)} databases")
    index = folder / INDEX
    by_example: dict[str, set[str]] = defaultdict(set)
    if index.is_file():
        for row in pl.read_parquet(index, columns=["example_id", "file"]).iter_rows(named=True):
            by_example[row["example_id"]].add(Path(row["file"]).name)
    notes = tuple(f"{db_id}: no instances in {folder}" for db_id, found in files.items() if not found)
    return Instances(files, {key: frozenset(names) for key, names in by_example.items()}, {}, notes)


def _files(folder: Path, source: Database) -> tuple[Database, ...]:
    if not folder.is_dir():
        return ()
    paths = sorted(path for path in folder.iterdir() if path.suffix in SUFFIXES and path.is_file())
    return tuple(_instance(source, path) for path in paths)


def _instance(source: Database, path: Path) -> Database:
    layout: Dialect = "duckdb" if path.suffix == ".duckdb" else "sqlite"
    return replace(
        source,
        dialect=layout,
        layout=layout,
        path=path,
        content_hash=content_hash(path, layout),
        relative_path=f"{source.db_id}/{path.name}",
        spider_tables=None,
        descriptions=None,
        semantics=None,
    )


@dataclass(frozen=True)
class _Task:
    source: Database
    golds: tuple[str, ...]
    cache: Path

    @property
    def folder(self) -> Path:
        """Where the instances for just these golds are, or will be."""
        own = stable_hash([self.source.content_hash, self.golds, code_version()])[:16]
        return self.cache / "evaluation-instances" / f"{self.source.db_id}-{own}"


def built(
    golds: Mapping[Database, Sequence[str]], cache: Path, workers: int = 2, progress: Reporter = silent
) -> Instances:
    """Instances that tell the golds from their mutants, made once and kept in `cache`.

    A gold for which none could be made is graded on the source alone, and named in `notes`.
    """
    tasks = [_Task(source, tuple(sorted(set(sqls))), cache) for source, sqls in golds.items()]
    done = 0
    progress("instances", done, len(tasks), "databases")

    def on_done(_: object) -> None:
        nonlocal done
        done += 1
        progress("instances", done, len(tasks), "databases")

    # The largest first, so that no worker is left alone with it at the end.
    ordered = sorted(tasks, key=lambda task: (-len(task.golds), task.source.db_id))
    outcomes = run_shards(_build, ordered, min(workers, max(len(ordered), 1)), on_done)
    failed = tuple(
        f"{outcome.task.source.db_id}: no instances, graded on the source: {outcome.error}"
        for outcome in outcomes
        if outcome.error
    )
    parts = [_recalled(outcome.task.source, outcome.task.folder) for outcome in outcomes if not outcome.error]
    by_gold: dict[tuple[str, str], tuple[Database, ...]] = {}
    for part in parts:
        by_gold |= part.by_gold
    return Instances({}, {}, by_gold, (*failed, *(note for part in parts for note in part.notes)))


def _build(task: _Task) -> None:
    """Make the instances of one database, unless they are there."""
    if (task.folder / RECORD).is_file():
        return
    profile = cached_profile(task.source, task.cache / "profiles")
    with Sandbox(1, LIMITS) as sandbox:
        pool = certify(task.source, profile, task.golds, sandbox, task.folder, seed_of(0, task.source.db_id))
    kept: list[dict[str, Any]] = [
        {"sql": c.sql, "reason": c.reason, "detail": c.detail, "files": [Path(name).name for name in c.instances]}
        for c in pool.certificates
    ]
    write_json(task.folder / RECORD, {"golds": kept})


def _recalled(source: Database, folder: Path) -> Instances:
    files = {file.path.name: file for file in _files(folder, source)}
    by_gold: dict[tuple[str, str], tuple[Database, ...]] = {}
    notes: list[str] = []
    for one in json.loads((folder / RECORD).read_text(encoding="utf-8"))["golds"]:
        by_gold[source.db_id, one["sql"]] = tuple(files[name] for name in one["files"])
        if not one["files"]:
            notes.append(f"{source.db_id}: no instance for a gold, graded on the source: {one['detail']}: {one['sql']}")
    return Instances({}, {}, by_gold, tuple(notes))

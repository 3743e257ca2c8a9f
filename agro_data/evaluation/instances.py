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
from agro_data.databases.types import Database, Dialect
from agro_data.fingerprint import seed_of, stable_hash
from agro_data.profiling.cache import cached_profile
from agro_data.verify.certificate import certify
from agro_data.work import write_json

INDEX = "index.parquet"
SUFFIXES = (".sqlite", ".duckdb")


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
        if identity and identity in self.by_example:
            return tuple(file for file in files if file.path.name in self.by_example[identity])
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


def built(source: Database, golds: Sequence[str], sandbox: Sandbox, cache: Path, seed: int = 0) -> Instances:
    """Instances that tell the golds from their mutants, made once and kept in `cache`.

    A gold for which none could be made is graded on the source alone, and named in `notes`.
    """
    wanted = sorted(set(golds))
    own = stable_hash([source.content_hash, wanted, seed])[:16]
    folder = cache / f"{source.db_id}-{own}"
    record = folder / "pool.json"
    if not record.is_file():
        profile = cached_profile(source, cache.parent / "profiles")
        pool = certify(source, profile, wanted, sandbox, folder, seed_of(seed, source.db_id))
        kept: list[dict[str, Any]] = [
            {"sql": c.sql, "reason": c.reason, "detail": c.detail, "files": [Path(n).name for n in c.instances]}
            for c in pool.certificates
        ]
        write_json(record, {"golds": kept})
    return _recalled(source, folder, record)


def _recalled(source: Database, folder: Path, record: Path) -> Instances:
    files = {file.path.name: file for file in _files(folder, source)}
    by_gold: dict[tuple[str, str], tuple[Database, ...]] = {}
    notes: list[str] = []
    for one in json.loads(record.read_text(encoding="utf-8"))["golds"]:
        by_gold[source.db_id, one["sql"]] = tuple(files[name] for name in one["files"])
        if not one["files"]:
            notes.append(f"{source.db_id}: no instance for a gold, graded on the source: {one['detail']}: {one['sql']}")
    return Instances({source.db_id: ()}, {}, by_gold, tuple(notes))


def united(parts: Sequence[Instances]) -> Instances:
    """The instances of several databases."""
    files: dict[str, tuple[Database, ...]] = {}
    by_gold: dict[tuple[str, str], tuple[Database, ...]] = {}
    for part in parts:
        files |= part.files
        by_gold |= part.by_gold
    return Instances(files, {}, by_gold, tuple(note for part in parts for note in part.notes))

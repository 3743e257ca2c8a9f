"""The databases a prediction is held against: the files of a folder, and what an index says of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from agro_data.config import ConfigError
from agro_data.databases.content import instance_at
from agro_data.databases.types import Database
from agro_data.fingerprint import stable_hash

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
    files = {db_id: files_in(folder / db_id, database) for db_id, database in databases.items()}
    if not any(files.values()):
        raise ConfigError(f"{folder}: no files {folder.name}/<db_id>/*.sqlite for any of the {len(files)} databases")
    index = folder / INDEX
    by_example: dict[str, set[str]] = defaultdict(set)
    if index.is_file():
        for row in pl.read_parquet(index, columns=["example_id", "file"], glob=False).iter_rows(named=True):
            by_example[row["example_id"]].add(Path(row["file"]).name)
    notes = tuple(
        f"{db_id}: no instances in {folder}, graded on the database itself"
        for db_id, found in files.items()
        if not found
    )
    return Instances(files, {key: frozenset(names) for key, names in by_example.items()}, {}, notes)


def files_in(folder: Path, source: Database) -> tuple[Database, ...]:
    """The instances of `source` in a folder, by name."""
    if not folder.is_dir():
        return ()
    paths = sorted(path for path in folder.iterdir() if path.suffix in SUFFIXES and path.is_file())
    return tuple(instance_at(source, path) for path in paths)

"""The databases on which a prediction is graded: the files of a folder, and what an index says about them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import polars as pl

from agro_data.config import ConfigError
from agro_data.databases.discovery.content import instance_at
from agro_data.databases.discovery.identity import is_own_name
from agro_data.databases.types import Database
from agro_data.evaluation.loaded import Prediction
from agro_data.hashing import stable_hash

INDEX = "index.parquet"
SUFFIXES = (".sqlite", ".duckdb")
ALONE = "graded on the database itself"


@dataclass(frozen=True)
class Instances:
    """Files by database, as the catalog calls it; and for golds that are known by id or by text, which are valid.

    `problems` name databases without any, which is what they were asked for; `notes` golds without any.
    """

    files: Mapping[str, tuple[Database, ...]]
    by_example: Mapping[tuple[str, str], frozenset[str]]  # (db_id, example_id) -> file names
    by_gold: Mapping[tuple[str, str], tuple[Database, ...]]  # (db_id, SQL) -> instances
    notes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    indexed: frozenset[str] = frozenset()  # databases whose files are all listed in `by_example`

    def of(self, db_id: str, gold: str, identity: str) -> tuple[Database, ...]:
        """Those valid for a gold; all of its database where nothing says otherwise.

        An index has a row for each gold and each file on which its answer is unambiguous: what it does not list is
        valid nowhere, or was never tried there.
        """
        if (db_id, gold) in self.by_gold:
            return self.by_gold[db_id, gold]
        files = self.files.get(db_id, ())
        if db_id not in self.indexed:
            return files
        named = [(db_id, identity), (db_id, stable_hash([db_id, gold])[:16])]
        valid = next((self.by_example[key] for key in named if key in self.by_example), frozenset())
        return tuple(file for file in files if file.path.name in valid)


def given(folder: Path, databases: Mapping[str, Database], rows: Sequence[Prediction]) -> Instances:
    """The files `folder/<db_id>/*.sqlite` (or `.duckdb`), and what `folder/index.parquet` says of them, if it is there.

    Raises `ConfigError` when no database that the rows have golds for has any.
    """
    if not folder.is_dir():
        raise ConfigError(f"{folder}: no such folder of instances")
    golds: dict[str, dict[tuple[str, str], None]] = defaultdict(dict)
    for row in rows:
        if row.gold and (source := databases.get(row.db_id)) is not None:
            golds[source.db_id][row.gold, row.identity] = None
    files: dict[str, tuple[Database, ...]] = {}
    for name, source in databases.items():  # by the names that rows use; a database may have several
        if source.db_id in golds and not files.get(source.db_id):
            names = filter(is_own_name, (source.db_id, name))
            files[source.db_id] = next(filter(None, (files_in(folder / one, source) for one in names)), ())
    if not any(files.values()):
        raise ConfigError(f"{folder}: no files {folder.name}/<db_id>/*.sqlite for any of the {len(files)} databases")
    by_example: dict[tuple[str, str], set[str]] = defaultdict(set)
    index = folder / INDEX
    if index.is_file():
        columns = ["db_id", "example_id", "file"]
        for db_id, example, file in pl.read_parquet(index, columns=columns, glob=False).select(columns).iter_rows():
            by_example[db_id, example].add(Path(file).name)
        if not by_example:
            raise ConfigError(
                f"{index} lists nothing: `agro verify` was stopped amid its work there, or could certify none"
            )
    valid = {key: frozenset(names) for key, names in by_example.items()}
    found = Instances(files, valid, {}, indexed=frozenset(db_id for db_id, _ in valid))
    notes: list[str] = []
    problems: list[str] = []
    for db_id, asked in golds.items():
        bare, whole = sum(not found.of(db_id, *one) for one in asked), len(asked)
        if not files[db_id]:
            problems.append(f"{db_id}: no instances in {folder}, {ALONE}")
        elif bare == whole:
            problems.append(f"{db_id}: no instance in {folder} is valid for any of its golds, {ALONE}")
        elif bare:
            notes.append(f"{db_id}: no instance in {folder} is valid for {bare:,} of its {whole:,} golds, {ALONE}")
        listed = set[str]().union(*(names for (other, _), names in valid.items() if other == db_id))
        gone = sorted(listed - {file.path.name for file in files[db_id]})
        if gone and bare < whole:
            problems.append(
                f"{db_id}: {len(gone):,} of the instances that {index} lists are gone: {', '.join(gone[:3])}"
            )
    return replace(found, notes=tuple(notes), problems=tuple(problems))


def files_in(folder: Path, source: Database) -> tuple[Database, ...]:
    """The instances of `source` in a folder, by name. One of the same size and time as before is not read again."""
    if not folder.is_dir():
        return ()
    paths = sorted(path for path in folder.iterdir() if path.suffix in SUFFIXES and path.is_file())
    seen = [(path, path.stat()) for path in paths]
    return tuple(_instance(source, path, now.st_size, now.st_mtime_ns) for path, now in seen)


@lru_cache(10_000)
def _instance(source: Database, path: Path, size: int, changed: int) -> Database:
    return instance_at(source, path)

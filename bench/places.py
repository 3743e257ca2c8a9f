"""One database, the commonest case, and places where nothing may be left behind.

python -m bench.places ../shared/data/samples/chinook.sqlite --size 2000
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

import agro_data
from agro_data.config import STRUCTURAL
from agro_data.diversity.splits import leaks


def main() -> None:
    """Print the figures of one database as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("database", type=Path)
    parser.add_argument("--size", type=int, default=2_000)
    parser.add_argument("--embedding-model", default=agro_data.BuildConfig("x").embedding_model)
    arguments = parser.parse_args()
    print(json.dumps(single(arguments.database, arguments.size, arguments.embedding_model), indent=1))
    print(json.dumps(untouched(arguments.database), indent=1))


def single(database: Path, size: int, model: str) -> dict[str, Any]:
    """`size` examples of one database: splits, and what stands in more than one of them (nothing should)."""
    with tempfile.TemporaryDirectory() as folder:
        built = _build(database, Path(folder), size, model)
        examples = built.version.examples().collect()
        return {
            "examples": examples.height,
            "splits": dict(sorted(examples["split"].value_counts().iter_rows())),
            "leaks": leaks(examples).height,
        }


def untouched(database: Path) -> dict[str, list[str]]:
    """Files that a build adds to, removes from or changes in the folder of its database; none is right.

    `wal`: a copy of `database` with a write-ahead log that another program holds open. `read_only`: a copy in a
    folder without write permission.
    """
    with tempfile.TemporaryDirectory() as place:
        logged, locked = Path(place) / "logged", Path(place) / "locked"
        for folder in (logged, locked):
            folder.mkdir()
            shutil.copyfile(database, folder / "shop.sqlite")
        with closing(sqlite3.connect(logged / "shop.sqlite")) as writer:
            writer.execute("PRAGMA journal_mode=WAL")
            writer.execute("CREATE TABLE bench_marker (made_at TEXT)")
            writer.execute("INSERT INTO bench_marker VALUES ('today')")
            writer.commit()
            found = {"wal": _changes(logged, Path(place) / "out-logged", 50)}
        os.chmod(locked / "shop.sqlite", 0o444)
        os.chmod(locked, 0o555)
        try:
            found["read_only"] = _changes(locked, Path(place) / "out-locked", 50)
        finally:
            os.chmod(locked, 0o755)
        return found


def _changes(source: Path, place: Path, size: int) -> list[str]:
    before = _files(source)
    _build(source, place, size, STRUCTURAL)
    after = _files(source)
    return sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))


def _files(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


def _build(database: Path, place: Path, size: int, model: str) -> agro_data.Build:
    config = agro_data.BuildConfig(databases=str(database), size=size, embedding_model=model)
    return agro_data.build(config=config, run=agro_data.RunConfig(out=place / "out", cache=place / "cache"))


if __name__ == "__main__":
    main()

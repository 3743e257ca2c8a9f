"""Databases that tests make for themselves, and builds on them."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from types import MappingProxyType
from typing import Any

import agro_data
from agro_data.config import STRUCTURAL
from agro_data.databases.discovery.catalog import find_databases
from agro_data.databases.types import Database
from agro_data.populate.schema import ForeignKey, Rows
from agro_data.profiling.profile import DatabaseProfile
from agro_data.profiling.profiler import profile_database


def make_school(path: Path, tag: str = "") -> Path:
    """A small SQLite school with three tables, two foreign keys and no ties in its measures."""
    connection = sqlite3.connect(path)
    connection.executescript(
        """
        CREATE TABLE school (school_id INTEGER PRIMARY KEY, name TEXT NOT NULL, city TEXT NOT NULL, founded INTEGER);
        CREATE TABLE teacher (
            teacher_id INTEGER PRIMARY KEY, name TEXT NOT NULL, subject TEXT NOT NULL, salary REAL NOT NULL,
            school_id INTEGER NOT NULL REFERENCES school(school_id));
        CREATE TABLE lesson (
            lesson_id INTEGER PRIMARY KEY, teacher_id INTEGER NOT NULL REFERENCES teacher(teacher_id),
            room TEXT, day TEXT NOT NULL, pupils INTEGER NOT NULL);
        """
    )
    cities = ["Oslo", "Lyon", "Graz"]
    subjects = ["History", "Physics", "Music", "Biology"]
    names = ["Ana", "Bela", "Cato", "Dora", "Emil", "Fay", "Gus", "Hana", "Ivo", "Jana", "Kurt", "Lena"]
    connection.executemany(
        "INSERT INTO school VALUES (?,?,?,?)",
        [(n, f"School {n}{tag}", cities[n % 3], 1900 + 7 * n) for n in range(1, 7)],
    )
    connection.executemany(
        "INSERT INTO teacher VALUES (?,?,?,?,?)",
        [(n, f"{names[n % 12]} {chr(65 + n)}", subjects[n % 4], 2000 + 137.5 * n, 1 + n % 5) for n in range(1, 25)],
    )
    connection.executemany(
        "INSERT INTO lesson VALUES (?,?,?,?,?)",
        [
            (
                n,
                1 + (n * n) % 20,
                None if n % 9 == 0 else f"R{n % 6}",
                f"2024-{1 + n % 12:02d}-{1 + n % 28:02d}",
                10 + n,
            )
            for n in range(1, 61)
        ],
    )
    connection.commit()
    connection.close()
    return path


def run_sqlite(path: Path, script: str, rows: Mapping[str, Iterable[Sequence[Any]]] = MappingProxyType({})) -> Path:
    """Run a script on a SQLite file, made where there is none, and put rows into its tables."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(script)
        for table, values in rows.items():
            for one in values:
                connection.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(one))})", one)
    return path


def raise_salaries(school: Path) -> None:
    """Change a school's content: every second teacher earns more."""
    with closing(sqlite3.connect(school)) as connection, connection:
        connection.execute("UPDATE teacher SET salary = salary + 11.25 WHERE teacher_id % 2 = 0")


def add_damaged(path: Path, table: str) -> Path:
    """A further table of a SQLite file, of which the first rows can still be read, as after a disk's fault."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"CREATE TABLE {table} (id INTEGER PRIMARY KEY, name TEXT)")
        connection.executemany(f"INSERT INTO {table} VALUES (?, ?)", [(number, "x" * 200) for number in range(300)])
    whole, lost = path.read_bytes(), 4 * 4096
    path.write_bytes(whole[:-lost] + b"\xff" * lost)
    return path


def database_at(path: Path) -> Database:
    """The first database at a path, by id."""
    return find_databases(path).databases[0]


def profile_of(path: Path, values: bool = True) -> DatabaseProfile:
    """The profile of the first database at a path."""
    return profile_database(database_at(path), values=values)


def one_worker(place: Path) -> agro_data.RunConfig:
    """What a build writes and remembers is below `place`, and one process makes it."""
    return agro_data.RunConfig(out=place / "out", cache=place / "cache", workers=1)


def build_corpus(place: Path, databases: Path, **settings: Any) -> agro_data.Build:
    """A build whose embeddings need no model."""
    given = {"databases": str(databases), "embedding_model": STRUCTURAL} | settings
    return agro_data.build(config=agro_data.BuildConfig.from_dict(given), run=one_worker(place))


def hashes(folder: Path) -> dict[str, str]:
    """SHA-256 of every file below a folder, by its path there."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def hashes_and_times(folder: Path) -> dict[str, tuple[str, int]]:
    """SHA-256 and time of change of every file below a folder."""
    return {name: (sha, (folder / name).stat().st_mtime_ns) for name, sha in hashes(folder).items()}


def packed(report: Path) -> list[Any]:
    """The data of a report's page as its script reads them: index, map, then details by block."""
    blocks = re.findall(r'id="data-\w+">([^<]*)<', report.read_text(encoding="utf-8"))
    return [json.loads(gzip.decompress(base64.b64decode(block))) for block in blocks]


def fan_out(rows: Rows, key: ForeignKey) -> Counter[int]:
    """Number of parents by their number of children: `{0: 12, 1: 9, 5: 30}`."""
    children = Counter(zip(*(rows[key.table][c] for c in key.columns), strict=True))
    parents = zip(*(rows[key.ref_table][c] for c in key.ref_columns), strict=True)
    return Counter(children[parent] for parent in parents)

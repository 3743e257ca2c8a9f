"""Databases that tests make for themselves."""

from __future__ import annotations

import base64
import gzip
import json
import re
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

from agro_data.populate.schema import ForeignKey, Rows


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


def add_damaged(path: Path, table: str) -> Path:
    """A further table of a SQLite file, of which the first rows can still be read, as after a disk's fault."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"CREATE TABLE {table} (id INTEGER PRIMARY KEY, name TEXT)")
        connection.executemany(f"INSERT INTO {table} VALUES (?, ?)", [(number, "x" * 200) for number in range(300)])
    whole, lost = path.read_bytes(), 4 * 4096
    path.write_bytes(whole[:-lost] + b"\xff" * lost)
    return path


def packed(report: Path) -> list[Any]:
    """The data of a report's page as its script reads them: index, map, then details by block."""
    blocks = re.findall(r'id="data-\w+">([^<]*)<', report.read_text(encoding="utf-8"))
    return [json.loads(gzip.decompress(base64.b64decode(block))) for block in blocks]


def fan_out(rows: Rows, key: ForeignKey) -> Counter[int]:
    """Number of parents by their number of children: `{0: 12, 1: 9, 5: 30}`."""
    children = Counter(zip(*(rows[key.table][c] for c in key.columns), strict=True))
    parents = zip(*(rows[key.ref_table][c] for c in key.ref_columns), strict=True)
    return Counter(children[parent] for parent in parents)

"""Reading the files given with `--exclude`: questions and SQL that a corpus must not contain."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from agro_data.errors import InWords
from agro_data.evaluation.fields import QUESTION, SQL, text_of
from agro_data.rows import LINES, SUFFIXES, LoadProblem, UnreadableInput, read_rows

_STATEMENT = re.compile(r"[\s(]*(select|with)\b", re.IGNORECASE)


class UnreadableExclusion(InWords, ValueError):
    """A file to exclude that does not exist or holds neither questions nor SQL."""


@dataclass(frozen=True)
class Excluded:
    """One row of a file to exclude; what the file does not have is empty. `row` counts from 1."""

    source: str
    row: int
    question: str
    sql: str


def read_excluded(paths: Sequence[Path]) -> list[Excluded]:
    """It reads rows of JSON, JSONL, CSV, TSV and Parquet files, and lines of SQL; in a folder (Spider, BIRD) all such
    files directly in it. Columns are found by the names that `evaluation.load` knows.

    Files of a folder without a question or SQL column (`tables.json`) are passed over; a folder with none
    that has one, and a named file without one, raise `UnreadableExclusion`, which says what was expected.
    """
    found: list[Excluded] = []
    for path in paths:
        if path.is_dir():
            files = [file for file in sorted(path.iterdir()) if file.suffix.lower() in SUFFIXES + LINES]
            rows = [row for file in files if not file.is_dir() for row in _rows(file)]
            if not rows:
                raise UnreadableExclusion(f"{path}: no {_expected()} in any file of this folder")
        elif path.is_file():
            rows = _rows(path)
            if not rows:
                raise UnreadableExclusion(f"{path}: no {_expected()} in this file")
        else:
            raise UnreadableExclusion(f"{path}: there is no such file or folder to exclude")
        found += rows
    return found


def _expected() -> str:
    return f"column named {', '.join(QUESTION)} (question) or {', '.join(SQL)} (SQL) with rows, and no line of SQL"


def _rows(path: Path) -> list[Excluded]:
    """A row that was skipped could get into a corpus, so a single unreadable row is an error."""
    try:
        items = read_rows(path)
    except UnreadableInput as error:
        reason = str(error).removeprefix(f"{path}: ").removeprefix("cannot be read: ")
        raise UnreadableExclusion(f"{path}: cannot be read: {reason}") from error
    rows = []
    for number, item in enumerate(items, start=1):
        if isinstance(item, LoadProblem):
            raise UnreadableExclusion(f"{path}: cannot be read: {item}")
        question, sql = text_of(item.fields, QUESTION), text_of(item.fields, SQL)
        if path.suffix.lower() in LINES and not _STATEMENT.match(sql):
            continue  # a blank line, or prose: benchmarks have a README.txt beside their files
        if question or sql:
            rows.append(Excluded(path.name, number, question, sql))
    return rows

"""Reading the files given with `--exclude`: questions and SQL that a corpus must not contain."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl
from polars.exceptions import PolarsError

QUESTION_COLUMNS = ("question", "Question", "utterance", "nl")
SQL_COLUMNS = ("query", "sql", "SQL", "gold", "gold_sql")
_SUFFIXES = (".json", ".jsonl", ".ndjson", ".csv", ".parquet")


class UnreadableExclusion(ValueError):
    """A file to exclude that does not exist or holds neither questions nor SQL."""


@dataclass(frozen=True)
class Excluded:
    """One row of a file to exclude; what the file does not have is empty. `row` counts from 1."""

    source: str
    row: int
    question: str
    sql: str


def read_excluded(paths: Sequence[Path]) -> list[Excluded]:
    """Rows of JSON, JSONL, CSV and Parquet files; of a folder (Spider, BIRD), of all such files directly in
    it.

    Files of a folder without a question or SQL column (`tables.json`) are passed over; a folder with none
    that has one, and a named file without one, raise `UnreadableExclusion`, which says what was expected.
    """
    found: list[Excluded] = []
    for path in paths:
        if path.is_dir():
            inside = [_rows(file, _table(file)) for file in sorted(path.iterdir()) if file.suffix in _SUFFIXES]
            rows = [row for part in inside for row in part]
            if not rows:
                raise UnreadableExclusion(f"{path}: no {_expected()} in any file of this folder")
        elif path.is_file():
            rows = _rows(path, _table(path))
            if not rows:
                raise UnreadableExclusion(f"{path}: no {_expected()} in this file")
        else:
            raise UnreadableExclusion(f"{path}: there is no such file or folder to exclude")
        found += rows
    return found


def _expected() -> str:
    return f"column named {', '.join(QUESTION_COLUMNS)} (question) or {', '.join(SQL_COLUMNS)} (SQL) with rows"


def _table(path: Path) -> list[dict[str, object]]:
    try:
        if path.suffix == ".parquet":
            return pl.read_parquet(path).to_dicts()
        if path.suffix == ".csv":
            return pl.read_csv(path, infer_schema=False).to_dicts()
        text = path.read_text(encoding="utf-8-sig")
        if path.suffix == ".json":
            content = json.loads(text)
        else:
            content = [json.loads(line) for line in text.splitlines() if line.strip()]
    except (OSError, ValueError, PolarsError) as error:
        raise UnreadableExclusion(f"{path}: cannot be read as {path.suffix[1:]} ({error})") from error
    if isinstance(content, dict):
        content = next((value for value in content.values() if isinstance(value, list)), [])
    return [row for row in content if isinstance(row, dict)] if isinstance(content, list) else []


def _rows(path: Path, table: list[dict[str, object]]) -> list[Excluded]:
    rows = []
    for number, row in enumerate(table, start=1):
        question, sql = _first(row, QUESTION_COLUMNS), _first(row, SQL_COLUMNS)
        if question or sql:
            rows.append(Excluded(path.name, number, question, sql))
    return rows


def _first(row: dict[str, object], names: Sequence[str]) -> str:
    # Spider has its tokens and parse trees in columns of like names: only text counts.
    return next((value for name in names if isinstance(value := row.get(name), str) and value.strip()), "")

"""What an evaluation says of each facet: how many questions had a value, and how many of them failed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from agro_data.config import ConfigError
from agro_data.databases.types import Dialect
from agro_data.evaluation.verdict import Verdict, read_lines
from agro_data.focus import FACETS, MOST_TABLES, NO_CONSTRUCT
from agro_data.intent.logs.query_log import shape_of
from agro_data.profiling.cache import decode
from agro_data.publish.read import Version

METRICS = ("strict-ts", "strict")  # the stricter first
OCCURRENCES = pl.Schema({"facet": pl.String, "value": pl.String, "asked": pl.Float64, "failed": pl.Float64})
DIALECT: Dialect = "sqlite"  # of a question that no row of the version asks
KNOWN = ("db_id", "question", "sql", "dialect", "style", "complexity", "tables", "columns")

Row = dict[str, Any]


def verdicts_of(place: Path, metric: str = "") -> tuple[Path, tuple[Verdict, ...]]:
    """The verdicts of a file, or of the one in a folder that has this metric (none: the strictest that is there).

    Raises `ConfigError` when there is none, or several, or it cannot be read, or a file is said to have a metric.
    """
    if not place.exists():
        raise ConfigError(f"{place}: no such file or folder; `python -m agro_train.evaluate` writes one with verdicts")
    if place.is_file() and metric not in ("", place.stem):
        raise ConfigError(f"{place}: --metric {metric} chooses among the files of a folder; of this one leave it out")
    path = place if place.is_file() else _only(place, metric)
    try:
        found = read_lines(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path}: cannot be read as verdicts, a JSON object a line ({error})") from error
    if not found:
        raise ConfigError(f"{path}: holds no verdict")
    for number, one in enumerate(found, 1):
        if not 0 <= one.score <= 1:
            raise ConfigError(f"{path}: verdict {number} has the score {one.score}; failures are counted from 0 to 1")
    return path, found


def _only(folder: Path, metric: str) -> Path:
    for name in (metric,) if metric else METRICS:
        files = sorted(folder.rglob(f"{name}.jsonl"))
        if len(files) == 1:
            return files[0]
        if files:
            said = ", ".join(path.relative_to(folder).as_posix() for path in files[:5])
            raise ConfigError(f"{folder}: {len(files)} files of verdicts ({said}); name the one to go by")
    wanted = metric or " or ".join(METRICS)
    raise ConfigError(f"{folder}: no file of verdicts ({wanted}.jsonl); `python -m agro_train.evaluate` writes them")


def occurrences(verdicts: Sequence[Verdict], version: Version) -> tuple[pl.DataFrame, int]:
    """How often each value of each facet was asked and failed, rows of `OCCURRENCES`, and how many questions are the
    version's own: of others the style is not known, nor which columns they use.

    A question fails by what its score lacks to 1.
    """
    rows = {_key(row): row for row in version.examples().select(KNOWN).collect().iter_rows(named=True)}
    roles = _roles(version)
    known = [rows.get((one.db_id, one.question, one.gold)) for one in verdicts]
    found: list[Row] = []
    for one, row in zip(verdicts, known, strict=True):
        lost = 1.0 - one.score
        for facet, values in _values(one, row, roles).items():
            found += [{"facet": facet, "value": value, "asked": 1.0, "failed": lost} for value in values]
    frame = pl.DataFrame(found, schema=OCCURRENCES).group_by("facet", "value").agg(pl.col("asked", "failed").sum())
    order = pl.col("facet").replace_strict({facet: place for place, facet in enumerate(FACETS)}, return_dtype=pl.Int64)
    return frame.sort(order, "value"), sum(row is not None for row in known)


def _key(row: Row) -> tuple[str, str, str]:
    return row["db_id"], row["question"], row["sql"]


def _values(one: Verdict, row: Row | None, roles: Mapping[str, str]) -> dict[str, list[str]]:
    """The values that a question has, by facet; each once."""
    shape = shape_of(one.gold, row["dialect"] if row is not None else DIALECT)
    found = {
        "shapes": [shape] if shape else [],
        "constructs": sorted(set(one.constructs)) or [NO_CONSTRUCT],
        "hardness": [one.hardness] if one.hardness else [],
    }
    if row is None:
        return found
    columns = sorted({f"{row['db_id']} {column}" for column in row["columns"]})
    return found | {
        "styles": [row["style"]],
        "complexity": [row["complexity"]],
        "tables": [str(min(max(len(set(row["tables"])), 1), MOST_TABLES))],
        "columns": columns,
        "roles": sorted({roles[column] for column in columns if column in roles}),
    }


def _roles(version: Version) -> dict[str, str]:
    """The role of each column, by "db_id table.column", as far as the version remembers its databases."""
    profiles = [(db_id, decode(text)) for db_id, text in version.profiles().items()]
    return {
        f"{db_id} {table.name}.{column.name}": column.role
        for db_id, profile in profiles
        for table in profile.tables
        for column in table.columns
    }

"""What a query log says about what is asked: shape weights for the prior.

A log is any text with SQL in it: statements that end in a semicolon, or one a line, with or without a time stamp and a
log level before them. Only how often each shape was asked is kept: no literal, name or statement of the log.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import sqlglot

from agro_data.databases.types import Dialect
from agro_data.intent.prior import Prior
from agro_data.sql.facts import sql_facts
from agro_data.sql.parse import SqlRefused

# The construct that shows a shape, most telling first: a statement counts for the first one it has.
SHOWS: tuple[tuple[str, str], ...] = (
    ("top_k_per_group", "top_per_group"),
    ("window", "window"),
    ("union", "set_operation"),
    ("intersect", "set_operation"),
    ("except", "set_operation"),
    ("self_join", "self_join"),
    ("case", "buckets"),
    ("cte", "compare_groups"),
    ("not_exists", "related_none"),
    ("not_in_subquery", "related_none"),
    ("exists", "related_exists"),
    ("in_subquery", "related_exists"),
    ("scalar_subquery", "compare_average"),
    ("having", "having"),
    ("group_by", "group"),
    ("count_distinct", "aggregate"),
    ("aggregate", "aggregate"),
    ("arithmetic", "arithmetic"),
    ("text_function", "text_function"),
    ("limit", "superlative"),
)
SHARE = 0.7  # weight of the log; the rest stays with the shipped prior, so that nothing it lacks is impossible


PIECE = re.compile(r"""(?:'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|/\*.*?\*/|[^;])+""", re.DOTALL)  # up to a semicolon
FIGURES = re.compile(r"\b(?:avg|sum|min|max|total|median)\(", re.IGNORECASE)
START = re.compile(r"\b(?:select|with)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Logged:
    """A query of a log, and the shape that it is nearest to."""

    sql: str
    shape: str


@dataclass(frozen=True)
class LogReading:
    """How often each shape was asked, and how many pieces of the log were no query and were ignored."""

    shapes: Mapping[str, int]
    ignored: int

    @property
    def read(self) -> int:
        return sum(self.shapes.values())


def read_log(path: Path, dialect: Dialect) -> LogReading:
    """The shapes of a log file's statements. Raises `OSError` when it cannot be read; nothing in it raises."""
    return _reading(path.read_text(encoding="utf-8", errors="replace"), dialect)


@lru_cache(maxsize=4)  # every shard asks for it
def _reading(text: str, dialect: Dialect) -> LogReading:
    found = list(logged(text, dialect))
    shapes = Counter(one.shape for one in found if one is not None)
    return LogReading(dict(sorted(shapes.items())), ignored=found.count(None))


def logged(text: str, dialect: Dialect) -> Iterator[Logged | None]:
    """The queries of a log's text in their order; None for each piece that is none."""
    for piece in PIECE.findall(text):
        if not piece.strip():
            continue
        whole = _query(piece, dialect)
        if whole is not None:
            yield whole
            continue
        for line in filter(str.strip, piece.splitlines()):
            start = START.search(line)  # after a time stamp or the like
            yield _query(line[start.start() :], dialect) if start else None


def _query(text: str, dialect: Dialect) -> Logged | None:
    shape = shape_of(text, dialect)
    return Logged(text.strip(), shape) if shape is not None else None


def shape_of(sql: str, dialect: Dialect) -> str | None:
    """The shape that a logged statement is nearest to; None when it is no single SELECT."""
    try:
        facts = sql_facts(sql, dialect, {})
    except (SqlRefused, sqlglot.errors.SqlglotError):
        return None
    if {"date_part", "group_by"} <= set(facts.constructs) and "having" not in facts.constructs:
        return "date_group"
    shape = next((shape for construct, shape in SHOWS if construct in facts.constructs), "list")
    counts_only = "COUNT(" in facts.skeleton.upper() and not FIGURES.search(facts.skeleton)
    return "count" if shape == "aggregate" and counts_only else shape


def prior_from_log(log: LogReading, base: Prior) -> Prior:
    """`base` with its shape weights moved towards the frequencies of the log.

    A log without a readable statement leaves `base` as it is.
    """
    known = {shape: count for shape, count in log.shapes.items() if shape in base.shapes}
    total, whole = sum(known.values()), sum(base.shapes.values())
    if not total:
        return base
    mixed = {
        shape: (1 - SHARE) * weight / whole + SHARE * known.get(shape, 0) / total
        for shape, weight in base.shapes.items()
    }
    return base.with_shapes(mixed)

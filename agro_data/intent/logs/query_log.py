"""The queries of a log, and what they say about what is asked: shape weights for the prior.

A log is a text with SQL in it, or a table (see `log_reading`). In a text, statements end in a semicolon, or stand one a
line, with or without a time stamp and a log level before them; a line that begins with a tab goes on with the one
before. Their SQL may be another engine's, and have parameters (see `sql.forms.foreign`). Of the prior only how often
each shape was asked is kept: no literal, name or statement of the log.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import sqlglot

from agro_data.databases.types import Dialect
from agro_data.intent.logs.reading import START, texts_in
from agro_data.intent.sampling.prior import Prior
from agro_data.sql.facts import sql_facts
from agro_data.sql.forms.foreign import as_ours, is_known
from agro_data.sql.parse import LONGEST, SqlRefused

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
LIKELY = ("postgres", "bigquery", "snowflake", "spark", "tsql", "mysql", "oracle", "trino", "clickhouse", "duckdb",
          "sqlite")  # engines whose SQL logs hold, those first that more teams have  # fmt: skip
TRIED = 200  # statements, to see whose SQL they may be
SHARE = 0.7  # weight of the log; the rest stays with the shipped prior, so that nothing it lacks is impossible


PIECE = re.compile(r"""(?:'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|/\*.*?\*/|[^;])+""", re.DOTALL)  # up to a semicolon
_VALUE = r"(?:'(?:[^']|'')*'|-?\d+(?:\.\d+)?\b)"
COMPARED = re.compile(  # values, as a format or the number of a column is none
    rf"(?P<with>(?:[=<>]|\b(?:like|ilike|between|and|in\s*\())\s*){_VALUE}(?:\s*,\s*{_VALUE})*", re.IGNORECASE
)
FIGURES = re.compile(r"\b(?:avg|sum|min|max|total|median)\(", re.IGNORECASE)


@dataclass(frozen=True)
class Logged:
    """A query of a log as a database can read it, the shape that it is nearest to, and how often it was asked."""

    sql: str
    shape: str
    times: int = 1


@dataclass(frozen=True)
class LogReading:
    """The queries of a log in their order, one for all that differ in their values alone, and how many pieces of it
    were no query and were ignored; of a table that says how often each was asked, so many.
    """

    queries: Sequence[Logged]
    ignored: int = 0

    @property
    def shapes(self) -> Mapping[str, int]:
        """How often each shape was asked."""
        counts: Counter[str] = Counter()
        for one in self.queries:
            counts[one.shape] += one.times
        return dict(sorted(counts.items()))


def read_log(path: Path, dialect: Dialect, written_in: str = "") -> LogReading:
    """The queries of a log file for databases of `dialect`. `written_in` is the engine whose SQL it holds, one of
    `sql.forms.foreign.engines`; "" for the databases' own. Raises `OSError` when it cannot be read; nothing in it
    raises.
    """
    seen = path.stat()
    return _reading(path, (seen.st_size, seen.st_mtime_ns), dialect, written_in)


@lru_cache(maxsize=4)  # every shard asks for it
def _reading(path: Path, _seen: tuple[int, int], dialect: Dialect, written_in: str) -> LogReading:
    asked: dict[Logged, int] = defaultdict(int)
    ignored = 0
    reader = _Reader(dialect, written_in)
    for text, times in texts_in(path):
        for one in reader.queries(text):
            if one is None:
                ignored += times
            else:
                asked[one] += times
    return LogReading(tuple(replace(one, times=times) for one, times in asked.items()), ignored)


@dataclass(frozen=True)
class Likely:
    """The engines that know all of most statements of a log: of how many, and of how many the engine as which it is
    read does.
    """

    engines: tuple[str, ...]
    known: int
    known_as_read: int


def likely_engines(path: Path, dialect: Dialect, written_in: str = "") -> Likely | None:
    """Whose SQL a log may be rather than that of `written_in`, by its first statements; None where no engine knows more
    of them. Raises `OSError` when it cannot be read.
    """
    statements = Counter[str]()
    for one, times in _statements(path, _Reader(dialect, written_in)):
        statements[one] += times
        if len(statements) == TRIED:
            break
    as_read = written_in or dialect
    known = {
        name: sum(times for one, times in statements.items() if is_known(one, name))
        for name in dict.fromkeys((as_read, *LIKELY))
    }
    most = max(known.values())
    if known[as_read] == most:
        return None
    return Likely(tuple(name for name in LIKELY if known[name] == most), most, known[as_read])


def _statements(path: Path, reader: _Reader) -> Iterator[tuple[str, int]]:
    """What may be queries in a log, and how often each was asked; where none is read of a piece, the whole of it."""
    for text, times in texts_in(path):
        for piece in PIECE.findall(text):
            found = list(reader.pieces(piece))
            whole = all(one is None for _, one in found)  # a statement may have many lines
            for part in [piece] if whole else [line for line, _ in found]:
                start = START.search(part)
                if start is not None:
                    yield part[start.start() :], times


class _Reader:
    """Reads pieces of a log; those that differ in their values alone are looked at once, as the first of them."""

    def __init__(self, dialect: Dialect, written_in: str) -> None:
        self.dialect = dialect
        self.written_in = written_in
        self._known: dict[str, Logged | None] = {}

    def queries(self, text: str) -> Iterator[Logged | None]:
        """The queries of a text in their order; None for each piece that is none."""
        return (one for _, one in self.pieces(text))

    def pieces(self, text: str) -> Iterator[tuple[str, Logged | None]]:
        """The pieces of a text in their order, each with the query that it is, or None."""
        for piece in PIECE.findall(text):
            if not piece.strip():
                continue
            whole = self._query(piece)
            if whole is not None:
                yield piece, whole
                continue
            for line in filter(str.strip, piece.replace("\n\t", " ").splitlines()):
                start = START.search(line)  # after a time stamp or the like
                yield line, self._query(line[start.start() :]) if start else None

    def _query(self, piece: str) -> Logged | None:
        if len(piece) > LONGEST:
            return None
        text = piece.strip()
        masked = COMPARED.sub(r"\g<with>?", text)
        if masked not in self._known:
            self._known[masked] = _query(text, self.dialect, self.written_in)
        return self._known[masked]


def _query(text: str, dialect: Dialect, written_in: str) -> Logged | None:
    try:
        sql = as_ours(text, written_in or dialect, dialect)
    except SqlRefused:
        if written_in:
            return None
        sql = text  # some of an engine's own SQL only `sql.parse` can read
    shape = shape_of(sql, dialect)
    return Logged(sql, shape) if shape is not None else None


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

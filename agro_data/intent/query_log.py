"""What a query log says about what is asked: shape weights for the prior. Literals are never kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
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
    ("date_part", "date_group"),
    ("group_by", "group"),
    ("count_distinct", "aggregate"),
    ("aggregate", "aggregate"),
    ("arithmetic", "arithmetic"),
    ("text_function", "text_function"),
    ("limit", "superlative"),
)
SHARE = 0.7  # weight of the log; the rest stays with the shipped prior, so that nothing it lacks is impossible


def statements(path: Path) -> list[str]:
    """The statements of a log file, in order: one a line, or separated by semicolons."""
    text = path.read_text(encoding="utf-8", errors="replace")
    parts = text.split(";") if ";" in text else text.splitlines()
    return [part.strip() for part in parts if part.strip()]


def shape_of(sql: str, dialect: Dialect) -> str | None:
    """The shape that a logged statement is nearest to; None when it is no single SELECT."""
    try:
        facts = sql_facts(sql, dialect, {})
    except (SqlRefused, sqlglot.errors.SqlglotError):
        return None
    for construct, shape in SHOWS:
        if construct in facts.constructs:
            return shape
    return "count" if "count(" in sql.lower() else "list"


def prior_from_log(log: Iterable[str], dialect: Dialect, base: Prior) -> Prior:
    """`base` with its shape weights moved towards the frequencies of the log.

    A log of which no statement can be read leaves `base` as it is.
    """
    counts = Counter(shape for sql in log if (shape := shape_of(sql, dialect)) in base.shapes)
    total = sum(counts.values())
    if not total:
        return base
    whole = sum(base.shapes.values())
    mixed = {
        shape: (1 - SHARE) * weight / whole + SHARE * counts[shape] / total for shape, weight in base.shapes.items()
    }
    return base.with_shapes(mixed)

"""An average that divides by rows of which nothing is known: `SUM(weight) / COUNT(*)`, where some weights are NULL.

Only where the question says "average". Each finding is demonstrated: divided by COUNT(weight), which is what AVG does,
the answer is another. Whether what is not known counts as 0 is for a person to say.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sqlglot import exp

from agro_data.evaluation.loaded import Pair
from agro_data.pairs.demonstrating import Offer
from agro_data.pairs.finding import Finding
from agro_data.pairs.mending import rewritten
from agro_data.profiling.profile import DatabaseProfile
from agro_data.sql.forms.canonical import sql_text
from agro_data.sql.names.resolution import Resolution

_AVERAGE = re.compile(r"\b(?:average|avg|mean)\b", re.IGNORECASE)


def offer_averages(pair: Pair, found: Resolution, profile: DatabaseProfile) -> Iterator[Offer]:
    """What is offered for one pair: each such quotient over the rows that have a value."""
    quotients = list(_quotients(found.tree)) if _AVERAGE.search(pair.question) else []
    if quotients:
        dialect = profile.dialect
        new = [(rows, exp.Count(this=value.copy())) for rows, value in quotients]
        column = sql_text(quotients[0][1], dialect)
        says = f"SUM({column}) is divided by all rows, in some of which {column} is NULL: without these it is another."
        yield Offer(Finding("null_averaged", says), pair.sql, rewritten(found, new, dialect), found.ordered)


def _quotients(tree: exp.Expr) -> Iterator[tuple[exp.Expr, exp.Expr]]:
    """The COUNT(*) that the sum of a column is divided by, and the column."""
    for node in tree.find_all(exp.Div):
        sums, counts = list(node.this.find_all(exp.AggFunc)), list(node.expression.find_all(exp.AggFunc))
        if len(sums) != 1 or len(counts) != 1 or node.find(exp.Query, exp.Window) is not None:
            continue
        total, rows = sums[0], counts[0]
        of_all = isinstance(rows, exp.Count) and isinstance(rows.this, exp.Star)
        if of_all and isinstance(total, exp.Sum) and isinstance(total.this, exp.Column) and not node.find(exp.Case):
            yield rows, total.this

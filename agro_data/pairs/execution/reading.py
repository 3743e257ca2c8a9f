"""Does a query read what it seems to read: a table at all, and columns where it names some?

SQLite reads an unknown name in double quotes as a text, so a misspelt column is no error: it is the same text in every
row.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sqlglot import exp

from agro_data.pairs.finding import Finding
from agro_data.sql.comparisons import TESTS
from agro_data.sql.constructs import is_aggregate
from agro_data.sql.names.resolution import Resolution, value_of


def check_reading(names: Mapping[str, Resolution]) -> dict[str, list[Finding]]:
    """Findings of each statement: texts that stand where a column is meant, and answers from no table."""
    return {sql: [*_texts(found), *_no_table(found)] for sql, found in names.items()}


def _texts(found: Resolution) -> Iterator[Finding]:
    names = dict.fromkeys(
        one.name for one in found.tree.find_all(exp.Column) if _is_text(one, found) and _shown(one, found)
    )
    for name in names:
        yield Finding("name_as_text", f'"{name}" names no column of the query: SQLite reads it as the text {name!r}.')


def _is_text(node: exp.Expr, found: Resolution) -> bool:
    binding = found.binding(node)
    return binding is not None and binding.kind == "string"


def _shown(node: exp.Expr, found: Resolution) -> bool:
    """Whether a text is shown, counted, grouped, ordered by, or compared with another value."""
    whole, around = node, node.parent
    while isinstance(around, exp.Paren | exp.Distinct | exp.Alias | exp.Ordered):
        whole, around = around, around.parent
    if isinstance(around, TESTS):
        other = around.args.get("expression")
        fixed = other is None or isinstance(other, exp.Null) or value_of(other, found) is not None
        return whole is around.this and fixed
    return isinstance(around, exp.Select | exp.Group | exp.Order) or (around is not None and is_aggregate(around))


def _no_table(found: Resolution) -> Iterator[Finding]:
    if not found.tables:
        yield Finding("no_table", "The answer is written out: it is the same whatever the data are.")

"""A query as its rows and what is made of them: two that make the same of their rows are the same if the rows are.

So nothing need be known of what the algebra has no term for (QUALIFY, DISTINCT ON, GROUPING SETS, values that are
gathered), as long as both say it in the same words of the same columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from agro_data.databases.types import Dialect
from agro_data.sql.names.called_columns import is_star
from agro_data.sql.names.resolution import Resolution
from agro_data.verify.proofs.reading import is_unstable
from agro_data.verify.proofs.terms import NotUnderstood

_OF_ROWS = ("from_", "joins", "where")


@dataclass(frozen=True)
class Parts:
    """`rows`: SQL that selects the columns which are read from FROM and WHERE; `made`: all other clauses, as text."""

    rows: str
    made: str


def parts_of(found: Resolution, dialect: Dialect) -> Parts:
    """The parts of a SELECT whose other clauses name columns of its own sources only. Raises `NotUnderstood`."""
    tree = found.tree
    if found.problems or not isinstance(tree, exp.Select) or tree.args.get("with_") is not None:
        raise NotUnderstood("more than one SELECT")
    copy = tree.copy()
    read: dict[tuple[str, str], exp.Column] = {}
    for clause, copied in zip(_others(tree), _others(copy), strict=True):
        for node, other in zip(clause.walk(), copied.walk(), strict=True):
            if isinstance(node, (exp.Query, exp.Columns)) or is_unstable(node) or (is_star(node) and not _counts(node)):
                raise NotUnderstood("a query, a star or chance in what is made of rows")
            binding = found.binding(node)
            if not isinstance(node, exp.Column) or found.aliased(node) is not None:
                continue
            source = binding.source if binding is not None else None
            if binding is None or source is None or not any(source is own for own in found.scope_of(tree).sources):
                raise NotUnderstood("a name from elsewhere")
            column = exp.column(binding.name, table=source.alias, quoted=True)
            read[source.alias, binding.name] = column
            other.replace(column.copy())
    rows = exp.Select(expressions=[read[place] for place in sorted(read)] or [exp.Literal.number(1)])
    for slot in _OF_ROWS:
        rows.set(slot, copy.args.get(slot))
        copy.set(slot, None)
    return Parts(rows.sql(dialect), copy.sql(dialect))


def _others(tree: exp.Select) -> Iterator[exp.Expr]:
    """The clauses and outputs of a SELECT beside its FROM and WHERE."""
    for slot, value in tree.args.items():
        for node in value if isinstance(value, list) else [value]:
            if slot not in _OF_ROWS and isinstance(node, exp.Expr):
                yield node


def _counts(star: exp.Expr) -> bool:
    return isinstance(star, exp.Star) and isinstance(star.parent, exp.Count)

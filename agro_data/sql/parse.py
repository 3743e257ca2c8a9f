"""One SELECT from text: parsed by sqlglot, and refused with a reason if it is anything else."""

from __future__ import annotations

import logging

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from agro_data.databases.types import Dialect

# Node types a read-only query may be made of. Everything that writes, attaches, configures, samples or calls the
# host is absent, so a statement kind that sqlglot learns tomorrow is refused until someone has looked at it.
_ALLOWED: tuple[type, ...] = (
    exp.Select, exp.SetOperation, exp.Subquery, exp.With, exp.CTE, exp.TableAlias, exp.Table, exp.From, exp.Join,
    exp.Where, exp.Group, exp.Having, exp.Qualify, exp.Order, exp.Ordered, exp.Limit, exp.Offset, exp.Distinct,
    exp.Window, exp.WindowSpec, exp.Filter, exp.WithinGroup, exp.IgnoreNulls, exp.RespectNulls,
    exp.Column, exp.Identifier, exp.Star, exp.Alias, exp.Dot, exp.Literal, exp.Null, exp.Boolean, exp.Var,
    exp.DataType, exp.DataTypeParam, exp.Interval, exp.Paren, exp.Tuple, exp.Case, exp.If, exp.Cast, exp.Func,
    exp.In, exp.Between, exp.Is, exp.Not, exp.Neg, exp.BitwiseNot, exp.Binary, exp.Escape, exp.Collate,
    exp.Bracket, exp.Slice, exp.Aliases,
)  # fmt: skip
_REFUSED: tuple[type, ...] = (exp.UDTF, exp.Parameter, exp.Placeholder)
DEEPEST = 500  # nodes one below the other: what reads a tree calls itself for each, and SQLite stops at 1,000, too

logging.getLogger("sqlglot").setLevel(logging.ERROR)  # its warnings about statements that are refused anyway


class SqlRefused(ValueError):
    """A statement that is not one read-only query.

    `reason` is a class (`syntax`, `not_select`, `multiple_statements`), `detail` a sentence for a person.
    """

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail


def parse_select(sql: str, dialect: Dialect) -> exp.Query:
    """The tree of the one SELECT, WITH or set operation that `sql` holds.

    Raises `SqlRefused` when the text does not parse, holds several statements, or holds anything outside the
    allow-list of node types.
    """
    try:
        statements = [tree for tree in sqlglot.parse(sql, read=dialect) if tree is not None]
    except SqlglotError as error:
        raise SqlRefused("syntax", _first_line(str(error))) from error
    except RecursionError as error:
        raise SqlRefused("syntax", "the statement is nested too deeply to be parsed") from error
    if not statements:
        raise SqlRefused("syntax", "the statement is empty")
    if len(statements) > 1 or isinstance(statements[0], exp.Block):
        raise SqlRefused("multiple_statements", "one SELECT was expected, several statements were found")
    tree = statements[0]
    if not isinstance(tree, (exp.Select, exp.SetOperation)):
        raise SqlRefused("not_select", f"a SELECT was expected, not {type(tree).__name__.upper()}")
    for kind in _kinds(tree):
        if not issubclass(kind, _ALLOWED) or issubclass(kind, _REFUSED):
            raise SqlRefused("not_select", f"{kind.__name__} has no place in a read-only query")
    if any(not select.expressions for select in tree.find_all(exp.Select)):
        raise SqlRefused("syntax", "a SELECT names nothing to be selected")
    return tree


def _kinds(tree: exp.Query) -> dict[type, None]:
    """The types of the nodes, level by level. Raises `SqlRefused` where there are more than `DEEPEST` levels."""
    kinds: dict[type, None] = {}
    level: list[exp.Expr] = [tree]
    for _ in range(DEEPEST):
        kinds.update(dict.fromkeys(map(type, level)))
        level = [child for node in level for child in node.iter_expressions()]
        if not level:
            return kinds
    raise SqlRefused("syntax", f"the statement is nested too deeply: more than {DEEPEST} levels, as of terms in a row")


def _first_line(text: str) -> str:
    return text.strip().splitlines()[0] if text.strip() else "the statement does not parse"

"""What CHECK constraints and the lists of ENUMs say of the rows of a table, and whether a row meets it.

Neither engine tells it of a table; both keep the statement that makes it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import add, eq, ge, gt, le, lt, mul, ne, sub
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from agro_data.databases.quoting import folded
from agro_data.databases.types import Cell, Dialect

_SAID = re.compile(r"\b(check|enum)\s*\(", re.IGNORECASE)  # others are not parsed
_DEEPEST = 60  # parts within parts: a file's own condition may be anything
_LONGEST = 40  # characters of a number
_COMPARED: dict[type[exp.Expr], Callable[[Any, Any], bool]] = {
    exp.EQ: eq, exp.NEQ: ne, exp.LT: lt, exp.LTE: le, exp.GT: gt, exp.GTE: ge,
}  # fmt: skip
_COMPUTED: dict[type[exp.Expr], Callable[[Any, Any], Any]] = {exp.Add: add, exp.Sub: sub, exp.Mul: mul}
_SIGNS = (("<", 0, 1), ("=", 0, 0), (">", 1, 0))
_PLAIN = (
    *_COMPARED, *_COMPUTED, exp.Column, exp.Identifier, exp.Literal, exp.Null, exp.Paren, exp.Neg, exp.Between, exp.In,
    exp.Is, exp.And, exp.Or, exp.Not,
)  # fmt: skip

Meaning = Callable[[Mapping[str, Cell]], Any]
"""What an expression gives for a row: a value, or of a condition True, False or None, which is unknown."""


def checks(sql: str, dialect: Dialect) -> tuple[str, ...]:
    """Conditions that no row fails, of the table that the statement `sql` makes, every name in them quoted and spelled
    as the column is; of several that AND joins, each by itself, and that a column has a value of its ENUM.

    Left out is what has more in it than comparisons, lists, ranges, sums and products of columns and constants, and
    what a column is computed by (`total = price * quantity`). Empty for a statement that cannot be read.
    """
    if _SAID.search(sql) is None:
        return ()
    try:
        made = sqlglot.parse_one(sql, dialect=dialect)
        columns = {folded(column.name): column.name for column in made.find_all(exp.ColumnDef)}
        said = [part for check in made.find_all(exp.CheckColumnConstraint) for part in _conjuncts(check.this)]
        plain = [condition for part in said if (condition := plainly(part, columns, dialect)) is not None]
        listed = filter(None, map(_listed, made.find_all(exp.ColumnDef)))
        kept = (*listed, *(condition for condition in plain if not _computes(condition)))
        return tuple(dict.fromkeys(condition.sql(identify=True) for condition in kept))
    except (SqlglotError, RecursionError):
        return ()


def columns_of(check: str) -> frozenset[str]:
    """The columns that a condition is about."""
    return _read(check).columns


def constants_of(check: str) -> tuple[Cell, ...]:
    """The numbers and texts that a condition writes."""
    return _read(check).constants


@lru_cache(maxsize=4096)
def order_in(check: str) -> tuple[str, str, frozenset[str]] | None:
    """Of a condition that compares two columns: these, and how the first may stand to the second, "<", "=" or ">"."""
    tree = sqlglot.parse_one(check).unnest()
    compare = _COMPARED.get(type(tree))
    sides = [tree.args[side].unnest() for side in ("this", "expression")] if compare is not None else []
    if compare is None or not all(isinstance(side, exp.Column) for side in sides):
        return None
    return sides[0].name, sides[1].name, frozenset(sign for sign, a, b in _SIGNS if compare(a, b))


def allows(check: str, row: Mapping[str, Cell]) -> bool:
    """Whether a row (value by column) does not fail a condition that `checks` gives. So it is where NULL, values of
    two kinds, which each engine orders in its own way, or a column that `row` lacks leave the condition unknown.
    """
    read = _read(check)
    return not read.columns <= row.keys() or _truth(read.meaning(row)) is not False


def meets(check: str, row: Mapping[str, Cell]) -> bool:
    """Whether a row is known to meet such a condition."""
    read = _read(check)
    return read.columns <= row.keys() and _truth(read.meaning(row)) is True


def decided(found: Sequence[bool | None], *, by: bool) -> bool | None:
    """OR, which one True decides, or AND, which one False decides, of what may be unknown."""
    if by in found:
        return by
    return None if None in found else not by


# --- reading -------------------------------------------------------------------------------------------------------


def _listed(column: exp.ColumnDef) -> exp.Expr | None:
    """What an ENUM says of its column."""
    kind = column.kind
    if kind is None or kind.this is not exp.DataType.Type.ENUM:
        return None
    return exp.In(this=exp.column(exp.to_identifier(column.name, quoted=True)), expressions=kind.expressions)


def _conjuncts(condition: exp.Expr) -> Iterator[exp.Expr]:
    inner = condition.unnest()
    if isinstance(inner, exp.And):
        yield from _conjuncts(inner.left)
        yield from _conjuncts(inner.right)
    else:
        yield inner


def plainly(condition: exp.Expr, columns: Mapping[str, str], dialect: Dialect) -> exp.Expr | None:
    """A condition of a table's columns and constants, these spelled and quoted as `columns` (folded name -> column) has
    them; None where there is more to it.
    """

    def change(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Cast) and node.this.is_string and node.to.this in exp.DataType.TEMPORAL_TYPES:
            return exp.Literal.string(node.this.name)
        if isinstance(node, exp.Column):
            name = columns.get(folded(node.name))
            if name is not None:
                return exp.column(exp.to_identifier(name, quoted=True))
            if dialect == "sqlite" and node.this.quoted:  # a text, to SQLite
                return exp.Literal.string(node.name)
        return node

    made = condition.transform(change)
    named = [node.name for node in made.find_all(exp.Column)]
    listed = all(not node.args.get(part) for node in made.find_all(exp.In) for part in ("query", "unnest", "field"))
    known = bool(named) and {*named} <= {*columns.values()} and listed
    short = all(node.is_string or len(node.name) <= _LONGEST for node in made.find_all(exp.Literal))
    plain = known and short and all(isinstance(node, _PLAIN) and node.depth <= _DEEPEST for node in made.walk())
    return made if plain else None


def _computes(condition: exp.Expr) -> bool:
    """Whether a condition says what a column is: no value that is drawn for it fits."""
    return isinstance(condition, exp.EQ) and all(side.find(exp.Column) for side in (condition.left, condition.right))


# --- meaning -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Read:
    columns: frozenset[str]
    constants: tuple[Cell, ...]
    meaning: Meaning


@lru_cache(maxsize=4096)
def _read(check: str) -> _Read:
    tree = sqlglot.parse_one(check)
    columns = frozenset(column.name for column in tree.find_all(exp.Column))
    return _Read(columns, tuple(map(_constant, tree.find_all(exp.Literal))), _meaning(tree))


def _meaning(node: exp.Expr) -> Meaning:
    if isinstance(node, exp.Paren):
        return _meaning(node.this)
    if isinstance(node, exp.Column):
        name = node.name
        return lambda row: row[name]
    if isinstance(node, (exp.Literal, exp.Null)):
        constant = _constant(node) if isinstance(node, exp.Literal) else None
        return lambda _: constant
    if isinstance(node, exp.Neg):
        number = _meaning(node.this)
        return lambda row: -value if _are_numbers(value := number(row)) else None
    if isinstance(node, exp.Not):
        condition = _meaning(node.this)
        return lambda row: None if (truth := _truth(condition(row))) is None else not truth
    if isinstance(node, exp.Is):
        mine, theirs = _meaning(node.this), _meaning(node.expression)
        return lambda row: mine(row) == theirs(row)
    if isinstance(node, exp.Between):
        subject = _meaning(node.this)
        ends = _compared(ge, subject, _meaning(node.args["low"])), _compared(le, subject, _meaning(node.args["high"]))
        return _joined(ends, by=False)
    if isinstance(node, exp.In):
        subject = _meaning(node.this)
        return _joined([_compared(eq, subject, _meaning(one)) for one in node.expressions], by=True)
    left, right = _meaning(node.args["this"]), _meaning(node.args["expression"])
    if isinstance(node, (exp.And, exp.Or)):
        return _joined((left, right), by=isinstance(node, exp.Or))
    if type(node) in _COMPARED:
        return _compared(_COMPARED[type(node)], left, right)
    compute = _COMPUTED[type(node)]
    return lambda row: compute(a, b) if _are_numbers(a := left(row), b := right(row)) else None


def _constant(node: exp.Literal) -> int | float | str:
    text = str(node.this)
    return text if node.is_string else int(text) if text.isdigit() else float(text)


def _compared(comparison: Callable[[Any, Any], bool], left: Meaning, right: Meaning) -> Meaning:
    def compare(row: Mapping[str, Cell]) -> bool | None:
        a, b = left(row), right(row)
        return comparison(a, b) if _are_numbers(a, b) or (isinstance(a, str) and isinstance(b, str)) else None

    return compare


def _joined(parts: Sequence[Meaning], *, by: bool) -> Meaning:
    return lambda row: decided([_truth(part(row)) for part in parts], by=by)


def _truth(value: Any) -> bool | None:
    """A number is true unless it is 0."""
    return bool(value) if isinstance(value, (int, float)) else None


def _are_numbers(*values: Any) -> bool:
    return all(isinstance(value, (int, float)) for value in values)

"""Numbers that a query computes from columns, as in `price * stock > 500`, and values of the columns that give one.

A comparison of such a number is told from its neighbours only where the number is the constant itself, or just beside
it. So all columns but one get values of their own, and the one that is left is solved for.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from sqlglot import exp

from agro_data.databases.types import Cell
from agro_data.populate.instances.values.comparisons import AT_BOUND, Test
from agro_data.populate.instances.values.near import decimals, fit
from agro_data.populate.instances.values.views import UNITS, Turns, View
from agro_data.populate.schema import ColumnSpec

NUMBER = ColumnSpec("computed", "REAL", "real")
_OPERATORS: dict[type[exp.Expr], Operator] = {
    exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.IntDiv: "//", exp.Mod: "%",
}  # fmt: skip
_LIKE_ITS_FIRST = (exp.Round, exp.Coalesce, exp.Nullif)  # what these give for most numbers is their first argument
_ROUND = (1, 2, 4, 5, 10, 20)  # values that few products and quotients need many digits with
_DIGITS = 6  # behind the point of a number that is solved for
_TRIES = 60

Operator = Literal["+", "-", "*", "/", "//", "%"]


@dataclass(frozen=True)
class Leaf:
    """The value that stands for `unknown`, or what `view` shows of it. `real`: as a binary number, even if whole."""

    unknown: int
    real: bool = False
    view: View | None = None


@dataclass(frozen=True)
class Constant:
    """A number that the query writes, or what is known of a group."""

    value: float


@dataclass(frozen=True)
class Magnitude:
    """A number without its sign."""

    of: Term


@dataclass(frozen=True)
class Operation:
    """`whole`: of two whole numbers the quotient is a whole one, too, as in SQLite."""

    operator: Operator
    left: Term
    right: Term
    whole: bool = False


Term = Leaf | Constant | Magnitude | Operation


class Columns(Protocol):
    """What is known of the columns in which unknowns stand."""

    def spec(self, unknown: int) -> ColumnSpec: ...

    def passes(self, unknown: int, value: Cell) -> bool:
        """Whether the column holds such a value, and nothing that is asked of the unknown is against it."""

    def known(self, unknown: int) -> Sequence[Cell]:
        """Values of the column, and of what is asked of the unknown."""


def read(node: exp.Expr, leaf: Callable[[exp.Expr], Term | None]) -> Term | None:
    """The term that an expression is, or None if it is more than arithmetic; `leaf` reads what is none at all."""
    node = node.unnest()
    if isinstance(node, exp.Literal):
        written = literal(node)
        return Constant(written) if isinstance(written, int | float) else None
    if isinstance(node, exp.Neg):
        return _operation("-", Constant(0), read(node.this, leaf))
    if isinstance(node, exp.Abs):
        inner = read(node.this, leaf)
        return Magnitude(inner) if inner is not None else None
    if isinstance(node, exp.DateDiff):
        unit = str(node.args.get("unit") or "day").lower()
        return _operation("-", _turns(node.this, unit, leaf), _turns(node.expression, unit, leaf))
    if isinstance(node, exp.Interval):
        days = str(node.args.get("unit") or "").lower() == "day" and str(node.name).isdecimal()
        return Constant(int(node.name)) if days else None
    if type(node) in _OPERATORS:
        whole = isinstance(node, exp.Div) and bool(node.args.get("typed"))
        return _operation(_OPERATORS[type(node)], read(node.this, leaf), read(node.expression, leaf), whole)
    if isinstance(node, _LIKE_ITS_FIRST):
        return read(node.this, leaf)
    found = leaf(node)
    if found is None and isinstance(node, exp.Cast) and node.to.this in exp.DataType.NUMERIC_TYPES:
        inner = read(node.this, leaf)
        return _operation("*", inner, Constant(1.0)) if node.to.this in exp.DataType.REAL_TYPES else inner
    return found


def _turns(node: exp.Expr, unit: str, leaf: Callable[[exp.Expr], Term | None]) -> Term | None:
    """A moment, of a column or written out, as the number of its hour, day or month."""
    if unit not in UNITS:
        return None
    written = node.this if isinstance(node, exp.Cast) else node
    if isinstance(written, exp.Literal):
        number = Turns(unit).of(literal(written))
        return Constant(number) if isinstance(number, int) else None
    found = leaf(written.unnest())
    return replace(found, view=Turns(unit), real=False) if isinstance(found, Leaf) else None


def difference(left: Term | None, right: Term | None) -> Term | None:
    """What is compared with 0 where two terms are compared with each other."""
    return _operation("-", left, right)


def leaves(term: Term) -> Iterator[Leaf]:
    """The columns of a term, from left to right."""
    if isinstance(term, Leaf):
        yield term
    elif isinstance(term, Magnitude):
        yield from leaves(term.of)
    elif isinstance(term, Operation):
        yield from leaves(term.left)
        yield from leaves(term.right)


def renamed(term: Term, name: Callable[[int], int]) -> Term:
    """The term with other unknowns."""
    if isinstance(term, Leaf):
        return replace(term, unknown=name(term.unknown))
    if isinstance(term, Magnitude):
        return Magnitude(renamed(term.of, name))
    if isinstance(term, Operation):
        return replace(term, left=renamed(term.left, name), right=renamed(term.right, name))
    return term


def solve(term: Term, tests: Sequence[Test], columns: Columns, rng: random.Random) -> dict[int, Cell] | None:
    """Values of a term's unknowns by which it passes all `tests`, often just so; None if none are found."""
    near = dict.fromkeys(value for test in tests for value in test.candidates(NUMBER, (), rng))
    targets = [v for v in near if isinstance(v, int | float) and all(test.passes(v) for test in tests)]
    bounds = [value for value in targets if any(value in test.values for test in tests)]
    found = list(dict.fromkeys(leaves(term)))
    passing: dict[int, Cell] | None = None
    for _ in range(_TRIES if targets and found else 0):
        target = rng.choice(bounds if bounds and rng.random() < AT_BOUND else targets)
        free = rng.choice(found)
        values = {leaf.unknown: _drawn(leaf, columns, rng) for leaf in found if leaf.unknown != free.unknown}
        with suppress(OverflowError):  # of numbers that no float holds
            solved = _shown_as(free, _inverse(term, free, target, values), columns, rng)
            for value in solved or [_drawn(free, columns, rng)]:  # as of a column that stands there twice
                values[free.unknown] = value
                number = evaluate(term, values)
                if number == target:
                    return values
                if passing is None and number is not None and all(test.passes(number) for test in tests):
                    passing = dict(values)
    return passing


def evaluate(term: Term, values: Mapping[int, Cell]) -> float | None:
    """The number that a term is by these values; None where it is none."""
    if isinstance(term, Constant):
        return term.value
    if isinstance(term, Magnitude):
        inner = evaluate(term.of, values)
        return abs(inner) if inner is not None else None
    if isinstance(term, Leaf):
        value = values.get(term.unknown)
        shown = term.view.of(value) if term.view is not None else value
        if not isinstance(shown, int | float):
            return None
        return float(shown) if term.real else shown
    left, right = evaluate(term.left, values), evaluate(term.right, values)
    return _computed(term, left, right) if left is not None and right is not None else None


def _computed(operation: Operation, left: float, right: float) -> float | None:
    if operation.operator == "+":
        return left + right
    if operation.operator == "-":
        return left - right
    if operation.operator == "*":
        return left * right
    if not right:
        return None
    if operation.operator == "%":
        return math.fmod(left, right)
    whole = isinstance(left, int) and isinstance(right, int) and operation.whole
    return math.trunc(left / right) if whole or operation.operator == "//" else left / right


def _operation(operator: Operator, left: Term | None, right: Term | None, whole: bool = False) -> Term | None:
    return Operation(operator, left, right, whole) if left is not None and right is not None else None


def literal(node: exp.Literal) -> Cell:
    """The value that a literal writes."""
    text = str(node.this)
    if node.is_string:
        return text
    try:
        return int(text)
    except ValueError:
        return float(text)


def _drawn(leaf: Leaf, columns: Columns, rng: random.Random) -> Cell:
    """A value of the column that may stand there, at times a round one."""
    known = [value for value in columns.known(leaf.unknown) if columns.passes(leaf.unknown, value)]
    plain = [value for value in _ROUND if leaf.view is None and columns.passes(leaf.unknown, value)]
    pools = [pool for pool in (known, plain) if pool]
    return rng.choice(rng.choice(pools)) if pools else None


def _inverse(term: Term, free: Leaf, target: float, values: Mapping[int, Cell]) -> float | None:
    """What `free` shows where the term is `target` and all else has these values; None where nothing does."""
    if term == free:
        return target
    if isinstance(term, Magnitude):
        return _inverse(term.of, free, target, values)
    if not isinstance(term, Operation):
        return None
    on_left = free in leaves(term.left)
    inner, rest = (term.left, term.right) if on_left else (term.right, term.left)
    other = evaluate(rest, values)
    wanted = _other_side(term.operator, on_left, target, other) if other is not None else None
    return _inverse(inner, free, wanted, values) if wanted is not None else None


def _other_side(operator: Operator, on_left: bool, target: float, other: float) -> float | None:
    """The operand beside `other` of which the operation gives `target`."""
    if operator == "+":
        return target - other
    if operator == "-":
        return target + other if on_left else other - target
    if operator == "*":
        return target / other if other else None
    if on_left:
        return target * other if operator != "%" else target + other
    return other / target if target and operator != "%" else None


def _shown_as(leaf: Leaf, number: float | None, columns: Columns, rng: random.Random) -> list[Cell]:
    """Values that may stand in the column and show `number`, or whole ones beside it."""
    if number is None or not math.isfinite(number):
        return []
    spec = columns.spec(leaf.unknown)
    shown = int(number) if float(number).is_integer() else round(number, _digits(spec, leaf))
    if leaf.view is not None:
        made = leaf.view.made(shown, columns.known(leaf.unknown), rng)
    elif spec.kind == "integer" and not isinstance(shown, int):
        made = [math.floor(shown), math.ceil(shown)]  # nearly that number
    else:
        made = [shown]
    return [value for value in (fit(one, spec) for one in made) if columns.passes(leaf.unknown, value)]


def _digits(spec: ColumnSpec, leaf: Leaf) -> int:
    most = decimals(spec.declared_type) if leaf.view is None else None
    return _DIGITS if most is None else most

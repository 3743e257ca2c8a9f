"""Arithmetic for derived columns: a few operators and functions of Python's syntax, interpreted, never `eval`ed.

Names are paths: `quantity`, or `product_id.price` through a foreign key. NULL in, NULL out.
"""

from __future__ import annotations

import ast
import math
import operator
import random
from collections.abc import Callable
from functools import lru_cache

from agro_data.databases.types import Cell
from agro_data.populate.schema import PopulateError

_BINARY: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_COMPARE: dict[type[ast.cmpop], Callable[[Cell, Cell], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: lambda a, b: a < b,  # type: ignore[operator]
    ast.LtE: lambda a, b: a <= b,  # type: ignore[operator]
    ast.Gt: lambda a, b: a > b,  # type: ignore[operator]
    ast.GtE: lambda a, b: a >= b,  # type: ignore[operator]
}


@lru_cache(maxsize=512)
def parse(expression: str) -> ast.expr:
    """Syntax tree of `expression`. Raises `PopulateError` where it is not Python syntax."""
    try:
        return ast.parse(expression, mode="eval").body
    except SyntaxError as error:
        raise PopulateError(f"formula {expression!r}: {error.msg}") from error


def paths(expression: str) -> tuple[str, ...]:
    """The paths `expression` reads, in order of appearance."""
    found: dict[str, None] = {}

    def visit(node: ast.AST) -> None:
        path = _path(node)
        if path:
            found[path] = None
            return
        for child in ast.iter_child_nodes(node):
            if not (isinstance(node, ast.Call) and child is node.func):
                visit(child)

    visit(parse(expression))
    return tuple(found)


def evaluate(expression: str, lookup: Callable[[str], Cell], rng: random.Random) -> Cell:
    """Value of `expression` with its paths read by `lookup`; `uniform(a, b)`, `normal(mean, sd)` draw from `rng`."""

    def value(node: ast.expr) -> Cell:
        path = _path(node)
        if path:
            return lookup(path)
        if isinstance(node, ast.Constant) and (node.value is None or isinstance(node.value, int | float | str)):
            return node.value
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            inner = value(node.operand)
            return None if inner is None else -_float(inner, expression)
        if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
            left, right = value(node.left), value(node.right)
            if left is None or right is None:
                return None
            return _BINARY[type(node.op)](_float(left, expression), _float(right, expression))
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _COMPARE:
            left, right = value(node.left), value(node.comparators[0])
            return None if left is None or right is None else int(_COMPARE[type(node.ops[0])](left, right))
        if isinstance(node, ast.IfExp):
            return value(node.body if value(node.test) else node.orelse)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            return call(node.func.id, [value(argument) for argument in node.args])
        raise PopulateError(f"formula {expression!r}: {ast.unparse(node)!r} is not allowed")

    def call(name: str, arguments: list[Cell]) -> Cell:
        if name == "year":
            return None if arguments[0] is None else int(str(arguments[0])[:4])
        if any(argument is None for argument in arguments):
            return None
        numbers = [_float(argument, expression) for argument in arguments]
        if name == "uniform":
            return rng.uniform(*numbers)
        if name == "normal":
            return rng.gauss(*numbers)
        if name == "floor":
            return math.floor(numbers[0])
        if name == "max":
            return max(numbers)
        if name == "min":
            return min(numbers)
        raise PopulateError(
            f"formula {expression!r}: no function {name!r}; there are uniform, normal, floor, max, min, year"
        )

    return value(parse(expression))


def _path(node: ast.AST) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        head = _path(node.value)
        return f"{head}.{node.attr}" if head else ""
    return ""


def _float(value: Cell, expression: str) -> float:
    if isinstance(value, int | float):
        return value
    raise PopulateError(f"formula {expression!r}: {value!r} is not a number")

"""JSON access as engines read it, where sqlglot reads or writes it otherwise.

sqlglot rewrites the path that `->`, `->>` and `json_extract` are given (`'d.e'` names one key, `'$.d.e'` two) and takes
`->` in a call for a lambda, which SQLite never had and DuckDB has given up. In DuckDB `->` also binds more loosely than
all operators, and `->>` more loosely than bit operators: `c -> 'a' = 'x'` asks for the key `'a' = 'x'`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sqlglot import Dialect as Grammar
from sqlglot import Token, exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.dialects.sqlite import SQLite

from agro_data.databases.types import Dialect


class _AsWrittenSQLite(SQLite):
    """SQLite whose JSON paths stay what is written."""

    def to_json_path(self, path: exp.Expr | None) -> exp.Expr | None:
        return path


class _AsWrittenDuckDB(DuckDB):
    """DuckDB whose JSON paths stay what is written."""

    def to_json_path(self, path: exp.Expr | None) -> exp.Expr | None:
        return path


JSON_ACCESS = re.compile(r"->|json_extract", re.IGNORECASE)  # a statement without it has none
_GRAMMARS: dict[Dialect, type[Grammar]] = {"sqlite": _AsWrittenSQLite, "duckdb": _AsWrittenDuckDB}
ARROWS = (exp.JSONExtract, exp.JSONExtractScalar)
_LOOSER = (exp.Binary, exp.Between, exp.In)  # than an arrow, in SQLite
_BITS = (exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor, exp.BitwiseLeftShift, exp.BitwiseRightShift)
_OPERATORS = (*_LOOSER, exp.Unary)


def grammar_of(dialect: Dialect) -> Grammar:
    """The grammar by which statements are read."""
    return _GRAMMARS[dialect]()


def arrows_put_right(tree: exp.Expr, tokens: Sequence[Token], dialect: Dialect) -> exp.Expr:
    """The tree with `f(c -> 'a')` as JSON access, and calls of json_extract in brackets where they would be written as
    another arrow. Changes it in place.
    """
    lambdas = () if any(token.text.lower() == "lambda" for token in tokens) else list(tree.find_all(exp.Lambda))
    for call in lambdas:  # where there are real ones, no others may be (`parse`)
        _put_right(call, dialect)
    for called in list(tree.find_all(*ARROWS)):
        if not _is_arrow(called) and (_is_arrow(called.parent) or isinstance(called.parent, exp.Between)):
            brackets = exp.Paren()
            called.replace(brackets)
            brackets.set("this", called)
    return tree


def _put_right(call: exp.Expr, dialect: Dialect) -> None:
    """What was read as a lambda, if its body begins with the key that its name is asked for."""
    body, names = call.this, call.expressions
    first = body
    while _is_arrow(first) or (dialect == "sqlite" and isinstance(first, _LOOSER) and first.key != "collate"):
        first = first.this
    taken = any(not isinstance(name.parent, exp.Column) for name in body.find_all(exp.Identifier))  # for the name
    named = len(names) == 1 and (names[0].args.get("quoted") or not names[0].name[:1].isdigit())
    if taken or not named or not isinstance(first, exp.Literal):
        return
    access = exp.JSONExtract(this=exp.column(names[0].copy()), expression=first.copy(), only_json_types=False)
    if first is body:
        call.replace(access)
    else:
        first.replace(access)
        call.replace(body)


def is_misread(node: exp.Expr) -> bool:
    """Whether DuckDB reads an arrow otherwise than its tree has it, for want of brackets."""
    if not _is_arrow(node):
        return False
    if _is_arrow(node.args["expression"].unnest()):
        return True  # DuckDB reads a -> (b ->> c) as (a -> b) ->> c
    top = node
    while top.parent is not None and _is_arrow(top.parent) and top.arg_key == "this":
        top = top.parent
    if isinstance(node, exp.JSONExtractScalar):
        return isinstance(top.parent, _BITS)
    beside = isinstance(top.parent, _OPERATORS) and not isinstance(top.parent, exp.Paren)
    return beside and not (isinstance(top.parent, exp.In) and top.arg_key == "expressions")


def _is_arrow(node: exp.Expr | None) -> bool:
    """Whether JSON access is written with an arrow, and not as a call."""
    return isinstance(node, ARROWS) and "only_json_types" in node.args

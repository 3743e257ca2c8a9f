"""One SELECT from text: parsed by sqlglot, and refused with a reason if it is anything else."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from sqlglot import Token, TokenType, exp
from sqlglot.errors import SqlglotError
from sqlglot.parser import Parser

from agro_data.databases.types import Dialect
from agro_data.sql.comparisons import COMPARISONS
from agro_data.sql.forms.json_access import ARROWS, JSON_ACCESS, arrows_put_right, grammar_of, is_misread
from agro_data.sql.forms.one_form import SEVERAL_FORMS, in_one_form
from agro_data.sql.forms.sqlite_meaning import MISREAD, as_meant, put_right

# Node types a read-only query may be made of. Everything that writes, attaches, configures, samples or calls the
# host is absent, so a statement kind that sqlglot learns tomorrow is refused until someone has looked at it.
_ALLOWED: tuple[type, ...] = (
    exp.Select, exp.SetOperation, exp.Subquery, exp.With, exp.CTE, exp.TableAlias, exp.Table, exp.From, exp.Join,
    exp.Where, exp.Group, exp.Having, exp.Qualify, exp.Order, exp.Ordered, exp.Limit, exp.Offset, exp.Distinct,
    exp.Window, exp.WindowSpec, exp.Filter, exp.WithinGroup, exp.IgnoreNulls, exp.RespectNulls,
    exp.Column, exp.Identifier, exp.Star, exp.Alias, exp.Dot, exp.Literal, exp.Null, exp.Boolean, exp.Var,
    exp.DataType, exp.DataTypeParam, exp.Interval, exp.Paren, exp.Tuple, exp.Case, exp.If, exp.Cast, exp.Func,
    exp.In, exp.Between, exp.Is, exp.Not, exp.Neg, exp.BitwiseNot, exp.Binary, exp.Escape, exp.Collate,
    exp.Bracket, exp.Slice, exp.Aliases, exp.JSONKeyValue,
)  # fmt: skip
_REFUSED: tuple[type, ...] = (exp.UDTF, exp.Parameter, exp.Placeholder)
# What only one engine has, or what makes rows of nothing but what is written in the statement and in its columns.
_ALSO: Mapping[Dialect, frozenset[type]] = {
    "sqlite": frozenset({exp.Values}),
    "duckdb": frozenset({
        exp.Values, exp.Unnest, exp.Explode, exp.Rollup, exp.Cube, exp.GroupingSets, exp.Any, exp.All,
        exp.Lambda, exp.AtTimeZone,
    }),
}  # fmt: skip
# Why some are refused that a person may well write.
_WHY: Mapping[type, str] = {
    exp.TableSample: "a sample holds other rows at every run",
    exp.LimitOptions: "LIMIT and FETCH take a number of rows: no share, and none that compare equal to the last",
    exp.Lambda: "SQLite has no functions of a list",
}
_PIVOT = (
    "PIVOT makes a column of each value: write an aggregate for each instead, as by sum(x) FILTER (WHERE year = 2020) "
    "AS y2020"
)
_UNPIVOT = "UNPIVOT is not read here: write a SELECT for each of its columns, joined by UNION ALL"
_NAMED_BY = (TokenType.DOT, TokenType.ALIAS)  # what may stand before a column or alias that is called pivot
_PLACED = (exp.Values, exp.Unnest, exp.Explode, exp.Any, exp.All, *ARROWS)  # not wherever they can be written
DEEPEST = 500  # nodes one below the other: what reads a tree calls itself for each, and SQLite stops at 1,000, too

LONGEST = 20_000  # characters; no person and no model writes more for one question
# What sqlglot reads in one way and then in another takes it twice the time for each that lies in the one before:
# joins that wait for their ON, and calls of what is also the name of a type. At each element taken of an element
# (`x[1][1]`) it looks for the types of all that stands before.
_WAITING = 12  # of both, at most
_ELEMENTS = 50  # taken of elements, at most
_JOINS = frozenset((TokenType.JOIN, TokenType.STRAIGHT_JOIN))
_NO_CONDITION = frozenset((TokenType.CROSS, TokenType.NATURAL))
_TYPED = frozenset((*Parser.TYPE_TOKENS, TokenType.ARRAY))
_EMPTY_CALL = re.compile(r"\(\s*(?:\)|/\*|--|order\b|distinct\b)", re.IGNORECASE)
_OPEN_NUMBER = re.compile(r"\d\.?e(?![-+]?\d)", re.IGNORECASE)  # with an exponent that is not there
OPENING = frozenset((TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE))
CLOSING = frozenset((TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE))

logging.getLogger("sqlglot").setLevel(logging.ERROR)  # its warnings about statements that are refused anyway


class SqlRefused(ValueError):
    """A statement that is not one read-only query.

    `reason` is a class (`syntax`, `not_select`, `multiple_statements`, `too_long`), `detail` a sentence for a person.
    """

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail


def parse_select(sql: str, dialect: Dialect) -> exp.Query:
    """The tree of the one SELECT, WITH or set operation that `sql` holds.

    Raises `SqlRefused` when the text does not parse, would take long to, holds several statements, or holds anything
    outside the allow-list of node types.
    """
    if len(sql) > LONGEST:
        raise SqlRefused("too_long", f"{len(sql)} characters; at most {LONGEST} are read")
    # a comment behind the last semicolon is a tree of its own
    statements = [tree for tree in _trees(sql, dialect) if tree is not None and not isinstance(tree, exp.Semicolon)]
    if not statements:
        raise SqlRefused("syntax", "the statement is empty")
    if len(statements) > 1 or isinstance(statements[0], exp.Block):
        raise SqlRefused("multiple_statements", "one SELECT was expected, several statements were found")
    tree = statements[0]
    pivot = tree.find(exp.Pivot)
    if pivot is not None:
        raise SqlRefused("not_select", _UNPIVOT if pivot.args.get("unpivot") else _PIVOT)
    if not isinstance(tree, (exp.Select, exp.SetOperation)):
        why = f": {_WHY[type(tree)]}" if type(tree) in _WHY else ""
        raise SqlRefused("not_select", f"a SELECT was expected, not {type(tree).__name__.upper()}{why}")
    kinds = _kinds(tree)
    for kind in kinds:
        if kind not in _ALSO[dialect] and (not issubclass(kind, _ALLOWED) or issubclass(kind, _REFUSED)):
            reason = _WHY.get(kind, "it has no place in a read-only query")
            raise SqlRefused("not_select", f"{kind.__name__}: {reason}")
    if any(not select.expressions for select in tree.find_all(exp.Select)):
        raise SqlRefused("syntax", "a SELECT names nothing to be selected")
    if any(issubclass(kind, exp.SetOperation) for kind in kinds):
        sides = (side for one in tree.find_all(exp.SetOperation) for side in (one.this, one.expression))
        if not all(isinstance(side, exp.Query) for side in sides):
            raise SqlRefused("syntax", "a set operation has a side that is no query")
    if exp.CTE in kinds and any(not isinstance(cte.this, exp.Query) for cte in tree.find_all(exp.CTE)):
        raise SqlRefused("syntax", "a WITH names something that is no query")
    if exp.Subquery in kinds:
        held = (one.unnest() for one in tree.find_all(exp.Subquery))
        if any(not isinstance(one, (exp.Query, exp.Table)) for one in held):
            raise SqlRefused("syntax", "brackets hold neither a query nor a table where one was expected")
    _check_places(tree, kinds, dialect)
    if _EMPTY_CALL.search(sql):
        _check_calls(tree)
    return tree


def parse_expression(sql: str, dialect: Dialect) -> exp.Expr:
    """The tree of one expression that a person has written, whatever it calls. Raises `SqlRefused`."""
    tree = _trees(f"SELECT {sql}", dialect)[0]
    if not isinstance(tree, exp.Select) or len(tree.expressions) != 1:
        raise SqlRefused("syntax", "one expression was expected")
    found: exp.Expr = tree.expressions[0].pop()
    return found


def _trees(sql: str, dialect: Dialect) -> list[exp.Expr | None]:
    """What sqlglot reads, put right where the engine reads otherwise, and in one form where there are several. Raises
    `SqlRefused` for what it cannot read, or not in bounded time."""
    grammar = grammar_of(dialect)
    tokens: list[Token] = []
    try:
        tokens = grammar.tokenize(sql)
        check_time(tokens)
        if _OPEN_NUMBER.search(sql):
            _check_numbers(tokens)
        misread = dialect == "sqlite" and MISREAD.search(sql) is not None
        trees: list[exp.Expr | None] = grammar.parser().parse(as_meant(tokens) if misread else tokens, sql)
        if misread:
            trees = [tree and put_right(tree) for tree in trees]
        if JSON_ACCESS.search(sql):
            trees = [tree and arrows_put_right(tree, tokens, dialect) for tree in trees]
            if dialect == "duckdb":
                _check_lambdas(trees, tokens)
        return [tree and in_one_form(tree, dialect) for tree in trees] if SEVERAL_FORMS.search(sql) else trees
    except SqlRefused:
        raise
    except SqlglotError as error:
        pivot = _pivot_among(tokens) if dialect == "duckdb" else ""
        if pivot:  # sqlglot does not know all of its clauses
            raise SqlRefused("not_select", pivot) from error
        raise SqlRefused("syntax", _first_line(str(error)).rstrip(".")) from error
    except RecursionError as error:
        raise SqlRefused("syntax", "the statement is nested too deeply to be parsed") from error
    except (TypeError, AttributeError, LookupError, ValueError) as error:  # of sqlglot's own, at odd statements
        raise SqlRefused("syntax", "the statement does not parse") from error


def _pivot_among(tokens: Sequence[Token]) -> str:
    """Why a statement with PIVOT or UNPIVOT is not read, "" for others."""
    for before, token in pairwise([None, *tokens]):
        kind = token.token_type if token is not None else None
        if kind in (TokenType.PIVOT, TokenType.UNPIVOT) and (before is None or before.token_type not in _NAMED_BY):
            return _UNPIVOT if kind is TokenType.UNPIVOT else _PIVOT
    return ""


def _check_numbers(tokens: Sequence[Token]) -> None:
    """Raise `SqlRefused` for `3.e`, which sqlglot takes for a number, SQLite for no token, and DuckDB for two."""
    for token in tokens:
        if token.token_type is TokenType.NUMBER and token.text[-1:] in "eE":
            raise SqlRefused("syntax", f"{token.text} is no number")


def _check_lambdas(trees: Iterable[exp.Expr | None], tokens: Sequence[Token]) -> None:
    """Raise `SqlRefused` for `x -> x + 1`, which sqlglot takes for a function of a list and DuckDB no longer does."""
    written = sum(token.text.lower() == "lambda" for token in tokens)
    if sum(1 for tree in trees if tree for _ in tree.find_all(exp.Lambda)) > written:
        why = "-> is access to JSON, and needs brackets beside a lambda, which is written `lambda x: x + 1`"
        raise SqlRefused("syntax", why)


def _check_places(tree: exp.Query, kinds: Iterable[type], dialect: Dialect) -> None:
    """Raise `SqlRefused` for what may stand in a query, but not where it stands."""
    for node in tree.find_all(*_PLACED) if any(issubclass(kind, _PLACED) for kind in kinds) else ():
        if isinstance(node, (exp.Values, exp.Unnest)) and not isinstance(node.parent, (exp.From, exp.Join)):
            raise SqlRefused("not_select", f"{node.key.upper()} has its place in FROM, WITH and IN")
        if isinstance(node, (exp.Any, exp.All)) and (type(node.parent) not in COMPARISONS or node.arg_key == "this"):
            raise SqlRefused("not_select", f"{node.key.upper()} has its place on the right of a comparison")
        if isinstance(node, exp.Explode) and node.expressions:
            raise SqlRefused("not_select", "UNNEST with options gives columns that no text names")
        if dialect == "duckdb" and isinstance(node, ARROWS) and is_misread(node):
            raise SqlRefused("syntax", "DuckDB takes what stands beside this -> or ->> into it: it needs brackets")


def _check_calls(tree: exp.Query) -> None:
    """Raise `SqlRefused` for calls of nothing that sqlglot has read, as `MAX()`, and the engine will not."""
    for node in tree.find_all(exp.Func):
        ordered, distinct = (node.this if isinstance(node.this, kind) else None for kind in (exp.Order, exp.Distinct))
        nothing = (ordered and ordered.this is None) or (distinct and not distinct.expressions)
        if nothing or any(needed and node.args.get(name) in (None, []) for name, needed in node.arg_types.items()):
            raise SqlRefused("syntax", f"{node.sql_name()} is given nothing")


def check_time(tokens: Sequence[Token]) -> None:
    """Raise `SqlRefused` where the parser would go over the same text again and again."""
    waiting, total, before = [0], 0, TokenType.SEMICOLON  # of each bracket that is open, and of all
    elements = 0
    for token in tokens:
        kind = token.token_type
        change = 0
        if kind in OPENING:
            waiting.append(0)
            change = int(before in _TYPED)
        elif kind in CLOSING and len(waiting) > 1:
            total -= waiting.pop()
        elif kind in _JOINS and before not in _NO_CONDITION:
            change = 1
        elif kind in (TokenType.ON, TokenType.USING) and waiting[-1]:
            change = -1
        waiting[-1] += change
        total += change
        elements += kind is TokenType.L_BRACKET and before is TokenType.R_BRACKET
        if elements > _ELEMENTS:
            raise SqlRefused("syntax", f"more than {_ELEMENTS} elements are taken of elements, as by x[1][1]")
        if total > _WAITING:
            raise SqlRefused("syntax", f"more than {_WAITING} joins without a condition, or calls named like types")
        before = kind


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

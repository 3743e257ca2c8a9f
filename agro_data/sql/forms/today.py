"""Conditions about today, in whichever way programs write them, as a column that is compared with a moment.

`DATEDIFF(day, d, now()) < 30`, `julianday('now') - julianday(d) < 30` and `d + INTERVAL 30 DAY > now()` become `d >
now()`; `date_trunc('month', d) = date_trunc('month', now())` becomes `strftime(d, '%Y-%m') = now()`. How long ago is
lost: the moment is another one every day, and becomes a blank (`sql.forms.foreign`).
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from agro_data.sql.comparisons import COMPARISONS, TESTS, TURNED

_NOW = (exp.CurrentTimestamp, exp.CurrentDate, exp.CurrentDatetime, exp.CurrentTime, exp.Localtimestamp)
_NOW_NAMES = frozenset({"now", "today", "getdate", "getutcdate", "sysdate", "sysdatetime", "systimestamp"})
_LESS = (exp.Sub, exp.DateDiff, exp.TimestampDiff, exp.DatetimeDiff, exp.TsOrDsDiff)  # of two moments
_MOVED = (exp.Add, exp.Sub, exp.DateAdd, exp.DateSub, exp.TimestampAdd, exp.TimestampSub, exp.TsOrDsAdd)
_TRUNCATED = (exp.TimestampTrunc, exp.DateTrunc, exp.DatetimeTrunc)
_FORMATS = {"YEAR": "%Y", "MONTH": "%Y-%m", "DAY": "%Y-%m-%d"}


def moments(tree: exp.Query) -> list[exp.Expr]:
    """What is compared that has to do with the time now and with no column."""
    compared = (side for node in tree.find_all(*TESTS) for side in sides(node))
    return [side for side in compared if _is_moment(side)]


def sides(node: exp.Expr) -> Iterator[exp.Expr]:
    """What a comparison compares; not the list of an IN."""
    for name in ("this", "expression", "low", "high"):
        if isinstance(side := node.args.get(name), exp.Expr):
            yield side


def by_columns(tree: exp.Query) -> bool:
    """Write such conditions of a query as comparisons of a column; whether there were any. Changes the tree."""
    changed = False
    for node in list(tree.find_all(exp.Between, *COMPARISONS)):
        made = _aged(node) or _moved(node)
        if made is not None:
            node.replace(made)
            changed = True
    return changed


def _aged(node: exp.Expr) -> exp.Expr | None:
    """A comparison of how far a column is from now."""
    if isinstance(node, exp.Between):
        found = _age(node.this)
        return found and exp.GTE(this=found[0].copy(), expression=exp.CurrentTimestamp())
    kind = type(node)
    for side, read in ((node.this, kind), (node.expression, TURNED[kind])):
        if (found := _age(side)) is not None:
            column, past = found
            return (TURNED[read] if past else read)(this=column.copy(), expression=exp.CurrentTimestamp())
    return None


def _age(node: exp.Expr) -> tuple[exp.Column, bool] | None:
    """The column whose distance from now `node` is, and whether that grows into the past."""
    while isinstance(node, (exp.Paren, exp.Cast, exp.Extract)):
        node = node.expression if isinstance(node, exp.Extract) else node.this
    first, second = node.args.get("this"), node.args.get("expression")
    if isinstance(node, exp.Anonymous) and node.name.lower() == "age" and len(node.expressions) == 2:
        first, second = node.expressions
    elif not isinstance(node, _LESS):
        return None
    if not (isinstance(first, exp.Expr) and isinstance(second, exp.Expr)):
        return None
    if _is_moment(first) and (column := _column(second)) is not None:
        return column, True
    if _is_moment(second) and (column := _column(first)) is not None:
        return column, False
    return None


def _moved(node: exp.Expr) -> exp.Expr | None:
    """A comparison of a moment with a column that an interval is added to, or that is cut to its month or year."""
    if isinstance(node, exp.Between):
        return None
    kind = type(node)
    for side, other, read in ((node.this, node.expression, kind), (node.expression, node.this, TURNED[kind])):
        column = _column(side) if isinstance(side, (*_MOVED, *_TRUNCATED)) and _is_moment(other) else None
        if column is None:
            continue
        shown: exp.Expr = column.copy()
        if isinstance(side, _TRUNCATED) and read in (exp.EQ, exp.NEQ):
            unit = side.args.get("unit")
            form = _FORMATS.get(unit.name.upper() if isinstance(unit, exp.Expr) else "")
            if form is not None:
                shown = exp.TimeToStr(this=shown, format=exp.Literal.string(form))
            elif read is exp.EQ:  # this week, this quarter
                read = exp.GTE  # noqa: PLW2901
        return read(this=shown, expression=exp.CurrentTimestamp())
    return None


def _column(node: exp.Expr) -> exp.Column | None:
    """The one column that `node` is made of, besides constants."""
    if node.find(exp.Query, exp.AggFunc, exp.Window) is not None or any(map(is_now, node.walk())):
        return None
    columns = list(node.find_all(exp.Column))
    return columns[0] if len(columns) == 1 else None


def _is_moment(node: exp.Expr) -> bool:
    return any(map(is_now, node.walk())) and node.find(exp.Column, exp.Query) is None


def is_now(node: exp.Expr) -> bool:
    """Whether a node stands for the time now, by itself."""
    if isinstance(node, exp.Literal):
        return node.is_string and node.name.lower() == "now"
    return isinstance(node, _NOW) or (isinstance(node, exp.Anonymous) and node.name.lower() in _NOW_NAMES)

"""A text that a function gives, held against a number: to SQLite any text is greater, and none is equal.

`strftime('%Y', day) = 2010` is true of no row, and `> 2010` of all. A column of text is another case: SQLite reads the
number as a text there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sqlglot import exp

from agro_data.databases.types import Dialect
from agro_data.pairs.finding import Finding
from agro_data.pairs.mending import rewritten
from agro_data.sql.comparisons import COMPARISONS
from agro_data.sql.forms.canonical import sql_text
from agro_data.sql.names.resolution import Resolution

_TEXTS = (
    exp.TimeToStr, exp.Substring, exp.Date, exp.DPipe, exp.Upper, exp.Lower, exp.Trim, exp.Replace, exp.Hex,
)  # fmt: skip
_NAMED = frozenset(["date", "time", "datetime", "strftime", "printf", "format", "quote", "ltrim", "rtrim"])
_WIDTHS = {"%Y": 4, "%m": 2, "%d": 2, "%H": 2, "%M": 2, "%S": 2, "%W": 2, "%j": 3, "%w": 1}  # of what strftime gives


def check_texts_against_numbers(names: Mapping[str, Resolution], dialect: Dialect) -> dict[str, list[Finding]]:
    """Findings of each statement. DuckDB reads the text as a number there, or refuses."""
    return {sql: [*_found(one)] if dialect == "sqlite" else [] for sql, one in names.items()}


def _found(found: Resolution) -> Iterator[Finding]:
    said: dict[str, None] = {}
    mended: list[tuple[exp.Expr, exp.Expr]] = []
    sure = True
    for node in found.tree.find_all(*COMPARISONS, exp.In, exp.Between):
        for text, numbers in _sides(node):
            if not _gives_text(text) or not (wrong := [one for one in numbers if _is_number(one)]):
                continue
            said[sql_text(node, "sqlite")] = None
            written = [_as_text(one, text) for one in wrong]
            sure = sure and None not in written
            mended += [(one, new) for one, new in zip(wrong, written, strict=True) if new is not None]
    if said:
        says = f"A text against a number, of which it is always the greater: {' and '.join(said)}."
        yield Finding("text_against_number", says, mended=rewritten(found, mended, "sqlite") if sure else "")


def _sides(node: exp.Expr) -> Iterator[tuple[exp.Expr, Sequence[exp.Expr]]]:
    """Each operand of a comparison, with what it is held against."""
    if isinstance(node, exp.In):
        yield node.this, node.expressions
    elif isinstance(node, exp.Between):
        yield node.this, (node.args["low"], node.args["high"])
    else:
        yield node.this, (node.expression,)
        yield node.expression, (node.this,)


def _gives_text(node: exp.Expr) -> bool:
    inner = node.unnest()
    return isinstance(inner, _TEXTS) or (isinstance(inner, exp.Anonymous) and inner.name.lower() in _NAMED)


def _is_number(node: exp.Expr) -> bool:
    inner = node.unnest()
    inner = inner.this if isinstance(inner, exp.Neg) else inner
    return isinstance(inner, exp.Literal) and not inner.is_string


def _as_text(number: exp.Expr, beside: exp.Expr) -> exp.Expr | None:
    """The number in the form of the texts that it is held against; None where that is not known."""
    text, inner = number.unnest(), beside.unnest()
    width = 0
    if isinstance(inner, exp.TimeToStr):
        width = _WIDTHS.get(inner.text("format"), 0)
    elif isinstance(inner, exp.Substring) and isinstance(length := inner.args.get("length"), exp.Literal):
        width = int(length.name) if length.is_int else 0
    whole = isinstance(text, exp.Literal) and text.is_int and len(text.name) <= width
    return exp.Literal.string(text.name.zfill(width)) if whole else None

"""Queries of other programs, as a database here can read them: in another engine's SQL, with parameters, about today.

What is asked stays. What it is asked of is not known (a parameter), or is another every day (the last month), and
becomes a blank: `'?'` where a column is compared, a number elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Set

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from agro_data.databases.quoting import folded
from agro_data.databases.types import Dialect
from agro_data.sql.comparisons import TESTS
from agro_data.sql.forms.bare_dates import bare_date
from agro_data.sql.forms.today import by_columns, is_now, moments, sides
from agro_data.sql.parse import LONGEST, SqlRefused, check_time
from agro_data.sql.walks import call_bare

BLANK = "?"
_MARK = "?agro?"  # as a text, which may stand wherever a parameter does, in the SQL of all engines
NUMBER = 1  # for a parameter that is no value of a column, as in HAVING COUNT(*) > $1
ROWS = 3  # for one that bounds rows
_KEPT = r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`|\$(?P<tag>\w*)\$.*?\$(?P=tag)\$|--[^\n]*|/\*.*?\*/"""
_MARKS = r"""%\(\w+\)s|%s\b|\$\w+|\?\d+|(?<![:\w'"\])]):\w+|(?<![@\w])@\w+"""
_PARAMETER = re.compile(f"(?P<kept>{_KEPT})|{_MARKS}", re.DOTALL)  # as psycopg, PostgreSQL, SQLite, Oracle, T-SQL do
FAULTS = (SqlglotError, RecursionError, TypeError, AttributeError, LookupError, ValueError)  # of what is no such SQL
_ROUND_VALUES = (exp.Paren, exp.Cast, exp.Neg, exp.Tuple)
_UNITS = {"MM": "MONTH", "MON": "MONTH", "YYYY": "YEAR", "YY": "YEAR"}  # of Spark's and Oracle's TRUNC
_BEGINNINGS = {"MONTH": "%Y-%m", "YEAR": "%Y"}
_PARTS = {"YEAR": "%Y", "MONTH": "%m"}  # of a date, in SQLite
_PARTS |= dict.fromkeys(("DOW", "DAYOFWEEK", "ISODOW", "WEEKDAY", "DAYOFWEEKISO"), "%w")
_LETTERS = sqlglot.Dialect.get_or_raise("postgres")  # YYYY, MM, DD, which engines with TO_CHAR have in common
_OF_COLUMNS = (exp.Column, exp.Upper, exp.Lower, exp.TimeToStr, exp.Date, exp.TsOrDsToDate)


def engines() -> list[str]:
    """The engines whose SQL is read, by sqlglot's names."""
    return sorted(str(name) for name in sqlglot.Dialect.classes if str(name).isalnum())


def as_ours(sql: str, read: str, write: Dialect) -> str:
    """`sql`, a query of an engine (one of `engines`), as a database of dialect `write` can read it; the text itself if
    that is its own and there is nothing to change.

    Tables lose what stands before their names. Raises `SqlRefused` for what is no query in that SQL.
    """
    tree = _parsed(sql, read)
    changed = _spelled_out(tree, write)
    changed = (write == "sqlite" and _in_sqlite(tree)) or changed
    about_today = by_columns(tree)
    unknown, dotted = _unknown(tree), {folded(table.name) for table in tree.find_all(exp.Table) if table.db}
    if not (changed or about_today or unknown or dotted) and read == write:
        return sql
    for node in unknown:
        _blank(node)
    _call_apart(tree, dotted)
    call_bare(tree, dotted)
    try:
        return tree.sql(write)
    except FAULTS as error:
        raise SqlRefused("syntax", f"{write} has no such SQL") from error


def is_known(sql: str, read: str) -> bool:
    """Whether `sql` is a query in the SQL of an engine (one of `engines`) that knows each function in it."""
    try:
        return _parsed(sql, read).find(exp.Anonymous, exp.AnonymousAggFunc) is None
    except SqlRefused:
        return False


def _parsed(sql: str, read: str) -> exp.Query:
    """The tree of a query, with a mark in the place of each parameter."""
    if len(sql) > LONGEST:
        raise SqlRefused("too_long", f"{len(sql)} characters; at most {LONGEST} are read")
    marked = _PARAMETER.sub(lambda found: found["kept"] or f"'{_MARK}'", sql)
    grammar = sqlglot.Dialect.get_or_raise(read)
    try:
        tokens = grammar.tokenize(marked)
        check_time(tokens)
        trees = [tree for tree in grammar.parser().parse(tokens, marked) if tree is not None]
    except FAULTS as error:
        raise SqlRefused("syntax", f"no query in the SQL of {read}") from error
    if len(trees) != 1 or not isinstance(trees[0], exp.Query):
        raise SqlRefused("not_select", "one SELECT was expected")
    return trees[0]


def _spelled_out(tree: exp.Query, write: Dialect) -> bool:
    """Put parts and formats of dates as every engine reads them, where sqlglot would keep, lose or maul one's own:
    TRUNC(d, 'MM'), Snowflake's TO_CHAR(d, 'YYYY-MM'), Spark's 'yyyy-MM', and in SQLite what begins at a month or year.
    Whether there was one.
    """
    changed = False
    for node in list(tree.find_all(exp.TimestampTrunc, exp.DateTrunc, exp.ToChar, exp.TimeToStr)):
        if isinstance(node, exp.TimestampTrunc | exp.DateTrunc):
            said = node.args["unit"].name.upper()
            unit = _UNITS.get(said, said)
            if write == "sqlite" and unit in _BEGINNINGS:
                node.replace(exp.TimeToStr(this=node.this, format=exp.Literal.string(_BEGINNINGS[unit])))
            elif unit != said:
                node.set("unit", exp.var(unit))
            changed = changed or unit != said or write == "sqlite"
            continue
        written = node.args.get("format")
        text = written.name if isinstance(written, exp.Literal) else ""
        letters = _LETTERS.format_time(f"'{text}'") if isinstance(node, exp.ToChar) else None
        form = letters.name if letters is not None else text.replace("strict", "")
        if form and form != text and not re.sub(r"%-?\w", "", form).strip("-/. :_T"):
            node.replace(exp.TimeToStr(this=node.this, format=exp.Literal.string(form)))
            changed = True
    return changed


def _in_sqlite(tree: exp.Query) -> bool:
    """Put parts of dates as STRFTIME, and texts in the place of typed dates, which SQLite keeps as texts. Whether there
    was one.
    """
    changed = False
    for node in list(tree.find_all(exp.Extract, exp.Year, exp.Month, exp.DayOfWeek, exp.DayOfWeekIso)):
        part = _PARTS.get(node.name.upper() if isinstance(node, exp.Extract) else type(node).__name__.upper())
        if part is None:
            continue
        date, _ = bare_date(node.expression if isinstance(node, exp.Extract) else node.this)
        made = exp.TimeToStr(this=date, format=exp.Literal.string(part))
        node.replace(exp.Cast(this=made, to=exp.DataType.build("INT")))
        changed = True
    for node in list(tree.find_all(exp.Cast, exp.Date)):
        text = node.this if isinstance(node, exp.Date) or node.is_type(*exp.DataType.TEMPORAL_TYPES) else None
        if isinstance(text, exp.Literal) and text.is_string and text.name != _MARK and not is_now(text):
            node.replace(text)
            changed = True
    return changed


def _unknown(tree: exp.Query) -> list[exp.Expr]:
    """Moments that are compared, and parameters."""
    about_now = moments(tree)
    inside = {id(node) for side in about_now for node in side.walk()}
    parameters = [node for node in tree.find_all(exp.Literal, exp.Placeholder) if _is_parameter(node)]
    return about_now + [node for node in parameters if id(node) not in inside]


def _is_parameter(node: exp.Expr) -> bool:
    return isinstance(node, exp.Placeholder) or (node.name == _MARK and bool(node.args.get("is_string")))


def _blank(node: exp.Expr) -> None:
    """Put a blank in the place of what is not known."""
    whole = node
    while isinstance(whole.parent, _ROUND_VALUES):
        whole = whole.parent
    around = whole.parent
    if isinstance(around, exp.Any) and isinstance(around.parent, exp.EQ):  # = ANY($1), a list of any length
        around.parent.replace(exp.In(this=around.parent.this, expressions=[exp.Literal.string(BLANK)]))
    elif isinstance(around, exp.Limit | exp.Offset | exp.Fetch):
        node.replace(exp.Literal.number(ROWS))
    elif isinstance(around, TESTS) and any(
        isinstance(_inmost(side), _OF_COLUMNS) for side in sides(around) if side is not whole
    ):
        node.replace(exp.Literal.string(f"%{BLANK}%" if isinstance(around, exp.Like | exp.ILike) else BLANK))
    else:
        node.replace(exp.Literal.number(NUMBER))


def _inmost(node: exp.Expr) -> exp.Expr:
    return _inmost(node.this) if isinstance(node, _ROUND_VALUES) and isinstance(node.this, exp.Expr) else node


def _call_apart(tree: exp.Query, names: Set[str]) -> None:
    """Give queries of a WITH that are called as tables are (`WITH orders AS (SELECT * FROM shop.orders)`) other
    names."""
    asked = {folded(cte.alias): f"{cte.alias}_asked" for cte in tree.find_all(exp.CTE) if folded(cte.alias) in names}
    for cte in tree.find_all(exp.CTE):
        if folded(cte.alias) in asked:
            cte.args["alias"].set("this", exp.to_identifier(asked[folded(cte.alias)]))
    for table in tree.find_all(exp.Table):
        if not table.db and (other := asked.get(folded(table.name))):
            table.set("alias", table.args.get("alias") or exp.TableAlias(this=exp.to_identifier(table.name)))
            table.set("this", exp.to_identifier(other))

"""What a query has for which a question has no words, named so that whoever wrote it knows which part is meant."""

from __future__ import annotations

from sqlglot import exp

from agro_data.databases.types import Dialect
from agro_data.words import cut

SHOWN = 40  # characters of an expression
_SAID: tuple[tuple[tuple[type[exp.Expr], ...], str], ...] = (
    ((exp.Star,), "all columns at once: *"),
    ((exp.Median, exp.PercentileCont, exp.PercentileDisc, exp.WithinGroup, exp.Quantile, exp.ApproxQuantile),
     "a median, or another quantile"),
    ((exp.GroupConcat, exp.ArrayAgg), "values put together as one text or list"),
    ((exp.ApproxDistinct,), "a count that is about right"),
    ((exp.AggFunc,), "a figure other than a count, sum, average, minimum or maximum"),
    ((exp.TimestampTrunc, exp.DateTrunc, exp.DatetimeTrunc, exp.Extract, exp.TimeToStr, exp.Quarter, exp.Week,
      exp.Date, exp.TsOrDsToDate, exp.Hour, exp.Day, exp.DayOfMonth),
     "a part of a date other than its year, month or weekday"),
    ((exp.DateDiff, exp.TimestampDiff, exp.DatetimeDiff), "a time between two dates, by itself or not in days"),
    ((exp.Case, exp.If), "bands or labels of a CASE"),
    ((exp.Coalesce,), "another value in the place of what is unknown: COALESCE"),
    ((exp.Cast, exp.Round), "a value that is cast or rounded"),
    ((exp.DPipe, exp.Concat, exp.ConcatWs, exp.Upper, exp.Lower, exp.Length, exp.Substring, exp.Trim),
     "a text that is changed or put together"),
    ((exp.Binary,), "a computed value that is no sum or average"),
)  # fmt: skip
_CLAUSES = {
    "with_": "a named query (WITH) that cannot be read as one with the query around it",
    "offset": "rows that are passed over: OFFSET",
    "laterals": "a query for each row: LATERAL",
    "pivots": "rows turned into columns: PIVOT",
    "sample": "some rows by chance: TABLESAMPLE",
    "windows": "a window with a name",
}


def of_expression(node: exp.Expr, dialect: Dialect) -> str:
    """What an expression is that no question says."""
    said = next((said for kinds, said in _SAID if isinstance(node, kinds)), "a function that no question says")
    return f"{said} ({cut(node.sql(dialect, comments=False), SHOWN)})"


def of_clause(name: str) -> str:
    """What a clause of a SELECT is, by sqlglot's name, that no question says."""
    return _CLAUSES.get(name, f"the clause {name.strip('_').upper()}")

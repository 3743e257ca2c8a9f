"""Expressions of SQL as parts of an intent's tree."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from sqlglot import exp

from agro_data.intent.sampling.atlas import Atlas, Edge, is_iso_date, is_number, sayable
from agro_data.intent.tree import (
    Aggregate,
    AggregateFunction,
    Arithmetic,
    Between,
    Case,
    Column,
    Comparison,
    DatePart,
    Days,
    Expression,
    InList,
    IsNull,
    Join,
    Like,
    Or,
    OrderKey,
    Predicate,
    Query,
    Scalar,
    Share,
    Source,
    Value,
    Window,
    conjunction,
    conjuncts,
    walk,
)
from agro_data.profiling.profile import ColumnProfile, TableProfile
from agro_data.sql.conditions import parts_of
from agro_data.sql.names.resolution import Resolution, Scope
from agro_data.synthesis.read_back.bands import rising
from agro_data.synthesis.read_back.calendar_parts import calendar_part
from agro_data.synthesis.read_back.day_spans import span_of
from agro_data.synthesis.read_back.figures import (
    AGGREGATES,
    Conditional,
    average_truth,
    conditional,
    divides,
    is_hundredfold,
    quotient,
    unrounded,
)
from agro_data.synthesis.read_back.places import window_of
from agro_data.synthesis.read_back.refusals import of_expression

# For a literal with a type: the texts that are accepted, and the types of columns beside which the text means the same.
TYPED = {
    exp.DataType.Type.DATE: (re.compile(r"\d{4}-\d\d-\d\d"), ("DATE", "TIMESTAMP")),
    exp.DataType.Type.TIMESTAMPNTZ: (re.compile(r"\d{4}-\d\d-\d\d( \d\d:\d\d:\d\d)?"), ("TIMESTAMP",)),
}
PLAIN = (
    Comparison | Between | Like | InList | IsNull
)  # conditions on a row by itself, but for what compares it with a query
_DAY = len("2020-01-01")
_OPERATORS: dict[type[exp.Expr], Literal["+", "-", "*"]] = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*"}


class Beyond(Exception):
    """Something that the tree cannot say, or not exactly."""

    def __init__(self, kind: str, detail: str = "") -> None:
        super().__init__(detail or kind.replace("_", " "))
        self.kind = kind


@dataclass
class Merged:
    """A parent asked for by IN, as the join that means the same: its key is unique."""

    sources: list[Source]
    joins: list[Join]
    parts: list[Predicate]


@dataclass(frozen=True)
class Kept:
    """Children that are counted beside parents that may have none: the joined item of the FROM, what is counted of
    them, and the key that leads to the parents."""

    node: exp.Expr
    counted: Column
    edge: Edge


class ExpressionReader(ABC):
    """One reading of a statement: the sources that were met, and what its expressions mean."""

    def __init__(self, found: Resolution, atlas: Atlas) -> None:
        self.found = found
        self.atlas = atlas
        self.known: dict[int, Source] = {}  # of every SELECT entered so far
        self.rendering: str | None = None
        self.links: list[tuple[Column, Column]] = []
        self.scope = found.scopes[0]  # the SELECT that is being read
        self.kept: Kept | None = None  # of it

    @abstractmethod
    def select(self, node: exp.Select, outer: Scope | None = None) -> Query:
        """The query of a SELECT that stands inside an expression. Sets `links` to what ties its rows to `outer`."""

    @abstractmethod
    def predicate(self, node: exp.Expr, scope: Scope) -> Predicate | Merged:
        """The condition that an expression is on the rows of a SELECT."""

    # --- names ---

    def column(self, node: exp.Expr, scope: Scope | None = None) -> Column | None:
        """A column of a table of this SELECT, or of `scope` where one is given."""
        bare = node.unnest()
        if isinstance(bare, exp.Cast):
            return self._cast(bare, scope)
        binding = self.found.binding(bare) if isinstance(bare, exp.Column) else None
        if binding is None or binding.kind != "column" or binding.source is None:
            return None
        if not any(binding.source is own for own in (scope or self.scope).sources):
            return None
        source = self.known.get(id(binding.source))
        return Column(source.alias, binding.source.columns[binding.name]) if source is not None else None

    def _cast(self, node: exp.Cast, scope: Scope | None) -> Column | None:
        """The column of numbers in a CAST that leaves them what they are."""
        column = self.column(node.this, scope)
        profile = self.profile_of(column) if column is not None else None
        if profile is None or not is_number(profile):
            return None
        same = node.to.is_type("FLOAT", "DOUBLE") or (profile.integral and node.to.is_type("BIGINT", "INT"))
        return column if same else None

    def said(self, node: exp.Expr) -> str:
        """What an expression is for which there are no words, for whoever wrote it."""
        return of_expression(node, self.atlas.profile.dialect)

    def profile_of(self, column: Column) -> ColumnProfile:
        table = self._table_of(column)
        found = table.by_name.get(column.name)
        if found is None or not found.has_values or found.hidden:
            raise Beyond("no_values", f"{table.name}.{column.name} holds no value")
        return found

    def _table_of(self, column: Column) -> TableProfile:
        return self.atlas.by_name[next(s.table for s in self.known.values() if s.alias == column.source)]

    # --- expressions ---

    def output(self, item: exp.Expr, *, in_existence: bool = False) -> Expression:
        body = item.unalias()
        if isinstance(body, exp.Literal) or (body.is_star and in_existence):
            return Value(1)  # EXISTS asks for rows, whatever they show
        return self.expression(unrounded(body))

    def expression(self, node: exp.Expr) -> Expression:
        body = node.unnest()
        column = self.column(body)
        if column is not None:
            self.profile_of(column)
            return column
        if isinstance(body, exp.Column):
            raise Beyond("name", f"{body.sql()} is no column of a table")
        if (condition := average_truth(body)) is not None:
            return Share(self._plain(condition))
        if type(body) in AGGREGATES or conditional(body) is not None:
            return self.aggregate(body)
        if isinstance(body, exp.Window):
            return self._window(body)
        if (made := self._of_figures(body)) is not None:
            return made
        part = self.part_of_date(body) or self._bands(body)
        if part is not None:
            return part
        raise Beyond("expression", self.said(body))

    def _of_figures(self, node: exp.Expr) -> Expression | None:
        """The quotient of two figures, or their difference or sum. A total by the number of its rows is an average."""
        parts = quotient(node)
        if parts is not None:
            return self._divided(self.aggregate(parts[0]), self.aggregate(parts[1]), node)
        kind = _OPERATORS.get(type(node))
        written = (node.args["this"], node.args["expression"]) if kind in ("+", "-") else ()
        sides = [unrounded(side) for side in written]
        if kind is None or not sides or not all(type(side) in AGGREGATES or conditional(side) for side in sides):
            return None
        left, right = map(self.aggregate, sides)
        self._check_extremes(left, right)
        return Arithmetic(kind, left, right) if left != right else None

    def _divided(self, over: Aggregate, under: Aggregate, node: exp.Expr) -> Expression:
        """A quotient of figures as what it is: a percentage, an average, or a ratio."""
        self._check_extremes(over, under)
        if not divides(node, self.atlas.profile.dialect) and self._is_whole(over) and self._is_whole(under):
            raise Beyond("expression", "SQLite divides whole numbers without a fraction")
        if over.where is not None and under == replace(over, where=None) == Aggregate("count"):
            return Share(over.where)
        if is_hundredfold(node) and replace(over, where=None) != replace(under, where=None):
            raise Beyond("expression", "the hundredfold of a ratio of two things")
        column = over.argument
        whole = isinstance(column, Column) and not self._known(column)
        if under == Aggregate("count") and whole and (over.function, over.where) == ("sum", None):
            return Aggregate("avg", column)
        if over == under:
            raise Beyond("expression", "a figure divided by itself")
        return Arithmetic("/", over, under)

    def _check_added(self, column: Column) -> None:
        """Raise `Beyond` for a date or a flag, which SQLite adds up as if it were a number; a text may be one."""
        profile = self.profile_of(column)
        if profile.role == "date" or profile.kind == "boolean":
            raise Beyond("expression", f"a sum or an average of {column.name}, which is no number")

    def _check_extremes(self, *figures: Aggregate) -> None:
        """Raise `Beyond` for the first or last of what is no number, where it is computed with."""
        for held in (figure.argument for figure in figures if figure.function in ("min", "max")):
            if isinstance(held, Column) and not is_number(self.profile_of(held)):
                raise Beyond("expression", f"{held.name}, which is no number, is computed with")

    def _is_whole(self, figure: Aggregate) -> bool:
        """Whether a figure is a whole number."""
        held = figure.argument
        return figure.function == "count" or (isinstance(held, Column) and self.profile_of(held).integral)

    def _bands(self, node: exp.Expr) -> Case | None:
        """A CASE that gives each band of a quantity a name."""
        if not isinstance(node, exp.Case) or node.this is not None or node.args.get("default") is None:
            return None
        tests = []
        for branch in node.args["ifs"]:
            test, label = self.predicate(branch.this, self.scope), self.value(branch.args["true"], None)
            if not isinstance(test, Comparison) or label is None or not isinstance(label.value, str):
                return None
            tests.append((test, label))
        otherwise = self.value(node.args["default"], None)
        return rising(tests, otherwise) if otherwise is not None and isinstance(otherwise.value, str) else None

    def _window(self, node: exp.Window) -> Window:
        """A rank, a running total or the value before, along one column."""
        found = window_of(node)
        if found is None:
            raise Beyond("window", "a window function other than a rank, a running total or the value before")
        function, argument, key, descending = found
        parts = tuple(self._tested(part) for part in node.args.get("partition_by") or ())
        column = self._tested(argument) if argument is not None else None
        return Window(function, column, parts, (OrderKey(self._tested(key), descending),))

    def aggregate(self, node: exp.Expr) -> Aggregate:
        found = conditional(node)
        if found is not None:
            return self._under_condition(found)
        function = AGGREGATES.get(type(node))
        if function is None:
            raise Beyond("expression", self.said(node))
        inner = node.this
        if node.expressions:
            raise Beyond("expression", "an aggregate of several arguments")
        if isinstance(inner, exp.Star | exp.Literal) and function == "count":
            if self.kept is not None:
                raise Beyond("outer_join", "COUNT(*) over a LEFT JOIN counts 1 for what has no joined row")
            return Aggregate("count")
        distinct = isinstance(inner, exp.Distinct)
        if distinct and (len(inner.expressions) != 1 or function != "count"):
            raise Beyond("expression", "DISTINCT is read in COUNT of one column")
        column = self.column(inner.expressions[0] if distinct else inner)
        if column is None:
            value = self.days(inner) or (self._arithmetic(inner) if function in ("sum", "avg") else None)
            if value is None or function == "count":  # which counts the rows that have one
                raise Beyond("expression", f"a figure of {self.said(inner)}")
            return Aggregate(function, value)
        profile = self.profile_of(column)
        if self.kept is not None:
            return self._of_kept(function, column, distinct, self.kept)
        if function == "sum" and profile.kind == "boolean":
            return Aggregate("count", where=self._plain(inner))
        if function in ("sum", "avg"):
            self._check_added(column)
        if function == "count" and not distinct:
            return Aggregate("count", where=self._known(column))
        return Aggregate(function, column, distinct)

    def _of_kept(self, function: AggregateFunction, column: Column, distinct: bool, kept: Kept) -> Aggregate:
        """How many children there are: the count of a column that each has, or of their different keys."""
        table = self._table_of(column)
        if function != "count" or column.source != kept.counted.source:
            raise Beyond("outer_join", "a figure other than how many, where rows without any are kept (LEFT JOIN)")
        if self._known(column) is not None or (distinct and (column.name,) != table.primary_key):
            raise Beyond("outer_join", "a count of some values only, where rows without any are kept (LEFT JOIN)")
        return Aggregate("count", kept.counted)

    def _under_condition(self, found: Conditional) -> Aggregate:
        """A figure over the rows that meet a condition, and no others."""
        if self.kept is not None:
            raise Beyond("outer_join", "a figure under a condition, where rows without any are kept (LEFT JOIN)")
        where = self._plain(found.condition)
        if found.argument is None:
            return Aggregate("count", where=where)
        column = self.column(found.argument)
        if column is None:
            raise Beyond("expression", f"a figure of {self.said(found.argument)}")
        self.profile_of(column)
        if found.function == "count" and not found.distinct:
            known = self._known(column)
            return Aggregate("count", where=all_of([*conjuncts(where), *conjuncts(known)]))
        if found.distinct and found.function != "count":
            raise Beyond("expression", "DISTINCT is read in COUNT of one column")
        if found.function in ("sum", "avg"):
            self._check_added(column)
        return Aggregate(found.function, column, found.distinct, where)

    def _plain(self, condition: exp.Expr) -> Predicate:
        """The condition of a figure on the rows that it is of."""
        parts = [self.predicate(part, self.scope) for part in parts_of(condition)]
        plain = [part for part in parts if isinstance(part, PLAIN | Or)]
        where = all_of(plain)
        if where is None or len(plain) < len(parts) or any(isinstance(node, Scalar) for node in walk(where)):
            raise Beyond("expression", "a figure under other than plain conditions")
        return where

    def days(self, node: exp.Expr) -> Days | None:
        """The days between two dates of one row."""
        span = span_of(node)
        sides = [self.column(side) for side in (span.start, span.end)] if span is not None else []
        start, end = sides if len(sides) == 2 else (None, None)
        if span is None or start is None or end is None or start.source != end.source or start == end:
            return None
        profiles = [self.profile_of(side) for side in (start, end)]
        dates = self.atlas.profile.dialect == "duckdb" and all(one.declared_type == "DATE" for one in profiles)
        if not all(map(is_iso_date, profiles)) or (span.bare and not dates):
            return None
        timed = any(len(str(cell)) > _DAY for profile in profiles for cell in (profile.minimum, profile.maximum))
        return Days(start, end) if span.whole or not timed else None

    def _arithmetic(self, node: exp.Expr) -> Arithmetic | None:
        """A sum, difference or product of two quantities of a row, of which a sum and an average are what is asked.

        A minimum of a difference would be taken for the difference of the minima, an average of a ratio for a ratio.
        """
        body = node.unnest()
        sides = [self.column(body.this), self.column(body.expression)] if type(body) in _OPERATORS else []
        left, right = sides if len(sides) == 2 else (None, None)
        if left is None or right is None or left.source != right.source or left == right:
            return None
        profiles = [self.profile_of(side) for side in (left, right)]
        quantities = all(is_number(profile) and profile.role == "measure" for profile in profiles)
        return Arithmetic(_OPERATORS[type(body)], left, right) if quantities else None

    def _known(self, column: Column) -> IsNull | None:
        """What COUNT of a column asks of a row; None where all rows have it."""
        return None if self._table_of(column).never_null(column.name) else IsNull(column, negated=True)

    def part_of_date(self, node: exp.Expr) -> DatePart | None:
        """The year, month or weekday of a date, however it is written: the tree has one form of each."""
        found = calendar_part(node)
        column = self.column(found[0]) if found is not None else None
        if found is None or column is None or not is_iso_date(self.profile_of(column)):
            return None
        return DatePart(found[1], column)

    def _year(self, node: exp.Expr) -> DatePart | None:
        part = self.part_of_date(node)
        return part if part is not None and part.part == "year" else None

    def value(self, node: exp.Expr, column: Column | None) -> Value | None:
        body = node.unnest()
        negative = isinstance(body, exp.Neg)
        body = body.this if negative else self._untyped(body, column)
        origin: tuple[str, str] | None = None
        if column is not None:
            origin = (self._table_of(column).name, column.name)
        if isinstance(body, exp.Literal) and not body.is_string:
            number = int(body.name) if body.is_int else float(body.name)
            return Value(-number if negative else number, origin) if sayable(number) else None
        if negative:
            return None
        if isinstance(body, exp.Boolean):
            return Value(bool(body.this), origin)
        if isinstance(body, exp.Column) and (binding := self.found.binding(body)) and binding.kind == "string":
            return Value(binding.name, origin)
        return Value(body.name, origin) if isinstance(body, exp.Literal) else None

    def _untyped(self, node: exp.Expr, column: Column | None) -> exp.Expr:
        """The text in DuckDB's DATE '2020-01-01': beside a column of dates DuckDB reads the text alone as the same.

        SQLite's CAST of it is the number 2020.
        """
        if column is None or self.atlas.profile.dialect != "duckdb" or not isinstance(node, exp.Cast):
            return node
        form, held = TYPED.get(node.to.this, (None, ()))
        text = node.this
        same = form is not None and isinstance(text, exp.Literal) and text.is_string and form.fullmatch(text.name)
        return text if same and self.profile_of(column).declared_type.upper() in held else node

    def _tested(self, node: exp.Expr) -> Column:
        column = self.column(node)
        if column is None:
            raise Beyond("condition", f"what is tested or ranked is no column, but {self.said(node.unnest())}")
        self.profile_of(column)
        return column


def all_of(parts: Sequence[Predicate]) -> Predicate | None:
    """The condition that all of `parts` hold, each said once."""
    return conjunction(list(dict.fromkeys(parts)))

"""A query as partial rows: one row a table of its FROM, equal columns sharing an unknown, constants written in.

This is the canonical database of a conjunctive query, extended: a condition may be missed on purpose, one branch of a
disjunction or set operation is chosen, subqueries add their rows where they must hold and add none where they must
not. What is not understood constrains nothing, and is left to chance.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from agro_data.databases.quoting import folded
from agro_data.databases.types import Cell
from agro_data.populate.instances.unknowns import Unknowns
from agro_data.populate.instances.values.arithmetic import Leaf, Term, difference, literal, read
from agro_data.populate.instances.values.comparisons import Operator, Test
from agro_data.populate.instances.values.near import fit
from agro_data.populate.instances.values.views import DayNumber, Stretch, view_of
from agro_data.populate.schema import Schema
from agro_data.profiling.profile import DatabaseProfile
from agro_data.sql.comparisons import TURNED
from agro_data.sql.conditions import parts_of_where
from agro_data.sql.names.called_columns import is_star
from agro_data.sql.names.resolution import Resolution, Source
from agro_data.sql.walks import leftmost

Missed = Mapping[int, int]
"""Conditions and set operations to be met otherwise: `id(node)` -> which of its other ways."""

_COMPARED: dict[type[exp.Expr], Operator] = {
    exp.EQ: "=", exp.NEQ: "=", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=",
    exp.NullSafeEQ: "=", exp.NullSafeNEQ: "=",
}  # fmt: skip
ATOMS = (*_COMPARED, exp.Between, exp.Like, exp.ILike, exp.Glob, exp.In, exp.Is, exp.Exists)
DEPTH = 12  # subqueries within subqueries
MANY = 40  # rows that are made for a count
LARGEST = 1e300  # number that is computed with


@dataclass
class Frame:
    """One reading of a SELECT's FROM: the row of each table, the outputs of each derived table, and the SELECT's own
    outputs; `terms` are those that are computed.
    """

    rows: dict[int, int] = field(default_factory=dict)  # id(source) -> row number
    derived: dict[int, dict[str, int | None]] = field(default_factory=dict)  # id(source) -> output -> unknown
    computed: dict[int, dict[str, Term | None]] = field(default_factory=dict)  # the same of outputs that are computed
    outputs: list[int | None] = field(default_factory=list)
    terms: list[Term | None] = field(default_factory=list)
    outer: Frame | None = None


class Tableau(Unknowns):
    """A query read into rows under construction, as often as it is asked for."""

    def __init__(self, found: Resolution, schema: Schema, profile: DatabaseProfile, rng: random.Random) -> None:
        super().__init__(schema, profile, rng)
        self.found = found
        self._ctes = {folded(cte.alias): cte for cte in found.tree.find_all(exp.CTE)}
        self._scopes = {id(scope.select): scope for scope in found.scopes}
        self.frames: list[tuple[int, Frame]] = []  # (id(select), reading), in the order made

    # --- queries -------------------------------------------------------------------------------------------------

    def query(self, node: exp.Expr, missed: Missed, outer: Frame | None = None, depth: int = 0) -> Frame:
        """Rows on which the query gives a row. A set operation is met by its usual way, or the one in `missed`."""
        if depth > DEPTH:
            return Frame(outer=outer)
        if isinstance(node, exp.Subquery):
            return self.query(node.this, missed, outer, depth)
        if isinstance(node, exp.Select):
            return self.select(node, missed, outer, depth)
        assert isinstance(node, exp.SetOperation)
        way = missed.get(id(node), 0)
        if isinstance(node, exp.Intersect):
            sides = (True, True) if way == 0 else (way == 1, way == 2)
        elif isinstance(node, exp.Except):
            sides = ((True, False), (True, True), (False, True))[way]
        else:
            first = self.rng.random() < 0.5
            sides = ((first, not first), (True, False), (False, True), (True, True))[way]
        frames = [
            self.query(side, missed, outer, depth + 1)
            for side, wanted in zip((node.this, node.expression), sides, strict=True)
            if wanted
        ]
        if len(frames) == 2:
            for left, right in zip(frames[0].outputs, frames[1].outputs, strict=False):
                self.equate(left, right)
        return frames[0]

    def select(self, node: exp.Select, missed: Missed, outer: Frame | None = None, depth: int = 0) -> Frame:
        """Rows on which the SELECT gives a row (before grouping)."""
        frame = Frame(outer=outer)
        self.frames.append((id(node), frame))
        scope = self._scopes[id(node)]
        joins = node.args.get("joins") or ()
        lost = {id(join.this) for join in joins if join.side == "LEFT" and self._is_lost(join, node, missed)}
        for source in scope.sources:
            if id(source.node) not in lost:
                self._source(source, frame, missed, depth)
        for join in joins:
            if join.args.get("on") is not None and id(join.this) not in lost:
                self.impose(join.args["on"], True, frame, missed, depth)
        for name in sorted(scope.merged):
            cells = [self.column(source, name, frame) for source in scope.sources if name in source.columns]
            for other in cells[1:]:
                self.equate(cells[0], other)
        if node.args.get("where") is not None:
            self.impose(node.args["where"].this, True, frame, missed, depth)
        for item in node.expressions:
            frame.outputs.append(self.unknown_of(item.unalias(), frame))
            frame.terms.append(self.term_of(item.unalias(), frame) if frame.outputs[-1] is None else None)
        return frame

    def _is_lost(self, join: exp.Join, node: exp.Select, missed: Missed) -> bool:
        """Whether WHERE asks for rows that a LEFT JOIN finds no partner for: that a column of the partner IS NULL."""
        for part in parts_of_where(node):
            if isinstance(part, exp.Is) and isinstance(part.expression, exp.Null) and id(part) not in missed:
                binding = self.found.binding(part.this)
                source = binding.source if binding is not None else None
                if binding is not None and source is not None and source.table and source.node is join.this:
                    spec = self.schema.by_name[source.table].by_name[source.columns[binding.name]]
                    return not spec.nullable or self.rng.random() < 0.5
        return False

    def _source(self, source: Source, frame: Frame, missed: Missed, depth: int) -> None:
        if source.table:
            frame.rows[id(source)] = self.add_row(source.table)
            return
        inner = source.node.this if isinstance(source.node, exp.Subquery) else None
        if isinstance(source.node, exp.Table) and folded(source.node.name) in self._ctes:
            inner = self._ctes[folded(source.node.name)].this
        if not isinstance(inner, exp.Query):
            frame.derived[id(source)] = {}
            return
        outputs = list(self._outputs(inner, self.query(inner, missed, frame, depth + 1)))
        names = list(source.columns) if len(source.columns) == len(outputs) else [name for name, *_ in outputs]
        frame.derived[id(source)] = {name: unknown for name, (_, unknown, _) in zip(names, outputs, strict=True)}
        frame.computed[id(source)] = {name: term for name, (_, _, term) in zip(names, outputs, strict=True)}

    def _outputs(self, query: exp.Expr, made: Frame) -> Iterator[tuple[str, int | None, Term | None]]:
        """What a derived table shows, each column of a star by itself."""
        for item, unknown, term in zip(leftmost(query).expressions, made.outputs, made.terms, strict=False):
            if not is_star(item) or not isinstance(query, exp.Select):
                yield folded(item.alias_or_name), unknown, term
                continue
            wanted = folded(item.table) if isinstance(item, exp.Column) else ""
            for source in self._scopes[id(query)].sources:
                for name in source.columns if wanted in ("", source.alias) else ():
                    yield name, self.column(source, name, made), self._computed_column(source, name, made)

    def column(self, source: Source, name: str, frame: Frame | None) -> int | None:
        """The unknown of a source's column, in this frame or one around it."""
        while frame is not None:
            if id(source) in frame.rows:
                return self.cell(frame.rows[id(source)], source.columns[name])
            if id(source) in frame.derived:
                return frame.derived[id(source)].get(name)
            frame = frame.outer
        return None

    def unknown_of(self, node: exp.Expr, frame: Frame | None) -> int | None:
        """The unknown that an expression stands for: a column, the column of a minimum or maximum, or the values
        counted.
        """
        node = node.unnest()
        if isinstance(node, exp.Count) and isinstance(node.this, exp.Distinct):
            return self.unknown_of(node.this.expressions[0], frame)
        if isinstance(node, (exp.Max, exp.Min, exp.Distinct, exp.Cast)) and isinstance(node.this, exp.Expr):
            return self.unknown_of(node.this, frame)
        if isinstance(node, (exp.Lower, exp.Upper, exp.Trim)):
            return self.unknown_of(node.this, frame)
        named, binding = self.found.aliased(node), self.found.binding(node)
        if named is not None:
            return self.unknown_of(named, frame)
        if binding is None or binding.source is None:
            return None
        return self.column(binding.source, binding.name, frame)

    def term_of(self, node: exp.Expr, frame: Frame | None) -> Term | None:
        """The number that an expression computes from unknowns; None if it is more than arithmetic, or less."""
        return read(node, lambda inner: self._leaf(inner, frame))

    def _leaf(self, node: exp.Expr, frame: Frame | None) -> Term | None:
        column, view = view_of(node)
        binding = self.found.binding(column)
        if binding is None or frame is None:
            return None
        named = self.found.aliased(column)
        if named is not None and named is not node:
            return self.term_of(named, frame)
        if binding.source is None:
            return None
        unknown = self.column(binding.source, binding.name, frame)
        if unknown is None:
            return self._computed_column(binding.source, binding.name, frame) if view is None else None
        spec = self.spec(unknown)
        if isinstance(view, Stretch):
            view = replace(view, number=True)  # as arithmetic reads a text
        elif view is None and spec.kind in ("date", "datetime") and self.profile.dialect == "duckdb":
            view = DayNumber()
        numeric = view is not None or spec.kind in ("integer", "real")
        return Leaf(unknown, spec.kind == "real", view) if numeric else None

    def _computed_column(self, source: Source, name: str, frame: Frame | None) -> Term | None:
        """What a derived table computes, in this frame or one around it."""
        while frame is not None and id(source) not in frame.computed:
            frame = frame.outer
        return frame.computed[id(source)].get(name) if frame is not None else None

    # --- conditions ----------------------------------------------------------------------------------------------

    def impose(self, node: exp.Expr, wanted: bool, frame: Frame, missed: Missed, depth: int) -> None:
        """Make `node` true or false of the frame's rows, except for what is to be missed."""
        if isinstance(node, exp.Paren):
            self.impose(node.this, wanted, frame, missed, depth)
        elif isinstance(node, exp.Not):
            self.impose(node.this, not wanted, frame, missed, depth)
        elif isinstance(node, (exp.And, exp.Or)):
            parts = [node.this, node.expression]
            if isinstance(node, exp.And) == wanted:
                for part in parts:
                    self.impose(part, wanted, frame, missed, depth)
            else:
                chosen = missed.get(id(node), self.rng.randrange(2)) % 2
                self.impose(parts[chosen], wanted, frame, missed, depth)
                if self.rng.random() < 0.7:
                    self.impose(parts[1 - chosen], not wanted, frame, missed, depth)
        elif isinstance(node, ATOMS):
            self._atom(node, wanted ^ (id(node) in missed), frame, missed, depth)

    def _atom(self, node: exp.Expr, wanted: bool, frame: Frame, missed: Missed, depth: int) -> None:
        if isinstance(node, exp.Exists):
            self._member(None, node.this, wanted, frame, missed, depth)
        elif isinstance(node, exp.In):
            query = node.args.get("query")
            if query is not None:
                self._member(self.unknown_of(node.this, frame), query, wanted, frame, missed, depth)
            else:
                values = [self.constant(item) for item in node.expressions]
                if all(known for known, _ in values):
                    self._test(node.this, frame, "in", [value for _, value in values], wanted)
        elif isinstance(node, exp.Between):
            low, high = self.constant(node.args["low"]), self.constant(node.args["high"])
            if low[0] and high[0]:
                self._test(node.this, frame, "between", [low[1], high[1]], wanted)
        elif isinstance(node, exp.Is):
            if isinstance(node.expression, exp.Null):
                self._test(node.this, frame, "null", [], wanted)
        elif isinstance(node, (exp.Like, exp.ILike, exp.Glob)):
            known, pattern = self.constant(node.expression)
            if known and isinstance(pattern, str):
                wild = pattern.replace("*", "%").replace("?", "_") if isinstance(node, exp.Glob) else pattern
                self._test(node.this, frame, "like", [wild], wanted)
        else:
            self._comparison(node, wanted, frame, missed, depth)

    def _comparison(self, node: exp.Expr, wanted: bool, frame: Frame, missed: Missed, depth: int) -> None:
        kind, left, right = type(node), node.this, node.expression
        if isinstance(node, (exp.NEQ, exp.NullSafeNEQ)):
            wanted = not wanted
        if isinstance(left.unnest(), (exp.Query, exp.Literal)) or self.constant(left)[0]:
            kind, left, right = TURNED.get(kind, kind), right, left
        operator = _COMPARED[kind]
        known, value = self.constant(right)
        if known:
            self._test(left, frame, operator, [value], wanted)
            return
        mine = self.unknown_of(left, frame)
        query = right if isinstance(right, exp.Query) else None
        if query is not None:
            known, number = self.constant(left)
            if known and isinstance(number, int) and _counts(query):
                test = Test(_COMPARED[TURNED.get(kind, kind)], (number,), wanted)
                self._counted(query, number, test, frame, missed, depth)
            else:
                self._scalar(mine, operator, query, wanted, frame, missed, depth)
            return
        other = self.unknown_of(right, frame)
        if mine is None or other is None:
            apart = difference(self.term_of(left, frame), self.term_of(right, frame))
            self.require_of(apart, Test(operator, (0,), wanted))
        elif operator == "=":
            if wanted:
                self.equate(mine, other)
            else:
                self.set_apart(mine, other)
        else:
            self._below(mine, other, operator, wanted)

    def _below(self, mine: int, other: int, operator: Operator, wanted: bool) -> None:
        """One unknown below another, or just equal where the comparison allows or refuses that."""
        if (operator in ("<=", ">=")) == wanted and self.rng.random() < 0.5:
            self.equate(mine, other)
        elif (operator in ("<", "<=")) == wanted:
            self.set_below(mine, other)
        else:
            self.set_below(other, mine)

    def _scalar(
        self,
        mine: int | None,
        operator: Operator,
        query: exp.Expr,
        wanted: bool,
        frame: Frame,
        missed: Missed,
        depth: int,
    ) -> None:
        """A comparison with a subquery's one value: the rows it reads, and the value where it is a column's."""
        inner = self.query(query, missed, frame, depth + 1)
        other = inner.outputs[0] if inner.outputs else None
        if mine is None or other is None:
            return
        if operator == "=" and wanted:
            self.equate(mine, other)
        elif operator != "=":
            self._below(mine, other, operator, wanted)

    def _counted(self, query: exp.Query, number: int, test: Test, frame: Frame, missed: Missed, depth: int) -> None:
        """How many rows a subquery finds, compared with a number: so many that it is met, or just missed."""
        counts = [count for count in (number - 1, number, number + 1) if 0 <= count <= MANY and test.passes(count)]
        for _ in range(self.rng.choice(counts) if counts else 0):
            self.query(query, missed, frame, depth + 1)

    def _member(
        self, left: int | None, query: exp.Expr, wanted: bool, frame: Frame, missed: Missed, depth: int
    ) -> None:
        """IN or EXISTS. Rows of the subquery are there if they must be, or if they are to fail a condition of it."""
        inside = any(id(node) in missed for node in query.walk())
        if wanted or inside:
            inner = self.query(query, missed, frame, depth + 1)
            self.equate(left, inner.outputs[0] if inner.outputs else None)

    def _test(self, node: exp.Expr, frame: Frame, operator: Operator, values: Sequence[Cell], wanted: bool) -> None:
        """A column, or what is shown of one, compared with constants."""
        column, view = view_of(node)
        unknown = self.unknown_of(column, frame)
        if unknown is None:
            numbers = [value for value in values if isinstance(value, int | float) and abs(value) < LARGEST]
            if numbers and len(numbers) == len(values):
                self.require_of(self.term_of(node, frame), Test(operator, tuple(numbers), wanted))
            return
        if view is not None and operator == "null":
            view = None
        spec = view.shown if view is not None else self.spec(unknown)
        self.require(unknown, Test(operator, tuple(fit(value, spec) for value in values), wanted, view))

    def constant(self, node: exp.Expr) -> tuple[bool, Cell]:
        """Whether the expression is a constant, and which."""
        node = node.unnest()
        if isinstance(node, (exp.Lower, exp.Upper, exp.Cast, exp.Date)) and isinstance(node.this, exp.Expr):
            return self.constant(node.this)
        if isinstance(node, exp.Literal):
            return True, literal(node)
        if isinstance(node, exp.Boolean):
            return True, int(node.this)
        if isinstance(node, exp.Neg) and isinstance(node.this, exp.Literal):
            value = literal(node.this)
            return (True, -value) if isinstance(value, int | float) else (False, None)
        binding = self.found.binding(node)
        return (True, binding.name) if binding is not None and binding.kind == "string" else (False, None)


def _counts(query: exp.Query) -> bool:
    """Whether a query gives the number of its rows."""
    select = query.unnest()
    shown = select.expressions[0].unalias() if isinstance(select, exp.Select) and len(select.expressions) == 1 else None
    return isinstance(shown, exp.Count) and not any(select.args.get(clause) for clause in ("group", "limit"))

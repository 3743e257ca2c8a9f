"""A query as partial rows: one row a table of its FROM, equal columns sharing an unknown, constants written in.

This is the canonical database of a conjunctive query, extended: a condition may be missed on purpose, one branch of a
disjunction or set operation is chosen, subqueries add their rows where they must hold and add none where they must
not. What is not understood constrains nothing, and is left to chance.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from agro_data.databases.quoting import folded
from agro_data.databases.types import Cell
from agro_data.populate.instances.arithmetic import Leaf, Term, difference, read, renamed, solve
from agro_data.populate.instances.comparisons import Operator, Test, choose
from agro_data.populate.instances.proposal import PartialRow, Place, Unknown
from agro_data.populate.instances.values import above, below, fit, holds, observed
from agro_data.populate.instances.views import DayNumber, Stretch, view_of
from agro_data.populate.schema import ColumnSpec, Schema
from agro_data.profiling.profile import DatabaseProfile
from agro_data.sql.called_columns import is_star
from agro_data.sql.resolution import Resolution, Source
from agro_data.sql.walks import leftmost

Missed = Mapping[int, int]
"""Conditions and set operations to be met otherwise: `id(node)` -> which of its other ways."""

_COMPARED: dict[type[exp.Expr], Operator] = {
    exp.EQ: "=", exp.NEQ: "=", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=",
    exp.NullSafeEQ: "=", exp.NullSafeNEQ: "=",
}  # fmt: skip
_MIRRORED: dict[Operator, Operator] = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
ATOMS = (*_COMPARED, exp.Between, exp.Like, exp.ILike, exp.Glob, exp.In, exp.Is, exp.Exists)
DEPTH = 12  # subqueries within subqueries
MANY = 40  # rows that are made for a count


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


class Tableau:
    """Rows under construction. An unknown is a number; `equate` makes two the same."""

    def __init__(self, found: Resolution, schema: Schema, profile: DatabaseProfile, rng: random.Random) -> None:
        self.found, self.schema, self.profile, self.rng = found, schema, profile, rng
        self.rows: list[tuple[str, dict[str, int]]] = []
        self._same: list[int] = []  # union-find
        self._places: list[Place] = []
        self._tests: dict[int, list[Test]] = {}
        self._computed: list[tuple[Term, Test]] = []
        self._smaller: list[tuple[int, int]] = []  # left below right
        self._differ: list[tuple[int, int]] = []
        self._alone: list[int] = []
        self._ctes = {folded(cte.alias): cte for cte in found.tree.find_all(exp.CTE)}
        self._scopes = {id(scope.select): scope for scope in found.scopes}
        self.frames: list[tuple[int, Frame]] = []  # (id(select), reading), in the order made

    # --- rows and unknowns ---------------------------------------------------------------------------------------

    def add_row(self, table: str) -> int:
        self.rows.append((table, {}))
        return len(self.rows) - 1

    def cell(self, row: int, column: str) -> int:
        """The unknown that stands in a column of a row."""
        table, cells = self.rows[row]
        if column not in cells:
            cells[column] = len(self._same)
            self._same.append(len(self._same))
            self._places.append((table, column))
        return cells[column]

    def equate(self, left: int | None, right: int | None) -> None:
        if left is None or right is None:
            return
        left, right = self.root(left), self.root(right)
        if left != right:
            self._same[max(left, right)] = min(left, right)
            moved = self._tests.pop(max(left, right), [])
            if moved:
                self._tests.setdefault(min(left, right), []).extend(moved)

    def root(self, unknown: int) -> int:
        """The unknown that stands for all that are equal to this one."""
        while self._same[unknown] != unknown:
            unknown = self._same[unknown]
        return unknown

    def require(self, unknown: int, test: Test) -> None:
        self._tests.setdefault(self.root(unknown), []).append(test)

    def require_of(self, term: Term | None, test: Test) -> None:
        """What is computed from unknowns passes the test, as far as values for them are found."""
        if term is not None:
            self._computed.append((term, test))

    def give(self, unknown: int, value: Cell) -> None:
        """The unknown is this value."""
        self.require(unknown, Test("=", (value,)))

    def passes(self, unknown: int, value: Cell) -> bool:
        """Whether the unknown's column holds such a value, and no condition on it is against it."""
        tests = self._tests.get(self.root(unknown), ())
        return holds(value, self.spec(unknown)) and all(test.passes(value) for test in tests)

    def near(self, unknown: int) -> list[Cell]:
        """Values about the constants of the conditions on an unknown."""
        tests, known = self._tests.get(self.root(unknown), ()), self._observed(unknown)
        return [value for test in tests for value in test.candidates(self.spec(unknown), known, self.rng)]

    def known(self, unknown: int) -> list[Cell]:
        """Those, and values that the unknown's column has."""
        return [*self.near(unknown), *self._observed(unknown)]

    def _observed(self, unknown: int) -> list[Cell]:
        table, column = self._places[self.root(unknown)]
        return [fit(value, self.spec(unknown)) for value in observed(self.profile.table(table).column(column))]

    def stand_alone(self, unknowns: Iterable[int | None]) -> None:
        """Give these values that no other row holds, where nothing else is asked of them.

        What is shown of a row that others show too is not missed: under DISTINCT, in a set, in a group.
        """
        self._alone += [unknown for unknown in unknowns if unknown is not None]

    def is_key(self, unknown: int) -> bool:
        """Whether the unknown stands in a column that is a key by itself."""
        table, column = self._places[unknown]
        return self.schema.by_name[table].is_unique((column,))

    def is_free(self, unknown: int) -> bool:
        """Whether nothing is asked of an unknown, and it is no key."""
        return self.root(unknown) not in self._tests and not self.is_key(unknown)

    def is_unbound(self, unknown: int) -> bool:
        """Whether nothing is asked of an unknown: no condition, and no comparison with another."""
        root = self.root(unknown)
        below = (other for pair in self._smaller for other in pair)
        compared = (*below, *(other for _, cells in self.rows for other in cells.values() if other != unknown))
        return root not in self._tests and all(self.root(other) != root for other in compared)

    def free_numbers(self, row: int) -> list[str]:
        """Columns of a row that hold numbers, are no part of a key, and have no condition yet."""
        table, cells = self.rows[row]
        spec = self.schema.by_name[table]
        keys = {c for key in spec.keys for c in key} | {c for key in self.schema.keys_of(table) for c in key.columns}
        return [
            column.name
            for column in spec.columns
            if column.kind in ("integer", "real") and column.name not in keys and column.name not in cells
        ]

    def partial_rows(self) -> tuple[PartialRow, ...] | None:
        """The rows with values where conditions ask for some; None when no value meets all conditions of a column."""
        self._compute()
        values: dict[int, Cell] = {}
        for unknown, tests in self._tests.items():
            met, values[unknown] = choose(tests, self.spec(unknown), self._observed(unknown), self.rng)
            if not met:
                return None
        for left, right in self._smaller:
            self._order(self.root(left), self.root(right), values)
        for left, right in self._differ:
            if self.root(left) == self.root(right):
                return None
        counts: dict[int, int] = {}
        for _, cells in self.rows:
            for unknown in cells.values():
                counts[self.root(unknown)] = counts.get(self.root(unknown), 0) + 1
        alone = {self.root(unknown) for unknown in self._alone}
        rows = []
        for table, cells in self.rows:
            known_cells: dict[str, Cell | Unknown] = {}
            for column, unknown in cells.items():
                root = self.root(unknown)
                if root in values:
                    known_cells[column] = values[root]
                elif counts[root] > 1 or root in alone:
                    known_cells[column] = Unknown(root, root in alone)
            rows.append(PartialRow(table, known_cells))
        return tuple(rows)

    def _compute(self) -> None:
        """Give columns values by which what is computed from them passes its tests; where none are found, the tests ask
        for nothing."""
        tests: dict[Term, list[Test]] = {}
        for term, test in self._computed:
            tests.setdefault(renamed(term, self.root), []).append(test)
        for term, asked in tests.items():
            for unknown, value in (solve(term, asked, self, self.rng) or {}).items():
                self.give(unknown, value)

    def _order(self, left: int, right: int, values: dict[int, Cell]) -> None:
        """Values for two columns, one below the other."""
        spec = self.spec(left)
        if left not in values and right not in values:
            known = self._observed(left)
            values[left] = self.rng.choice(known) if known else fit(1, spec)
        if left not in values:
            lower = below(values[right], spec)
            if lower:
                values[left] = fit(lower[0], spec)
        elif right not in values:
            upper = above(values[left], self.spec(right))
            if upper:
                values[right] = fit(upper[0], self.spec(right))

    def spec(self, unknown: int) -> ColumnSpec:
        """The column of the unknown that stands for all that are equal to this one."""
        table, column = self._places[self.root(unknown)]
        return self.schema.by_name[table].by_name[column]

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
        for source in scope.sources:
            self._source(source, frame, missed, depth)
        for join in node.args.get("joins") or ():
            if join.args.get("on") is not None:
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
        binding = self.found.binding(node)
        if binding is None:
            return None
        if binding.kind == "alias" and binding.expression is not None and binding.expression is not node:
            return self.unknown_of(binding.expression, frame)
        return self.column(binding.source, binding.name, frame) if binding.source is not None else None

    def term_of(self, node: exp.Expr, frame: Frame | None) -> Term | None:
        """The number that an expression computes from unknowns; None if it is more than arithmetic, or less."""
        return read(node, lambda inner: self._leaf(inner, frame))

    def _leaf(self, node: exp.Expr, frame: Frame | None) -> Term | None:
        column, view = view_of(node)
        binding = self.found.binding(column)
        if binding is None or frame is None:
            return None
        if binding.kind == "alias" and binding.expression is not None and binding.expression is not node:
            return self.term_of(binding.expression, frame)
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

    def impose(self, node: exp.Expr, wanted: bool, frame: Frame, missed: Missed, depth: int = 0) -> None:
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
        operator = _COMPARED[type(node)]
        if isinstance(node, (exp.NEQ, exp.NullSafeNEQ)):
            wanted = not wanted
        left, right = node.this, node.expression
        if isinstance(left.unnest(), (exp.Query, exp.Literal)) or self.constant(left)[0]:
            left, right = right, left
            operator = _MIRRORED.get(operator, operator)
        known, value = self.constant(right)
        if known:
            self._test(left, frame, operator, [value], wanted)
            return
        mine = self.unknown_of(left, frame)
        query = right if isinstance(right, exp.Query) else None
        if query is not None:
            known, number = self.constant(left)
            if known and isinstance(number, int) and _counts(query):
                self._counted(number, operator, query, wanted, frame, missed, depth)
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
                self._differ.append((mine, other))
        else:
            self._below(mine, other, operator, wanted)

    def _below(self, mine: int, other: int, operator: Operator, wanted: bool) -> None:
        """One unknown below another, or just equal where the comparison allows or refuses that."""
        if (operator in ("<=", ">=")) == wanted and self.rng.random() < 0.5:
            self.equate(mine, other)
        elif (operator in ("<", "<=")) == wanted:
            self._smaller.append((mine, other))
        else:
            self._smaller.append((other, mine))

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

    def _counted(
        self,
        number: int,
        operator: Operator,
        query: exp.Query,
        wanted: bool,
        frame: Frame,
        missed: Missed,
        depth: int,
    ) -> None:
        """A number compared with how many rows a subquery finds: so many that it is met, or just missed."""
        test = Test(_MIRRORED.get(operator, operator), (number,), wanted)
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
            numbers = [value for value in values if isinstance(value, int | float)]
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


def literal(node: exp.Literal) -> Cell:
    """The value that a literal writes."""
    if node.is_string:
        return str(node.this)
    text = str(node.this)
    try:
        return int(text)
    except ValueError:
        return float(text)

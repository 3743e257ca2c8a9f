"""Decompose an intent into ordered, named, executable sub-steps (AGRO-SQL, arXiv 2512.23366: SQL decomposition).

Every step runs by itself: what it builds on stands in it as a CTE. The last step is the intent's own SQL.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from agro_data.databases.quoting import folded
from agro_data.intent.rename import transform
from agro_data.intent.rendering.names import pick_style
from agro_data.intent.rendering.to_sql import render_query, render_sql
from agro_data.intent.steps.words import StepWords
from agro_data.intent.tree import (
    Case,
    Column,
    Cte,
    Exists,
    Expression,
    InQuery,
    Intent,
    Output,
    Predicate,
    Query,
    Scalar,
    SetOperation,
    Source,
    Window,
    conjunction,
    conjuncts,
    walk,
)
from agro_data.profiling.profile import DatabaseProfile
from agro_data.words import capital

MOST = 5


@dataclass(frozen=True)
class Step:
    """One step. `inputs` are names of earlier steps; `columns` are the `table.column` it reads, sorted."""

    name: str
    intent: str
    sql: str
    inputs: tuple[str, ...]
    columns: tuple[str, ...]


class StepNames:
    """Gives steps names in snake case that neither a table nor another step has."""

    def __init__(self, tables: Iterable[str]) -> None:
        self._taken = {folded(table) for table in tables}

    def new(self, wanted: str) -> str:
        plain = "".join(c if c.isascii() and c.isalnum() else "_" for c in wanted.lower()).strip("_") or "rows"
        plain = plain if not plain[0].isdigit() else f"step_{plain}"
        name, number = plain, 2
        while name in self._taken:
            name, number = f"{plain}_{number}", number + 1
        self._taken.add(name)
        return name


def not_read(steps: Sequence[Step]) -> tuple[str, ...]:
    """The names of the steps that no other step reads, so that the answer does."""
    read = {name for step in steps for name in step.inputs}
    return tuple(step.name for step in steps if step.name not in read)


def decompose(intent: Intent, profile: DatabaseProfile) -> tuple[Step, ...]:
    """One to five steps that lead to `intent`; the last step's `sql` equals `render_sql(intent, profile)`."""
    work = _Decomposition(intent, profile)
    if isinstance(intent.query, SetOperation):
        work.sides(intent.query)
    else:
        work.parts(intent.query)
    return work.finish()


class _Decomposition:
    def __init__(self, intent: Intent, profile: DatabaseProfile) -> None:
        self.intent = intent
        self.profile = profile
        self.words = StepWords(intent.query, profile)
        self.names = StepNames(table.name for table in profile.tables)
        self.steps: list[Step] = []
        self.filtered = False  # a step's line says the whole condition

    def add(self, name: str, line: str, query: Query, inputs: Sequence[str] = ()) -> str:
        if len(self.steps) == MOST - 1:
            return ""
        sql = render_query(query, self.profile, style=pick_style(self.intent.seed))
        self.steps.append(Step(name, line, sql, tuple(inputs), self._columns(query)))
        return name

    def _columns(self, query: Query | SetOperation) -> tuple[str, ...]:
        tables = {n.alias: n.table for n in walk(query) if isinstance(n, Source)}
        used = {(tables[n.source], n.name) for n in walk(query) if isinstance(n, Column) and n.source in tables}
        return tuple(sorted(f"{t}.{c}" for t, c in used if t in self.profile.by_name))

    def finish(self) -> tuple[Step, ...]:
        inputs = not_read(self.steps)
        sql = render_sql(self.intent, self.profile)
        line = self._last_line()
        self.steps.append(Step(self.names.new("answer"), line, sql, inputs, self._columns(self.intent.query)))
        return tuple(self.steps)

    def sides(self, operation: SetOperation) -> None:
        for word, side in (("first", operation.left), ("second", operation.right)):
            self.add(self.names.new(f"{word}_list"), f"{capital(word)} list: {self._listing(side)}.", side)

    def parts(self, query: Query) -> None:
        for cte in query.ctes:
            shown = tuple(o.expression for o in cte.query.select)
            line = self._each(cte.query.group_by, tuple(e for e in shown if e not in cte.query.group_by))
            self.add(cte.name, f"{line}{self._where(cte.query.where)}.", cte.query)
        if query.ctes:
            return
        inputs = self._nested(query)
        joined = self._joined(query)
        grouped = bool(query.group_by) and (query.having is not None or query.limit is not None or query.order_by)
        if grouped:
            self._groups(query, joined, inputs)
        elif query.keep is not None or any(isinstance(n, Window) for n in walk(query.select)):
            self._windowed(query, joined)

    def _nested(self, query: Query) -> list[str]:
        """A step for each subquery that stands alone, and one for what EXISTS looks for."""
        found: list[str] = []
        for node in walk((query.where, query.having)):
            if isinstance(node, Scalar) and node.alone:
                what = self.words.expression(node.query.select[0].expression)
                line = f"Find the {what}{self._where(node.query.where)}."
                found.append(self.add(self.names.new(what), line, node.query))
            elif isinstance(node, InQuery):
                line = f"{capital(self._listing(node.query))}."
                found.append(self.add(self.names.new("related_rows"), line, node.query))
            elif isinstance(node, Exists):
                inner = replace(node.query, select=tuple(Output(b) for _, b in node.link), distinct=True)
                rows = self.words.rows(inner.subject)
                line = f"Find what the {rows}{self._where(inner.where)} refer to."
                found.append(self.add(self.names.new(f"linked_{rows}"), line, inner))
        return [name for name in found if name]

    def _joined(self, query: Query) -> tuple[str, Query, dict[Column, str]] | None:
        """The joined and filtered rows, with every column that later parts need, each under a name of its own."""
        later = (query.select, query.group_by, query.having, query.order_by, query.keep)
        if not query.joins or not (query.group_by or query.limit or query.keep or query.where or _aggregates(query)):
            return None
        own = {s.alias for s in query.sources}
        needed = list(dict.fromkeys(n for n in walk(later) if isinstance(n, Column) and n.source in own))
        if not needed:
            needed = [Column(query.joins[0].left, query.joins[0].columns[0][0])]
        names: dict[Column, str] = {}
        for column in needed:
            name, number = column.name, 2
            while name.lower() in {n.lower() for n in names.values()}:
                name, number = f"{column.name}_{number}", number + 1
            names[column] = name
        where = _without_subqueries(query.where)
        body = Query(query.sources, tuple(Output(c, n) for c, n in names.items()), query.joins, where)
        rows = " and ".join(self.words.rows(s) for s in query.sources)
        test = f", keeping those where {self.words.predicate(where)}" if where is not None else ""
        name = self.names.new(f"joined_{self.words.rows(query.subject)}")
        added = self.add(name, f"Match the {rows}{test}.", body)
        if where != query.where:
            return None
        self.filtered = bool(added)
        return name, body, names

    def _groups(self, query: Query, joined: tuple[str, Query, dict[Column, str]] | None, inputs: Sequence[str]) -> None:
        figures = [n for part in (query.having, query.order_by) for n in walk(part) if _is_figure(n)]
        shown = [*query.group_by, *(o.expression for o in query.select), *figures]
        kept = tuple(dict.fromkeys(e for e in shown if isinstance(e, Column) or e in query.group_by or _is_figure(e)))
        outputs = tuple(Output(e) for e in kept)
        line = self._each(query.group_by, tuple(e for e in kept if e not in query.group_by))
        line += "." if joined else f"{self._where(query.where)}."
        body = replace(query, select=outputs, having=None, order_by=(), limit=None, distinct=False, keep=None)
        self._on_top(self.names.new(f"grouped_{self.words.rows(query.subject)}"), line, body, joined, inputs)

    def _windowed(self, query: Query, joined: tuple[str, Query, dict[Column, str]] | None) -> None:
        keep = query.keep
        if keep is None:
            return
        rank = Window("rank" if keep.ties else "row_number", None, keep.partition, keep.order)
        select = (*query.select, Output(rank, "position_in_group"))
        keys = self.words.listed(keep.partition)
        rows = f"{self.words.rows(query.subject)}{'' if joined else self._where(query.where)}"
        line = f"Rank the {rows} within each {keys}, {self.words.ordered(keep.order)}."
        body = replace(query, select=select, keep=None, order_by=())
        self._on_top(self.names.new("ranked_rows"), line, body, joined, ())

    def _on_top(
        self,
        name: str,
        line: str,
        body: Query,
        joined: tuple[str, Query, dict[Column, str]] | None,
        inputs: Sequence[str],
    ) -> None:
        """Add a step that reads from the joined rows where there are any, else from the tables: then its line says
        which rows."""
        if joined is None:
            self.filtered = bool(self.add(name, line, body, inputs))
            return
        base, query, names = joined
        moved = transform(body, lambda n: Column("base", names[n]) if isinstance(n, Column) and n in names else n)
        over = replace(moved, sources=(Source("base", base),), joins=(), where=None, ctes=(Cte(base, query),))
        self.add(name, line, over, (base, *inputs))

    def _listing(self, query: Query) -> str:
        shown = self.words.listed(tuple(o.expression for o in query.select))
        return f"find the {shown} of {self.words.rows(query.subject)}{self._where(query.where)}"

    def _each(self, keys: tuple[Expression, ...], values: tuple[Expression, ...]) -> str:
        if not keys:
            return f"Find the {self.words.listed(values)}"
        each = self.words.listed(keys)
        return f"For each {each}, find the {self.words.listed(values)}" if values else f"List each {each}"

    def _where(self, where: Predicate | None) -> str:
        return "" if where is None else f" where {self.words.predicate(where)}"

    def _last_line(self) -> str:
        query = self.intent.query
        if isinstance(query, SetOperation):
            return {
                "union": "Put both lists together, each value once.",
                "union_all": "Put both lists together.",
                "intersect": "Keep what is in both lists.",
                "except": "Keep what is in the first list but not in the second.",
            }[query.operator]
        shown = self.words.listed(tuple(o.expression for o in query.select))
        line = f"Give the {'different ' if query.distinct else ''}{shown}"
        if query.having is not None:
            line += f" of the groups where {self.words.predicate(query.having)}"
        test = "" if self.filtered else self._where(query.where)
        line += f", of those{test}" if test and " where " in line else test
        if query.group_by and query.having is None and not query.order_by:
            line += f" for each {self.words.listed(query.group_by)}"
        if query.order_by:
            line += f", {self.words.ordered(query.order_by)}"
        if query.limit is not None:
            line += ", and keep only the first" if query.limit == 1 else f", and keep the first {query.limit}"
        if query.keep is not None:
            line += (
                " of the first in each group" if query.keep.k == 1 else f" of the first {query.keep.k} in each group"
            )
        cases = dict.fromkeys(n for n in walk((query.select, query.group_by)) if isinstance(n, Case))
        return f"{'; '.join([line, *map(self.words.bands, cases)])}."


def _without_subqueries(where: Predicate | None) -> Predicate | None:
    return conjunction(
        [p for p in conjuncts(where) if not any(isinstance(n, Scalar | InQuery | Exists) for n in walk(p))]
    )


def _is_figure(node: Any) -> bool:
    return type(node).__name__ in ("Aggregate", "Share", "MetricCall")


def _aggregates(query: Query) -> bool:
    return any(_is_figure(n) for n in walk(query.select))

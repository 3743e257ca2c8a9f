"""What a date function is given: something of the data, or a text put together so that it reads the clock.

SQLite takes any text for a time, and 'now' is one. Whoever wants the clock may hide the word behind the name of a CTE,
or make it of its letters: a name is followed to what it is made of, and a text comes from a table, or is written out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from sqlglot import exp

from agro_data.databases.quoting import folded
from agro_data.sql.scope import Binding, Resolution, Source, local_nodes, value_of

CLOCKS = frozenset({"date", "time", "datetime", "julianday", "unixepoch", "strftime", "timediff"})  # of SQLite
# No text of letters comes of these, whatever they are given.
_NUMBERS = (
    exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.Count, exp.Length, exp.Round, exp.RowNumber, exp.Null, exp.Boolean,
)  # fmt: skip
_FROM_NUMBERS = frozenset({"char", "chr", "unhex"})  # functions that make any text of numbers
_NO_WORD = re.compile(r"[\d\s:.TZ+-]*")  # the texts of dates and of numbers


def is_date_function(node: exp.Expr) -> bool:
    """Whether sqlglot or its name says that a function is one of dates."""
    if isinstance(node, exp.Anonymous):
        return node.name.lower() in CLOCKS
    name = type(node).__name__
    return any(word in name for word in ("Date", "Time", "Day", "Ts", "Unix"))


def is_of_data(node: exp.Expr, names: Resolution) -> bool:
    """Whether an argument of a date function comes from a table, or is written out as one literal."""
    return _Way(names).is_of_data(node, inside=False)


def reached(node: exp.Expr, names: Resolution) -> Iterator[exp.Expr]:
    """All nodes of an expression, and of what its names are made of."""
    return _Way(names).reached(node)


@dataclass
class _Way:
    """One walk. It goes through each output of a query once, since the outputs of recursive queries lead back to
    themselves.

    `inside` is told of what is in a function that can make another text of it.
    """

    names: Resolution
    seen: set[tuple[int, str, bool]] = field(default_factory=set)

    def reached(self, node: exp.Expr) -> Iterator[exp.Expr]:
        for inner in node.walk():
            yield inner
            binding = self.names.binding(inner)
            for origin in self._origins(binding, False) if binding is not None else ():
                if origin is not None:
                    yield from self.reached(origin)

    def is_of_data(self, node: exp.Expr, *, inside: bool) -> bool:
        node = node.unnest()
        value = value_of(node, self.names)
        if value is not None:
            return not inside or not value.is_string or _NO_WORD.fullmatch(value.name) is not None
        if isinstance(node, _NUMBERS) or is_date_function(node):  # another date function is judged by itself
            return True
        if isinstance(node, exp.Column):
            binding = self.names.binding(node)
            if binding is None:
                return True  # no such column, which is said elsewhere
            origins = self._origins(binding, inside)
            return all(origin is None or self.is_of_data(origin, inside=inside) for origin in origins)
        if isinstance(node, exp.Query):
            firsts = [select.expressions[0].unalias() for select in _selects(node)]
            return all(self.is_of_data(first, inside=inside) for first in firsts)
        if isinstance(node, exp.Case):
            held = [*(one.args["true"] for one in node.args["ifs"]), node.args.get("default")]
            return all(self.is_of_data(one, inside=inside) for one in held if one is not None)
        if isinstance(node, (exp.Cast, exp.Coalesce)):
            return all(self.is_of_data(one, inside=inside) for one in [node.this, *node.expressions])
        if isinstance(node, exp.Chr) or node.name.lower() in _FROM_NUMBERS:
            return False
        joined = node.find_all(exp.DPipe, exp.Concat)
        if any(not one.find(exp.Column) for one in joined):  # 'n' || 'ow'
            return False
        used = [one for one in local_nodes(node) if isinstance(one, (exp.Column, exp.Query))]
        return bool(used) and all(self.is_of_data(one, inside=True) for one in used)

    def _origins(self, binding: Binding, inside: bool) -> Iterator[exp.Expr | None]:
        """What a name is made of, for each SELECT of a set operation; None stands for a column of a table."""
        if binding.expression is not None:
            if self._is_new(binding.expression, "", inside):
                yield binding.expression
        elif binding.source is not None:
            yield from self._of_source(binding.source, binding.name, inside)

    def _of_source(self, source: Source, name: str, inside: bool) -> Iterator[exp.Expr | None]:
        if source.table:
            yield None
        elif source.query is not None:
            place = list(source.query.outputs).index(name)
            for select in _selects(source.query.query):
                if self._is_new(select, name, inside):
                    yield from self._output(select, place, inside)
        elif isinstance(source.node, exp.Values):
            place = list(source.columns).index(name)
            yield from (row.expressions[place] for row in source.node.expressions if self._is_new(row, name, inside))
        elif self._is_new(source.node, name, inside):
            yield from source.node.expressions

    def _output(self, select: exp.Select, place: int, inside: bool) -> Iterator[exp.Expr | None]:
        """The output of a SELECT at `place`; what a star lists is counted as `scope` counts it."""
        for item in select.expressions:
            if not (isinstance(item, exp.Star) or (isinstance(item, exp.Column) and isinstance(item.this, exp.Star))):
                if place == 0:
                    yield item.unalias()
                    return
                place -= 1
                continue
            qualifier = folded(item.table) if isinstance(item, exp.Column) else ""
            for source in self.names.scope_of(select).sources:
                if qualifier in ("", source.alias):
                    if place < len(source.columns):
                        yield from self._of_source(source, list(source.columns)[place], inside)
                        return
                    place -= len(source.columns)
        raise LookupError(f"a SELECT gives no column {place + 1} more")

    def _is_new(self, node: exp.Expr, name: str, inside: bool) -> bool:
        key = (id(node), name, inside)
        new = key not in self.seen
        self.seen.add(key)
        return new


def _selects(query: exp.Expr) -> Iterator[exp.Select]:
    """The SELECTs whose rows a query gives: all sides of a set operation, without brackets."""
    if isinstance(query, exp.Select):
        yield query
    elif isinstance(query, exp.SetOperation):
        yield from _selects(query.this)
        yield from _selects(query.expression)
    elif isinstance(query, exp.Subquery):
        yield from _selects(query.this)

"""What a date function is given: something of the data, or a text put together so that it reads the clock.

SQLite takes any text for a time, and 'now' is one. Whoever wants the clock may hide the word behind the name of a CTE,
or make it of its letters: a name is followed to what it is made of, and a text comes from a table, or is written out.
A function that may cut and join its texts is given none with letters that the query has written. What a table holds is
not judged: a column may say 'now'.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from sqlglot import exp

from agro_data.sql.names.from_items import rows_of_json
from agro_data.sql.names.lineage import outputs_at
from agro_data.sql.names.resolution import Binding, Resolution, Source, value_of

CLOCKS = frozenset({"date", "time", "datetime", "julianday", "unixepoch", "strftime", "timediff"})  # of SQLite
WORDS = ("now", "subsec", "subsecond", "localtime", "utc")  # that read it, or the zone of the machine
# What gives a number whatever it is given, or nothing.
_NUMBERS = (
    exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.Neg, exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseNot,
    exp.BitwiseLeftShift, exp.BitwiseRightShift, exp.Predicate, exp.Connector, exp.Not, exp.Count, exp.Sum, exp.Avg,
    exp.Abs, exp.Round, exp.Length, exp.StrPosition, exp.RowNumber, exp.Null, exp.Boolean,
)  # fmt: skip
# What makes letters of anything, of which words are put together. To the clock a text ends at char(0).
_LETTERS = (exp.Chr, exp.Unhex, exp.Hex, exp.LowerHex, exp.Typeof, exp.JSONType)
_LETTERS_NAMES = frozenset({"quote", "unistr"})
# Arguments that are looked for, taken away or asked, and of which nothing is in the value.
_NOT_IN_VALUE: dict[type[exp.Expr], tuple[str, ...]] = {
    exp.Replace: ("expression",), exp.Trim: ("expression",), exp.Nullif: ("expression",), exp.If: ("this",),
    exp.JSONExtract: ("expression", "expressions"), exp.JSONExtractScalar: ("expression", "expressions"),
    exp.Window: ("partition_by", "order", "spec"), exp.Filter: ("expression",), exp.Collate: ("expression",),
    exp.Cast: ("to",),
}  # fmt: skip
_WHOLE = (exp.Cast, exp.Coalesce, exp.If, exp.Nullif, exp.Collate)  # what gives a text as it is, or none
_NO_WORD = re.compile(r'[\d\s:./,_TZ+"{}\[\]-]*')  # of dates, of numbers, between them, and around them in JSON
_FORMATTING = frozenset({"printf", "format", "strftime"})
_CONVERSION = re.compile(r"%[-+ #0-9.!,]*[a-zA-Z%]")  # in a format of strftime
_PRINTED = re.compile(r"%[-+ 0,]*\d*(?:\.\d+)?(?:l{0,2}[diu]|[sf%])")  # of printf: no other is read as it is written


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
    """The nodes of an expression of which something may be in its value, and of what its names are made of."""
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
        yield node
        binding = self.names.binding(node)
        for origin in self._origins(binding, False) if binding is not None else ():
            if origin is not None:
                yield from self.reached(origin)
        for child in _in_value(node):
            yield from self.reached(child)

    def is_of_data(self, node: exp.Expr, *, inside: bool) -> bool:
        node = node.unnest()
        value = value_of(node, self.names)
        if value is not None:
            return not inside or not value.is_string or _NO_WORD.fullmatch(value.name) is not None
        if _is_number(node):
            return True
        if isinstance(node, exp.TimeToStr) or _name(node) in _FORMATTING:
            return self._is_formatted(node, inside=inside)
        if is_date_function(node):  # it is judged by itself, and gives a date or a number
            return True
        if isinstance(node, _LETTERS) or _name(node) in _LETTERS_NAMES:
            return False
        return all(part is None or self.is_of_data(part, inside=deep) for part, deep in self._parts(node, inside))

    def _parts(self, node: exp.Expr, inside: bool) -> Iterator[tuple[exp.Expr | None, bool]]:
        """What a value is made of, each with whether that is inside a function; None stands for a column of a table."""
        if isinstance(node, exp.Column):
            binding = self.names.binding(node)
            if binding is not None:  # else there is no such column, which is said elsewhere
                yield from ((origin, inside) for origin in self._origins(binding, inside))
        elif isinstance(node, exp.Query):
            for select, place in outputs_at(self.names, node, 0):
                yield from ((origin, inside) for origin in self._output(select, place, inside))
        elif isinstance(node, exp.Case):
            results = [*(branch.args["true"] for branch in node.args["ifs"]), node.args.get("default")]
            yield from ((result, inside) for result in results if result is not None)
        elif isinstance(node, exp.DPipe) and not inside and any(map(self._is_no_part, node.flatten())):
            yield from ((part, False) for part in node.flatten())
        else:
            yield from ((child, inside or not isinstance(node, _WHOLE)) for child in _in_value(node))

    def _is_no_part(self, node: exp.Expr) -> bool:
        """Whether a text that is written out is in none of the words: what holds it whole is none of them either."""
        value = value_of(node.unnest(), self.names)
        return value is not None and _in_no_word(value.name)

    def _is_formatted(self, node: exp.Expr, *, inside: bool) -> bool:
        """The same of printf and strftime, in whose value the format is, but for its conversions."""
        format_, *given = [node.args["format"]] if isinstance(node, exp.TimeToStr) else node.iter_expressions()
        dates = isinstance(node, exp.TimeToStr) or _name(node) == "strftime"
        if dates:
            given = []  # of which nothing but numbers is in the value
        value = value_of(format_, self.names)
        if value is None:
            return all(self.is_of_data(one, inside=True) for one in (format_, *given))
        fixed = (_CONVERSION if dates else _PRINTED).split(value.name)
        if not dates and "%" in "".join(fixed):
            return False
        if not inside and (any(map(_in_no_word, fixed)) or (dates and len(fixed) > 1)):
            return all(self.is_of_data(one, inside=False) for one in given)
        letters = _NO_WORD.fullmatch("".join(fixed)) is None
        return not letters and all(self.is_of_data(one, inside=True) for one in given)

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
            for select, place in outputs_at(self.names, source.query.query, list(source.query.outputs).index(name)):
                if self._is_new(select, name, inside):
                    yield from self._output(select, place, inside)
        elif isinstance(source.node, exp.Values):
            place = list(source.columns).index(name)
            yield from (row.expressions[place] for row in source.node.expressions if self._is_new(row, name, inside))
        elif self._is_new(source.node, name, inside):
            if rows_of_json(source.node):
                yield exp.JSONType() if name == "type" else source.node.this
            else:
                yield from source.node.expressions

    def _output(self, select: exp.Select, place: int, inside: bool) -> Iterator[exp.Expr | None]:
        """The output of a SELECT at `place`."""
        origin = self.names.scope_of(select).origins[place]
        if isinstance(origin, tuple):
            yield from self._of_source(*origin, inside)
        else:
            yield origin

    def _is_new(self, node: exp.Expr, name: str, inside: bool) -> bool:
        key = (id(node), name, inside)
        new = key not in self.seen
        self.seen.add(key)
        return new


def _in_value(node: exp.Expr) -> Iterator[exp.Expr]:
    """The parts of an expression of which something may be in its value."""
    left_out = _NOT_IN_VALUE.get(type(node), ())
    return (child for child in node.iter_expressions() if child.arg_key not in left_out)


def _name(node: exp.Expr) -> str:
    return node.name.lower() if isinstance(node, exp.Anonymous) else node.key


def _is_number(node: exp.Expr) -> bool:
    """Whether an expression gives a number, or nothing, of whatever it is made."""
    if not isinstance(node, exp.Cast):
        return isinstance(node, _NUMBERS)
    return node.to.is_type(*exp.DataType.NUMERIC_TYPES) or node.to.sql().upper() == "NUMERIC"


def _in_no_word(text: str) -> bool:
    return not any(text.strip().lower() in word for word in WORDS)

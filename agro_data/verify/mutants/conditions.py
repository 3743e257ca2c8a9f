"""Mistakes in conditions: dropped, negated, weakened, shifted, joined by the wrong word."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date, timedelta

from sqlglot import exp

from agro_data.populate.instances.values.near import finer
from agro_data.populate.schema import kind_of
from agro_data.profiling.columns.statistics import UUID_FORM
from agro_data.sql.conditions import conditions, joined, leaves, links
from agro_data.sql.constructs import is_aggregate
from agro_data.sql.names.resolution import Scope
from agro_data.sql.walks import local_nodes
from agro_data.verify.edits import Change, narrowed, swap
from agro_data.verify.mutants.columns import unnamed_with_nulls
from agro_data.verify.mutants.edit import Edit, Place

_OTHERS: dict[type[exp.Expr], tuple[type[exp.Expr], ...]] = {
    exp.GT: (exp.GTE, exp.LT, exp.NEQ),
    exp.GTE: (exp.GT, exp.LTE, exp.EQ),
    exp.LT: (exp.LTE, exp.GT, exp.NEQ),
    exp.LTE: (exp.LT, exp.GTE, exp.EQ),
    exp.EQ: (exp.NEQ, exp.GTE, exp.LTE),
    exp.NEQ: (exp.EQ, exp.GT, exp.LT),
}
_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)([ T]\d\d:\d\d(?::\d\d(?:\.\d+)?)?)?")
_CLOCK = re.compile(r"(\d\d):(\d\d)(:\d\d(?:\.\d+)?)?")


def of_conditions(place: Place, scope: Scope) -> Iterator[Edit]:
    """Edits of every condition of one SELECT (not of its subqueries, which are SELECTs of their own)."""
    for clause, holder, slot, condition in conditions(scope):
        label = place.label(clause, scope)
        parts = list(leaves(condition))
        plain = [part for part in parts if not links(place.found, part, scope)]
        kept = {id(part) for part in plain}
        if len(parts) == 1 and plain and clause != "ON":
            yield Edit("condition_dropped", label, condition, "dropped", (_emptied(scope, clause),), weight=0)
        yield from _connectives(condition, label, kept)
        for part in plain:
            yield from _of_predicate(place, part, label)
        if clause == "WHERE" and len(plain) == len(parts) == 1:
            yield from _null_too(place, plain[0], label)
        if clause == "HAVING":
            yield from _having_to_where(place, scope, holder, slot, condition)
    yield from _known_only(place, scope)


def _emptied(scope: Scope, clause: str) -> Change:
    return Change(scope.select, clause.lower(), None)


def _connectives(condition: exp.Expr, label: str, plain: set[int]) -> Iterator[Edit]:
    """One side of an AND or OR dropped, and the word exchanged. Links between sources stay."""
    for node in local_nodes(condition):
        if not isinstance(node, (exp.And, exp.Or)):
            continue
        sides = (node.this, node.expression)
        free = [all(id(leaf) in plain for leaf in leaves(side)) for side in sides]
        for side, other, removable in ((sides[0], sides[1], free[0]), (sides[1], sides[0], free[1])):
            if removable:
                yield Edit("condition_dropped", label, side, "dropped", (swap(node, other.copy()),), weight=0)
        if all(free):
            other_word = exp.Or if isinstance(node, exp.And) else exp.And
            wrapped = [exp.paren(side) if isinstance(side, exp.Connector) else side.copy() for side in sides]
            new: exp.Expr = other_word(this=wrapped[0], expression=wrapped[1])
            if isinstance(node.parent, (exp.Connector, exp.Not)):
                new = exp.Paren(this=new)
            yield Edit("connective", label, node, new, (swap(node, new),), weight=0)


def _of_predicate(place: Place, part: exp.Expr, label: str) -> Iterator[Edit]:
    bare = part.unnest()
    negated = isinstance(bare, exp.Not)
    core = bare.this.unnest() if negated else bare
    if isinstance(core, exp.Binary) and type(core) in _OTHERS and not negated:
        yield from _comparisons(core, label)
    else:
        yield from _negated(bare, core, negated, label)
    if isinstance(core, exp.Between):
        yield from _between(core, bare, negated, label)
    elif isinstance(core, exp.Like):
        yield from _pattern(core, label)
    elif isinstance(core, exp.In):
        for item in core.expressions if len(core.expressions) > 1 else ():
            rest = [other.copy() for other in core.expressions if other is not item]
            yield Edit("list", label, item, "not in the list", (Change(core, "expressions", rest),))
    for node in local_nodes(core):
        is_number = isinstance(node, exp.Literal) and not node.is_string
        if node.arg_key == "format":
            continue  # of a date: nobody mistakes '%Y' for '%y'
        if (_is_text(place, node) or is_number) and not isinstance(core, exp.Like):
            yield from _literal(place, node, label)


def _comparisons(core: exp.Binary, label: str) -> Iterator[Edit]:
    sides = (core.left, core.right)
    many = core.right
    if isinstance(many, (exp.Any, exp.All)):
        other = (exp.All if isinstance(many, exp.Any) else exp.Any)(this=many.this.copy())
        yield Edit("comparison", label, many, other, (swap(many, other),), weight=0)
    text = any(isinstance(side, exp.Literal) and side.is_string for side in sides)
    text = text or any(isinstance(side, exp.Column) and side.this.args.get("quoted") for side in sides)
    unordered = text or any(isinstance(side, exp.Boolean) for side in sides)
    for number, kind in enumerate(_OTHERS[type(core)]):
        if number and unordered and isinstance(core, (exp.EQ, exp.NEQ)):
            continue  # an order of names, or of true and false, is no likely mistake
        new = kind(this=core.left.copy(), expression=core.right.copy())
        yield Edit("comparison", label, core, new, (swap(core, new),), weight=number)
    whole = isinstance(core.left, (exp.Column, exp.Lower, exp.Upper))  # nobody asks what a part of a text contains
    if text and whole and isinstance(core, exp.EQ) and isinstance(core.right, exp.Literal):
        pattern = exp.Literal.string(f"%{core.right.this}%")
        new = exp.Like(this=core.left.copy(), expression=pattern)
        yield Edit("pattern", label, core, new, (swap(core, new),))


def _negated(bare: exp.Expr, core: exp.Expr, negated: bool, label: str) -> Iterator[Edit]:
    if isinstance(core, exp.Like):
        new: exp.Expr = core.copy()
        new.set("negate", None if core.args.get("negate") else True)
        yield Edit("negation", label, core, new, (swap(core, new),))
    elif negated:
        yield Edit("negation", label, bare, core, (swap(bare, core.copy()),))
    elif isinstance(core, (exp.Predicate, exp.SubqueryPredicate)):
        new = exp.Not(this=core.copy())
        yield Edit("negation", label, core, new, (swap(bare, new),))


def _between(core: exp.Between, bare: exp.Expr, negated: bool, label: str) -> Iterator[Edit]:
    subject, low, high = core.this, core.args["low"], core.args["high"]

    def bounds(lower: type[exp.Binary] | None, upper: type[exp.Binary] | None) -> exp.Expr:
        parts = [
            kind(this=subject.copy(), expression=bound.copy())
            for kind, bound in ((lower, low), (upper, high))
            if kind is not None
        ]
        return exp.Paren(this=joined(parts))

    for lower, upper in ((exp.GT, exp.LTE), (exp.GTE, exp.LT), (exp.GTE, None), (None, exp.LTE)):
        new = bounds(lower, upper)
        yield Edit("boundary", label, core, new.this, (swap(core, new),), weight=0 if lower and upper else 1)


def _pattern(core: exp.Like, label: str) -> Iterator[Edit]:
    pattern = core.expression
    if not isinstance(pattern, exp.Literal) or not pattern.is_string:
        return
    text = str(pattern.this)
    start, end = text.startswith("%"), text.endswith("%") and len(text) > 1
    body = text[1 if start else 0 : -1 if end else None]
    others = {f"%{body}", f"{body}%", f"%{body}%", body} - {text}
    for other in sorted(others, key=lambda value: (abs(len(value) - len(text)), value)):
        yield Edit("pattern", label, core, f"LIKE '{other}'", (swap(pattern, exp.Literal.string(other)),))


def _literal(place: Place, node: exp.Expr, label: str) -> Iterator[Edit]:
    """A number a step beside, a day, a minute or the next UUID, a text in other case."""
    others: Sequence[exp.Expr]
    if isinstance(node, exp.Literal) and not node.is_string:
        others = [exp.Literal.number(value) for value in (*_steps(str(node.this)), *_between_steps(place, node))]
        if isinstance(node.parent, exp.Neg):
            return
    elif isinstance(node.parent, exp.Interval):  # DuckDB's, whose number is kept as a text
        others = [exp.Literal.string(value) for value in _steps(str(node.this))]
    elif isinstance(node, exp.Literal) and (near := _typed(str(node.this))) is not None:
        others = [exp.Literal.string(value) for value in near]
    else:
        text = str(node.this if isinstance(node, exp.Literal) else node.name)
        cases = [text.upper(), text.lower(), text.capitalize()]
        plural = text[:-1] if text.endswith("s") and len(text) > 1 else text + "s"
        others = [exp.Literal.string(value) for value in (*[v for v in dict.fromkeys(cases) if v != text][:2], plural)]
    for weight, other in enumerate(others):
        yield Edit("literal", label, node, other, (swap(node, other),), weight=weight)


def _is_text(place: Place, node: exp.Expr) -> bool:
    if isinstance(node, exp.Literal):
        return bool(node.is_string)
    binding = place.found.binding(node) if isinstance(node, exp.Column) else None
    return binding is not None and binding.kind == "string"


def _steps(number: str) -> list[str]:
    if re.fullmatch(r"\d+", number):
        return [str(int(number) + 1), *([str(int(number) - 1)] if int(number) > 0 else [])]
    if not re.fullmatch(r"\d+\.\d+", number):
        return []
    decimals = len(number.split(".")[1])
    step = 10.0**-decimals
    return [f"{float(number) + step:.{decimals}f}", f"{max(float(number) - step, 0.0):.{decimals}f}"]


def _between_steps(place: Place, node: exp.Literal) -> list[str]:
    """Half a step beside a bound of a column that holds such numbers."""
    bounded = node.parent
    column = bounded.this if isinstance(bounded, (exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between)) else None
    bound = place.found.place(column) if column is not None else None
    if bound is None:
        return []
    declared = place.schema[bound[0]].get(bound[1], "")
    number = float(str(node.this))
    digits = finer(number, declared) if kind_of(declared) == "real" and number < 2**31 else None
    steps = (0.5, -0.5) if digits is not None and number > 0 else ()
    return [f"{number + step * 10.0 ** (1 - digits):.{digits}f}" for step in steps if digits is not None]


def _typed(text: str) -> list[str] | None:
    """Values beside a day, a moment, a time or a UUID, in the same form; None where `text` is none of them.

    Columns of such types read other spellings of one value as that value (`0A` as `0a`), or do not read them at all.
    """
    if moment := _MOMENT.fullmatch(text):
        return [day + (moment[2] or "") for day in _days(moment[1])]
    if clock := _CLOCK.fullmatch(text):
        minutes = int(clock[1]) * 60 + int(clock[2])
        near = [minute for minute in (minutes + 1, minutes - 1) if 0 <= minute < 24 * 60]
        return [f"{minute // 60:02}:{minute % 60:02}{clock[3] or ''}" for minute in near] or None
    if UUID_FORM.fullmatch(text):
        return [text[:-1] + ("1" if text[-1] == "0" else "0")]
    return None


def _days(day: str) -> list[str]:
    try:
        start = date.fromisoformat(day)
        return [(start + timedelta(days=step)).isoformat() for step in (1, -1)]
    except (ValueError, OverflowError):
        return []


def _null_too(place: Place, part: exp.Expr, label: str) -> Iterator[Edit]:
    """What is unknown let through a "not equal"."""
    bare = part.unnest()
    if isinstance(bare, exp.NEQ) and isinstance(bare.this, exp.Column):
        missing = exp.Is(this=bare.this.copy(), expression=exp.Null())
        new = exp.Or(this=bare.copy(), expression=missing)
        yield Edit("null", label, part, new, (swap(part, new),))


def _known_only(place: Place, scope: Scope) -> Iterator[Edit]:
    """Rows left out of which something is unknown that was not asked for."""
    for column in unnamed_with_nulls(place, scope):
        known = exp.Not(this=exp.Is(this=column, expression=exp.Null()))
        yield Edit("null", place.label("WHERE", scope), "", known, (narrowed(scope, known),))


def _having_to_where(place: Place, scope: Scope, holder: exp.Expr, slot: str, condition: exp.Expr) -> Iterator[Edit]:
    """`HAVING avg(x) > 10` said of the single rows: `WHERE x > 10`."""
    bare = condition.unnest()
    if not isinstance(bare, (exp.GT, exp.GTE, exp.LT, exp.LTE, exp.EQ)):
        return
    inner = bare.this
    if not is_aggregate(inner) or not isinstance(inner.this, exp.Column):
        return
    moved: exp.Expr = type(bare)(this=inner.this.copy(), expression=bare.expression.copy())
    changes = (Change(scope.select, "having", None), narrowed(scope, moved))
    yield Edit("having_where", place.label("HAVING", scope), condition, exp.Where(this=moved.copy()), changes)

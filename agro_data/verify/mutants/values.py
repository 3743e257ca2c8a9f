"""Mistakes in what is computed: another column, another aggregate, DISTINCT, CASE, arithmetic, windows."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from agro_data.sql.conditions import conditions, linking
from agro_data.sql.constructs import is_aggregate, is_one_row, number_of
from agro_data.sql.names.resolution import Scope
from agro_data.sql.walks import local_nodes
from agro_data.verify.edits import Change, narrowed, swap
from agro_data.verify.mutants.columns import candidates, kind_class, reference, unnamed_with_nulls
from agro_data.verify.mutants.edit import Edit, Place

_AGGREGATES: dict[type[exp.Expr], tuple[type[exp.Expr], ...]] = {
    exp.Sum: (exp.Avg, exp.Max, exp.Min),
    exp.Avg: (exp.Sum, exp.Max, exp.Min),
    exp.Max: (exp.Min, exp.Avg, exp.Sum),
    exp.Min: (exp.Max, exp.Avg, exp.Sum),
}
_ARITHMETIC: dict[type[exp.Expr], type[exp.Binary]] = {
    exp.Add: exp.Sub,
    exp.Sub: exp.Add,
    exp.Mul: exp.Div,
    exp.Div: exp.Mul,
}
_RANKS: dict[type[exp.Expr], tuple[type[exp.Expr], ...]] = {
    exp.Rank: (exp.DenseRank, exp.RowNumber),
    exp.DenseRank: (exp.Rank, exp.RowNumber),
    exp.RowNumber: (exp.Rank, exp.DenseRank),
    exp.Lag: (exp.Lead,),
    exp.Lead: (exp.Lag,),
    exp.FirstValue: (exp.LastValue,),
    exp.LastValue: (exp.FirstValue,),
}
NEAREST = 7  # columns tried in one place


def of_values(place: Place, scope: Scope) -> Iterator[Edit]:
    """Edits of the expressions of one SELECT."""
    for clause, node in _clauses(scope):
        label = place.label(clause, scope)
        linked = linking(place.found, scope) if clause in {"ON", "WHERE"} else set()
        for part in local_nodes(node):
            if isinstance(part, exp.Column):
                yield from _other_column(place, scope, part, label, id(part) in linked)
            elif is_aggregate(part):
                yield from _other_aggregate(place, scope, part, label)
            elif isinstance(part, exp.Binary) and type(part) in _ARITHMETIC and not _by_one(part):
                new = _ARITHMETIC[type(part)](this=part.left.copy(), expression=part.right.copy())
                yield Edit("arithmetic", label, part, new, (swap(part, new),))
            elif isinstance(part, exp.Case):
                yield from _case(part, label)
            elif isinstance(part, exp.Window):
                yield from _window(part, label)
    yield from _distinct(place, scope)
    yield from _guarded(place, scope)


def _by_one(part: exp.Binary) -> bool:
    """Whether a number is multiplied with 1.0, to divide it as it should be, which divides it as well."""
    other = part.right
    return isinstance(part, (exp.Mul, exp.Div)) and isinstance(other, exp.Literal) and float(other.to_py()) == 1


def _clauses(scope: Scope) -> Iterator[tuple[str, exp.Expr]]:
    for item in scope.select.expressions:
        yield "SELECT", item
    for clause, _, _, condition in conditions(scope):
        yield clause, condition
    for clause in ("group", "order"):
        node = scope.select.args.get(clause)
        for key in node.expressions if node is not None else ():
            yield clause.upper() + " BY", key


def _other_column(place: Place, scope: Scope, part: exp.Column, label: str, link: bool) -> Iterator[Edit]:
    binding = place.found.binding(part)
    if binding is None or binding.kind != "column" or not any(binding.source is own for own in scope.sources):
        return
    partner = _partner(place, part) if link else None
    tried = 0
    for candidate in candidates(binding, scope, place.schema):
        if partner is not None and candidate.source is partner:
            continue  # a column of a table equated with another of the same
        new = candidate.node(scope)
        weight = candidate.distance + tried
        yield Edit("join_key" if link else "column", label, part, new, (swap(part, new),), weight=weight)
        tried += 1
        if tried == NEAREST:
            return


def _partner(place: Place, part: exp.Column) -> object:
    equality = part.parent
    if not isinstance(equality, exp.EQ):
        return None
    other = place.found.binding(equality.right if equality.left is part else equality.left)
    return other.source if other is not None else None


def _other_aggregate(place: Place, scope: Scope, part: exp.Expr, label: str) -> Iterator[Edit]:
    if isinstance(part, exp.Count):
        yield from _other_count(place, scope, part, label)
        return
    inner = part.this
    distinct = isinstance(inner, exp.Distinct)
    for weight, kind in enumerate(_AGGREGATES.get(type(part), ())):
        new = kind(this=inner.copy())
        yield Edit("aggregate", label, part, new, (swap(part, new),), weight=weight)
    if isinstance(part, (exp.Sum, exp.Avg)):
        if distinct:
            new = type(part)(this=inner.expressions[0].copy())
        else:
            new = type(part)(this=exp.Distinct(expressions=[inner.copy()]))
        yield Edit("aggregate_distinct", label, part, new, (swap(part, new),))
    if isinstance(part, exp.Avg) and isinstance(inner, exp.Column):
        new = exp.Avg(this=exp.Coalesce(this=inner.copy(), expressions=[exp.Literal.number(0)]))
        yield Edit("null", label, part, new, (swap(part, new),))
    if type(part) in _AGGREGATES:
        new = exp.Count(this=exp.Star(), big_int=True)
        yield Edit("aggregate", label, part, new, (swap(part, new),), weight=4)


def _other_count(place: Place, scope: Scope, part: exp.Count, label: str) -> Iterator[Edit]:
    inner = part.this
    if isinstance(inner, exp.Distinct):
        new = exp.Count(this=inner.expressions[0].copy(), big_int=True)
        yield Edit("count", label, part, new, (swap(part, new),), weight=0)
        return
    if not isinstance(inner, (exp.Star, exp.Literal)):
        new = exp.Count(this=exp.Distinct(expressions=[inner.copy()]), big_int=True)
        yield Edit("count", label, part, new, (swap(part, new),), weight=0)
        new = exp.Count(this=exp.Star(), big_int=True)
        yield Edit("count", label, part, new, (swap(part, new),), weight=1)
        binding = place.found.binding(inner)
        source = binding.source if binding is not None else None
        if source is not None and binding and kind_class(source, binding.name, place.schema) == "number":
            total = exp.Sum(this=inner.copy())
            yield Edit("aggregate", label, part, total, (swap(part, total),), weight=2)
        return
    for column in unnamed_with_nulls(place, scope):
        new = exp.Count(this=column, big_int=True)
        yield Edit("count", label, part, new, (swap(part, new),), weight=0)
    for weight, column in enumerate(_countable(place, scope)):
        new = exp.Count(this=exp.Distinct(expressions=[column]), big_int=True)
        yield Edit("count", label, part, new, (swap(part, new),), weight=weight)
        new = exp.Count(this=column.copy(), big_int=True)
        yield Edit("count", label, part, new, (swap(part, new),), weight=weight + 0.5)


def _countable(place: Place, scope: Scope) -> Iterator[exp.Column]:
    """Columns that could be counted in place of the rows: those the SELECT names, then the first of each source."""
    seen: set[tuple[int, str]] = set()
    for clause, node in _clauses(scope):
        for part in local_nodes(node) if clause in ("SELECT", "GROUP BY", "WHERE") else ():
            binding = place.found.binding(part) if isinstance(part, exp.Column) else None
            if binding is None or binding.source is None or not any(binding.source is own for own in scope.sources):
                continue
            if (id(binding.source), binding.name) not in seen:
                seen.add((id(binding.source), binding.name))
                yield reference(binding.source, binding.name, scope)
    for source in scope.sources:
        for name in list(source.columns)[:3]:
            if (id(source), name) not in seen:
                seen.add((id(source), name))
                yield reference(source, name, scope)


def _case(part: exp.Case, label: str) -> Iterator[Edit]:
    branches = part.args.get("ifs") or []
    default = part.args.get("default")
    if default is not None:
        yield Edit("case", label, "ELSE of CASE", "dropped", (Change(part, "default", None),))
        first = branches[0]
        changes = (Change(first, "true", default.copy()), Change(part, "default", first.args["true"].copy()))
        yield Edit("case", label, "THEN and ELSE", "exchanged", changes)
    for branch in branches if len(branches) > 1 else ():
        rest = [other.copy() for other in branches if other is not branch]
        yield Edit("case", label, f"branch {branch.this.sql()}", "dropped", (Change(part, "ifs", rest),))


def _window(part: exp.Window, label: str) -> Iterator[Edit]:
    keys = part.args.get("partition_by") or []
    for key in keys:
        rest = [other.copy() for other in keys if other is not key]
        yield Edit("window", label, f"PARTITION BY {key.sql()}", "dropped", (Change(part, "partition_by", rest),))
    order = part.args.get("order")
    for term in order.expressions if order is not None else ():
        yield turned(term, "window", label)
    for kind in _RANKS.get(type(part.this), ()):
        old = part.this
        new = kind(**{slot: _copies(value) for slot, value in old.args.items()})
        yield Edit("window", label, old, new, (swap(old, new),))
    if part.args.get("spec") is not None:
        yield Edit("window", label, "frame", "dropped", (Change(part, "spec", None),))
    elif order is not None and is_running(part.this):
        yield Edit("window", label, "ORDER BY of the window", "dropped", (Change(part, "order", None),))


def is_running(function: exp.Expr) -> bool:
    """Whether the order of a window makes a running figure of an aggregate."""
    return isinstance(function, (exp.Sum, exp.Avg, exp.Count, exp.Min, exp.Max))


def turned(term: exp.Ordered, kind: str, label: str) -> Edit:
    """An order key the other way round; NULLs stand where the engine would put them."""
    descending = not term.args.get("desc")
    first = term.args.get("nulls_first")
    explicit = first is not None and bool(first) == bool(term.args.get("desc"))
    new = exp.Ordered(this=term.this.copy(), desc=descending, nulls_first=first if explicit else not descending)
    return Edit(kind, label, term, "DESC" if descending else "ASC", (swap(term, new),), weight=0)


def _copies(value: object) -> object:
    if isinstance(value, list):
        return [_copies(item) for item in value]
    return value.copy() if isinstance(value, exp.Expr) else value


def _distinct(place: Place, scope: Scope) -> Iterator[Edit]:
    select = scope.select
    label = place.label("SELECT", scope)
    if select.args.get("distinct") is not None:
        yield Edit("distinct", label, "DISTINCT", "dropped", (Change(select, "distinct", None),), weight=0)
    elif not is_one_row(select) and number_of(select, "limit") != 1:  # one row is distinct
        yield Edit("distinct", label, "DISTINCT", "added", (Change(select, "distinct", exp.Distinct()),), weight=0)


def _guarded(place: Place, scope: Scope) -> Iterator[Edit]:
    """Rows without a value left out, where the value is asked for."""
    for item in scope.select.expressions:
        column = item.unalias()
        binding = place.found.binding(column) if isinstance(column, exp.Column) else None
        if binding is None or not any(binding.source is own for own in scope.sources):
            continue
        known = exp.Not(this=exp.Is(this=column.copy(), expression=exp.Null()))
        yield Edit("null", place.label("WHERE", scope), known, "added", (narrowed(scope, known),), weight=1)

"""Mistakes in which rows are put together and kept: grouping, order, limit, extreme values."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from agro_data.populate.instances.directed.orders import Part, first_key
from agro_data.sql.conditions import parts_of_where
from agro_data.sql.constructs import is_grouping
from agro_data.sql.names.resolution import Scope
from agro_data.sql.walks import local_nodes
from agro_data.verify.edits import Change, narrowed, swap
from agro_data.verify.mutants.columns import reference
from agro_data.verify.mutants.edit import Edit, Place
from agro_data.verify.mutants.values import turned

_TURNED: dict[type, type[exp.Expression]] = {exp.Rollup: exp.Cube, exp.Cube: exp.Rollup}


def of_rows(place: Place, scope: Scope) -> Iterator[Edit]:
    """Edits of GROUP BY, ORDER BY and LIMIT of one SELECT."""
    yield from _group(place, scope)
    yield from order_and_limit(place, scope.select, place.label("ORDER BY", scope), place.label("LIMIT", scope))
    yield from _order_by_part(place, scope)
    yield from _extreme(place, scope)


def _group(place: Place, scope: Scope) -> Iterator[Edit]:
    node = scope.select.args.get("group")
    label = place.label("GROUP BY", scope)
    if node is None:
        return
    keys = node.expressions
    if len(keys) == 1 and scope.select.args.get("having") is None:
        yield Edit("group_key", label, keys[0], "dropped", (Change(scope.select, "group", None),), weight=0)
    for key in keys if len(keys) > 1 else ():
        rest = [other.copy() for other in keys if other is not key]
        yield Edit("group_key", label, key, "dropped", (Change(node, "expressions", rest),), weight=0)
    for key in filter(is_grouping, keys):
        others = [other.copy() for other in keys if other is not key]
        plain = {_meaning(place, column): column.copy() for column in key.find_all(exp.Column)}
        change = Change(node, "expressions", [*others, *plain.values()])
        yield Edit("group_key", label, key, "its columns", (change,), weight=0)
        if type(key) in _TURNED:
            turned_key = _TURNED[type(key)](expressions=[part.copy() for part in key.expressions])
            yield Edit("group_key", label, key, turned_key, (swap(key, turned_key),), weight=0)
    held = {_meaning(place, key) for key in keys}
    added = 0
    for meaning, column in _further(place, scope):
        if meaning in held or added == 3:
            continue
        held.add(meaning)
        new = [*(key.copy() for key in keys), column.copy()]
        edit = Edit("group_key", label, column, "added", (Change(node, "expressions", new),), weight=1 + added)
        yield edit
        added += 1


def _further(place: Place, scope: Scope) -> Iterator[tuple[str, exp.Expr]]:
    """Columns that a wrong query would group by too, with their meaning: those selected or in ORDER BY, then others."""
    order = scope.select.args.get("order")
    for item in [*scope.select.expressions, *(order.expressions if order is not None else ())]:
        for part in local_nodes(item):
            binding = place.found.binding(part) if isinstance(part, exp.Column) else None
            if binding is not None and binding.source is not None and any(binding.source is s for s in scope.sources):
                yield _meaning(place, part), part
    for source in scope.sources:
        for name in list(source.columns)[:2]:
            yield f"{source.alias}.{name}", reference(source, name, scope)


def _meaning(place: Place, node: exp.Expr) -> str:
    binding = place.found.binding(node) if isinstance(node, exp.Column) else None
    if binding is not None and binding.source is not None:
        return f"{binding.source.alias}.{binding.name}"
    return place.text(node).lower()


def order_and_limit(place: Place, query: exp.Expr, order_label: str, limit_label: str) -> Iterator[Edit]:
    """Direction and number of order keys; one row more, one less, all rows."""
    order, limit = query.args.get("order"), query.args.get("limit")
    if order is not None:
        yield from _order(query, order, order_label)
    if limit is not None:
        yield from _limit(query, limit, limit_label)
    elif order is not None and query is place.found.tree:
        one = exp.Limit(expression=exp.Literal.number(1))
        yield Edit("limit", limit_label, "LIMIT 1", "added", (Change(query, "limit", one),), weight=2)


def _order(query: exp.Expr, order: exp.Expr, order_label: str) -> Iterator[Edit]:
    keys = order.expressions
    for key in keys:
        yield turned(key, "order", order_label)
    for key in keys if len(keys) > 1 else ():
        rest = [other.copy() for other in keys if other is not key]
        yield Edit("order", order_label, key, "dropped", (Change(order, "expressions", rest),), weight=1)
    if query.args.get("limit") is None:
        yield Edit("order", order_label, "all keys", "dropped", (Change(query, "order", None),), weight=2)


def _order_by_part(place: Place, scope: Scope) -> Iterator[Edit]:
    """The order of what is shown by a part of its first key."""
    first = first_key(place.found, scope) if scope.select is place.found.tree else None
    if first is None:
        return
    key, column = first
    if _are_named(place, scope, key.this):
        return
    for part in place.parts.get(column, ()):
        for term in _parts(key.this, part):
            new = exp.Ordered(this=term, desc=key.args.get("desc"), nulls_first=key.args.get("nulls_first"))
            yield Edit("order", place.label("ORDER BY", scope), key, new, (swap(key, new),), weight=1)


def _are_named(place: Place, scope: Scope, key: exp.Expr) -> bool:
    """Whether WHERE names the values of a key (`=`, IN): a part of each puts these few in the same order."""
    for test in parts_of_where(scope.select):
        values = test.expressions if isinstance(test, exp.In) else [test.expression] if isinstance(test, exp.EQ) else []
        if values and not any(value.find(exp.Column, exp.Query) for value in values):
            column = _column(place, test.this)
            if column is not None and column == _column(place, key):
                return True
    return False


def _column(place: Place, node: exp.Expr) -> tuple[int, str] | None:
    """The source of a column, or of what an alias names, and its name there."""
    named = place.found.aliased(node)
    binding = place.found.binding(node if named is None else named)
    return (id(binding.source), binding.name) if binding is not None and binding.source is not None else None


def _parts(term: exp.Expr, part: Part) -> Iterator[exp.Expr]:
    if part == "case":
        yield exp.Lower(this=term.copy())
    elif part == "month":
        yield exp.TimeToStr(this=term.copy(), format=exp.Literal.string("%Y-%m"))
    elif part == "day":
        yield exp.TimeToStr(this=term.copy(), format=exp.Literal.string("%Y-%m-%d"))
    else:
        yield exp.Round(this=term.copy())


def _limit(query: exp.Expr, limit: exp.Expr, limit_label: str) -> Iterator[Edit]:
    count = limit.expression
    if not isinstance(count, exp.Literal) or not str(count.this).isdigit():
        return
    number = int(count.this)
    for weight, other in enumerate([number + 1, *([number - 1] if number > 1 else [])]):
        new = exp.Literal.number(other)
        yield Edit("limit", limit_label, str(number), str(other), (Change(limit, "expression", new),), weight=weight)
    yield Edit("limit", limit_label, str(number), "dropped", (Change(query, "limit", None),), weight=1)
    offset = query.args.get("offset")
    if offset is not None:
        yield Edit("limit", limit_label, offset, "dropped", (Change(query, "offset", None),), weight=1)


def _extreme(place: Place, scope: Scope) -> Iterator[Edit]:
    """The greatest by LIMIT 1 against the greatest by MAX."""
    yield from _limit_to_max(place, scope)
    yield from _max_to_limit(place, scope)


def _limit_to_max(place: Place, scope: Scope) -> Iterator[Edit]:
    """`WHERE c ORDER BY x DESC LIMIT 1` as `WHERE c AND x = (SELECT MAX(x) FROM t)`: the greatest of all rows."""
    select = scope.select
    order, limit, where = (select.args.get(name) for name in ("order", "limit", "where"))
    if order is None or limit is None or len(order.expressions) != 1 or select.args.get("group") is not None:
        return
    if str(limit.expression.this) != "1" or len(scope.sources) != 1 or where is None:
        return
    key = order.expressions[0]
    table = scope.sources[0].node
    if not isinstance(key.this, exp.Column) or not isinstance(table, exp.Table):
        return
    column = key.this
    extreme = exp.Max if key.args.get("desc") else exp.Min
    inner = exp.Select(expressions=[extreme(this=column.copy())], from_=exp.From(this=table.copy()))
    test = exp.EQ(this=column.copy(), expression=exp.Subquery(this=inner))
    changes = (Change(select, "order", None), Change(select, "limit", None), narrowed(scope, test))
    yield Edit("extreme", place.label("ORDER BY", scope), f"{place.text(key)} LIMIT 1", test, changes)


def _max_to_limit(place: Place, scope: Scope) -> Iterator[Edit]:
    """`WHERE x = (SELECT MAX(x) FROM t)` as `ORDER BY x DESC LIMIT 1`: one row, though several may be greatest."""
    select = scope.select
    where = select.args.get("where")
    if where is None or any(select.args.get(name) is not None for name in ("group", "order", "limit")):
        return
    test = where.this.unnest()
    if not isinstance(test, exp.EQ) or not isinstance(test.this, exp.Column):
        return
    inner = test.expression.unnest()
    if not isinstance(inner, exp.Select) or len(inner.expressions) != 1 or inner.args.get("group") is not None:
        return
    extreme = inner.expressions[0].unalias()
    if not isinstance(extreme, (exp.Max, exp.Min)) or select is not place.found.tree:
        return
    key = exp.Ordered(
        this=test.this.copy(), desc=isinstance(extreme, exp.Max), nulls_first=isinstance(extreme, exp.Min)
    )
    changes = (
        Change(select, "where", None),
        Change(select, "order", exp.Order(expressions=[key])),
        Change(select, "limit", exp.Limit(expression=exp.Literal.number(1))),
    )
    yield Edit("extreme", place.label("WHERE", scope), test, f"ORDER BY {place.text(key)} LIMIT 1", changes)

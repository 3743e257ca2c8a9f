"""LEFT JOINs that a question need not speak of, as the plain joins that give the same, or what is asked of it.

Tools join every parent by LEFT JOIN, whether or not each row has one; and whoever bounds or ranks a figure of children
asks for none of the parents without any.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from agro_data.intent.sampling.atlas import Atlas, Edge
from agro_data.sql.comparisons import SIGNS, TESTS, TURNED
from agro_data.sql.conditions import parts_of, parts_of_where
from agro_data.sql.constructs import aggregates_of, is_aggregate
from agro_data.sql.names.resolution import Resolution, Scope, Source


def without_needless_sides(found: Resolution, atlas: Atlas) -> None:
    """Make such LEFT JOINs in the tree of `found` plain joins, of which all names mean what they did."""
    for scope in found.scopes:
        by_node = {id(source.node): source for source in scope.sources}
        joins = [
            (join, source, edge)
            for join in scope.select.args.get("joins") or ()
            if (join.side or "").upper() == "LEFT" and not join.kind
            if (source := by_node.get(id(join.this))) is not None
            if (edge := edge_of(join, source, scope, found, atlas)) is not None
        ]
        for join, source, edge in reversed(joins):  # what is asked of a row is asked of those that it hangs on
            if _is_needless(edge, source, scope, found):
                join.set("side", None)
        for join, source, edge in joins:  # of those that are there, all have a parent
            up = edge.parent == source.table != edge.child
            if up and edge.whole and not _hangs_on_outer(join, scope, found):
                join.set("side", None)


def _hangs_on_outer(join: exp.Join, scope: Scope, found: Resolution) -> bool:
    """Whether a join is along a column of what may not be there."""
    outer = {id(one.this) for one in scope.select.args["joins"] if one is not join and one.side}
    bound = map(found.binding, join.args["on"].find_all(exp.Column))
    return any(one is not None and one.source is not None and id(one.source.node) in outer for one in bound)


def edge_of(join: exp.Join, source: Source, scope: Scope, found: Resolution, atlas: Atlas) -> Edge | None:
    """The foreign key along which alone a join leads to `source`, up to a parent or down to children; None for none."""
    pairs: set[tuple[str, str]] = set()
    others: set[str] = set()
    for mine, other, table in _equalities(join, source, scope, found):
        pairs.add((mine, other))
        others.add(table)
    for edge in atlas.edges if len(others) == 1 else ():
        other = next(iter(others))
        up = (edge.child, edge.parent) == (other, source.table) and {(b, a) for a, b in edge.pairs_up} == pairs
        down = (edge.child, edge.parent) == (source.table, other) and set(edge.pairs_up) == pairs
        if up or down:
            return edge
    return None


def _equalities(join: exp.Join, source: Source, scope: Scope, found: Resolution) -> Iterator[tuple[str, str, str]]:
    """(own column, other column, its table) of each condition of a join; ("", "", "") for one of another kind."""
    for part in parts_of(join.args["on"]) if join.args.get("on") is not None else ():
        test = part.unnest()
        sides = [found.binding(side.unnest()) for side in (test.left, test.right)] if isinstance(test, exp.EQ) else []
        mine = next((b for b in sides if b is not None and b.source is source), None)
        other = next((b for b in sides if b is not None and b.source is not source), None)
        if mine is None or other is None or other.source is None or not mine.place or not other.place:
            yield "", "", ""
        else:
            yield mine.place[1], other.place[1], other.place[0]


def _is_needless(edge: Edge, source: Source, scope: Scope, found: Resolution) -> bool:
    if _is_asked(source, scope, found):
        return True
    if edge.parent == edge.child:
        return False
    if edge.child == source.table:
        return _ranks_or_bounds(source, scope, found) and _leaves_figures(edge, source, scope, found)
    group = scope.select.args.get("group")
    keys = group.expressions if group is not None else ()  # of what has no parent nobody asks for the group
    return any(_is_of(found.meaning(key, scope.select), source, found) for key in keys)


def _is_of(node: exp.Expr, source: Source, found: Resolution) -> bool:
    """Whether a column of `source` stands in an expression."""
    columns = node.find_all(exp.Column)
    return any(b is not None and b.source is source for b in map(found.binding, columns))


def _is_asked(source: Source, scope: Scope, found: Resolution) -> bool:
    """Whether a condition leaves no row without one of `source`: a comparison with NULL holds nowhere."""
    for part in (*parts_of_where(scope.select), *_parts_of_plain_joins(scope.select)):
        test = part.this.unnest() if isinstance(part, exp.Not) else part
        known = isinstance(test, exp.Is) and isinstance(test.expression, exp.Null) and test is not part
        if known or (isinstance(part, TESTS) and not isinstance(part, exp.Is)):
            tested = [test.this, test.expression] if type(test) in SIGNS else [test.this]
            if any(isinstance(side.unnest(), exp.Column) and _is_of(side, source, found) for side in tested):
                return True
    return False


def _parts_of_plain_joins(select: exp.Select) -> Iterator[exp.Expr]:
    """The conditions of joins that leave out what has no joined row."""
    for join in select.args.get("joins") or ():
        plain = not join.side and (join.kind or "").upper() in ("", "INNER")
        if plain and join.args.get("on") is not None:
            yield from (part.unnest() for part in parts_of(join.args["on"]))


def _ranks_or_bounds(source: Source, scope: Scope, found: Resolution) -> bool:
    """Whether only groups with a row of `source` come out: the first by a figure of such, or those above a bound."""
    select = scope.select
    order, having = select.args.get("order"), select.args.get("having")
    if select.args.get("group") is None:
        return False
    if select.args.get("limit") is not None and order is not None and order.expressions[0].args.get("desc"):
        return _is_figure(found.meaning(order.expressions[0].this, select), source, found)
    for part in parts_of(having.this) if having is not None else ():
        test = part.unnest()
        if type(test) not in SIGNS:
            continue
        kind, left, right = type(test), test.this.unnest(), test.expression.unnest()
        if isinstance(left, exp.Literal):
            kind, left, right = TURNED[kind], right, left
        bound = float(right.name) if isinstance(right, exp.Literal) and not right.is_string else -1
        above = (kind is exp.GT and bound >= 0) or (kind in (exp.GTE, exp.EQ) and bound > 0)
        if above and _is_figure(found.aliased(left) or left, source, found):
            return True
    return False


def _leaves_figures(edge: Edge, source: Source, scope: Scope, found: Resolution) -> bool:
    """Whether no figure of a group that comes out is of a row without one of `source`: groups are of a parent each, or
    all figures are of columns of `source`.
    """
    places = {found.place(found.meaning(key, scope.select)) for key in scope.select.args["group"].expressions}
    if places.issuperset((edge.parent, name) for name in edge.parent_columns):
        return True
    arguments = [call.this for call in aggregates_of(scope.select)]
    columns = [one.expressions[0] if isinstance(one, exp.Distinct) else one for one in arguments]
    return all(isinstance(one, exp.Column) and _is_of(one, source, found) for one in columns)


def _is_figure(node: exp.Expr, source: Source, found: Resolution) -> bool:
    return any(is_aggregate(one) and _is_of(one, source, found) for one in node.walk())

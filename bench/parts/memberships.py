"""Rewrites between IN, EXISTS, a JOIN on a key and a CTE, for `bench.rewrites`. Each changes the tree it is given."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp

from agro_data.databases.quoting import folded
from agro_data.populate.instances import instance_schema
from agro_data.profiling.profile import DatabaseProfile
from agro_data.sql.conditions import joined, parts_of
from agro_data.sql.names.resolution import Binding, Resolution, Scope, Source
from agro_data.sql.walks import local_nodes

_BOUNDED = ("group", "having", "limit", "order", "offset")


def where_of(conditions: Sequence[exp.Expr]) -> exp.Where | None:
    """WHERE with the AND of conditions; None for none."""
    return exp.Where(this=joined(conditions)) if conditions else None


def in_as_exists(found: Resolution, scope: Scope, profile: DatabaseProfile) -> bool:
    """`a IN (SELECT b ...)` as EXISTS with `b = a`; NOT IN as NOT EXISTS where neither can be NULL."""
    for node, inner, own in _memberships(found, scope):
        outer = found.binding(node.this)
        item = inner.selects[0]
        if outer is None or outer.source is None or not isinstance(outer.source.node, exp.Table):
            continue
        if not isinstance(item, exp.Column) or any(part.args.get("side") for part in inner.args.get("joins") or ()):
            continue
        if _negated(node) and not (_never_null(outer, profile) and _never_null(found.binding(item), profile)):
            continue
        for number, source in enumerate(own.sources):
            _rename(found, source, f"inside{number}")
        theirs = node.this.copy()
        theirs.set("table", exp.to_identifier(outer.source.node.alias_or_name))
        where = inner.args.get("where")
        link = exp.EQ(this=item.copy(), expression=theirs)
        inner.set("where", where_of([link, *([where.this] if where is not None else [])]))
        inner.set("expressions", [exp.Literal.number(1)])
        inner.set("distinct", None)
        node.replace(exp.Exists(this=inner.copy()))
        return True
    return False


def in_as_join(found: Resolution, scope: Scope, profile: DatabaseProfile) -> bool:
    """Only where the inner column is a key by itself and IN a condition of its own, so that no row is repeated."""
    select = scope.select
    where = select.args.get("where")
    if where is None or select.args.get("joins") or len(scope.sources) != 1 or not scope.sources[0].table:
        return False
    if any(item.is_star for item in select.expressions):
        return False
    for node, inner, own in _memberships(found, scope):
        parts = [part.unnest() for part in parts_of(where.this)]
        if not any(part is node for part in parts) or len(own.sources) != 1 or not own.sources[0].table:
            continue
        column = found.binding(inner.selects[0])
        if column is None or not _is_key(column, profile):
            continue
        _rename(found, own.sources[0], "inside")
        _rename(found, scope.sources[0], "outside")
        theirs = inner.args.get("where")
        link = exp.EQ(this=node.this.copy(), expression=inner.selects[0].copy())
        on = joined([link, *([theirs.this] if theirs is not None else [])])
        select.set("where", where_of([part for part in parts if part is not node]))
        select.set("joins", [exp.Join(this=own.sources[0].node.copy(), on=on)])
        return True
    return False


def join_as_in(found: Resolution, scope: Scope, profile: DatabaseProfile) -> bool:
    """A table joined by a key, of which nothing is asked but conditions, as IN."""
    return _join_as(found, scope, profile, exists=False)


def join_as_exists(found: Resolution, scope: Scope, profile: DatabaseProfile) -> bool:
    """The same as EXISTS."""
    return _join_as(found, scope, profile, exists=True)


def subquery_as_cte(found: Resolution, scope: Scope, profile: DatabaseProfile) -> bool:
    """The query of an IN, of a comparison or of a derived table in a CTE."""
    del profile
    select = scope.select
    around = select.parent
    if not isinstance(around, (exp.Subquery, exp.In)) or scope.correlated or found.tree.args.get("with_") is not None:
        return False
    cte = exp.CTE(this=select.copy(), alias=exp.TableAlias(this=exp.to_identifier("the_query")))
    read = exp.Select(expressions=[exp.Star()], from_=exp.From(this=exp.to_table("the_query")))
    select.replace(read)
    found.tree.set("with_", exp.With(expressions=[cte]))
    return True


@dataclass(frozen=True)
class _Tested:
    """A joined table of which nothing is asked but conditions: one equates a key of it, others are its `own`."""

    source: Source
    link: exp.EQ
    key: exp.Expr  # the side of the link that is of the table
    other: exp.Expr  # the other side, a column of `owner`
    owner: Source
    own: Sequence[exp.Expr]


def _join_as(found: Resolution, scope: Scope, profile: DatabaseProfile, exists: bool) -> bool:
    conditions = _conditions_of_join(scope)
    for source in scope.sources:
        tested = _tested(found, source, conditions, profile)
        if tested is not None:
            _detach(found, scope, tested, conditions, exists)
            return True
    return False


def _conditions_of_join(scope: Scope) -> list[exp.Expr]:
    """What ON and WHERE ask of tables that are joined by JOIN with ON and nothing else; [] of other SELECTs."""
    select = scope.select
    joins = select.args.get("joins") or []
    odd = any(join.side or join.method or join.args.get("using") for join in joins)
    if not joins or odd or scope.merged or any(item.is_star for item in select.expressions):
        return []
    if not all(isinstance(source.node, exp.Table) and source.table for source in scope.sources):
        return []
    clauses = [join.args["on"] for join in joins if join.args.get("on") is not None]
    if (where := select.args.get("where")) is not None:
        clauses.append(where.this)
    return [condition.unnest() for clause in clauses for condition in parts_of(clause)]


def _tested(
    found: Resolution, source: Source, conditions: Sequence[exp.Expr], profile: DatabaseProfile
) -> _Tested | None:
    """What is asked of a table, where that can be asked as a membership of its key."""
    own = [condition for condition in conditions if _only(found, condition, source)]
    links = [c for c in conditions if _names(found, c, source) and not _only(found, c, source)]
    if len(links) != 1 or not isinstance(links[0], exp.EQ):
        return None
    inside = {id(node) for condition in (*links, *own) for node in condition.walk()}
    if any(_of(found, c, source) and id(c) not in inside for c in found.tree.find_all(exp.Column)):
        return None
    left, right = links[0].left, links[0].right
    key, other = (left, right) if _of(found, left, source) else (right, left)
    bound, theirs = found.binding(key), found.binding(other)
    if not _of(found, key, source) or bound is None or theirs is None or theirs.source is None:
        return None
    return _Tested(source, links[0], key, other, theirs.source, own) if _is_key(bound, profile) else None


def _detach(found: Resolution, scope: Scope, tested: _Tested, conditions: Sequence[exp.Expr], exists: bool) -> None:
    """Take a table out of FROM, and ask in WHERE that it has a row."""
    _rename(found, tested.source, "inside")
    tested.other.set("table", exp.to_identifier(tested.owner.node.alias_or_name))
    shown = exp.Literal.number(1) if exists else tested.key.copy()
    inner = exp.Select(expressions=[shown], from_=exp.From(this=tested.source.node.copy()))
    inner.set("where", where_of([*([tested.link] if exists else []), *tested.own]))
    member = exp.Exists(this=inner) if exists else exp.In(this=tested.other.copy(), query=exp.Subquery(this=inner))
    moved = {id(condition) for condition in (tested.link, *tested.own)}
    tables = [source.node.copy() for source in scope.sources if source is not tested.source]
    select = scope.select
    select.args["from_"].set("this", tables[0])
    select.set("joins", [exp.Join(this=table, kind="CROSS") for table in tables[1:]])
    select.set("where", where_of([*(c for c in conditions if id(c) not in moved), member]))


def _memberships(found: Resolution, scope: Scope) -> Iterator[tuple[exp.In, exp.Select, Scope]]:
    """`column IN (SELECT column FROM tables [WHERE ...])` of WHERE, not correlated; under AND, OR and one NOT only."""
    where = scope.select.args.get("where")
    for node in list(local_nodes(where.this)) if where is not None else ():
        query = node.args.get("query") if isinstance(node, exp.In) else None
        inner = query.unnest() if query is not None else None
        if not isinstance(node, exp.In) or not isinstance(inner, exp.Select) or not isinstance(node.this, exp.Column):
            continue
        above, nots = node.parent, 0
        while isinstance(above, (exp.And, exp.Or, exp.Paren, exp.Not)):
            nots += isinstance(above, exp.Not)
            above = above.parent
        own = found.scope_of(inner)
        plain = not any(inner.args.get(name) for name in _BOUNDED) and isinstance(inner.selects[0], exp.Column)
        tables = all(source.table and isinstance(source.node, exp.Table) for source in own.sources)
        if above is where and nots <= 1 and plain and tables and not own.correlated and not own.merged:
            yield node, inner, own


def _negated(node: exp.Expr) -> bool:
    above = node.parent
    while isinstance(above, (exp.And, exp.Or, exp.Paren, exp.Not)):
        if isinstance(above, exp.Not):
            return True
        above = above.parent
    return False


def _of(found: Resolution, node: exp.Expr, source: Source) -> bool:
    binding = found.binding(node) if isinstance(node, exp.Column) else None
    return binding is not None and binding.source is source


def _names(found: Resolution, part: exp.Expr, source: Source) -> bool:
    return any(_of(found, column, source) for column in part.find_all(exp.Column))


def _only(found: Resolution, part: exp.Expr, source: Source) -> bool:
    """Whether a condition names columns of one source and nothing else that is bound to a source."""
    bound = [found.binding(column) for column in part.find_all(exp.Column)]
    own = [b for b in bound if b is not None and b.source is not None]
    return bool(own) and all(b.source is source for b in own) and part.find(exp.Query) is None


def _is_key(column: Binding, profile: DatabaseProfile) -> bool:
    if column.source is None or not column.source.table:
        return False
    table = profile.table(column.source.table)
    keys = {tuple(folded(name) for name in key) for key in (table.primary_key, *table.unique_keys)}
    return (column.name,) in keys


def _never_null(column: Binding | None, profile: DatabaseProfile) -> bool:
    if column is None or column.source is None or not column.source.table:
        return False
    table = instance_schema(profile).by_name[column.source.table]
    return any(folded(one.name) == column.name and not one.nullable for one in table.columns)


def _rename(found: Resolution, source: Source, name: str) -> None:
    """Every column of a source qualified by `name`, which becomes its alias."""
    for column in list(found.tree.find_all(exp.Column)):
        if _of(found, column, source):
            column.set("table", exp.to_identifier(name))
    source.node.set("alias", exp.TableAlias(this=exp.to_identifier(name)))

"""Joins that only ask whether there is a row, as the EXISTS that means the same: SEMI, ANTI, LEFT JOIN ... IS NULL."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from agro_data.intent.sampling.atlas import Atlas
from agro_data.sql.conditions import joined, parts_of
from agro_data.sql.names.resolution import Binding, Resolution, Source


def with_existence(found: Resolution, atlas: Atlas) -> bool:
    """Put EXISTS in the place of such joins in the tree of `found`, which it fits no longer. Whether one was there."""
    changed = False
    for scope in found.scopes:
        for source in scope.sources:
            join = source.node.parent
            select = join.parent if isinstance(join, exp.Join) else None
            if not isinstance(join, exp.Join) or not isinstance(select, exp.Select) or not source.table:
                continue
            condition, kind = join.args.get("on"), (join.kind or "").upper()
            if condition is None:
                continue
            if kind in ("SEMI", "ANTI"):
                _replace(join, condition, select, None, negated=kind == "ANTI")
                changed = True
            elif (join.side or "").upper() == "LEFT" and not kind:
                lacking = _lacking(source, condition, found, atlas)
                if lacking is not None:
                    _replace(join, condition, select, lacking, negated=True)
                    changed = True
    return changed


def _replace(join: exp.Join, condition: exp.Expr, select: exp.Select, lacking: exp.Expr | None, negated: bool) -> None:
    """Ask for (or against) a row of the joined table instead of joining it; `lacking` said the same of the join."""
    existence: exp.Expr = exp.Exists(this=exp.select("1").from_(join.this.copy()).where(condition.copy()))
    where = select.args.get("where")
    rest = [part for part in parts_of(where.this) if part is not lacking] if where is not None else []
    join.pop()
    select.set("where", exp.Where(this=joined([*rest, exp.Not(this=existence) if negated else existence])))


def _lacking(source: Source, condition: exp.Expr, found: Resolution, atlas: Atlas) -> exp.Expr | None:
    """The `joined.key IS NULL` that keeps the rows without a joined one, where nothing else is asked of the joined."""
    inside = {id(node) for node in condition.walk()}
    asked = [
        node for node in found.tree.find_all(exp.Column) if id(node) not in inside and _may_be_of(node, source, found)
    ]
    test, binding = (asked[0].parent, found.binding(asked[0])) if len(asked) == 1 else (None, None)
    if not isinstance(test, exp.Is) or not isinstance(test.expression, exp.Null) or binding is None:
        return None
    where = test.find_ancestor(exp.Where)
    alone = where is not None and any(part is test for part in parts_of(where.this))
    table = atlas.by_name.get(source.table)
    known = table is not None and table.never_null(source.columns[binding.name])
    tied = binding.name in {held.name for held in _held_equal(condition, source, found)}
    return test if alone and (known or tied) else None


def _held_equal(condition: exp.Expr, source: Source, found: Resolution) -> Iterator[Binding]:
    """Columns of the joined table that equal something in each joined row, and so are not NULL there."""
    for part in parts_of(condition):
        for side in (part.left, part.right) if isinstance(part, exp.EQ) else ():
            binding = found.binding(side)
            if binding is not None and binding.source is source:
                yield binding


def _may_be_of(column: exp.Column, source: Source, found: Resolution) -> bool:
    binding = found.binding(column)
    return binding is None or binding.source is source

"""A query with something changed in it: in place, rendered, and undone, which costs less than a copy of the tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from agro_data.databases.types import Dialect
from agro_data.sql.conditions import joined
from agro_data.sql.forms.canonical import sql_text
from agro_data.sql.names.resolution import Scope


@dataclass(frozen=True)
class Change:
    """`holder.slot` (its item `place`, if it is a list) becomes `value`; None takes it away."""

    holder: exp.Expr
    slot: str
    value: object
    place: int | None = None


def swap(node: exp.Expr, value: exp.Expr) -> Change:
    """`value` in the place of `node`."""
    parent = node.parent
    if parent is None or node.arg_key is None:
        raise ValueError("the root of a tree has no place in which it could be replaced")
    return Change(parent, node.arg_key, value, node.index)


def narrowed(scope: Scope, condition: exp.Expr) -> Change:
    """The condition in WHERE, beside what stands there."""
    where = scope.select.args.get("where")
    beside = [where.this] if where is not None else []
    return Change(scope.select, "where", exp.Where(this=joined([*beside, condition])))


def edited(tree: exp.Expr, changes: Sequence[Change], dialect: Dialect, *, stable: bool = False) -> str:
    """The text of the whole statement with the changes made. `stable`: rendering leaves the tree as it is
    (`canonical.unchanged_by_text`), so no copy is rendered.
    """
    kept = [_make(change) for change in changes]
    text = sql_text(tree, dialect, consume=stable)
    for change, old in zip(reversed(changes), reversed(kept), strict=True):
        change.holder.set(change.slot, old, index=change.place)
    return text


def _make(change: Change) -> object:
    if change.place is None:
        old = change.holder.args.get(change.slot)
        change.holder.set(change.slot, change.value)
    else:
        old = change.holder.args[change.slot][change.place]
        change.holder.set(change.slot, change.value, index=change.place)
    return old

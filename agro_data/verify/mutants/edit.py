"""One mistake in a tree: made in place, rendered, and undone."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from sqlglot import exp

from agro_data.databases.types import Dialect
from agro_data.populate.instances.orders import Part
from agro_data.sql.canonical import sql_text, unchanged_by_text
from agro_data.sql.resolution import Resolution, Scope
from agro_data.sql.scope import Schema
from agro_data.sql.walks import joined
from agro_data.words import cut

SHOWN = 60  # characters of a condition in the words for a person


Parts = Mapping[tuple[str, str], tuple[Part, ...]]
"""The parts of the values of a (table, column) that an order may be mistaken to go by."""


@dataclass(frozen=True)
class Mutant:
    """A query with one mistake. `what` says which, for a person: "WHERE age > 56 -> age >= 56"."""

    kind: str
    what: str
    sql: str


@dataclass(frozen=True)
class Change:
    """`holder.slot` (its item `place`, if it is a list) becomes `value`; None takes it away."""

    holder: exp.Expr
    slot: str
    value: object
    place: int | None = None


@dataclass(frozen=True)
class Edit:
    """A mistake not yet made. `weight` orders the edits of a kind: the likelier mistake is lighter."""

    kind: str
    where: str
    before: str | exp.Expr
    after: str | exp.Expr
    changes: tuple[Change, ...] = ()
    root: exp.Expr | None = None  # a whole statement, for what is not done in place
    weight: float = 1.0


@dataclass
class Place:
    """A query whose mistakes are looked for. `edits` never touch the tree: `render` does, and undoes it."""

    found: Resolution
    dialect: Dialect
    schema: Schema
    with_nulls: Collection[tuple[str, str]] = ()  # (table, column) in which NULL was met
    parts: Parts = field(default_factory=dict)

    @cached_property
    def stable(self) -> bool:
        """Whether the tree can be rendered without a copy."""
        return unchanged_by_text(self.found.tree, self.dialect)

    def text(self, node: exp.Expr | str) -> str:
        return node if isinstance(node, str) else sql_text(node, self.dialect).strip()

    def label(self, clause: str, scope: Scope) -> str:
        return clause if scope.select is self.found.tree else f"{clause} (inner)"

    def words(self, edit: Edit) -> str:
        """What is done, in words. Read before the edit is made."""
        before, after = (cut(self.text(node), SHOWN) for node in (edit.before, edit.after))
        said = f"{before} -> {after}" if before and after else before or after
        return f"{edit.where} {said}".strip()

    def render(self, edit: Edit) -> str:
        """The whole statement with the mistake in it."""
        if edit.root is not None:
            return self.text(edit.root)
        stable = self.stable
        kept = [_make(change) for change in edit.changes]
        text = sql_text(self.found.tree, self.dialect, consume=stable).strip()
        for change, old in zip(reversed(edit.changes), reversed(kept), strict=True):
            change.holder.set(change.slot, old, index=change.place)
        return text


def swap(node: exp.Expr, value: exp.Expr) -> Change:
    """`value` in the place of `node`."""
    parent = node.parent
    if parent is None or node.arg_key is None:
        raise ValueError("the root of a tree has no place in which it could be replaced")
    return Change(parent, node.arg_key, value, node.index)


def leaves(condition: exp.Expr) -> Iterator[exp.Expr]:
    """The predicates that AND, OR, NOT and parentheses combine; a negated one with its NOT."""
    if isinstance(condition, exp.Paren):
        yield from leaves(condition.this)
    elif isinstance(condition, (exp.And, exp.Or)):
        yield from leaves(condition.this)
        yield from leaves(condition.expression)
    elif isinstance(condition, exp.Not) and isinstance(condition.this.unnest(), exp.Connector):
        yield from leaves(condition.this)
    else:
        yield condition


def conditions(scope: Scope) -> Iterator[tuple[str, exp.Expr, str, exp.Expr]]:
    """(clause, holder, slot, condition) of every condition of one SELECT."""
    for clause in ("where", "having", "qualify"):
        node = scope.select.args.get(clause)
        if node is not None:
            yield clause.upper(), node, "this", node.this
    for join in scope.select.args.get("joins") or ():
        if join.args.get("on") is not None:
            yield "ON", join, "on", join.args["on"]


def narrowed(scope: Scope, condition: exp.Expr) -> Change:
    """The condition in WHERE, beside what stands there."""
    where = scope.select.args.get("where")
    beside = [where.this] if where is not None else []
    return Change(scope.select, "where", exp.Where(this=joined([*beside, condition])))


def links(found: Resolution, part: exp.Expr, scope: Scope) -> bool:
    """Whether a predicate is an equality of columns of two sources of this FROM."""
    bare = part.unnest()
    if not isinstance(bare, exp.EQ):
        return False
    sides = [found.binding(side) for side in (bare.left, bare.right)]
    owners = {
        id(side.source)
        for side in sides
        if side is not None and side.source is not None and any(side.source is own for own in scope.sources)
    }
    return len(owners) == 2


def linking(found: Resolution, scope: Scope) -> set[int]:
    """`id` of every column node in an equality that links two sources of this FROM."""
    return {
        id(side)
        for _, _, _, condition in conditions(scope)
        for part in leaves(condition)
        if links(found, part, scope)
        for side in part.unnest().iter_expressions()
    }


def _make(change: Change) -> object:
    if change.place is None:
        old = change.holder.args.get(change.slot)
        change.holder.set(change.slot, change.value)
    else:
        old = change.holder.args[change.slot][change.place]
        change.holder.set(change.slot, change.value, index=change.place)
    return old

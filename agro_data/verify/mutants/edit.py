"""One mistake in a query, and the query in which it is made."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from sqlglot import exp

from agro_data.databases.types import Dialect
from agro_data.populate.instances.directed.orders import Part
from agro_data.sql.forms.canonical import sql_text, unchanged_by_text
from agro_data.sql.names.resolution import Resolution, Scope
from agro_data.sql.names.scope import Schema
from agro_data.verify.edits import Change, edited
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
        return edited(self.found.tree, edit.changes, self.dialect, stable=self.stable).strip()

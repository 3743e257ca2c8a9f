"""What the names of one query mean, as `scope.resolve` has found it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from sqlglot import exp


@dataclass(frozen=True)
class Named:
    """A query with a name in it: a CTE or a derived table. `outputs` are its columns, "" for one without a name."""

    outputs: Sequence[str]
    query: exp.Expr


Place = tuple[str, str]
"""Table and column, as the schema spells them."""


@dataclass(frozen=True)
class Source:
    """One item of a FROM clause. `table` is the schema's spelling, or "" for a CTE, a derived table or written rows."""

    alias: str  # lower case
    table: str
    columns: Mapping[str, str]  # lower-case name -> spelling
    node: exp.Expr
    query: Named | None = None  # of a CTE or a derived table


@dataclass(frozen=True)
class Binding:
    """What a column reference means.

    `column`: `name` of `source`; `alias`: the output `expression` of the same SELECT; `output`: a column of a set
    operation; `string`: an SQLite double-quoted token that names nothing.
    """

    kind: Literal["column", "alias", "output", "string"]
    name: str
    source: Source | None = None
    expression: exp.Expr | None = None

    @property
    def place(self) -> Place | None:
        """Table and column, as the schema spells them; None of what a query makes itself."""
        if self.source is None or not self.source.table:
            return None
        return self.source.table, self.source.columns[self.name]


@dataclass
class Scope:
    """One SELECT: what its FROM offers, and the SELECT around it."""

    select: exp.Select
    outer: Scope | None
    sources: list[Source] = field(default_factory=list)
    merged: set[str] = field(default_factory=set)  # columns that USING or NATURAL made one
    aliases: dict[str, exp.Expr] = field(default_factory=dict)
    outputs: list[str] = field(default_factory=list)  # lower case; "" where the engine makes up the name
    origins: list[exp.Expr | tuple[Source, str]] = field(default_factory=list)  # of outputs; a star lists columns
    correlated: bool = False  # refers to a SELECT around it


@dataclass
class Resolution:
    """All names of one tree. `bindings`, `outputs` and `qualified` are keyed by `id(node)` and hold as long as the tree
    lives."""

    tree: exp.Query
    scopes: list[Scope] = field(default_factory=list)
    bindings: dict[int, Binding] = field(default_factory=dict)
    outputs: dict[int, list[str]] = field(default_factory=dict)  # of each query: lower case, like those of a SELECT
    qualified: dict[int, Source] = field(default_factory=dict)  # by what `a.b.c` begins with, if c is a field of b
    problems: list[tuple[str, str]] = field(default_factory=list)  # (reason, detail)
    tables: set[str] = field(default_factory=set)
    columns: set[Place] = field(default_factory=set)

    @property
    def ordered(self) -> bool:
        """Whether the order of its rows is part of the answer: ORDER BY at top level. `verify.ordering.orders` tells it
        of SQL that is not parsed here."""
        return self.tree.args.get("order") is not None

    def scope_of(self, select: exp.Expr) -> Scope:
        return next(scope for scope in self.scopes if scope.select is select)

    def binding(self, column: exp.Expr) -> Binding | None:
        return self.bindings.get(id(column))

    def place(self, column: exp.Expr) -> Place | None:
        """Table and column that a reference means; see `Binding.place`."""
        binding = self.binding(column)
        return binding.place if binding is not None else None

    def aliased(self, node: exp.Expr) -> exp.Expr | None:
        """The output that a name stands for; None where it is no name of one. DuckDB's `x AS x` names only itself."""
        binding = self.binding(node)
        if binding is None or binding.kind != "alias" or binding.expression is node:
            return None
        return binding.expression

    def meaning(self, key: exp.Expr, select: exp.Select) -> exp.Expr:
        """What a key of GROUP BY or ORDER BY stands for: a position or a name of the select list, or itself."""
        term = key
        if isinstance(key, exp.Literal) and key.is_int and 0 < int(key.this) <= len(select.expressions):
            term = select.expressions[int(key.this) - 1].unalias()
        named = self.aliased(term)
        return term if named is None else named


def names_beside(node: exp.Expr, scope: Scope, found: Resolution) -> bool:
    """Whether a query in the FROM of a SELECT names what stands beside it there (LATERAL)."""
    beside = {id(source) for source in scope.sources}
    bindings = (found.binding(column) for column in node.find_all(exp.Column))
    return any(binding is not None and id(binding.source) in beside for binding in bindings)


def value_of(node: exp.Expr, found: Resolution) -> exp.Expr | None:
    """The literal that a node is, with its sign: also SQLite's double-quoted token that names nothing."""
    inner = node.this if isinstance(node, exp.Neg) else node
    if isinstance(inner, exp.Literal):
        return node
    binding = found.binding(node)
    return exp.Literal.string(binding.name) if binding is not None and binding.kind == "string" else None

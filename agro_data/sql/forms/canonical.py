"""Canonical text of a query, and the two maskings of it by which duplicates are found."""

from __future__ import annotations

import re
from functools import cache

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect as SqlglotDialect
from sqlglot.generator import Generator

from agro_data.databases.quoting import folded
from agro_data.databases.types import Dialect
from agro_data.sql.names.called_columns import columns_in
from agro_data.sql.names.resolution import Resolution, Scope, Source
from agro_data.sql.walks import local_nodes

_LITERAL = re.compile(r"""(?P<name>"(?:[^"]|"")*")|'(?:[^']|'')*'|(?<![\w"')])-?\b\d+(?:\.\d+)?(?:[eE][+-]?\d+)?\b""")
_LIST = re.compile(r"\(\?(?:, \?)+\)")
_NAME = re.compile(r'"(?:[^"]|"")*"(?:\."(?:[^"]|"")*")?')


def canonical_sql(found: Resolution, dialect: Dialect) -> str:
    """Text that two queries share when they differ in letter case, spacing, quoting, alias names or redundant syntax.

    Sources are named t1, t2, ... and CTEs q1, q2, ... in the order they are met; every column that belongs to a
    source is qualified by it, so `name` and `T1.name` agree. References to output aliases and output positions
    are replaced by the expression they stand for; aliases that nothing refers to are dropped. Consumes
    `found.tree`: pass the resolution of a copy.
    """
    _Renamer(found).apply()
    return sql_text(found.tree, dialect, quote=True, consume=True)


def skeleton_of(canonical: str) -> str:
    """Canonical text with every literal as `?`; a list of literals, whatever its length, as `(?)`."""
    masked = _LITERAL.sub(lambda match: match.group("name") or "?", canonical)
    return _LIST.sub("(?)", masked)


def template_of(skeleton: str) -> str:
    """Skeleton with every table, column and alias name as `_`, qualified or not."""
    return _NAME.sub("_", skeleton)


def sql_text(tree: exp.Expr, dialect: Dialect, quote: bool = False, consume: bool = False) -> str:
    """SQL of a tree, without comments. sqlglot sets up a generator in 0.3 ms, so one is kept for each dialect.

    `consume`: the tree may be changed, which saves the copy that takes longer than the text.
    """
    return _generator(dialect, quote).generate(tree, copy=not consume)


def unchanged_by_text(tree: exp.Expr, dialect: Dialect) -> bool:
    """Whether sqlglot renders this tree without changing it.

    It rewrites QUALIFY for SQLite, for one, and lends a limited branch of a set operation to brackets of its own.
    """
    copy = tree.copy()
    sql_text(copy, dialect, consume=True)
    kept = all(child.parent is node for node in copy.walk() for child in node.iter_expressions())
    return kept and bool(copy == tree)


def names_matter(select: exp.Select) -> bool:
    """Whether output names are referred to from outside: in a CTE, a derived table, or a set operation that is ordered
    or BY NAME.
    """
    node: exp.Expr | None = select.parent
    while isinstance(node, (exp.SetOperation, exp.Subquery)) and node.parent is not None:
        if isinstance(node, exp.Subquery) and isinstance(node.parent, (exp.From, exp.Join)):
            return True
        if _names_columns(node):
            return True
        node = node.parent
    return isinstance(node, exp.CTE) or _names_columns(node)


def _names_columns(node: exp.Expr | None) -> bool:
    return isinstance(node, exp.SetOperation) and bool(node.args.get("order") or node.args.get("by_name"))


@cache
def _generator(dialect: Dialect, quote: bool) -> Generator:
    return SqlglotDialect.get_or_raise(dialect).generator(identify=quote, comments=False)


class _Renamer:
    """Renames in place. Column nodes keep their identity until all are read, because bindings are keyed by it."""

    def __init__(self, found: Resolution) -> None:
        self.found = found
        self.names: dict[int, str] = {}  # id(source) -> canonical alias
        self.outputs: dict[int, list[str]] = {}

    def apply(self) -> None:
        for scope in self.found.scopes:
            for source in scope.sources:
                self.names[id(source)] = f"t{len(self.names) + 1}"
        replacements = [change for scope in self.found.scopes for change in self._references(scope)]
        columns = [node for node in self.found.tree.find_all(exp.Column) if not isinstance(node.this, exp.Star)]
        for column in columns:
            self._column(column)
        for old, new in replacements:
            old.replace(new.copy())
        for scope in self.found.scopes:
            for source in scope.sources:
                self._source(source)
            self._select(scope.select)
        self._ctes()

    def _references(self, scope: Scope) -> list[tuple[exp.Expr, exp.Expr]]:
        """Alias references and output positions of one SELECT, with what they stand for."""
        found: list[tuple[exp.Expr, exp.Expr]] = []
        for clause in ("where", "group", "having", "qualify", "order"):
            node = scope.select.args.get(clause)
            if node is None:
                continue
            for part in local_nodes(node):
                named = self.found.aliased(part)
                if named is not None:
                    found.append((part, named))
            if clause in ("group", "order"):
                for key in node.expressions:
                    term = key.this if isinstance(key, exp.Ordered) else key
                    if isinstance(term, exp.Literal):
                        found.append((term, self.found.meaning(term, scope.select)))
        return [(old, new) for old, new in found if not isinstance(new, exp.Star) and old is not new]

    def _column(self, column: exp.Column) -> None:
        binding = self.found.binding(column)
        if binding is None or binding.kind in ("alias", "output"):
            column.this.set("this", folded(column.name))
            if id(column) in self.found.qualified:
                column.parts[0].set("this", self.names[id(self.found.qualified[id(column)])])
        elif binding.kind == "string":
            column.replace(exp.Literal.string(binding.name))
        elif binding.source is not None:
            column.this.set("this", folded(column.name))
            column.set("table", exp.to_identifier(self.names[id(binding.source)]))

    def _source(self, source: Source) -> None:
        alias = exp.to_identifier(self.names[id(source)])
        node = source.node
        if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
            node.this.set("this", folded(node.name))
            node.set("db", None)
            node.set("catalog", None)
        existing = node.args.get("alias")
        columns = existing.args.get("columns") if existing is not None else None
        node.set("alias", exp.TableAlias(this=alias, columns=columns))

    def _select(self, select: exp.Select) -> None:
        named = names_matter(select)
        for item in select.expressions:
            each = columns_in(item)
            if each is not None and isinstance(each.this, exp.Column):
                self._star(each.this, select)
            if isinstance(item, exp.Alias) and not named:
                item.replace(item.this)
            elif isinstance(item, exp.Alias):
                item.args["alias"].set("this", folded(item.alias))
            elif isinstance(item, exp.Column) and isinstance(item.this, exp.Star):
                self._star(item, select)
        for join in select.args.get("joins") or ():
            if join.kind in ("INNER", "OUTER"):  # noise words; the side says the rest
                join.set("kind", None)
        order = select.args.get("order")
        for key in order.expressions if order is not None else ():
            if key.args.get("desc") is False:
                key.set("desc", None)

    def _star(self, item: exp.Column, select: exp.Select) -> None:
        for source in self.found.scope_of(select).sources:
            if source.alias == folded(item.table):
                item.set("table", exp.to_identifier(self.names[id(source)]))

    def _ctes(self) -> None:
        ctes = list(self.found.tree.find_all(exp.CTE))
        renamed = {folded(cte.alias): f"q{number}" for number, cte in enumerate(ctes, 1)}
        for cte in ctes:
            cte.args["alias"].this.set("this", renamed[folded(cte.alias)])
        for scope in self.found.scopes:
            for source in scope.sources:
                if isinstance(source.node, exp.Table) and not source.table and source.node.name in renamed:
                    source.node.this.set("this", renamed[source.node.name])

"""The same statement without a fault, if the right SQL follows from the data, the schema or a proof.

Each edit gives the whole statement as text, or "" where more than one repair would do: a choice is left to a person.
The tree is edited in place and restored. That a repair is one is not claimed here: `pairs.audit` runs and checks it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from difflib import SequenceMatcher

from sqlglot import exp

from agro_data.databases.quoting import folded
from agro_data.databases.types import Dialect
from agro_data.populate.schema import Schema as Keys
from agro_data.sql.constructs import is_aggregate
from agro_data.sql.forms.canonical import sql_text
from agro_data.sql.identifiers import identifier
from agro_data.sql.names.resolution import Resolution, Scope, Source
from agro_data.sql.names.scope import Schema
from agro_data.sql.walks import leftmost, local_nodes

ALIKE = 0.75  # of the letters of two names, from which one may be a slip for the other


def respelt(found: Resolution, literals: Iterable[exp.Expr], value: str, dialect: Dialect) -> str:
    """The statement with `value` in the place of these literals."""
    return rewritten(found, [(literal, exp.Literal.string(value)) for literal in literals], dialect)


def rewritten(found: Resolution, nodes: Sequence[tuple[exp.Expr, exp.Expr]], dialect: Dialect) -> str:
    """The statement with each of the first nodes replaced by its second."""
    with _replaced(nodes):
        return sql_text(found.tree, dialect)


def settled(found: Resolution, dialect: Dialect) -> str:
    """Every order that counts (at top level, or before a LIMIT) goes on with the outputs that are not among its keys.

    Rows that then compare equal show the same, so nothing is left to chance, and the answer is one of those that were
    open before. "" where the outputs have no names that an ORDER BY could use.
    """
    changed: list[tuple[exp.Expr, list[exp.Expr]]] = []
    try:
        for node in found.tree.find_all(exp.Select, exp.SetOperation):
            order = node.args.get("order")
            if order is None or (node is not found.tree and node.args.get("limit") is None):
                continue
            further = _further_keys(node, order, dialect)
            if further is None:
                return ""
            if further:
                changed.append((order, list(order.expressions)))
                order.set("expressions", [*order.expressions, *further])
        return sql_text(found.tree, dialect) if changed else ""
    finally:
        for order, keys in changed:
            order.set("expressions", keys)


def _further_keys(node: exp.Expr, order: exp.Expr, dialect: Dialect) -> list[exp.Expr] | None:
    items = leftmost(node).expressions
    if any(item.is_star for item in items if not is_aggregate(item.unalias())):
        return None
    keys = [key.this for key in order.expressions]
    named = {folded(key.name) for key in keys if isinstance(key, exp.Column)}
    places = {int(key.this) for key in keys if isinstance(key, exp.Literal) and key.is_int}
    further: list[exp.Expr] = []
    for place, item in enumerate(items, 1):
        inner = item.unalias()
        known = any(inner == key for key in keys) or place in places
        if known or (item.alias_or_name and folded(item.alias_or_name) in named and not isinstance(inner, exp.Column)):
            continue
        plain = isinstance(node, exp.Select) and not isinstance(inner, (exp.Literal, exp.Subquery, exp.Window))
        key = inner.copy() if plain else exp.Literal.number(place)
        further.append(exp.Ordered(this=key, nulls_first=nulls_come_first(dialect, falling=False)))
    return further


def turned(found: Resolution, order: exp.Expr, dialect: Dialect) -> str:
    """The statement with the first key of an ORDER BY the other way round: those after it settle ties."""
    key = order.expressions[0]
    falling, nulls_first = bool(key.args.get("desc")), key.args.get("nulls_first")
    key.set("desc", None if falling else True)
    if nulls_first == nulls_come_first(dialect, falling=falling):  # nothing was said of NULL
        key.set("nulls_first", nulls_come_first(dialect, falling=not falling))
    text = sql_text(found.tree, dialect)
    key.set("desc", falling)
    key.set("nulls_first", nulls_first)
    return text


def nulls_come_first(dialect: Dialect, *, falling: bool) -> bool:
    """Where NULL comes when an ORDER BY does not say: it is SQLite's least value, and DuckDB's last."""
    return dialect == "sqlite" and not falling


def renamed(found: Resolution, schema: Schema, dialect: Dialect) -> str:
    """Tables, else columns, that do not exist under the one existing name that is spelt much like each of them."""
    ctes = {folded(cte.alias) for cte in found.tree.find_all(exp.CTE)}
    tables = {folded(table) for table in schema}
    called = [table for table in found.tree.find_all(exp.Table) if isinstance(table.this, exp.Identifier)]
    unknown = [table for table in called if folded(table.name) not in tables | ctes]
    names: list[tuple[exp.Expr, exp.Expr]] = []  # not by node: equal nodes are one key
    for table in unknown:
        near = only_alike(table.name, schema)
        if not near:
            return ""
        names.append((table.this, identifier(near)))
    for scope in found.scopes if not unknown else ():
        for column, offered in _unbound(scope, found):
            near = only_alike(column.name, offered)
            if not near:
                return ""
            names.append((column.this, identifier(near)))
    if not names:
        return ""
    with _replaced(names):
        return sql_text(found.tree, dialect)


def _unbound(scope: Scope, found: Resolution) -> Iterator[tuple[exp.Column, list[str]]]:
    """Columns of a SELECT that name nothing, with the names that their sources offer."""
    for part in scope.select.iter_expressions():
        for node in local_nodes(part):
            if isinstance(node, exp.Column) and not isinstance(node.this, exp.Star) and found.binding(node) is None:
                sources = [s for s in scope.sources if not node.table or s.alias == folded(node.table)]
                yield node, [name for source in sources for name in source.columns.values()]


def only_alike(name: str, names: Iterable[str]) -> str:
    """The one of the names that is spelt much like this one; "" if there is none, or several."""
    wanted = folded(name)
    near = [one for one in dict.fromkeys(names) if SequenceMatcher(None, folded(one), wanted).ratio() >= ALIKE]
    return near[0] if len(near) == 1 else ""


def linked(found: Resolution, keys: Keys, dialect: Dialect) -> str:
    """The statement with ON where a JOIN has none and exactly one foreign key links its table with those before."""
    for scope in found.scopes:
        joins = scope.select.args.get("joins") or ()
        if len(scope.sources) != len(joins) + 1:
            continue
        for place, join in enumerate(joins, 1):
            on = join.args.get("on")  # TRUE where the text says nothing
            bare = on is None or isinstance(on, exp.Boolean)
            if not bare or join.args.get("using") or join.method or _is_linked(scope, found):
                continue
            link = _one_link(scope.sources[:place], scope.sources[place], keys)
            if link is not None:
                join.set("on", link)
                text = sql_text(found.tree, dialect)
                join.set("on", on)
                return text
    return ""


def _is_linked(scope: Scope, found: Resolution) -> bool:
    """Whether some condition of a SELECT names two of its sources, as in a join by WHERE."""
    for node in scope.select.find_all(exp.Predicate):
        bound = [found.binding(column) for column in node.find_all(exp.Column)]
        if len({id(one.source) for one in bound if one is not None and one.source in scope.sources}) > 1:
            return True
    return False


def _one_link(before: list[Source], source: Source, keys: Keys) -> exp.Expr | None:
    links: list[exp.Expr] = []
    for other in before:
        for key in keys.foreign_keys:
            for child, parent in ((other, source), (source, other)):
                if (key.table, key.ref_table) == (child.table, parent.table) and child is not parent:
                    pairs = zip(key.columns, key.ref_columns, strict=True)
                    links.append(exp.and_(*(_column(child, a).eq(_column(parent, b)) for a, b in pairs)))
    return links[0] if len(links) == 1 else None


def _column(source: Source, name: str) -> exp.Column:
    return exp.column(identifier(name), table=identifier(source.node.alias_or_name))


@contextmanager
def _replaced(nodes: Sequence[tuple[exp.Expr, exp.Expr]]) -> Iterator[None]:
    """The tree with nodes replaced, for as long as the block runs."""
    undo: list[Callable[[], object]] = []
    for old, new in nodes:
        old.replace(new)
        undo.append(lambda old=old, new=new: new.replace(old))  # type: ignore[misc]
    try:
        yield
    finally:
        for one in undo:
            one()

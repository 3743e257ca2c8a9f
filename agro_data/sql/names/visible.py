"""What can be seen of a query from outside it: how often it gives a row, and which of its columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp

from agro_data.sql.constructs import number_of
from agro_data.sql.names.resolution import Resolution, Scope, Source
from agro_data.sql.walks import local_nodes


def gives_rows(query: exp.Expr, found: Resolution) -> bool:
    """Whether it shows how often a query gives a row: not where it stands for one value, in IN or in EXISTS, nor where
    all that reads it makes the same of a row however often it comes.
    """
    waiting, met = [query], {id(query)}
    while waiting:
        path, holder = _held(waiting.pop())
        if any(_counts_branches(node) for node in path[1:]):
            return True
        if holder is not None and not isinstance(holder, (exp.CTE, exp.From, exp.Join)):
            continue
        readers = [scope.select for scope, _ in _readers(path, found)]
        if not readers or any(map(_counts_rows, readers)):
            return True
        further = [select for select in readers if not _merges_rows(select) and id(select) not in met]
        waiting += further
        met.update(map(id, further))
    return False


def columns_seen(query: exp.Expr, found: Resolution) -> frozenset[int] | None:
    """The places of the columns of a query that something outside it reads; None where it may be any."""
    path, holder = _held(query)
    if any(isinstance(node, exp.SetOperation) or _orders_or_cuts(node) for node in path[1:]):
        return None
    if isinstance(holder, exp.Exists):
        return frozenset()
    readers = _readers(path, found)
    joins = [join for scope, _ in readers for join in scope.select.find_all(exp.Join)]
    if not readers or any(join.args.get("using") or join.method for join in joins) or _reads_unbound(found):
        return None
    columns = readers[0][1].query.outputs if readers[0][1].query is not None else ()
    sources = {id(source) for _, source in readers}
    names: set[str] = set()
    unread: set[int] = set()
    for scope in found.scopes:
        starred = {at[1] for at in scope.origins if isinstance(at, tuple) and id(at[0]) in sources}
        if isinstance(scope.select.parent, exp.Exists) and not _merges_rows(scope.select):
            unread |= {id(item) for item in scope.select.expressions if isinstance(item, exp.Column)}
        elif starred and not all(columns):
            return None
        else:
            names |= starred
    for column in found.tree.find_all(exp.Column):
        binding = found.binding(column)
        if binding is not None and id(binding.source) in sources and id(column) not in unread:
            names.add(binding.name)
    return frozenset(place for place, name in enumerate(columns) if name in names)


def _held(query: exp.Expr) -> tuple[list[exp.Expr], exp.Expr | None]:
    """A query with the brackets and set operations that it stands in, and what these stand in: None at the top."""
    path, holder = [query], query.parent
    while isinstance(holder, (exp.Subquery, exp.SetOperation)):
        path.append(holder)
        holder = holder.parent
    return path, holder


def _readers(path: Sequence[exp.Expr], found: Resolution) -> list[tuple[Scope, Source]]:
    """The SELECTs that have one of these queries in their FROM, as a CTE or a derived table."""
    ids = set(map(id, path))
    return [
        (scope, source)
        for scope in found.scopes
        for source in scope.sources
        if source.query is not None and id(source.query.query) in ids
    ]


def _orders_or_cuts(node: exp.Expr) -> bool:
    return any(node.args.get(clause) is not None for clause in ("order", "limit", "offset"))


def _counts_branches(node: exp.Expr) -> bool:
    """Whether what brackets or a set operation give depends on how often their branches give a row, but for that."""
    whole = isinstance(node, (exp.Intersect, exp.Except)) and not node.args.get("distinct")
    return whole or node.args.get("limit") is not None or node.args.get("offset") is not None


def _counts_rows(select: exp.Select) -> bool:
    """Whether the rows of a SELECT, but for how often it gives each, depend on how often its sources give a row."""
    offset, limit = (select.args.get(clause) is not None for clause in ("offset", "limit"))
    cuts = offset or (limit and number_of(select, "limit") != 1)
    return any(map(_counts, _nodes(select))) or (cuts and not _merges_rows(select))


def _merges_rows(select: exp.Select) -> bool:
    """Whether a SELECT gives one row of several that are equal."""
    return any(select.args.get(clause) is not None for clause in ("group", "distinct")) or any(
        isinstance(node, exp.AggFunc) for node in _nodes(select)
    )


def _nodes(select: exp.Select) -> Iterator[exp.Expr]:
    return (node for clause in select.iter_expressions() for node in local_nodes(clause))


def _counts(node: exp.Expr) -> bool:
    """Whether a function is, or may be, another of a row that comes twice."""
    if isinstance(node, (exp.Max, exp.Min)):
        return node.args.get("count") is not None
    if isinstance(node, exp.AggFunc):
        return not isinstance(node.this, exp.Distinct)
    return isinstance(node, (exp.Window, exp.List, exp.Anonymous))


def _reads_unbound(found: Resolution) -> bool:
    """Whether columns are read that no binding tells of: by a path into a struct, by a star within an expression, or by
    COLUMNS.
    """
    for node in found.tree.find_all(exp.Column, exp.Star, exp.Columns):
        if isinstance(node, exp.Columns):
            return True
        if isinstance(node, exp.Star):
            holder = node.parent.parent if isinstance(node.parent, exp.Column) else node.parent
            if not isinstance(holder, (exp.Select, exp.Count)):
                return True
        elif not isinstance(node.this, exp.Star) and found.binding(node) is None:
            return True
    return False

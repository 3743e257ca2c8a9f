"""Mistakes in set operations and in subqueries of conditions."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from agro_data.sql.conditions import conditions, joined, leaves
from agro_data.sql.identifiers import identifier
from agro_data.sql.names.resolution import Scope, Source
from agro_data.sql.walks import local_nodes
from agro_data.verify.edits import Change, swap
from agro_data.verify.mutants.edit import Edit, Place
from agro_data.verify.mutants.rows import order_and_limit


def of_sets(place: Place) -> Iterator[Edit]:
    """Edits of the set operations of a query, wherever they stand."""
    for node in list(place.found.tree.find_all(exp.SetOperation)):
        top = node is place.found.tree
        label = "" if top else "(inner)"
        yield from _operation(place, node, label)
        yield from order_and_limit(place, node, f"ORDER BY {label}".strip(), f"LIMIT {label}".strip())


def _operation(place: Place, node: exp.SetOperation, label: str) -> Iterator[Edit]:
    word = node.key.upper()
    every = isinstance(node, exp.Union) and not node.args.get("distinct")
    name = word + (" ALL" if every else "")
    others: list[tuple[type[exp.SetOperation], bool]] = [
        (kind, True) for kind in (exp.Union, exp.Intersect, exp.Except) if not isinstance(node, kind) or every
    ]
    if isinstance(node, exp.Union) and not every:
        others.append((exp.Union, False))
    for kind, distinct in others:
        new = _as(node, kind, distinct)
        said = new.key.upper() + ("" if distinct else " ALL")
        yield _replaced("set_operation", node, new, label, name, said, 0)
    if isinstance(node, exp.Except):
        new = _as(node, exp.Except, True)
        new.set("this", node.expression.copy())
        new.set("expression", node.this.copy())
        yield _replaced("set_operation", node, new, label, "EXCEPT", "with its sides exchanged", 0)
    if node.args.get("limit") is None and node.args.get("order") is None:
        for dropped, kept in (("second", node.this), ("first", node.expression)):
            if isinstance(node, exp.Except) and dropped == "first":
                continue
            yield _replaced(
                "branch_dropped", node, _alone(node, kept), label, f"{dropped} branch of {word}", "dropped", 1
            )
        yield from _one_select(place, node, label, word)


def _as(node: exp.SetOperation, kind: type[exp.SetOperation], distinct: bool) -> exp.SetOperation:
    whole = node.copy()
    return kind(**{**whole.args, "distinct": distinct})


def _alone(node: exp.SetOperation, branch: exp.Expr) -> exp.Expr:
    alone = branch.copy()
    if node.args.get("with_") is not None:
        alone.set("with_", node.args["with_"].copy())
    return alone


def _replaced(kind: str, node: exp.Expr, new: exp.Expr, label: str, before: str, after: str, weight: float) -> Edit:
    if node.parent is None:
        return Edit(kind, label, before, after, root=new, weight=weight)
    return Edit(kind, label, before, after, (swap(node, new),), weight=weight)


def _one_select(place: Place, node: exp.SetOperation, label: str, word: str) -> Iterator[Edit]:
    """`A INTERSECT B` as one SELECT with both conditions; `A EXCEPT B` with the second negated; `A UNION B` with OR."""
    left, right = node.this, node.expression
    if not isinstance(left, exp.Select) or not isinstance(right, exp.Select):
        return
    if any(left.args.get(c) is not None or right.args.get(c) is not None for c in ("group", "order", "limit")):
        return
    second = right.args.get("where")
    if second is None or _shape(place, left) != _shape(place, right):
        return
    new = _alone(node, left)
    condition = second.this.copy()
    wrapped = exp.Paren(this=condition) if isinstance(condition, exp.Connector) else condition
    if isinstance(node, exp.Except):
        wrapped = exp.Not(this=exp.Paren(this=second.this.copy()))
    first = left.args.get("where")
    if first is not None:
        own = exp.Paren(this=first.this.copy()) if isinstance(first.this, exp.Connector) else first.this.copy()
        connector = exp.Or if isinstance(node, exp.Union) else exp.And
        wrapped = connector(this=own, expression=wrapped)
    elif isinstance(node, exp.Union):
        return
    new.set("where", exp.Where(this=wrapped))
    yield _replaced("set_to_condition", node, new, label, word, place.text(new.args["where"]), 0)


def _shape(place: Place, select: exp.Select) -> str:
    parts = [*select.expressions, select.args.get("from_"), *(select.args.get("joins") or [])]
    return " ".join(place.text(part).lower() for part in parts if part is not None)


def of_subqueries(place: Place, scope: Scope) -> Iterator[Edit]:
    """`x NOT IN (SELECT y FROM s)` as a join on `x <> y`, `x IN (...)` as a join that repeats rows."""
    for clause, where, _, condition in conditions(scope):
        parts = list(leaves(condition))
        if clause != "WHERE" or not _all_hold(condition):
            continue
        for part in parts:
            bare = part.unnest()
            negated = isinstance(bare, exp.Not)
            test = bare.this.unnest() if negated else bare
            if isinstance(test, exp.In) and test.args.get("query") is not None and isinstance(test.this, exp.Column):
                others = [other for other in parts if other is not part]
                yield from _as_join(place, scope, where, test, negated, others)


def _all_hold(condition: exp.Expr) -> bool:
    """Whether the leaves of a condition hold together: none is one of several, or of several that are negated."""
    negated = (node.this.unnest() for node in local_nodes(condition) if isinstance(node, exp.Not))
    return condition.find(exp.Or) is None and not any(isinstance(node, exp.Connector) for node in negated)


def _as_join(
    place: Place, scope: Scope, where: exp.Expr, test: exp.In, negated: bool, others: list[exp.Expr]
) -> Iterator[Edit]:
    """The membership `test` as a join with the one table of its subquery; `others` are what else WHERE asks."""
    inner = test.args["query"].unnest()
    outer, source = _only_table(scope), _plain_table(place, inner)
    if outer is None or source is None or source.alias == outer.alias:
        return
    left, right = _owned(test.this, outer), _owned(inner.expressions[0].unalias(), source)
    link = (exp.NEQ if negated else exp.EQ)(this=left, expression=right)
    theirs = inner.args.get("where")
    on = joined([link, *([_with_owners(place, theirs.this, source)] if theirs is not None else [])])
    kept = [_with_owners(place, other, outer) for other in others]
    rest = exp.Where(this=joined(kept)) if kept else None
    beside = [
        swap(column, _owned(column, outer))
        for column in scope.select.find_all(exp.Column)
        if _is_bare(place, column, outer) and not _within(column, where)
    ]
    word = "NOT IN" if negated else "IN"
    yield Edit(
        "subquery_join",
        place.label("WHERE", scope),
        f"{place.text(test.this)} {word} (SELECT …)",
        f"JOIN {source.table} ON {place.text(on)}",
        (
            *beside,
            Change(scope.select, "where", rest),
            Change(scope.select, "joins", [exp.Join(this=source.node.copy(), on=on)]),
        ),
    )


def _plain_table(place: Place, query: exp.Expr) -> Source | None:
    """The table of which a SELECT shows one column of the rows that meet a condition; None where it does more."""
    more = ("group", "having", "limit", "order", "with_")
    if not isinstance(query, exp.Select) or any(query.args.get(clause) is not None for clause in more):
        return None
    if query.args.get("joins") or len(query.expressions) != 1:
        return None
    shows_column = isinstance(query.expressions[0].unalias(), exp.Column)
    return _only_table(place.found.scope_of(query)) if shows_column else None


def _only_table(scope: Scope) -> Source | None:
    return scope.sources[0] if len(scope.sources) == 1 and scope.sources[0].table else None


def _is_bare(place: Place, column: exp.Column, source: Source) -> bool:
    """Whether a column of `source` does not say whose it is."""
    binding = place.found.binding(column)
    return not column.table and binding is not None and binding.source is source


def _owned(column: exp.Expr, source: Source) -> exp.Expr:
    """The column, said to be of `source`."""
    owned = column.copy()
    owned.set("table", identifier(source.node.alias_or_name))
    return owned


def _with_owners(place: Place, condition: exp.Expr, source: Source) -> exp.Expr:
    """The condition, whose columns of `source` say whose they are."""
    copy = condition.copy()
    for column, original in zip(copy.find_all(exp.Column), condition.find_all(exp.Column), strict=True):
        if _is_bare(place, original, source):
            column.set("table", identifier(source.node.alias_or_name))
    return copy


def _within(node: exp.Expr, holder: exp.Expr) -> bool:
    up: exp.Expr | None = node
    while up is not None:
        if up is holder:
            return True
        up = up.parent
    return False

"""How hard a query is: Spider's published levels, and a scale of our own that goes further."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, get_args

from sqlglot import exp

from agro_data.sql.constructs import is_aggregate
from agro_data.sql.walks import leftmost, local_nodes

Hardness = Literal["easy", "medium", "hard", "extra"]
Complexity = Literal["simple", "moderate", "complex", "highly_complex"]
HARDNESS: tuple[Hardness, ...] = get_args(Hardness)
COMPLEXITY: tuple[Complexity, ...] = get_args(Complexity)


def hardness_of(tree: exp.Query) -> Hardness:
    """Spider's level (arXiv 1809.08887; the rules of the official evaluation script), by three counts.

    Only the first SELECT of a set operation is counted, and nothing inside a subquery, as the script does.

    1. components: WHERE, GROUP BY, ORDER BY, LIMIT (each 1), every further item of FROM, every OR, every LIKE;
    2. nested: every condition whose value is a subquery, and the set operation. Where the script's parser gives
       up we add every window, CTE, CASE, EXISTS and scalar subquery in SELECT;
    3. others: more than one aggregate, more than one output, more than one condition in WHERE, more than one
       grouping key (each 1). As in the script, a NOT in WHERE and an AND or OR in HAVING count as aggregates.

    An ORDER BY or LIMIT after a set operation belongs to its last SELECT, hence counts for nothing.
    """
    select = leftmost(tree)
    one, two, three = _components(select), _nested(tree, select), _others(select)
    if one <= 1 and three == 0 and two == 0:
        return "easy"
    if two == 0 and ((three <= 2 and one <= 1) or (one <= 2 and three < 2)):
        return "medium"
    if two == 0 and ((three > 2 and one <= 2) or (one == 3 and three <= 2)):
        return "hard"
    if two == 1 and one <= 1 and three == 0:
        return "hard"
    return "extra"


def complexity_of(tree: exp.Query) -> Complexity:
    """Level by points over the whole statement, subqueries included.

    | points | for each |
    | --- | --- |
    | 1 | source beyond the first of a FROM; outer join (on top of that) |
    | 1 | condition beyond the first of a WHERE, HAVING or join; OR |
    | 1 | GROUP BY, HAVING, ORDER BY, LIMIT, DISTINCT |
    | 1 | aggregate beyond the first; arithmetic, date or text function in the statement (once each kind) |
    | 2 | subquery, derived table, branch of a set operation beyond the first |
    | 2 | CTE, window, CASE |

    simple 0 or 1, moderate 2 or 3, complex 4 to 6, highly_complex 7 and more.
    """
    points = 0
    aggregates = 0
    kinds: set[str] = set()
    for node in tree.walk():
        points += _POINTS.get(type(node), 0)
        if isinstance(node, exp.Select):
            points += node.args.get("distinct") is not None
            points += len(node.args.get("joins") or ())
        elif isinstance(node, exp.Join):
            points += bool(node.side)
        elif isinstance(node, exp.Subquery):
            points += 2 * (isinstance(node.this, exp.Query) and not isinstance(node.parent, exp.SetOperation))
        elif is_aggregate(node):
            aggregates += 1
        elif isinstance(node, (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod)):
            kinds.add("arithmetic")
        elif isinstance(node, (exp.TimeToStr, exp.Extract, exp.Year, exp.Month)):
            kinds.add("date")
        elif isinstance(node, (exp.Upper, exp.Lower, exp.Length, exp.Substring, exp.DPipe)):
            kinds.add("text")
    points += max(0, aggregates - 1) + len(kinds)
    if points <= 1:
        return "simple"
    if points <= 3:
        return "moderate"
    return "complex" if points <= 6 else "highly_complex"


_POINTS: dict[type, int] = {
    exp.Group: 1,
    exp.Having: 1,
    exp.Order: 1,
    exp.Limit: 1,
    exp.And: 1,
    exp.Or: 1,
    exp.Union: 2,
    exp.Intersect: 2,
    exp.Except: 2,
    exp.CTE: 2,
    exp.Window: 2,
    exp.Case: 2,
    exp.Exists: 2,
    exp.All: 2,
}


def conditions(select: exp.Select) -> Iterator[exp.Expr]:
    """ON, WHERE and HAVING conditions of one SELECT."""
    for join in select.args.get("joins") or ():
        if join.args.get("on") is not None:
            yield join.args["on"]
    for clause in ("where", "having"):
        if select.args.get(clause) is not None:
            yield select.args[clause].this


def _components(select: exp.Select) -> int:
    count = sum(select.args.get(clause) is not None for clause in ("where", "group", "order", "limit"))
    count += len(select.args.get("joins") or ())
    for condition in conditions(select):
        for node in local_nodes(condition):
            count += isinstance(node, (exp.Or, exp.Like, exp.ILike))
    return count


def _nested(tree: exp.Query, select: exp.Select) -> int:
    count = int(tree is not select)
    for condition in conditions(select):
        for node in local_nodes(condition):
            if isinstance(node, exp.Query) and not isinstance(node.parent, exp.Exists):
                count += 1
    for item in select.expressions:
        count += sum(isinstance(node, exp.Query) for node in local_nodes(item))
    count += sum(1 for _ in tree.find_all(exp.Window, exp.CTE, exp.Case, exp.Exists))
    return count


def _others(select: exp.Select) -> int:
    aggregates = sum(any(is_aggregate(node) for node in local_nodes(item)) for item in select.expressions)
    order, where, group = (select.args.get(clause) for clause in ("order", "where", "group"))
    if order is not None:
        aggregates += sum(is_aggregate(node) for key in order.expressions for node in local_nodes(key))
    if where is not None:
        aggregates += sum(_is_not(node) for node in local_nodes(where.this))
    if select.args.get("having") is not None:
        nodes = list(local_nodes(select.args["having"].this))
        aggregates += sum(isinstance(node, exp.Connector) or _is_not(node) for node in nodes)
    many_conditions = where is not None and any(isinstance(node, exp.Connector) for node in local_nodes(where.this))
    many_keys = group is not None and len(group.expressions) > 1
    return (aggregates > 1) + (len(select.expressions) > 1) + many_conditions + many_keys


def _is_not(node: exp.Expr) -> bool:
    """A NOT as the script sees it: `NOT IN`, `NOT LIKE`, not `IS NOT`, which its grammar reads otherwise."""
    if isinstance(node, exp.Not):
        return not isinstance(node.this, exp.Is)
    return bool(node.args.get("negate"))

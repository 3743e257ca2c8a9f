"""Functions that make one column in a FROM of DuckDB: `range`, `generate_series` and UNNEST.

The column is called as its source is, and as the function is: of `range(3) AS m` it is `m.m` and `m.range`. Here all
become UNNEST with the first name written out, `UNNEST(range(3)) AS m(m)`, and the second gives way to the first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from agro_data.databases.quoting import folded


@dataclass(frozen=True)
class _Made:
    """The column of one such source."""

    name: exp.Identifier
    function: str


@dataclass(frozen=True)
class _Names:
    """What a SELECT calls its sources and its outputs, and which sources are such functions."""

    sources: frozenset[str]
    outputs: frozenset[str]
    made: dict[str, _Made]


def with_columns_named(tree: exp.Expr) -> None:
    """Write out the columns of such functions, and call them by one name. Changes the tree in place."""
    functions = {}
    for table in list(tree.find_all(exp.Table)):
        if isinstance(table.this, exp.GenerateSeries):
            function = "range" if table.this.args.get("is_end_exclusive") else "generate_series"
            functions[id(_as_unnest(table, function))] = function
    by_select: dict[int, dict[str, _Made]] = {}
    for rows in tree.find_all(exp.Unnest):
        function, select = functions.get(id(rows), "unnest"), rows.find_ancestor(exp.Select)
        if not isinstance(rows.parent, (exp.From, exp.Join)) or rows.alias_column_names or select is None:
            continue
        if not rows.alias:
            rows.set("alias", exp.TableAlias(this=exp.to_identifier(function)))
        alias = rows.args["alias"]
        if rows.args.get("offset") and rows.find(exp.Column) is not None:  # then it has the function's name alone
            alias.set("columns", [exp.to_identifier(function)])
        else:
            alias.set("columns", [alias.this.copy()])
            by_select.setdefault(id(select), {})[folded(alias.name)] = _Made(alias.this, function)
    if by_select:
        names = {id(select): _names(select, by_select.get(id(select), {})) for select in tree.find_all(exp.Select)}
        for column in list(tree.find_all(exp.Column)):
            _call(column, names)


def _as_unnest(table: exp.Table, function: str) -> exp.Expr:
    """A call in a FROM as UNNEST of the list that it makes, unless something is written there that UNNEST has not."""
    if any(value for slot, value in table.args.items() if slot not in ("this", "alias", "joins", "ordinality")):
        return table
    alias = table.args.get("alias") or exp.TableAlias(this=exp.to_identifier(function))
    rows = exp.Unnest(expressions=[table.this], alias=alias, joins=table.args.get("joins"))
    rows.set("offset", table.args.get("ordinality"))
    table.replace(rows)
    return rows


def _names(select: exp.Select, made: dict[str, _Made]) -> _Names:
    start = select.args.get("from_")
    items = [*([start.this] if start is not None else []), *(join.this for join in select.args.get("joins") or ())]
    return _Names(
        frozenset(folded(item.alias_or_name) for item in items),
        frozenset(folded(item.alias_or_name) for item in select.expressions),
        made,
    )


def _call(column: exp.Column, names: dict[int, _Names]) -> None:
    """Call a column as its source is, if it is one of such a function and called as the function is."""
    parts = [folded(part.name) for part in column.parts]
    around = [names[id(select)] for select in _selects_around(column)]
    if len(parts) == 1 and around:  # a query in a FROM or WHERE may have another column of this name
        order = column.parent.parent if isinstance(column.parent, exp.Ordered) else None
        output = order is not None and isinstance(order.parent, exp.Select) and parts[0] in around[0].outputs
        made = [one for one in around[0].made.values() if one.function == parts[0] and not output]
    else:
        near = next((one for one in around if parts[0] in (*one.sources, *one.made)), None)
        made = [near.made[parts[0]]] if near is not None and parts[0] in near.made else []
        made = [one for one in made if one.function == parts[1]]
    if len(made) != 1:
        return
    if len(parts) > 2:  # a field of a struct: `m.unnest.x`
        column.set("db", None)
        column.set("table", made[0].name.copy())
        return
    before = column.this
    column.set("this", made[0].name.copy())
    if isinstance(column.parent, exp.Select):  # an output keeps its name
        item = exp.Alias(alias=before)
        column.replace(item)
        item.set("this", column)


def _selects_around(node: exp.Expr) -> Iterator[exp.Select]:
    select = node.find_ancestor(exp.Select)
    while select is not None:
        yield select
        select = select.find_ancestor(exp.Select)

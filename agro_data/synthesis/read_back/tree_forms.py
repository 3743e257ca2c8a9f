"""One form of queries that ask the same: what was read, as the grammar says it."""

from __future__ import annotations

from dataclasses import replace

from agro_data.intent.rename import transform
from agro_data.intent.sampling.atlas import Atlas
from agro_data.intent.tree import (
    Aggregate,
    Column,
    DatePart,
    Expression,
    OrderKey,
    Output,
    Query,
    conjuncts,
)
from agro_data.synthesis.read_back.expression_reading import all_of


def counted(query: Query, atlas: Atlas) -> Query:
    """Different keys of the subject as its rows, and those of a joined parent as what refers to it."""
    tables = {source.alias: atlas.by_name[source.table] for source in query.sources}
    if any(join.direction != "up" for join in query.joins):
        return query
    below = {Column(join.right, join.columns[0][1]): join for join in query.joins if len(join.columns) == 1}

    def other(node: object) -> object:
        if not (isinstance(node, Aggregate) and node.distinct and isinstance(node.argument, Column)):
            return node
        column = node.argument
        if column.source == query.subject.alias and tables[column.source].primary_key == (column.name,):
            return Aggregate("count", where=node.where)
        if (join := below.get(column)) is not None:
            return replace(node, argument=Column(join.left, join.columns[0][0]))
        return node

    return transform(query, other)


def told_apart(query: Query, atlas: Atlas) -> Query:
    """Groups of a parent's rows by its key, too, where they are by what no two of them happen to share, as a name."""
    kept = any(join.direction == "down" for join in query.joins)

    def with_key(keys: tuple[Expression, ...]) -> tuple[Expression, ...]:
        columns = [key for key in keys if isinstance(key, Column)]
        aliases = {column.source for column in columns}
        if len(aliases) != 1 or len(columns) < len(keys) or (aliases == {query.subject.alias} and not kept):
            return keys
        [alias] = aliases
        table, names = atlas.by_name[query.table_of(alias)], {c.name for c in columns}
        known = any(names.issuperset(key) for key in atlas.profile.keys(table.name))
        if known or not any(table.column(name).unique for name in names):
            return keys
        return (*(Column(alias, name) for name in table.primary_key), *keys)

    keep = replace(query.keep, partition=with_key(query.keep.partition)) if query.keep is not None else None
    return replace(query, group_by=with_key(query.group_by), keep=keep)


def of_one_condition(query: Query) -> Query:
    """Figures over all rows that have one condition in common as figures over the rows that meet it."""
    figures = [output.expression for output in query.select if isinstance(output.expression, Aggregate)]
    conditions = {figure.where for figure in figures}
    if query.group_by or len(figures) < len(query.select) or len(conditions) != 1 or None in conditions:
        return query
    shared = figures[0].where
    select = tuple(Output(replace(figure, where=None)) for figure in figures)
    return replace(query, select=select, where=all_of([*conjuncts(query.where), *conjuncts(shared)]))


def by_month(query: Query) -> Query:
    """Groups by the year and the month of a date as groups by the one month that both name: 2024 and 5 as 2024-05."""
    shown = [output.expression for output in query.select]
    for year in query.group_by:
        if not (isinstance(year, DatePart) and year.part == "year"):
            continue
        month, whole = replace(year, part="month"), replace(year, part="year_month")
        if not {year, month} <= set(shown) or month not in query.group_by:
            continue
        order = query.order_by
        for descending in (False, True):
            if order[:2] == (OrderKey(year, descending), OrderKey(month, descending)):
                order = (OrderKey(whole, descending), *order[2:])
        kept = tuple(Output(whole if one == year else one) for one in shown if one != month)
        keys = tuple(whole if key == year else key for key in query.group_by if key != month)
        return replace(query, select=kept, group_by=keys, order_by=order)
    return query

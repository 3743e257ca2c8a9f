"""Counts that a parent keeps of its children: the taggings of a tag are counted, or its `taggings_count` is meant."""

from __future__ import annotations

from agro_data.intent.tree import Aggregate, Column, Query, SetOperation, walk
from agro_data.profiling.names.row_nouns import counts_rows
from agro_data.profiling.profile import DatabaseProfile, TableProfile


def counts_what_is_kept(query: Query | SetOperation, profile: DatabaseProfile) -> bool:
    """Whether `query` counts the children of each parent, or of some, where parents keep a number of them.

    The two differ wherever rows were deleted, or not yet written, and a question does not say which is meant. Children
    that meet a condition are counted by nobody else.
    """
    return any(_counts_kept(body, profile) for body in walk(query) if isinstance(body, Query))


def _counts_kept(body: Query, profile: DatabaseProfile) -> bool:
    if len(body.joins) != 1 or body.joins[0].direction not in ("up", "down"):
        return False
    join = body.joins[0]
    child, parent = (join.left, join.right) if join.direction == "up" else (join.right, join.left)
    tables = {s.alias: profile.by_name[s.table] for s in body.sources if s.table in profile.by_name}
    if not {child, parent} <= tables.keys() or not _keeps_count(tables[parent], tables[child]):
        return False
    figures = (tuple(o.expression for o in body.select), body.having, body.order_by)
    counted = any(isinstance(n, Aggregate) and n.function == "count" and not n.distinct for n in walk(figures))
    tested = any(isinstance(n, Column) and n.source == child for n in walk(body.where))
    of_each = not body.group_by or any(_tells(key, parent, tables[parent]) for key in body.group_by)
    return counted and of_each and not tested


def _tells(node: object, alias: str, table: TableProfile) -> bool:
    """Whether a column tells one row of its table from another, or names it."""
    if not isinstance(node, Column) or node.source != alias:
        return False
    return node.name in (*table.primary_key, *table.label_columns) or table.column(node.name).unique


def _keeps_count(parent: TableProfile, child: TableProfile) -> bool:
    """Whether a column of `parent` says how many of `child` a row has."""
    return any(c.kind in ("integer", "real") and counts_rows(c.phrase, parent, child) for c in parent.columns)

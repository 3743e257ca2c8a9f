"""Rows that are called the same are taken for one: INTERSECT or EXCEPT of names, GROUP BY a name, where two have it.

Of two students called Ann one has a cat, the other a dog: `INTERSECT` of names says that Ann has both. Told only where
the data have such namesakes: by the key of the table the answer is another.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from sqlglot import exp

from agro_data.evaluation.loaded import Pair
from agro_data.pairs.demonstrating import Offer
from agro_data.pairs.finding import Finding
from agro_data.pairs.rows.row_keys import RowKey, is_in_each_row, only_table
from agro_data.profiling.profile import DatabaseProfile
from agro_data.sql.constructs import aggregates_of
from agro_data.sql.forms.canonical import sql_text
from agro_data.sql.names.resolution import Resolution, Scope
from agro_data.sql.said import plain

_EACH_NAME = re.compile(r"\b(?:each|every|per|by)(?: \w+){0,3} (?:names?|titles?)\b")
_SHAPED = ("group", "having", "limit", "offset", "windows", "qualify")


def offer_namesakes(pair: Pair, found: Resolution, profile: DatabaseProfile) -> Iterator[Offer]:
    """What is offered for one pair."""
    tree, sql = found.tree, pair.sql
    offer = None
    if isinstance(tree, exp.Select) and not _EACH_NAME.search(plain(pair.question)):
        offer = _grouped(sql, tree, found, profile)
    elif isinstance(tree, (exp.Intersect, exp.Except)) and tree.find(exp.Limit, exp.With) is None:
        offer = _combined(sql, tree, found, profile)
    if offer is not None:
        yield offer


def _combined(sql: str, tree: exp.SetOperation, found: Resolution, profile: DatabaseProfile) -> Offer | None:
    """Of two SELECTs of names of one table: the rows of the first that are, or are not, among those of the second."""
    left, right = tree.left, tree.right
    if not isinstance(left, exp.Select) or not isinstance(right, exp.Select) or tree.args.get("distinct") is False:
        return None
    if any(side.args.get(part) for side in (left, right) for part in _SHAPED) or aggregates_of(left):
        return None
    one, other = (_called(side.expressions, found.scope_of(side), found, profile) for side in (left, right))
    if one is None or other is None or one[0].place != other[0].place or one[1] != other[1]:
        return None
    if not is_in_each_row(one[0], left, profile) or not is_in_each_row(other[0], right, profile):
        return None
    kept, among = left.copy().distinct(), right.copy()
    among.set("distinct", None)
    among.set("order", None)
    among.set("expressions", [other[0].node])
    test: exp.Expr = exp.In(this=one[0].node, query=exp.Subquery(this=among))
    how = "INTERSECT" if isinstance(tree, exp.Intersect) else "EXCEPT"
    kept = kept.where(test if how == "INTERSECT" else exp.Not(this=test))
    return Offer(_finding(how, one[0]), sql, sql_text(kept, profile.dialect))


def _grouped(sql: str, select: exp.Select, found: Resolution, profile: DatabaseProfile) -> Offer | None:
    """GROUP BY a name over the rows of another table that refer to the one with the name."""
    group, scope = select.args.get("group"), found.scope_of(select)
    if group is None or any(select.args.get(part) for part in ("limit", "qualify")) or not aggregates_of(select):
        return None
    terms = [found.meaning(term, select) for term in group.expressions]
    named = _called(terms, scope, found, profile)
    others = [item for item in select.expressions if not item.find(exp.AggFunc) and item.unalias() not in terms]
    if named is None or others:  # a further column of the group is another fault
        return None
    key = named[0]
    children = {link.table for link in profile.foreign_keys if link.ref_table == key.source.table}
    if not any(source.table in children - {key.source.table} for source in scope.sources):
        return None
    other = select.copy()
    other.args["group"].append("expressions", key.node)
    return Offer(_finding("GROUP BY", key), sql, sql_text(other, profile.dialect))


def _finding(how: str, key: RowKey) -> Finding:
    table = key.source.table
    return Finding(
        "namesakes",
        f"{how} takes rows of {table} with one name for one: by {table}.{key.column} the answer is another.",
    )


def _called(
    outputs: Sequence[exp.Expr], scope: Scope, found: Resolution, profile: DatabaseProfile
) -> tuple[RowKey, tuple[str, ...]] | None:
    """The key of the one table whose rows these columns call by their name, and the columns; None where they are not
    all of one table, do not call its rows, or tell them apart.
    """
    source = only_table(outputs, found)
    places = [found.place(item.unalias()) for item in outputs]
    if source is None or None in places or not any(source is own for own in scope.sources):
        return None
    columns = tuple(place[1] for place in places if place is not None)
    table = profile.table(source.table)
    apart = any(set(key) <= set(columns) for key in (table.primary_key, *table.unique_keys) if key)
    if len(table.primary_key) != 1 or apart or not table.label_columns or not set(table.label_columns) <= set(columns):
        return None
    return RowKey(source, table.primary_key[0]), columns

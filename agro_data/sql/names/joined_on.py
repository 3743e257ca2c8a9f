"""Joins by USING and NATURAL as the joins ON equal columns that they are, for whom reads trees."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from agro_data.databases.quoting import folded
from agro_data.databases.types import Dialect
from agro_data.sql.names.called_columns import columns_in, is_star
from agro_data.sql.names.resolution import Resolution, Scope, Source
from agro_data.sql.names.scope import Schema, resolve


def joined_on(found: Resolution, dialect: Dialect, schema: Schema) -> Resolution:
    """The query with ON in the place of USING and NATURAL, and the columns that these make one called as the first of
    them; as it is, where it has neither.

    A SELECT stays as it is where such a column is not simply the first one (RIGHT and FULL JOIN), where a star lists
    the columns of all, or where a name means several.
    """
    if not any(_merges(join) for join in found.tree.find_all(exp.Join)):
        return found
    tree = found.tree.copy()
    again = resolve(tree, dialect, schema)
    for scope in again.scopes:
        firsts = _firsts(scope)
        if firsts is None:
            continue
        for number, join in enumerate(scope.select.args["joins"], 1):
            names = _names(join, scope.sources, number)
            if names:
                equal = [
                    exp.EQ(this=_called(firsts[n], n), expression=_called(scope.sources[number], n)) for n in names
                ]
                join.set("on", exp.and_(*equal))
                join.set("using", None)
                join.set("method", None)
        for node in list(tree.find_all(exp.Column)):
            binding = again.binding(node)
            source = binding.source if binding is not None and not node.table else None
            if source is not None and any(source is one for one in scope.sources):
                if node.parent_select is not scope.select and _is_hidden(source, again):
                    return found
                node.set("table", exp.to_identifier(source.alias, quoted=True))
    return resolve(tree, dialect, schema)


def _merges(join: exp.Join) -> bool:
    return bool(join.args.get("using")) or (join.args.get("method") or "").upper() == "NATURAL"


def _names(join: exp.Join, sources: Sequence[Source], number: int) -> list[str]:
    """The columns that a join makes one; `number` is the place of what it adds among the sources."""
    if (join.args.get("method") or "").upper() == "NATURAL":
        return [name for name in sources[number].columns if any(name in source.columns for source in sources[:number])]
    return [folded(column.name) for column in join.args.get("using") or ()]


def _firsts(scope: Scope) -> dict[str, Source] | None:
    """Which source each merged column of a SELECT is of; None where this cannot be told, or no column is merged."""
    joins: list[exp.Join] = scope.select.args.get("joins") or []
    shown = () if isinstance(scope.select.parent, exp.Exists) else scope.select.expressions
    aliases = [source.alias for source in scope.sources]
    plain = len(scope.sources) == len(joins) + 1 and all(aliases) and len({*aliases}) == len(aliases)
    if not plain or any(_lists_all(item) for item in shown):
        return None
    firsts: dict[str, Source] = {}
    for number, join in enumerate(joins, 1):
        if (join.side or "").upper() in ("RIGHT", "FULL"):
            return None
        for name in _names(join, scope.sources, number):
            owners = [source for source in scope.sources[:number] if name in source.columns]
            if name not in scope.sources[number].columns or not owners or (len(owners) > 1 and name not in firsts):
                return None
            firsts.setdefault(name, owners[0])
    return firsts or None


def _lists_all(item: exp.Expr) -> bool:
    """Whether an output is all columns, of which a merged one is one. `t.*` has those of a table."""
    of_table = isinstance(item, exp.Column) and item.table and not any(item.this.args.values())
    return (is_star(item.unalias()) and not of_table) or columns_in(item) is not None


def _is_hidden(source: Source, found: Resolution) -> bool:
    """Whether another source goes by the same name in some SELECT, where a column of this one cannot be called so."""
    return sum(one.alias == source.alias for scope in found.scopes for one in scope.sources) > 1


def _called(source: Source, name: str) -> exp.Column:
    column = exp.to_identifier(source.columns[name], quoted=True)
    return exp.column(column, table=exp.to_identifier(source.alias, quoted=True))

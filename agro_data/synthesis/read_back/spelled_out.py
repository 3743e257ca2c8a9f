"""A query with its named queries in their place, and with every name in it written out: stars, positions, aliases.

What is left has one way to be read: a column stands behind the alias of its source, no two sources of the query share
an alias, and no key is the number or the name of an output. So parts of it can be moved (`merging`).
"""

from __future__ import annotations

from sqlglot import exp

from agro_data.databases.quoting import folded
from agro_data.sql.identifiers import identifier
from agro_data.sql.names.called_columns import is_star
from agro_data.sql.names.resolution import Resolution, Scope, Source

MOST_INLINED = 16  # places of named queries in a query that is still read by a person


def in_their_places(tree: exp.Query) -> exp.Query | None:
    """The query with its CTEs in the places where they are read; None where it has none, some that read themselves,
    or more than `MOST_INLINED` places. Changes the tree.
    """
    clause = tree.args.get("with_")
    if clause is None or clause.args.get("recursive") or len(list(tree.find_all(exp.With))) > 1:
        return None
    ctes = list(clause.expressions)
    if len({folded(cte.alias) for cte in ctes}) < len(ctes):
        return None
    clause.pop()
    readers: list[exp.Expr] = [*(cte.this for cte in ctes), tree]
    places = 0
    for number, cte in enumerate(ctes):
        # A CTE may be read by those after it, and by the query; in itself, its name is that of a table.
        for reader in readers[number + 1 :]:
            for table in [one for one in reader.find_all(exp.Table) if _is_named(one, cte.alias)]:
                places += 1
                if places > MOST_INLINED:  # each that reads one before it twice doubles them
                    return None
                declared = cte.args["alias"].args.get("columns")
                columns = [column.copy() for column in declared] if declared else None
                alias = exp.TableAlias(this=identifier(table.alias_or_name), columns=columns)
                held = exp.Subquery(this=cte.this.copy(), alias=alias, joins=table.args.get("joins"))
                table.replace(held)
    return tree


def _is_named(table: exp.Table, name: str) -> bool:
    return folded(table.name) == folded(name) and not table.db and isinstance(table.this, exp.Identifier)


def spell_out(found: Resolution) -> bool:
    """Write out all names of the tree of `found`, which it fits no longer. Whether that could be done: not where a
    name is that of a field, a row number or the like.
    """
    aliases = _new_aliases(found)
    for scope in found.scopes:
        if not (_in_one_row(scope) and _shown(scope, aliases)):
            return False
    for column in list(found.tree.find_all(exp.Column)):
        binding = found.binding(column)
        if binding is None or binding.kind in ("alias", "output"):
            continue
        if binding.source is None:
            column.replace(exp.Literal.string(binding.name))
        else:
            column.replace(_column((binding.source, binding.name), aliases))
    for scope in found.scopes:
        _written_out(scope.select, found)
        for source in scope.sources:
            source.node.set("alias", exp.TableAlias(this=identifier(aliases[id(source)])))
    outputs = (key.this for key in (found.tree.args["order"].expressions if found.tree.args.get("order") else ()))
    known = {id(node) for key in outputs for node in key.walk()} if isinstance(found.tree, exp.SetOperation) else set()
    return all(column.table or id(column) in known for column in found.tree.find_all(exp.Column))


def _in_one_row(scope: Scope) -> bool:
    """Whether all that is read stands side by side, without brackets, USING or NATURAL, and is a table or a query."""
    plain = all(isinstance(source.node, exp.Table | exp.Subquery) for source in scope.sources)
    joins = scope.select.args.get("joins") or []
    merging = any(join.args.get("using") or join.args.get("method") for join in joins)
    places = [scope.select.args.get("from_"), *joins]
    return plain and not merging and len(scope.sources) == len(list(filter(None, places)))


def _new_aliases(found: Resolution) -> dict[int, str]:
    """An alias for each source that no other source has: its own, or its own with a number."""
    taken: set[str] = set()
    made: dict[int, str] = {}
    for source in (source for scope in found.scopes for source in scope.sources):
        own = name = source.node.alias_or_name or "t"
        number = 1
        while folded(name) in taken:
            number += 1
            name = f"{own}_{number}"
        taken.add(folded(name))
        made[id(source)] = name
    return made


def _shown(scope: Scope, aliases: dict[int, str]) -> bool:
    """Write out the stars of a SELECT, and name its outputs as the alias of a derived table does."""
    select = scope.select
    declared = _declared(select)
    starred = any(is_star(item.unalias()) for item in select.expressions)
    if not (starred or declared):
        return True
    if scope.merged and starred:
        return False
    names = [*declared, *scope.outputs[len(declared) :]]
    items = []
    for name, origin in zip(names, scope.origins, strict=True):
        value = _column(origin, aliases) if isinstance(origin, tuple) else origin
        named = not name or (isinstance(value, exp.Column) and folded(value.name) == name)
        items.append(value if named else exp.alias_(value, identifier(name), copy=False))
    select.set("expressions", items)
    return True


def _declared(select: exp.Select) -> list[str]:
    """The names that the alias of a query in FROM gives to its outputs: `(SELECT ...) AS t (a, b)`."""
    holder = select.parent
    alias = holder.args.get("alias") if isinstance(holder, exp.Subquery) else None
    return [folded(column.name) for column in alias.args.get("columns") or ()] if alias is not None else []


def _column(origin: tuple[Source, str], aliases: dict[int, str]) -> exp.Column:
    source, name = origin
    return exp.Column(this=identifier(source.columns[name]), table=identifier(aliases[id(source)]))


def _written_out(select: exp.Select, found: Resolution) -> None:
    """Write what a key of GROUP BY or ORDER BY, or a name of an output elsewhere, stands for in its place."""
    for column in [node for item in select.expressions for node in item.find_all(exp.Column)]:
        _replace_alias(column, found)
    for clause in ("group", "order"):
        held = select.args.get(clause)
        for key in list(held.expressions) if held is not None else ():
            term = key.this if isinstance(key, exp.Ordered) else key
            meant = found.meaning(term, select)
            if meant is not term:
                term.replace(meant.copy())
    for column in list(select.find_all(exp.Column)):
        _replace_alias(column, found)


def _replace_alias(column: exp.Column, found: Resolution) -> None:
    meant = found.aliased(column)
    if meant is not None:
        column.replace(exp.paren(meant.copy()) if isinstance(meant, exp.Binary) else meant.copy())

"""Mistakes in FROM: another kind of join, a join too few or too many, another table."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from agro_data.databases.quoting import folded
from agro_data.sql.conditions import linking
from agro_data.sql.identifiers import identifier
from agro_data.sql.names.resolution import Scope, Source
from agro_data.verify.edits import Change, swap
from agro_data.verify.mutants.columns import distance, kind_class, reference, tables_with
from agro_data.verify.mutants.edit import Edit, Place

TABLES = 2  # other tables tried in one place


def of_sources(place: Place, scope: Scope) -> Iterator[Edit]:
    """Edits of the FROM of one SELECT."""
    joins = scope.select.args.get("joins") or []
    label = place.label("FROM", scope)
    for number, join in enumerate(joins):
        yield from _join_type(join, label)
        if len(scope.sources) == len(joins) + 1:
            yield from _dropped(place, scope, scope.sources[number + 1], number, label)
    if len(joins) == 1 and len(scope.sources) == 2:
        yield from _first_dropped(place, scope, label)
    yield from _added(place, scope, label)
    yield from _other_table(place, scope, label)


def _join_type(join: exp.Join, label: str) -> Iterator[Edit]:
    if join.args.get("on") is None and not join.args.get("using"):
        return
    side = (join.side or "").upper()
    name = join.this.alias_or_name
    if side in ("LEFT", "RIGHT", "FULL"):
        changes = (Change(join, "side", None), Change(join, "kind", None))
        yield Edit("join_type", label, f"{side} JOIN {name}", "JOIN", changes, weight=0)
    elif (join.kind or "").upper() in ("", "INNER") and not join.args.get("method"):
        changes = (Change(join, "side", "LEFT"), Change(join, "kind", None))
        yield Edit("join_type", label, f"JOIN {name}", "LEFT JOIN", changes, weight=0)


def _uses(place: Place, scope: Scope, source: Source) -> tuple[list[exp.Column], list[exp.Column]]:
    """References to a source: in the equalities that link it, and elsewhere."""
    linked = linking(place.found, scope)
    link: list[exp.Column] = []
    other: list[exp.Column] = []
    for column in scope.select.find_all(exp.Column):
        binding = place.found.binding(column)
        if binding is not None and binding.source is source:
            (link if id(column) in linked else other).append(column)
    return link, other


def _dropped(place: Place, scope: Scope, source: Source, number: int, label: str) -> Iterator[Edit]:
    """A joined table left out; its key, where it is asked for, is read from the table it was joined to."""
    joins = scope.select.args["joins"]
    join = joins[number]
    if join.args.get("using") or join.args.get("method") or any(item.is_star for item in scope.select.expressions):
        return
    link, other = _uses(place, scope, source)
    own = {id(node) for node in join.walk()}
    if any(id(column) not in own for column in link):
        return  # another table hangs on it
    stand_ins = _stand_ins(place, scope, source, link)
    changes: list[Change] = []
    for column in other:
        if id(column) in own:
            continue
        binding = place.found.binding(column)
        stand_in = stand_ins.get(binding.name) if binding is not None else None
        if stand_in is None:
            return
        changes.append(swap(column, stand_in.copy()))
    rest = [kept for index, kept in enumerate(joins) if index != number]
    changes.append(Change(scope.select, "joins", rest))
    yield Edit("join_dropped", label, f"JOIN {source.node.alias_or_name}", "dropped", tuple(changes), weight=0)


def _stand_ins(place: Place, scope: Scope, source: Source, link: list[exp.Column]) -> dict[str, exp.Expr]:
    """For each linked column of a source, the column of another source that equals it."""
    found: dict[str, exp.Expr] = {}
    for column in link:
        equality = column.parent
        binding = place.found.binding(column)
        if isinstance(equality, exp.EQ) and binding is not None:
            found.setdefault(binding.name, equality.right if equality.left is column else equality.left)
    return found


def _first_dropped(place: Place, scope: Scope, label: str) -> Iterator[Edit]:
    """The first of two tables left out."""
    select, source = scope.select, scope.sources[0]
    join = select.args["joins"][0]
    if join.args.get("using") or join.args.get("method") or join.side or not isinstance(source.node, exp.Table):
        return
    if any(item.is_star for item in select.expressions) or join.args.get("on") is None:
        return
    link, other = _uses(place, scope, source)
    own = {id(node) for node in join.walk()}
    if any(id(column) not in own for column in link):
        return
    stand_ins = _stand_ins(place, scope, source, link)
    changes: list[Change] = []
    for column in other:
        binding = place.found.binding(column)
        stand_in = stand_ins.get(binding.name) if binding is not None else None
        if id(column) in own or stand_in is None:
            return
        changes.append(swap(column, stand_in.copy()))
    changes += [Change(select, "joins", None), Change(select.args["from_"], "this", join.this.copy())]
    yield Edit("join_dropped", label, f"JOIN {source.node.alias_or_name}", "dropped", tuple(changes), weight=0)


def _added(place: Place, scope: Scope, label: str) -> Iterator[Edit]:
    """One table too many, joined by a column of the same name that looks like a key."""
    if any(item.is_star for item in scope.select.expressions) or not scope.sources:
        return
    present = {source.table for source in scope.sources} | {source.alias for source in scope.sources}
    made = 0
    for source in scope.sources:
        for name in source.columns if source.table else ():
            if made == TABLES:
                return
            if not _key_like(name):
                continue
            for table in tables_with({name}, place.schema):
                if table in present or folded(table) in present:
                    continue
                node = exp.Table(this=identifier(table))
                other = Source(folded(table), table, {folded(c): c for c in place.schema[table]}, node)
                if kind_class(other, name, place.schema) != kind_class(source, name, place.schema):
                    continue
                left = reference(source, name, scope)
                left.set("table", identifier(source.node.alias_or_name))
                right = exp.Column(this=identifier(other.columns[name]), table=identifier(table))
                join = exp.Join(this=node, on=exp.EQ(this=left, expression=right))
                qualified = _qualified(place, scope, set(other.columns))
                joins = [*(scope.select.args.get("joins") or []), join]
                changes = (*qualified, Change(scope.select, "joins", joins))
                yield Edit("join_added", label, f"JOIN {table}", "added", changes, weight=made)
                made += 1
                break


def _key_like(name: str) -> bool:
    return name == "id" or name.endswith(("id", "code", "key", "no", "number"))


def _qualified(place: Place, scope: Scope, names: set[str]) -> list[Change]:
    """Unqualified references that another table would make ambiguous."""
    changes = []
    for column in scope.select.find_all(exp.Column):
        binding = place.found.binding(column)
        if column.table or binding is None or binding.source is None or binding.name not in names:
            continue
        if any(binding.source is own for own in scope.sources):
            new = column.copy()
            new.set("table", identifier(binding.source.node.alias_or_name))
            changes.append(swap(column, new))
    return changes


def _other_table(place: Place, scope: Scope, label: str) -> Iterator[Edit]:
    """Another table that has all the columns that are asked of this one."""
    for source in scope.sources:
        node = source.node
        if not source.table or not isinstance(node, exp.Table):
            continue
        names = set()
        for column in scope.select.find_all(exp.Column):
            binding = place.found.binding(column)
            if binding is not None and binding.source is source:
                names.add(binding.name)
        others = [table for table in tables_with(names, place.schema) if table != source.table]
        others.sort(key=lambda table: distance(folded(source.table), folded(table)))
        for weight, table in enumerate(others[:TABLES]):
            new = exp.Table(this=identifier(table), alias=exp.TableAlias(this=identifier(node.alias_or_name)))
            changes = (Change(node, "this", new.this), Change(node, "alias", new.args["alias"]))
            yield Edit("table", label, node.name, table, changes, weight=weight)

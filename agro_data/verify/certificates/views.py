"""Views as the queries that they are: an instance has them over its own rows, as the database has.

So an answer from a view is right on instances where it is right, and rows for a query that asks a view are made for
the tables behind it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace

import duckdb
import sqlglot
from sqlglot import TokenType, exp
from sqlglot.errors import SqlglotError

from agro_data.databases.duckdb_settings import DUCKDB_SETTINGS
from agro_data.databases.quoting import folded, quoted
from agro_data.databases.types import Dialect
from agro_data.populate.instances import instance_schema
from agro_data.populate.schema import PopulateError, Schema, ViewSpec
from agro_data.profiling.profile import DatabaseProfile, TableProfile
from agro_data.sql.names.from_items import take_brackets_off
from agro_data.sql.names.resolution import Resolution
from agro_data.sql.names.scope import resolve
from agro_data.sql.parse import parse_select
from agro_data.sql.walks import call_bare
from agro_data.verify.certificates.answers import Unreadable, read_gold

_COMPUTING = (exp.AggFunc, exp.Group, exp.Distinct, exp.Window, exp.SetOperation, exp.Subquery, exp.CTE, exp.Limit)


@dataclass(frozen=True)
class View:
    """A view that instances have, too. `query` is its SELECT, `renamed` what it calls its columns where it says so,
    `over` the tables and views that it names. `plain`: each of its rows is one of each of its tables.
    """

    spec: ViewSpec
    query: str
    renamed: tuple[str, ...]
    over: frozenset[str]
    plain: bool


def views_of(profile: DatabaseProfile) -> tuple[View, ...]:
    """The views that instances can have, each behind those that it names.

    Left out, and tables in instances as any other: a view whose query the gate refuses, that leaves its answer to
    chance or computes with what instances hold as text, and one that no engine makes over the tables of an instance.
    """
    usable = {table.name: view for table in profile.tables if (view := _read(table, profile)) is not None}
    while usable:
        ordered = _ordered(usable)
        fault = _first_fault(profile, ordered)
        if not fault:
            return ordered
        del usable[fault]
    return ()


def without_views(names: Resolution, views: Sequence[View], profile: DatabaseProfile) -> Resolution:
    """A query that asks views as one of the tables behind them: each view is a WITH of it.

    It stays as it is if a WITH of its own has the name of one of these views.
    """
    wanted: set[str] = set(names.tables)
    for view in reversed(views):  # those that name others stand behind them
        if view.spec.name in wanted:
            wanted |= view.over
    asked = [view for view in views if view.spec.name in wanted]
    taken = {folded(cte.alias) for cte in names.tree.find_all(exp.CTE)}
    if not asked or any(folded(view.spec.name) in taken for view in asked):
        return names
    tree = names.tree.copy()
    own = tree.args.get("with_") or exp.With(expressions=[])
    own.set("expressions", [*(_named(view, profile.dialect) for view in asked), *own.expressions])
    tree.set("with_", own)
    call_bare(tree, {folded(view.spec.name) for view in asked})  # a query of a WITH stands in no schema
    return resolve(tree, profile.dialect, profile.schema)


def _named(view: View, dialect: Dialect) -> exp.CTE:
    """A view as a query with its name."""
    columns = [exp.to_identifier(name, quoted=True) for name in view.renamed]
    alias = exp.TableAlias(this=exp.to_identifier(view.spec.name, quoted=True), columns=columns)
    return exp.CTE(this=parse_select(view.query, dialect), alias=alias)


def _read(view: TableProfile, profile: DatabaseProfile) -> View | None:
    parts = _parts(view.definition, profile.dialect) if view.is_view else None
    if parts is None:
        return None
    renamed, query = parts
    try:
        gold = read_gold(query, profile.dialect, profile.schema)
    except Unreadable:
        return None
    columns = tuple(column.name for column in view.columns)
    statement = view.definition.strip().rstrip(";")
    if view.namespace:  # which may hold nothing but views
        statement = f"CREATE SCHEMA IF NOT EXISTS {quoted(view.namespace)}; {statement}"
    spec = ViewSpec(view.name, columns, statement, view.namespace)
    tree = gold.names.tree.copy()
    for select in tree.find_all(exp.Select):
        take_brackets_off(select)
    return View(spec, tree.sql(profile.dialect), renamed, frozenset(gold.names.tables), _is_plain(tree))


def _is_plain(tree: exp.Query) -> bool:
    """Whether a query joins, selects and computes row by row."""
    return isinstance(tree, exp.Select) and tree.find(*_COMPUTING) is None


def _parts(statement: str, dialect: Dialect) -> tuple[tuple[str, ...], str] | None:
    """What a view calls its columns, if its statement says so, and its query; None if the statement is another."""
    try:
        tokens = sqlglot.tokenize(statement, read=dialect)
    except SqlglotError:
        return None
    kinds = [token.token_type for token in tokens]
    if kinds[:2] != [TokenType.CREATE, TokenType.VIEW] or TokenType.ALIAS not in kinds[3:]:
        return None
    end = kinds.index(TokenType.ALIAS)
    behind = 5 if kinds[3] is TokenType.DOT else 3  # its name, which may have a schema before it
    if end != behind and (kinds[behind], kinds[end - 1]) != (TokenType.L_PAREN, TokenType.R_PAREN):
        return None
    renamed = tuple(token.text for token in tokens[behind + 1 : end - 1 : 2])
    return renamed, statement[tokens[end].end + 1 :].strip().rstrip(";")


def _ordered(views: Mapping[str, View]) -> tuple[View, ...]:
    """Each view behind those that it names; views that name each other in a circle, which none can read, left out."""
    done: dict[str, View] = {}
    while ready := [v for name, v in views.items() if name not in done and v.over & views.keys() <= done.keys()]:
        for view in ready:
            over = [done[name] for name in view.over if name in done]
            done[view.spec.name] = replace(view, plain=view.plain and all(one.plain for one in over))
    return tuple(done.values())


def _first_fault(profile: DatabaseProfile, views: Sequence[View]) -> str:
    """The first of the views that cannot be made over an instance's tables or has other columns there, or ""."""
    try:
        schema = instance_schema(profile, [view.spec for view in views])
    except PopulateError:  # nothing but views
        return views[0].spec.name
    return _fault_in_sqlite(schema) if profile.dialect == "sqlite" else _fault_in_duckdb(schema)


def _fault_in_sqlite(schema: Schema) -> str:
    with closing(sqlite3.connect(":memory:")) as scratch:
        scratch.executescript(schema.ddl)
        for view in schema.views:
            try:
                scratch.execute(view.statement)
                found = scratch.execute("SELECT name FROM pragma_table_xinfo(?) WHERE hidden <> 1", (view.name,))
            except sqlite3.Error:
                return view.name
            if tuple(name for (name,) in found) != view.columns:
                return view.name
    return ""


def _fault_in_duckdb(schema: Schema) -> str:
    with duckdb.connect(":memory:", config={**DUCKDB_SETTINGS, "enable_external_access": "false"}) as scratch:
        scratch.execute(schema.ddl)
        for view in schema.views:
            try:
                scratch.execute(view.statement)
                found = scratch.execute(f"DESCRIBE {view.place}").fetchall()
            except duckdb.Error:
                return view.name
            if tuple(name for name, *_ in found) != view.columns:
                return view.name
    return ""

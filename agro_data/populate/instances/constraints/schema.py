"""What every instance of a database obeys, and so what a proof that two queries are equivalent may use."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import replace

from agro_data.populate.instances.constraints.evident import evident_checks, state_check
from agro_data.populate.instances.values.forms import has_many
from agro_data.populate.instances.values.near import holds, observed
from agro_data.populate.schema import ColumnSpec, Schema, TableSpec, ViewSpec, kind_of
from agro_data.populate.surrogate import surrogate_schema
from agro_data.profiling.profile import ColumnProfile, DatabaseProfile, TableProfile

TELLING = 10  # rows: among fewer no two need share a value by chance


def instance_schema(profile: DatabaseProfile, views: Sequence[ViewSpec] = ()) -> Schema:
    """The schema of all instances: primary and declared unique keys (also those of rows that meet a condition), in a
    table without any the first column where that tells many rows apart, foreign keys (declared, and inferred ones that
    are plausible, even where the source's own rows break them), what CHECK
    constraints say as far as it is plain, the values of an ENUM and of a flag, NULL only where the source has one, and
    nothing but dates in ISO form, or texts of one form, where the source has nothing else: queries that compare them or
    take them apart are right only there.

    A foreign key that no order of filling can keep (a cycle of keys) is left out. `views` are views there, too, each
    behind those that it names; other views of the profile are tables. Raises `PopulateError` when it has no table.
    """
    made = {view.name for view in views}
    tables = tuple(
        replace(
            table,
            columns=tuple(replace(c, nullable=_may_be_null(table, c)) for c in table.columns),
            unique_keys=table.unique_keys or _evident_key(table, profile),
        )
        for table in profile.tables
        if table.name not in made
    )
    schema = surrogate_schema(replace(profile, tables=tables))
    typed = tuple(
        _typed(table, profile, {c for key in schema.keys_of(table.name) for c in key.columns})
        for table in schema.tables
    )
    return _numbers_refer_to_numbers(replace(schema, tables=typed, views=tuple(views)))


def _evident_key(table: TableProfile, profile: DatabaseProfile) -> tuple[tuple[str, ...], ...]:
    """Of a table that declares no key, as dumps and files do not, and to which nothing refers, the first column if it
    tells its rows apart: without another identity, repeated rows would make a right join of it wrong.
    """
    first = table.columns[0]
    names = first.kind != "real" and first.role != "measure"
    apart = names and first.unique and table.never_null(first.name) and table.rows >= TELLING
    return ((first.name,),) if apart and not table.is_view and not profile.keys(table.name) else ()


def _numbers_refer_to_numbers(schema: Schema) -> Schema:
    """In SQLite a column of texts may refer to one of numbers: its texts are numbers then, since a row whose key is no
    number costs the whole file where the key is the row's id.
    """
    for key in schema.foreign_keys:
        child, parent = schema.by_name[key.table], schema.by_name[key.ref_table]
        numbers = {
            name: replace(child.by_name[name], kind=of.kind, typed=of.typed)
            for name, of in zip(key.columns, map(parent.by_name.__getitem__, key.ref_columns), strict=True)
            if of.kind == "integer" and child.by_name[name].kind == "text"
        }
        if numbers:
            changed = replace(child, columns=tuple(numbers.get(column.name, column) for column in child.columns))
            tables = tuple(changed if table is child else table for table in schema.tables)
            return _numbers_refer_to_numbers(replace(schema, tables=tables))
    return schema


def _typed(table: TableSpec, profile: DatabaseProfile, refers: Set[str]) -> TableSpec:
    """The table with what it checks, and `typed` columns: all of DuckDB's, in SQLite ids of rows, dates in ISO form
    and texts of one form, apart from columns that refer to others.
    """
    source = profile.table(table.name)

    def typed(column: ColumnSpec) -> ColumnSpec:
        strict, seen = replace(column, typed=True), source.column(column.name)
        known = observed(seen)
        if column.kind == "other" and known and all(isinstance(value, int | float) for value in known):
            return replace(column, kind="real")  # beside NaN or infinity, which no instance needs
        if column.name not in refers and (profile.dialect == "sqlite" or kind_of(column.declared_type) == "text"):
            of_form = replace(strict, form=seen.form, structured=seen.structured)
            if of_form.formed and has_many(of_form, known, unique=table.is_unique((column.name,))):
                return of_form
        held = all(holds(value, strict) for value in known)
        if profile.dialect == "duckdb":
            return strict if held or kind_of(column.declared_type) != "text" else replace(strict, kind="text")
        row_id = table.primary_key == (column.name,) and column.declared_type.upper() == "INTEGER"
        return strict if held and (seen.date_format == "iso" or row_id) else column

    columns = tuple(map(typed, table.columns))
    flags = evident_checks((column, source.column(column.name)) for column in columns if not column.formula)
    rules = tuple(rule for rule in source.null_rules if not {rule.column, rule.state} & refers)
    closed = (state_check(source.column(rule.state)) for rule in rules if rule.closed)
    checks = tuple(dict.fromkeys((*source.checks, *flags, *filter(None, closed))))
    return replace(table, columns=columns, checks=checks, partial_keys=source.partial_keys, null_rules=rules)


def _may_be_null(table: TableProfile, column: ColumnProfile) -> bool:
    """Of a table without rows nothing is seen."""
    return column.nullable and not (table.rows and table.never_null(column.name))

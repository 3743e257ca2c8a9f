"""A synthetic stand-in for a database: the same schema, none of its values (`--values synthetic`)."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from agro_data.databases.quoting import quoted, quoted_list
from agro_data.databases.types import Dialect
from agro_data.populate.computed import with_formulas
from agro_data.populate.dag import fill_order
from agro_data.populate.guess import guess_hint
from agro_data.populate.hints import ColumnHint, Number, Parent, Plan, Series, TablePlan, Words
from agro_data.populate.rows import build_rows
from agro_data.populate.schema import ColumnSpec, PopulateError, Schema, TableSpec, kind_of
from agro_data.populate.writer import write_duckdb, write_sqlite
from agro_data.profiling.columns.statistics import is_uuid
from agro_data.profiling.profile import ColumnProfile, DatabaseProfile, ForeignKey, Kind, TableProfile

# A declared type may quote values (ENUM ('a', 'b')); only plain names with sizes are carried over.
_PLAIN_TYPE = re.compile(r"[A-Za-z][A-Za-z0-9_ ]*(\(\s*\d+\s*(,\s*\d+\s*)?\))?")
_NESTED = re.compile(r"ENUM|STRUCT|MAP|UNION|INTERVAL|BIT\b|JSON|VARIANT|GEOMETRY", re.IGNORECASE)
# What has parts or a unit, and functions of its own.
_NO_TEXT = re.compile(r"STRUCT|MAP|UNION|INTERVAL|BIT\b|VARIANT|GEOMETRY|.*\]$", re.IGNORECASE | re.DOTALL)
_TYPE_OF_KIND: dict[Kind, str] = {
    "integer": "BIGINT",
    "real": "DOUBLE",
    "date": "DATE",
    "datetime": "TIMESTAMP",
    "time": "TIME",
    "boolean": "BOOLEAN",
}
_WHOLE_LIMITS: dict[str, float] = {
    **{"TINYINT": 127, "INT1": 127, "UTINYINT": 255, "SMALLINT": 32_767, "INT2": 32_767, "USMALLINT": 65_535},
    **{"UINTEGER": 2**32 - 1, "BIGINT": 2**63 - 1, "INT8": 2**63 - 1, "UBIGINT": 2**64 - 1},
    **{"HUGEINT": 2**127 - 1, "UHUGEINT": 2**128 - 1, "BIGNUM": 10**300},  # of any length; what a float can tell of it
}
_LOOKUP_ROWS = (4, 12)  # a larger one in the source is worth asking about, and gets as many rows as others
_MOST_NULL = 0.8  # a column keeps some values, however empty the source's is


def build_surrogate(profile: DatabaseProfile, path: Path, seed: int, rows: int = 200) -> Path:
    """Write a database of `profile`'s dialect at `path` with its tables, keys and foreign keys, and invented rows.

    Names, types, roles, rounded null shares and distinct counts are all that is read of the profile, so a profile
    made with `values=False` loses nothing, and no source value can be in the file. Lookup tables keep roughly their
    size, entities get `rows` rows, events, bridges and other tables at the end of a chain twice as many. Foreign keys
    that were inferred are declared where the engine lets them be; the rows respect all of them. Raises
    `PopulateError` where a schema cannot be filled.
    """
    schema = surrogate_schema(profile)
    made = build_rows(schema, surrogate_plan(profile, schema, rows), seed)
    write = write_sqlite if profile.dialect == "sqlite" else write_duckdb
    return write(schema, made, path)


def surrogate_schema(profile: DatabaseProfile) -> Schema:
    """The schema to fill. A foreign key that no order of filling can keep (a cycle of keys) is left out."""
    if not profile.tables:
        raise PopulateError(f"{profile.db_id}: the profile has no table to fill")
    names = {t.name: {c.name for c in t.columns} for t in profile.tables}
    keys = _usable_keys(profile.foreign_keys, names)
    tables = tuple(_table(t, keys, profile.dialect) for t in profile.tables)
    schema = Schema(profile.db_id, tables, keys, ddl="")
    broken = fill_order(schema).broken
    while broken:
        schema = replace(schema, foreign_keys=tuple(k for k in schema.foreign_keys if k not in broken))
        broken = fill_order(schema).broken
    bare = tuple(replace(table, primary_key=(), unique_keys=()) for table in schema.tables)
    bare_ddl = _ddl(replace(schema, tables=bare, foreign_keys=()), profile.dialect)
    return replace(schema, ddl=_ddl(schema, profile.dialect), bare_ddl=bare_ddl)


def surrogate_plan(profile: DatabaseProfile, schema: Schema, rows: int) -> Plan:
    """A hint for every column, and how many rows each table gets."""
    return {table.name: _plan(table, schema, rows) for table in profile.tables}


# --- schema ---


def _usable_keys(keys: Sequence[ForeignKey], names: dict[str, set[str]]) -> tuple[ForeignKey, ...]:
    """Keys between known columns, the first of those over the same columns and parent, none of a column to itself."""
    found: dict[tuple[str, tuple[str, ...], str], ForeignKey] = {}
    for key in sorted(keys, key=lambda k: (not k.declared, -k.confidence)):
        known = set(key.columns) <= names.get(key.table, set()) and set(key.ref_columns) <= names.get(
            key.ref_table, set()
        )
        itself = key.table == key.ref_table and key.columns == key.ref_columns
        if known and not itself and len(key.columns) == len(key.ref_columns) > 0:
            found.setdefault((key.table, key.columns, key.ref_table), key)
    return tuple(found.values())


def _table(table: TableProfile, keys: Sequence[ForeignKey], dialect: Dialect) -> TableSpec:
    unique = [key for key in table.unique_keys if key != table.primary_key]
    for key in keys:
        columns = key.ref_columns
        referred = key.ref_table == table.name and len(columns) == 1 and table.column(columns[0]).unique
        if referred and columns != table.primary_key and columns not in unique:
            unique.append(columns)
    drawn = {column for key in (table.primary_key, *unique) for column in key}
    drawn |= {column for key in keys if key.table == table.name for column in key.columns}
    specs = [_column(c, c.name in table.primary_key, dialect) for c in table.columns]
    return TableSpec(
        name=table.name,
        columns=with_formulas(specs, table.columns, drawn, dialect),
        primary_key=table.primary_key,
        unique_keys=tuple(unique),
        namespace=table.namespace,
    )


def _column(column: ColumnProfile, in_key: bool, dialect: Dialect) -> ColumnSpec:
    declared = column.declared_type.strip()
    plain = _PLAIN_TYPE.fullmatch(declared) and not _NESTED.match(declared)
    if not plain:
        known = dialect == "duckdb" or (declared and column.kind in _TYPE_OF_KIND)
        declared = _TYPE_OF_KIND.get(column.kind, "VARCHAR") if known else ""
    kind = column.kind
    if dialect == "duckdb" and kind_of(declared) != "text":
        kind = kind_of(declared)  # DuckDB holds its columns to their types, SQLite does not
    nullable = column.nullable and not in_key
    return ColumnSpec(column.name, declared, kind, nullable, collation=column.collation if kind == "text" else "")


def is_text_instead(declared: str, dialect: Dialect) -> bool:
    """Whether a column of this type has text here instead, so that functions such as a list's `len` give something
    else.
    """
    return dialect == "duckdb" and _NO_TEXT.match(declared.strip()) is not None


def _ddl(schema: Schema, dialect: Dialect) -> str:
    order = fill_order(schema)
    late = (*order.deferred, *order.own) if dialect == "duckdb" else ()
    namespaces = sorted({table.namespace for table in schema.tables} - {""})
    statements = [f"CREATE SCHEMA {quoted(namespace)};" for namespace in namespaces]
    for name in order.tables:
        table = schema.by_name[name]
        lines = [_column_ddl(column) for column in table.columns]
        if table.primary_key:
            lines.append(f"PRIMARY KEY ({quoted_list(table.primary_key)})")
        lines += [f"UNIQUE ({quoted_list(columns)})" for columns in table.unique_keys]
        for key in schema.keys_of(name):
            if key not in late and _may_be_declared(key, schema, dialect):
                parent = schema.by_name[key.ref_table].place
                lines.append(
                    f"FOREIGN KEY ({quoted_list(key.columns)}) REFERENCES {parent} ({quoted_list(key.ref_columns)})"
                )
        statements.append(f"CREATE TABLE {table.place} (\n    " + ",\n    ".join(lines) + "\n);")
    return "\n\n".join(statements) + "\n"


def _column_ddl(column: ColumnSpec) -> str:
    collation = f"COLLATE {column.collation}" if column.collation else ""
    if column.formula:
        return f"{quoted(column.name)} {column.declared_type} GENERATED ALWAYS AS ({column.formula})"
    constraint = "" if column.nullable else "NOT NULL"
    return " ".join(filter(None, (quoted(column.name), column.declared_type, collation, constraint)))


def _may_be_declared(key: ForeignKey, schema: Schema, dialect: Dialect) -> bool:
    """Engines want a key behind `REFERENCES`, in the declared order; DuckDB also wants equal types, and one schema."""
    parent, child = schema.by_name[key.ref_table], schema.by_name[key.table]
    if key.ref_columns not in parent.keys or parent.namespace != child.namespace:
        return False
    pairs = zip(key.columns, key.ref_columns, strict=True)
    return dialect == "sqlite" or all(
        child.by_name[c].declared_type.upper() == parent.by_name[r].declared_type.upper() for c, r in pairs
    )


# --- rows ---


def _plan(table: TableProfile, schema: Schema, rows: int) -> TablePlan:
    spec = schema.by_name[table.name]
    keys = schema.keys_of(table.name)
    count = _row_count(table, schema, rows)
    referring = {column for key in keys for column in key.columns}
    hints = {
        c.name: ColumnHint(Parent(), _null_share(c)) if c.name in referring else _hint(table, c, spec, count)
        for c in table.columns
    }
    return TablePlan(rows=count, hints=hints)


def _row_count(table: TableProfile, schema: Schema, rows: int) -> int:
    spec, keys = schema.by_name[table.name], schema.keys_of(table.name)
    if table.kind == "lookup" and table.rows <= _LOOKUP_ROWS[1]:
        return max(_rounded(table.rows), _LOOKUP_ROWS[0])
    if any(spec.is_unique(key.columns) for key in keys):
        return max(1, rows * 3 // 4)  # one to one: some parents go without
    narrow = [
        largest(c.declared_type, c.kind) for c in spec.columns if spec.is_unique((c.name,)) and c.kind == "integer"
    ]
    leaf = bool(keys) and not any(key.ref_table == table.name for key in schema.foreign_keys)
    return min([rows * 2 if leaf or table.kind in ("event", "bridge") else rows, *map(int, narrow)])


def _hint(table: TableProfile, column: ColumnProfile, spec: TableSpec, count: int) -> ColumnHint:
    place = spec.by_name[column.name]
    unique = spec.is_unique((column.name,)) or (column.unique and column.role in ("identifier", "text"))
    if unique and place.kind in ("integer", "real", "boolean"):
        start = 2025 - count if column.role == "year" else 1
        return ColumnHint(Series(start), 0.0, unique=True)
    if is_uuid(place.declared_type):
        return ColumnHint(Words("uuid"), _null_share(column), unique)
    hint = guess_hint(
        f"{table.singular} {table.name}",
        place,
        phrase=column.phrase,
        role=column.role,
        distinct=_rounded(column.distinct),
        unique=unique,
        null_share=_null_share(column),
    )
    maker = hint.maker
    if isinstance(maker, Number):
        decimals = 0 if column.integral else maker.decimals
        high = min(maker.high, _largest_rounded(place, decimals))
        low = maker.low if maker.low < high else min(0, high)
        hint = replace(hint, maker=replace(maker, low=low, high=high, decimals=decimals))
    return hint


def _largest_rounded(column: ColumnSpec, digits: int) -> float:
    """The largest number of so many digits behind the point that a column holds: a number that is rounded above it
    would cost the file."""
    most = largest(column.declared_type, column.kind)
    return math.floor(most * 10**digits) / 10**digits if isinstance(most, float) and math.isfinite(most) else most


def _null_share(column: ColumnProfile) -> float:
    """The column's share of NULL in steps of 5 %, so that it tells nothing of single rows."""
    if column.null_share <= 0:
        return 0.0
    return min(max(round(column.null_share * 20) / 20, 0.05), _MOST_NULL)


def _rounded(count: int) -> int:
    """`count` to one significant digit above ten, so that it tells nothing of single rows."""
    if count <= 10:
        return count
    step = int(10 ** math.floor(math.log10(count)))
    return round(count / step) * step


@cache
def largest(declared_type: str, kind: Kind) -> float:
    """The largest number that a declared type holds."""
    text = declared_type.upper().replace(" ", "")
    sized = re.fullmatch(r"(?:DECIMAL|NUMERIC|DEC)\((\d+)(?:,(\d+))?\)", text)
    if sized:
        scale = int(sized[2] or 0)
        end = int(10 ** (int(sized[1]) - scale))
        return end - 10.0**-scale if scale and end < 2**40 else end - 1  # 9.99, where a float is as exact
    return _WHOLE_LIMITS.get(text, 2**31 - 1 if kind == "integer" else math.inf)


def smallest(declared_type: str, kind: Kind) -> float:
    """The smallest number that a declared type holds."""
    unsigned = kind == "integer" and declared_type.upper().startswith("U")  # UBIGINT and its like
    return 0 if unsigned else -largest(declared_type, kind)

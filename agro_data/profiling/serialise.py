"""A schema as text for a prompt, under a token budget.

Styles: `ddl` is CREATE TABLE statements with comments; `compact` one line a table; `mschema` the M-Schema of
XiYan-SQL (2411.08599): columns with type, description and example values. When the budget is too small, examples go
first, then descriptions, then columns that are no keys, then whole tables, each loss said in the text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from agro_data.databases.opening import quoted
from agro_data.databases.types import Cell
from agro_data.profiling.profile import ColumnProfile, DatabaseProfile, ForeignKey, TableProfile

Style = Literal["ddl", "compact", "mschema"]

_EXAMPLES = 3
_LONG_EXAMPLE = 40


@dataclass(frozen=True)
class _Detail:
    examples: bool
    descriptions: bool
    other_columns: bool


_DETAILS = (
    _Detail(examples=True, descriptions=True, other_columns=True),
    _Detail(examples=False, descriptions=True, other_columns=True),
    _Detail(examples=False, descriptions=False, other_columns=True),
    _Detail(examples=False, descriptions=False, other_columns=False),
)


def _quarter(text: str) -> int:
    return len(text) // 4


def serialise_schema(
    profile: DatabaseProfile,
    *,
    style: Style = "mschema",
    budget: int = 4000,
    tables: Sequence[str] | None = None,
    count_tokens: Callable[[str], int] = _quarter,
) -> str:
    """The schema of `tables` (all when None, the most important first when cut) in at most `budget` tokens.

    Raises `ValueError` when not even one table fits, or when `tables` names one that does not exist.
    """
    unknown = [name for name in tables or () if name not in profile.by_name]
    if unknown:
        raise ValueError(f"{profile.db_id}: there is no table {unknown[0]!r}")
    chosen = [table for table in profile.tables if tables is None or table.name in tables]
    for detail in _DETAILS:
        text = _render(profile, chosen, style, detail)
        if count_tokens(text) <= budget:
            return text
    ranked = sorted(chosen, key=lambda table: (-_links(profile, table.name), table.name))
    for kept in range(len(ranked) - 1, 0, -1):
        names = {table.name for table in ranked[:kept]}
        left = [table for table in chosen if table.name in names]
        text = _render(profile, left, style, _DETAILS[-1], omitted=len(chosen) - kept)
        if count_tokens(text) <= budget:
            return text
    raise ValueError(f"{profile.db_id}: no table fits into {budget} tokens; give a larger budget")


def _links(profile: DatabaseProfile, table: str) -> int:
    return sum(table in (key.table, key.ref_table) for key in profile.foreign_keys)


def _render(
    profile: DatabaseProfile, tables: Sequence[TableProfile], style: Style, detail: _Detail, omitted: int = 0
) -> str:
    names = {table.name for table in tables}
    keys = [key for key in profile.foreign_keys if key.table in names and key.ref_table in names]
    linked = {(key.table, column) for key in keys for column in key.columns}
    linked |= {(key.ref_table, column) for key in keys for column in key.ref_columns}
    render = {"ddl": _ddl, "compact": _compact, "mschema": _mschema}[style]
    parts: list[str] = [f"[DB_ID] {profile.db_id}"] if style == "mschema" else []
    for table in tables:
        columns = [
            column
            for column in table.columns
            if detail.other_columns or column.name in table.primary_key or (table.name, column.name) in linked
        ]
        missing = len(table.columns) - len(columns)
        parts.append(render(table, columns, [key for key in keys if key.table == table.name], missing, detail))
    if style != "ddl" and keys:
        parts.append("\n".join(["[Foreign keys]", *map(_key_line, keys)]))
    if omitted:
        parts.append(f"-- {omitted} more tables are not shown")
    return ("\n" if style == "compact" else "\n\n").join(parts) + "\n"


def _ddl(
    table: TableProfile, columns: Sequence[ColumnProfile], keys: Sequence[ForeignKey], missing: int, detail: _Detail
) -> str:
    entries = [(f"{quoted(column.name)} {column.declared_type}".rstrip(), _note(column, detail)) for column in columns]
    if table.primary_key:
        entries.append((f"PRIMARY KEY ({', '.join(map(quoted, table.primary_key))})", ""))
    entries += [
        (
            f"FOREIGN KEY ({', '.join(map(quoted, key.columns))}) "
            f"REFERENCES {quoted(key.ref_table)} ({', '.join(map(quoted, key.ref_columns))})",
            "" if key.declared else "inferred",
        )
        for key in keys
    ]
    lines = [
        f"  {text}{',' if place < len(entries) else ''}{f'  -- {note}' if note else ''}"
        for place, (text, note) in enumerate(entries, start=1)
    ]
    head = [f"-- {_flat(table.description)}"] if detail.descriptions and table.description else []
    more = [f"  -- {missing} more columns are not shown"] if missing else []
    kind = "VIEW" if table.is_view else "TABLE"
    return "\n".join([*head, f"CREATE {kind} {quoted(table.name)} (", *lines, *more, ");"])


def _compact(
    table: TableProfile, columns: Sequence[ColumnProfile], _keys: Sequence[ForeignKey], missing: int, _detail: _Detail
) -> str:
    named = [quoted(column.name) + ("*" if column.name in table.primary_key else "") for column in columns]
    return f"{quoted(table.name)}({', '.join([*named, *([f'... {missing} more'] if missing else [])])})"


def _mschema(
    table: TableProfile, columns: Sequence[ColumnProfile], _keys: Sequence[ForeignKey], missing: int, detail: _Detail
) -> str:
    said = f", {_flat(table.description)}" if detail.descriptions and table.description else ""
    lines = [
        ", ".join(
            part
            for part in (
                f"({column.name}:{column.declared_type.upper() or 'ANY'}",
                "Primary Key" if column.name in table.primary_key else "",
                _note(column, detail),
            )
            if part
        )
        + ")"
        for column in columns
    ]
    more = [f"... {missing} more columns"] if missing else []
    return "\n".join([f"# Table: {table.name}{said}", "[", ",\n".join([*lines, *more]), "]"])


def _note(column: ColumnProfile, detail: _Detail) -> str:
    parts = [_flat(column.description)] if detail.descriptions and column.description else []
    if detail.descriptions and column.codes:
        parts.append("; ".join(f"{value} = {_flat(meaning)}" for value, meaning in column.codes))
    shown = [_example(value) for value, _ in column.common if len(str(value)) <= _LONG_EXAMPLE][:_EXAMPLES]
    if detail.examples and shown:
        parts.append(f"Examples: [{', '.join(shown)}]")
    return ", ".join(parts)


def _example(value: Cell) -> str:
    return _flat(str(value))


def _key_line(key: ForeignKey) -> str:
    pairs = zip(key.columns, key.ref_columns, strict=True)
    return " AND ".join(f"{key.table}.{child}={key.ref_table}.{parent}" for child, parent in pairs)


def _flat(text: str) -> str:
    """One line, whatever the text holds: a line break would end a comment."""
    return " ".join(text.split())

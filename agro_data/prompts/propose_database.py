"""The prompt that has a database proposed for a subject: tables, columns, and hints of what these hold, no rows."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from agro_data.llm.prompt import Prompt, Unparsed, json_object

ColumnType = Literal["INTEGER", "REAL", "TEXT", "DATE", "BOOLEAN"]
TYPES: tuple[ColumnType, ...] = get_args(ColumnType)
MOST_TABLES, MOST_COLUMNS = 16, 30
_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}\Z")


@dataclass(frozen=True)
class DatabaseWanted:
    """`topic` is what the database is about, `words` the kinds of text that values can be made of."""

    topic: str
    words: tuple[str, ...]
    tables: int = 5
    rows: int = 400
    purpose: str = ""


@dataclass(frozen=True)
class ProposedColumn:
    """`references` is a table; `values` a hint as it was written, or None."""

    name: str
    type: ColumnType
    description: str = ""
    references: str = ""
    nullable: bool = False
    unique: bool = False
    values: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class ProposedTable:
    """The first column is the primary key."""

    name: str
    rows: int
    columns: tuple[ProposedColumn, ...]
    description: str = ""


@dataclass(frozen=True)
class ProposedDatabase:
    """A database that somebody has described. Whether it can be made is seen when it is."""

    name: str
    tables: tuple[ProposedTable, ...]


def parse_database(text: str) -> ProposedDatabase | Unparsed:
    """The database of a reply. Never raises.

    Classes: `empty`, `no_json`, `unwritable`, `not_schema` (a field is missing or of another type), `bad_name`,
    `too_large`.
    """
    found = json_object(text)
    if isinstance(found, Unparsed):
        return found
    try:
        tables = tuple(_table(one) for one in found["tables"])
        database = ProposedDatabase(_text(found["name"]), tables)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        return Unparsed("not_schema", f"expected tables with columns, got {json.dumps(found)[:100]} ({error})")
    if not tables or len(tables) > MOST_TABLES or any(not 1 <= len(t.columns) <= MOST_COLUMNS for t in tables):
        said = f"1 to {MOST_TABLES} tables of 1 to {MOST_COLUMNS} columns"
        return Unparsed("too_large", f"expected {said}, got {[len(table.columns) for table in tables]}")
    names = [database.name, *(t.name for t in tables), *(c.name for t in tables for c in t.columns)]
    bad = [name for name in names if not _NAME.match(name)]
    if bad:
        return Unparsed("bad_name", f"expected lower case names with underscores, got {bad[0][:60]!r}")
    return database


def _table(found: Mapping[str, Any]) -> ProposedTable:
    columns = tuple(_column(one) for one in found["columns"])
    return ProposedTable(_text(found["name"]), int(found["rows"]), columns, _text(found.get("description") or ""))


def _column(found: Mapping[str, Any]) -> ProposedColumn:
    declared = _text(found["type"]).upper()
    if declared not in TYPES:
        raise ValueError(f"type {declared[:40]!r}")
    values = found.get("values")
    if values is not None and not isinstance(values, dict):
        raise TypeError("values that are no object")
    return ProposedColumn(
        _text(found["name"]),
        declared,
        _text(found.get("description") or ""),
        _text(found.get("references") or "").partition(".")[0].partition("(")[0].strip(),
        bool(found.get("nullable")),
        bool(found.get("unique")),
        values,
    )


def _text(found: object) -> str:
    if not isinstance(found, str):
        raise TypeError(f"{type(found).__name__} where a text stands")
    return " ".join(found.split())


PROPOSE_DATABASE = Prompt(Path(__file__).with_name("propose_database.md"), DatabaseWanted, parse_database)

"""Knowledge that others wrote down already: Spider `tables.json`, BIRD description CSVs, dbt `manifest.json`."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from agro_data.databases.files.spider_tables import NOT_SPIDERS, spider_entries
from agro_data.profiling.side_files.knowledge import ColumnSemantics, JoinSemantics, Semantics, TableSemantics

Schema = Mapping[str, Sequence[str]]  # table to its columns, as the database spells them

_CODE = re.compile(r"""^\s*["'“]?([^"'”:=\n]{1,40}?)["'”]?\s*(?::|=|-{1,2}>?|stands for|means)\s+(.{2,200})$""")
_SPIDER_CONFIDENCE = 0.9


class Speller:
    """Finds how the database spells a name that somebody else wrote, ignoring case where that is unambiguous."""

    def __init__(self, schema: Schema) -> None:
        self._tables = {name: dict.fromkeys(columns) for name, columns in schema.items()}

    def table(self, name: str) -> str | None:
        return _spelled(name, self._tables)

    def column(self, table: str, name: str) -> str | None:
        return _spelled(name, self._tables[table])

    def columns(self, table: str, names: Iterable[str]) -> tuple[str, ...] | None:
        found = tuple(self.column(table, name) for name in names)
        return None if None in found else tuple(name for name in found if name is not None)


def _spelled(name: str, known: Iterable[str]) -> str | None:
    names = list(known)
    if name in names:
        return name
    folded = [other for other in names if other.casefold() == name.strip().casefold()]
    return folded[0] if len(folded) == 1 else None


# --- Spider --------------------------------------------------------------------------------------------------------


def from_spider(path: Path, db_id: str, schema: Schema) -> Semantics:
    """Natural table and column names of `tables.json`, and its foreign keys as likely joins."""
    try:
        entry = spider_entries(path).get(db_id)
        return _from_spider_entry(entry, Speller(schema)) if entry else Semantics()
    except NOT_SPIDERS as error:
        return Semantics(problems=(f"{path.name}: {db_id}: not as Spider writes it ({error!r}); its names are unused",))


def _from_spider_entry(entry: Mapping[str, Any], speller: Speller) -> Semantics:
    originals: list[str] = entry["table_names_original"]
    tables = [speller.table(name) for name in originals]
    places: list[tuple[str, str] | None] = []
    columns: dict[str, dict[str, ColumnSemantics]] = {name: {} for name in tables if name}
    for (at, original), (_, words) in zip(entry["column_names_original"], entry["column_names"], strict=True):
        table = tables[at] if at >= 0 else None
        column = speller.column(table, original) if table else None
        places.append((table, column) if table and column else None)
        if table and column:
            columns[table][column] = ColumnSemantics(words=words)
    joins = [
        JoinSemantics(child[0], (child[1],), parent[0], (parent[1],), confidence=_SPIDER_CONFIDENCE)
        for at, to in entry["foreign_keys"]
        if (child := places[at]) and (parent := places[to]) and child != parent
    ]
    keys: dict[str, tuple[str, ...]] = {}
    for key in entry["primary_keys"]:
        ends = [places[at] for at in (key if isinstance(key, list) else [key])]
        named = [end for end in ends if end]
        if named and len(named) == len(ends):
            keys[named[0][0]] = tuple(column for _, column in named)
    return Semantics(
        tables={
            table: TableSemantics(words=words, columns=columns[table], primary_key=keys.get(table, ()))
            for table, words in zip(tables, entry["table_names"], strict=True)
            if table
        },
        joins=tuple(joins),
    )


# --- BIRD ----------------------------------------------------------------------------------------------------------


def from_bird(folder: Path, schema: Schema, *, values: bool = True) -> Semantics:
    """Names, descriptions and meanings of codes from `database_description/<table>.csv`.

    Without `values`, what the files say of values (`value_description`) is left out.
    """
    speller = Speller(schema)
    tables: dict[str, TableSemantics] = {}
    problems: list[str] = []
    for path in sorted(folder.glob("*.csv")):
        table = speller.table(path.stem)
        if table is None:
            problems.append(f"{folder.name}/{path.name}: the database has no table {path.stem!r}; file unused")
            continue
        try:
            rows = _csv_rows(path)
        except (OSError, csv.Error) as error:
            problems.append(f"{folder.name}/{path.name}: cannot be read: {error}; file unused")
            continue
        columns: dict[str, ColumnSemantics] = {}
        for number, row in enumerate(rows, start=2):
            name = row.get("original_column_name", "")
            column = speller.column(table, name)
            if column is None:
                if name:
                    problems.append(f"{folder.name}/{path.name}: row {number}: no column {name!r} in {table}")
                continue
            columns[column] = _bird_column(row, column, values=values)
        tables[table] = TableSemantics(columns=columns)
    return Semantics(tables=tables, problems=tuple(problems))


def _csv_rows(path: Path) -> list[dict[str, str]]:
    raw = path.read_bytes()
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = raw.decode("cp1252", errors="replace")  # as some of BIRD's own files are
    return [
        {(key or "").strip(): (value or "").strip() for key, value in row.items() if isinstance(value, str | None)}
        for row in csv.DictReader(io.StringIO(text))
    ]


def _bird_column(row: Mapping[str, str], column: str, *, values: bool) -> ColumnSemantics:
    said = row.get("value_description", "") if values else ""
    codes = tuple(
        (match[1].strip(), match[2].strip().rstrip(".;,"))
        for line in re.split(r"[\n•;]", said)
        if (match := _CODE.match(line))
    )
    words = row.get("column_name", "")
    # A "name" that is a sentence describes the column; it does not name it.
    named = words if 0 < len(words.split()) <= 6 and words.casefold() != column.casefold() else ""
    return ColumnSemantics(
        words=named,
        description=row.get("column_description", "").strip(" ."),
        codes=codes if len(codes) > 1 else (),
    )


# --- dbt -----------------------------------------------------------------------------------------------------------


def from_dbt(path: Path, schema: Schema, *, values: bool = True) -> Semantics:
    """Descriptions, `meta` and generic tests of a dbt manifest, for its models that are tables here.

    `meta` may hold `label` or `name`, `synonyms`, `hidden`, `unit` and `codes`. The tests `unique` and `relationships`
    give keys and joins; `accepted_values` says (with `values`) that a column is a category.
    """
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
        nodes = [
            *manifest.get("nodes", {}).items(),
            *manifest.get("sources", {}).items(),
        ]
        return _from_dbt_nodes(dict(nodes), Speller(schema), values=values)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        return Semantics(problems=(f"{path.name}: not a dbt manifest ({error!r}); unused",))


@dataclass(frozen=True)
class _DbtTest:
    """A generic test of one column, both as the database spells them."""

    name: str
    table: str
    column: str
    arguments: Mapping[str, Any]


def _from_dbt_nodes(nodes: Mapping[str, dict[str, Any]], speller: Speller, *, values: bool) -> Semantics:
    placed = {
        key: table
        for key, node in sorted(nodes.items())
        if node.get("resource_type") in ("model", "seed", "snapshot", "source") and (table := _dbt_table(node, speller))
    }
    columns: dict[str, dict[str, ColumnSemantics]] = {table: {} for table in placed.values()}
    for key, table in placed.items():
        for name, column in nodes[key].get("columns", {}).items():
            spelled = speller.column(table, name)
            if spelled:
                columns[table][spelled] = _dbt_column(column, values=values)
    unique: dict[str, list[str]] = {}
    joins: list[JoinSemantics] = []
    tests = (_dbt_test(node, placed, speller) for _, node in sorted(nodes.items()))
    for test in (test for test in tests if test is not None):
        known = columns[test.table].get(test.column, ColumnSemantics())
        if test.name == "unique":
            unique.setdefault(test.table, []).append(test.column)
        elif test.name == "accepted_values" and values and not known.codes:
            columns[test.table][test.column] = replace(known, role=known.role or "category")
        elif test.name == "relationships" and (join := _dbt_join(test, speller)) is not None:
            joins.append(join)
    return Semantics(
        tables={
            table: _dbt_description(nodes[key], columns[table], unique.get(table, [])) for key, table in placed.items()
        },
        joins=tuple(joins),
    )


def _dbt_test(node: Mapping[str, Any], placed: Mapping[str, str], speller: Speller) -> _DbtTest | None:
    """The generic test that a node is; None where it is none, or none of a column that is here.

    `placed`: the tables of the nodes that are here.
    """
    metadata = node.get("test_metadata") or {}
    table = _dbt_tested(node, placed)
    arguments = metadata.get("kwargs", {})
    named = node.get("column_name") or arguments.get("column_name") or ""
    column = speller.column(table, named) if table else None
    if not metadata or table is None or column is None:
        return None
    return _DbtTest(str(metadata.get("name")), table, column, arguments)


def _dbt_tested(node: Mapping[str, Any], placed: Mapping[str, str]) -> str | None:
    """The table that a test is attached to, else the last one that it depends on."""
    attached = placed.get(node.get("attached_node") or "")
    if attached:
        return attached
    depends = reversed(node.get("depends_on", {}).get("nodes", []))
    return next((placed[key] for key in depends if key in placed), None)


def _dbt_join(test: _DbtTest, speller: Speller) -> JoinSemantics | None:
    """The join that a test of relationships is about."""
    parent = speller.table(_referred(str(test.arguments.get("to", ""))))
    target = speller.column(parent, str(test.arguments.get("field", ""))) if parent else None
    return JoinSemantics(test.table, (test.column,), parent, (target,)) if parent and target else None


def _dbt_table(node: Mapping[str, Any], speller: Speller) -> str | None:
    names = (node.get("identifier"), node.get("alias"), node.get("name"))
    return next((table for name in names if name and (table := speller.table(str(name)))), None)


def _meta(node: Mapping[str, Any]) -> dict[str, Any]:
    return {**(node.get("config") or {}).get("meta", {}), **(node.get("meta") or {})}


def _dbt_column(column: Mapping[str, Any], *, values: bool) -> ColumnSemantics:
    meta = _meta(column)
    codes = meta.get("codes", {}) if values else {}
    return ColumnSemantics(
        name=str(meta.get("name") or meta.get("label") or ""),
        description=str(column.get("description") or "").strip(),
        synonyms=tuple(map(str, meta.get("synonyms", ()))),
        codes=tuple((str(value), str(meaning)) for value, meaning in codes.items()),
        unit=str(meta.get("unit", "")),
        hidden=bool(meta.get("hidden", False)),
    )


def _dbt_description(
    node: Mapping[str, Any], columns: Mapping[str, ColumnSemantics], unique: list[str]
) -> TableSemantics:
    meta = _meta(node)
    return TableSemantics(
        name=str(meta.get("name") or meta.get("label") or ""),
        description=str(node.get("description") or "").strip(),
        synonyms=tuple(map(str, meta.get("synonyms", ()))),
        hidden=bool(meta.get("hidden", False)),
        unique_keys=tuple((column,) for column in unique),
        described=True,
        columns=columns,
    )


def _referred(reference: str) -> str:
    """The table that `ref('customers')` or `source('shop', 'customers')` names."""
    quoted = re.findall(r"['\"]([^'\"]+)['\"]", reference)
    return quoted[-1] if quoted else reference

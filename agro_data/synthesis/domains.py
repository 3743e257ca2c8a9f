"""New databases: a model proposes a schema with hints for its columns, once; rows are made in the same way as the
samples' rows.

What was proposed becomes the two files of a sample domain (`populate.domain`): DDL, and YAML with hints, which a person
can read and change. Filling it is the foreign-key DAG's and the column generators' work, so that keys hold, children
are spread unevenly over their parents, and the same seed gives the same bytes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

import yaml

from agro_data.llm.client import Client
from agro_data.llm.prompt import Unparsed, ask
from agro_data.llm.types import Sampling
from agro_data.populate.domain import Domain, load_domain
from agro_data.populate.generators import PATTERNS, WORDS
from agro_data.populate.hints import read_hint
from agro_data.populate.schema import PopulateError
from agro_data.prompts.propose_database import (
    PROPOSE_DATABASE,
    DatabaseWanted,
    ProposedColumn,
    ProposedDatabase,
    ProposedTable,
)
from agro_data.sql.identifiers import spelled

FEWEST, MOST = 8, 5_000  # rows of a table, whatever was proposed
HINTS = ("choice", "integer", "real", "money", "dates", "boolean", "code", "words")
_CODE = re.compile(r"[\w /#-]{0,20}\{(:0?[1-9])?\}[\w /#-]{0,20}\Z")  # formats can ask for any width
KINDS = tuple(sorted([*WORDS, *PATTERNS]))  # of words
SAMPLING = Sampling(temperature=0.8, max_tokens=4_000)
STAGE = "domains"


@dataclass(frozen=True)
class Invented:
    """What came of a topic: a domain that can be filled, or the class and the words of why there is none."""

    topic: str
    domain: Domain | None = None
    kind: str = ""
    detail: str = ""
    notes: tuple[str, ...] = ()  # hints that were left out, each with its column


def invent(client: Client, topics: Sequence[str], folder: Path, *, tables: int, rows: int, seed: int) -> list[Invented]:
    """A domain for each topic, its definition written in `folder` as `<name>.sql` and `<name>.yml`.

    The same topics are not asked for again. If two get the same name, the second is refused.
    """
    wanted = [DatabaseWanted(topic, KINDS, tables, rows) for topic in topics]
    asked = ask(client, PROPOSE_DATABASE, wanted, replace(SAMPLING, seed=seed % 2**31), stage=STAGE)
    found: list[Invented] = []
    taken: set[str] = set()
    for topic, one in zip(topics, asked, strict=True):
        if isinstance(one.answer, Unparsed):
            found.append(Invented(topic, kind=one.answer.kind, detail=one.answer.detail))
        elif one.answer.name in taken:
            found.append(Invented(topic, kind="same_name", detail=f"another database is called {one.answer.name}"))
        else:
            taken.add(one.answer.name)
            found.append(_made(topic, one.answer, folder, seed))
    return found


def _made(topic: str, proposed: ProposedDatabase, folder: Path, seed: int) -> Invented:
    """The proposal as a domain that is known to fill: it is filled once to see. One that does not leaves no files.

    Files of that name with other contents are somebody's work: if they have the same topic, they are filled as they
    are.
    """
    ddl, body, notes = definition(topic, proposed)
    folder.mkdir(parents=True, exist_ok=True)
    files = {folder / f"{proposed.name}.sql": ddl, folder / f"{proposed.name}.yml": body}
    changed = [path for path, text in files.items() if path.exists() and path.read_bytes() != text.encode()]
    if changed:
        notes = (f"{changed[0]} says something else than what is proposed now, and is used; remove it to have that",)
    for path, text in files.items():
        if not path.exists():
            path.write_text(text, encoding="utf-8")
    load_domain.cache_clear()  # the files of that name may have been others
    try:
        domain = load_domain(proposed.name, folder)
        domain.rows(seed)
    except (PopulateError, ValueError, LookupError, TypeError, ArithmeticError) as error:
        for path in files if not changed else ():
            path.unlink()
        return Invented(topic, kind="not_filled", detail=f"{type(error).__name__}: {error}", notes=notes)
    if (about := domain.semantics.get("domain")) != topic:
        said = f"{folder / proposed.name}.yml is about {about!r}: rename or remove it, or choose another folder"
        return Invented(topic, kind="same_name", detail=said)
    return Invented(topic, domain, notes=notes)


def definition(topic: str, proposed: ProposedDatabase) -> tuple[str, str, tuple[str, ...]]:
    """A proposal as DDL and YAML, and a note for each hint that is not understood: a name says enough then."""
    names = {table.name for table in proposed.tables}
    notes: list[str] = []
    tables: dict[str, Any] = {}
    for table in proposed.tables:
        hints: dict[str, Any] = {}
        for column in table.columns[1:]:
            if column.references in names or column.values is None:
                continue
            hint = _hint(column)
            if hint is None:
                notes.append(f"{table.name}.{column.name}: the hint {str(dict(column.values))[:80]} is not understood")
            else:
                hints[column.name] = hint
        tables[table.name] = {"rows": min(max(table.rows, FEWEST), MOST), "columns": hints}
    semantics = {"domain": topic, "tables": {t.name: _described(t) for t in proposed.tables}}
    body = {"engine": "sqlite", "tables": tables, "semantics": semantics}
    text = yaml.safe_dump(body, sort_keys=False, allow_unicode=True, width=110)
    return "\n".join(_create(table, names) for table in proposed.tables), text, tuple(notes)


def _create(table: ProposedTable, names: set[str]) -> str:
    lines = [f"    {spelled(table.columns[0].name)} INTEGER PRIMARY KEY"]
    for column in table.columns[1:]:
        refers = f" REFERENCES {spelled(column.references)}" if column.references in names else ""
        kind = "INTEGER" if refers else column.type
        rules = ("" if column.nullable else " NOT NULL") + (" UNIQUE" if column.unique else "")
        lines.append(f"    {spelled(column.name)} {kind}{rules}{refers}")
    body = ",\n".join(lines)
    return f"CREATE TABLE {spelled(table.name)} (\n{body}\n);\n"


def _hint(column: ProposedColumn) -> dict[str, Any] | None:
    """A proposed hint as `populate.hints` reads it; None where it is no such, or says nothing that can be drawn."""
    given = [(name, value) for name, value in (column.values or {}).items() if name in HINTS]
    if len(given) != 1:
        return None
    name, value = given[0]
    try:
        if name == "dates":
            value = [date.fromisoformat(str(day)) for day in value]
        if name == "boolean":
            value = min(max(float(value), 0.0), 1.0)
        read_hint({name: value}, column.name)
    except (PopulateError, ValueError, TypeError):
        return None
    unknown = (name == "words" and value not in KINDS) or (name == "code" and not _CODE.match(str(value)))
    return None if unknown else {name: value}


def _described(table: ProposedTable) -> dict[str, Any]:
    columns = {c.name: {"description": c.description} for c in table.columns if c.description}
    said: dict[str, Any] = {"description": table.description} if table.description else {}
    return said | ({"columns": columns} if columns else {})

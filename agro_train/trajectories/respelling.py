"""Questions about databases whose names are spelt otherwise, so that a model reads names and does not learn them.

A small model that has read a hundred databases writes the names it remembers: four of five of its errors on a new
database are names that are not there (docs/experiments.md). Here a database stands under several conventions, each a
copy that is really there, with SQL that follows it. A question keeps its database if any of its queries cannot be
rewritten, or gives another result on the copy.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import duckdb
from sqlglot import exp

from agro_data.databases.engine import attached
from agro_data.databases.errors import DatabaseError
from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.databases.opening import look_in_all_schemas
from agro_data.databases.quoting import folded, quoted
from agro_data.databases.types import Database, Dialect
from agro_data.hashing import stable_hash
from agro_data.migration.matching import ColumnMatch, Matching, TableMatch
from agro_data.migration.meanings import references
from agro_data.migration.rewriting import CannotFollow, rewrite
from agro_data.populate.schema import stream
from agro_data.profiling.serialising.asked import Source
from agro_data.sql.forms.canonical import sql_text
from agro_data.sql.identifiers import identifier
from agro_data.sql.names.scope import Schema, resolve
from agro_data.sql.parse import SqlRefused, parse_select
from agro_data.verify.chance.shuffled_copy import shuffled_copy, size_of
from agro_train.questions import Questions, Row
from agro_train.trajectories.conventions import Convention, Spelling, spelling
from agro_train.trajectories.teachers import RESPELT

VARIANTS = 8  # conventions that a database stands under
LARGEST = 16 * 2**20  # bytes; a larger database stays as it is


def respelt(
    asked: Questions, share: float, seed: int, folder: Path, sandbox: Sandbox, *, beside: bool = False
) -> list[Questions]:
    """The same questions in parts: first those that keep their database, then a part for each spelling.

    A `share` of those with one answer and no evidence is spelt otherwise; `beside`: these keep their database, too, and
    stand in two parts. `folder` is where the copies lie, which have to be there for as long as the parts are used.
    """
    drawn: dict[int, list[Row]] = defaultdict(list)
    for row in asked.rows:
        chance = stream(seed, "spelling", row["example_id"])
        if chance.random() < share and row["answerable"] and not row["evidence"]:
            drawn[chance.randrange(VARIANTS)].append(row)
    parts = [_respelt(asked, rows, variant, seed, folder, sandbox) for variant, rows in sorted(drawn.items())]
    moved = {row["example_id"] for part in parts for row in part.rows}
    rest = replace(asked, rows=tuple(row for row in asked.rows if row["example_id"] not in moved))
    return [part for part in (asked if beside else rest, *parts) if part.rows]


def _respelt(
    asked: Questions, rows: Sequence[Row], variant: int, seed: int, folder: Path, sandbox: Sandbox
) -> Questions:
    """Those of `rows` that can be asked under one spelling of each database."""
    sources: dict[str, Source] = {}
    ways: dict[str, Spelling] = {}
    for name in sorted({row["db_id"] for row in rows}):
        source = asked.sources[name]
        ways[name] = spelling(source.profile, Convention.draw(stream(seed, "convention", name, str(variant))))
        if (twin := _twin(source, ways[name], folder, seed)) is not None:
            sources[name] = twin
    there = [row for row in rows if row["db_id"] in sources]
    written = [_followed(row, asked.sources[row["db_id"]], sources[row["db_id"]], ways[row["db_id"]]) for row in there]
    pairs = [(old, new) for old, new in zip(there, written, strict=True) if new is not None]
    before = _digests([old for old, _ in pairs], asked.sources, sandbox)
    after = _digests([new for _, new in pairs], sources, sandbox)
    kept = tuple(new for (_, new), a, b in zip(pairs, before, after, strict=True) if a == b and all(a))
    return replace(asked, rows=kept, sources=sources, instances=None)


def _digests(rows: Sequence[Row], sources: Mapping[str, Source], sandbox: Sandbox) -> list[list[str]]:
    """Digests of the results of each row's queries; "" for a query that fails."""
    queries = [[row["sql"], *(step["sql"] for step in row["steps"])] for row in rows]
    asked = [(sources[row["db_id"]].database, sql) for row, each in zip(rows, queries, strict=True) for sql in each]
    found = iter(sandbox.run_many(asked))
    return [[next(found).digest for _ in each] for each in queries]


# --- SQL ---------------------------------------------------------------------------------------------------------


def _followed(row: Row, old: Source, new: Source, names: Spelling) -> Row | None:
    """The row with its queries written for the other names; None where one cannot be followed with certainty."""
    matching = Matching(
        {table: TableMatch(name) for table, name in names.tables.items()},
        {(table, column): ColumnMatch((names.tables[table], name)) for (table, column), name in names.columns.items()},
    )

    def written(sql: str) -> str:
        dialect, schema = old.profile.dialect, new.profile.schema
        return _letter_by_letter(rewrite(sql, dialect, old.profile.schema, schema, matching), dialect, schema)

    try:
        steps = [{**step, "sql": written(step["sql"])} for step in row["steps"]]
        return {**row, "sql": written(row["sql"]), "steps": steps, "instances": [], "alternatives": [], RESPELT: True}
    except (CannotFollow, SqlRefused):
        return None


def _letter_by_letter(sql: str, dialect: Dialect, schema: Schema) -> str:
    """The query with each name as the schema spells it: engines do not mind the case, but a model is to copy it."""
    found = resolve(parse_select(sql, dialect), dialect, schema)
    tables = {folded(table): table for table in schema}
    own = {folded(cte.alias) for cte in found.tree.find_all(exp.CTE)}
    for table in found.tree.find_all(exp.Table):
        if folded(table.name) in tables.keys() - own:
            table.this.replace(identifier(tables[folded(table.name)]))
    for column in references(found.tree):
        source = (binding := found.binding(column)) and binding.source
        if binding is not None and source and source.table:
            column.this.replace(identifier(source.columns[binding.name]))
            if column.table and folded(column.table) == folded(source.table):
                column.set("table", identifier(source.table))
    return sql_text(found.tree, dialect)


# --- databases ---------------------------------------------------------------------------------------------------


def _twin(source: Source, names: Spelling, folder: Path, seed: int) -> Source | None:
    """The database under other names; None where it is large, has views, or its names cannot be changed."""
    profile = source.profile
    if any(table.is_view for table in profile.tables) or size_of(source.database) > LARGEST:
        return None
    try:
        copy = shuffled_copy(source.database, folder, seed)
        digest = stable_hash([copy.content_hash, sorted(names.tables.items()), sorted(names.columns.items())])
        path = folder / f"{digest[:24]}{copy.path.suffix}"
        database = replace(copy, path=path, relative_path=path.name, content_hash=digest)
        if not path.exists():  # else of the same database in other questions, and perhaps open
            part = path.with_name(f"part-{path.name}")
            shutil.copyfile(copy.path, part)
            _rename(replace(database, path=part), names)
            part.replace(path)
    except (DatabaseError, sqlite3.Error, duckdb.Error):
        return None
    spelt, texts = replace(names.of(profile), content_hash=digest), source.texts.items()
    return Source.of(database, spelt, {(names.tables[t], names.columns[t, c]): held for (t, c), held in texts})


def _rename(database: Database, names: Spelling) -> None:
    """Give every table and column its new name. Each goes by a number first: two may change places, or only case."""
    statements = list(_alterations(names))
    if database.dialect == "sqlite":
        with closing(sqlite3.connect(database.path, isolation_level=None)) as connection:
            for statement in ("PRAGMA journal_mode=OFF", "PRAGMA synchronous=OFF", "BEGIN", *statements, "COMMIT"):
                connection.execute(statement)
    else:
        with attached(database.path) as opened:
            ((own,),) = opened.execute("SELECT system.main.current_database()").fetchall()
            look_in_all_schemas(opened, own, own_first=True)
            for statement in statements:
                opened.execute(statement)


def _alterations(names: Spelling) -> Iterable[str]:
    by_table: dict[str, dict[str, str]] = defaultdict(dict)
    for (table, column), new in names.columns.items():
        if new != column:
            by_table[table][column] = new
    numbered: Mapping[str, str] = {table: f"agro_t{place}" for place, table in enumerate(names.tables)}
    for table, number in numbered.items():
        yield f"ALTER TABLE {quoted(table)} RENAME TO {number}"
        for place, column in enumerate(by_table[table]):
            yield f"ALTER TABLE {number} RENAME COLUMN {quoted(column)} TO agro_c{place}"
        for place, new in enumerate(by_table[table].values()):
            yield f"ALTER TABLE {number} RENAME COLUMN agro_c{place} TO {quoted(new)}"
    for table, number in numbered.items():
        yield f"ALTER TABLE {number} RENAME TO {quoted(names.tables[table])}"

"""What groups a gold belongs to, as reports tell scores apart: its hardness, and the constructs that it uses."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from agro_data.databases.errors import DatabaseError
from agro_data.databases.trusted.connections import open_database
from agro_data.databases.types import Database, Dialect, Placed
from agro_data.evaluation.loaded import Prediction
from agro_data.sql.constructs import constructs_of
from agro_data.sql.difficulty import hardness_of
from agro_data.sql.names.scope import Schema, resolve
from agro_data.sql.parse import SqlRefused, parse_select


@dataclass(frozen=True)
class Facts:
    """What groups a gold belongs to; empty where it cannot be read."""

    hardness: str = ""
    constructs: tuple[str, ...] = ()


def facts_of(rows: Iterable[Prediction], sources: Mapping[str, Database]) -> dict[tuple[str, str], Facts]:
    """The facts of each gold, by the name of its database and its text. The schema of a database is read once."""
    golds: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        golds[row.db_id].append(row.gold)
    found: dict[tuple[str, str], Facts] = {}
    for db_id, sqls in golds.items():
        schema = _schema(sources[db_id])
        for gold in dict.fromkeys(sqls):
            found[db_id, gold] = _facts(gold, sources[db_id].dialect, schema)
    return found


def _schema(source: Database) -> Schema:
    try:
        with open_database(source) as connection:
            tables = connection.objects()
    except DatabaseError:
        return {}  # the verdicts say so
    columns = {table.name: {column.name: column.declared_type for column in table.columns} for table in tables}
    return Placed(columns, {table.name: table.namespace for table in tables})


def _facts(gold: str, dialect: Dialect, schema: Schema) -> Facts:
    try:
        tree = parse_select(gold, dialect)
    except SqlRefused:
        return Facts()
    return Facts(hardness_of(tree), constructs_of(resolve(tree, dialect, schema)))

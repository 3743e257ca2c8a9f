"""What names a model gets wrong: `python -m bench.wrong_names EVALUATION --databases PATH`.

EVALUATION is a folder that `agro_train.evaluate` wrote. Counted are its answers that SQLite refuses for a name: a table
that is nowhere, a column that is nowhere, or a column that only another table has. And, of all these, the answers in
which another alias of the same query has a column that its own lacks: how many execute when that is mended, and how
many are right on the source database, says what models lose by writing T1 for T2.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sqlglot import exp

from agro_data.databases.discovery.catalog import find_databases
from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.databases.quoting import folded
from agro_data.databases.types import Database, Dialect
from agro_data.profiling.cache import cached_profile
from agro_data.sql.names.resolution import Scope
from agro_data.sql.names.scope import Schema, resolve
from agro_data.sql.parse import SqlRefused, parse_select
from agro_data.sql.walks import local_nodes
from agro_data.verify.golds import Case, GoldResults
from agro_data.verify.grade import grade_many
from agro_train.sql_env import SQL_LIMITS
from bench.parts.tables import show

TABLE, COLUMN, ELSEWHERE = "a table that is nowhere", "a column that is nowhere", "a column of another table"
_MISSING = re.compile(r"no such (table|column): (?:.*\.)?(.+)")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("evaluation", type=Path)
    parser.add_argument("--databases", type=Path, required=True)
    parser.add_argument("--cache", type=Path, default=Path(".agro-cache"))
    given = parser.parse_args()
    databases = {one.db_id: one for one in find_databases(given.databases).databases}
    rows: list[list[str | int]] = []
    mendable: list[list[str | int]] = []
    with Sandbox(1, SQL_LIMITS) as sandbox:
        for file in sorted(given.evaluation.glob("*/*/answers.jsonl")):
            answers = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
            asked = [one for one in answers if one["pred"] and one["db_id"] in databases]
            ran = sandbox.run_many([(databases[one["db_id"]], one["pred"]) for one in asked])
            schemas = {
                name: cached_profile(databases[name], given.cache / "profiles").schema
                for name in sorted({one["db_id"] for one in asked})
            }
            told = [wrong_name(result.error, schemas[one["db_id"]]) for one, result in zip(asked, ran, strict=True)]
            found = Counter(told)
            counts = [found[kind] for kind in (TABLE, COLUMN, ELSEWHERE)]
            whose = [file.parent.parent.name, file.parent.name]
            rows.append([*whose, len(answers), *counts])
            wrong = [one for one, kind in zip(asked, told, strict=True) if kind]
            mendable.append([*whose, *mend(wrong, databases, schemas, sandbox)])
    show("Wrong names", ["questions", "model", "answers", TABLE, COLUMN, ELSEWHERE], rows)
    show("Aliases mended", ["questions", "model", "can be mended", "then execute", "are right"], mendable)


def wrong_name(error: str, schema: Schema) -> str:
    """Which kind of name SQLite says is not there; "" where it says nothing of the kind."""
    found = _MISSING.search(error)
    if found is None:
        return ""
    if found[1] == "table":
        return TABLE
    known = {folded(column) for columns in schema.values() for column in columns}
    return ELSEWHERE if folded(found[2].strip('"')) in known else COLUMN


def mend(
    wrong: Sequence[Mapping[str, Any]],
    databases: Mapping[str, Database],
    schemas: Mapping[str, Schema],
    sandbox: Sandbox,
) -> tuple[int, int, int]:
    """Of answers that name what is not there: how many another alias mends, execute then, and are right."""
    found = [(one, realiased(one["pred"], "sqlite", schemas[one["db_id"]])) for one in wrong]
    mended = [(one, sql) for one, sql in found if sql]
    ran = sandbox.run_many([(databases[one["db_id"]], sql) for one, sql in mended])
    cases = [Case(one["gold"], sql, (databases[one["db_id"]],)) for one, sql in mended]
    grades = grade_many(cases, sandbox, GoldResults())
    return len(mended), sum(result.ok for result in ran), sum(grade.right for grade in grades)


def realiased(sql: str, dialect: Dialect, schema: Schema) -> str:
    """`sql` with each column that its alias' table lacks behind the one alias of its FROM whose table has it; "" where
    that changes nothing."""
    try:
        tree = parse_select(sql, dialect)
    except SqlRefused:
        return ""
    changed = [_realias(column, scope) for scope in resolve(tree, dialect, schema).scopes for column in _own(scope)]
    return tree.sql(dialect) if any(changed) else ""


def _own(scope: Scope) -> list[exp.Column]:
    nodes = (node for clause in scope.select.iter_expressions() for node in local_nodes(clause))
    return [node for node in nodes if isinstance(node, exp.Column) and node.table]


def _realias(column: exp.Column, scope: Scope) -> bool:
    """Whether the column was put behind another alias."""
    name, alias = folded(column.name), folded(column.table)
    own = next((source for source in scope.sources if source.alias == alias), None)
    others = [source for source in scope.sources if name in source.columns]
    if own is None or name in own.columns or len(others) != 1:
        return False
    column.set("table", exp.to_identifier(others[0].alias))
    return True


if __name__ == "__main__":
    main()

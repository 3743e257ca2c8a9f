"""What names a model gets wrong: `python -m bench.wrong_names EVALUATION --databases PATH`.

EVALUATION is a folder that `agro_train.evaluate` wrote. Counted are its answers that SQLite refuses for a name: a table
that is nowhere, a column that is nowhere, or a column that only another table has.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from pathlib import Path

from agro_data.databases.catalog import find_databases
from agro_data.databases.opening import folded
from agro_data.databases.sandbox import Sandbox
from agro_data.profiling.cache import cached_profile
from agro_data.sql.scope import Schema
from agro_train.sql_env import SQL_LIMITS
from bench.tables import show

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
            rows.append([file.parent.parent.name, file.parent.name, len(answers), *counts])
    show("Wrong names", ["questions", "model", "answers", TABLE, COLUMN, ELSEWHERE], rows)


def wrong_name(error: str, schema: Schema) -> str:
    """Which kind of name SQLite says is not there; "" where it says nothing of the kind."""
    found = _MISSING.search(error)
    if found is None:
        return ""
    if found[1] == "table":
        return TABLE
    known = {folded(column) for columns in schema.values() for column in columns}
    return ELSEWHERE if folded(found[2].strip('"')) in known else COLUMN


if __name__ == "__main__":
    main()

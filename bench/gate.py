"""Does the gate let through what people write? Every gold query that the engine runs must pass it.

And what do the facts of a query (`sql_facts`: names resolved, canonical form, constructs) cost beside parsing it?

python -m bench.gate ../shared/data/spider/train.json --databases ../shared/data/spider/database
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from agro_data.databases.discovery.catalog import find_databases
from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.databases.types import Limits
from agro_data.profiling.cache import cached_profile
from agro_data.sql.facts import sql_facts
from agro_data.sql.parse import parse_select
from agro_data.verify.gate import check_statement

SHOWN = 5


def main() -> None:
    """Print the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("questions", type=Path)
    parser.add_argument("--databases", type=Path, required=True)
    arguments = parser.parse_args()
    print(json.dumps(measure(arguments.questions, arguments.databases), indent=1))


def measure(questions: Path, databases: Path) -> dict[str, Any]:
    """Of the distinct gold queries of a file of Spider's layout: how many run, and how many of those pass the gate."""
    asked = json.loads(questions.read_text(encoding="utf-8"))
    pairs = sorted({(str(row["db_id"]), str(row["query"])) for row in asked})
    found = {database.db_id: database for database in find_databases(databases).databases}
    with tempfile.TemporaryDirectory() as cache, Sandbox(workers=2, limits=Limits(seconds=60.0)) as sandbox:
        results = sandbox.run_many([(found[db_id], sql) for db_id, sql in pairs])
        runnable = [pair for pair, result in zip(pairs, results, strict=True) if result.ok]
        schemas = {
            db_id: cached_profile(found[db_id], Path(cache)).schema for db_id in sorted({d for d, _ in runnable})
        }
    refused, parsing, stating = [], [], []
    for db_id, sql in runnable:
        gate = check_statement(sql, found[db_id].dialect, schemas[db_id])
        if not gate.ok:
            refused.append((gate.reason, f"{db_id}: {gate.detail}: {sql}"))
            continue
        begun = perf_counter()
        parse_select(sql, found[db_id].dialect)
        parsed = perf_counter()
        sql_facts(sql, found[db_id].dialect, schemas[db_id])
        parsing.append(parsed - begun)
        stating.append(perf_counter() - parsed)
    return {
        "queries": len(pairs),
        "runnable": len(runnable),
        "pass_the_gate": len(runnable) - len(refused),
        "not_runnable": dict(sorted(Counter(result.status for result in results if not result.ok).items())),
        "refused": dict(sorted(Counter(reason for reason, _ in refused).items())),
        "facts_ms_median": round(1000 * median(stating), 2),
        "facts_times_parsing": round(sum(stating) / sum(parsing), 1),
        "refused_examples": [text for _, text in refused[:SHOWN]],
    }


if __name__ == "__main__":
    main()

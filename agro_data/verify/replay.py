"""Run stored SQL again and compare with its stored digest: the cheapest proof that a version is what it says."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import polars as pl

from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.databases.types import Database, Limits

# What is stored has kept to the limits of a build once (10 seconds; SQLite is counted in steps): a machine that is busy
# must not make it another answer.
AGAIN = Limits(seconds=60.0)


def replay(examples: pl.DataFrame, databases: Iterable[Database]) -> list[str]:
    """The ids of examples whose SQL no longer gives `result_digest`, or whose database is not among `databases`.

    `examples` has the columns example_id, db_id, sql, order_matters and result_digest.
    """
    by_id = {database.db_id: database for database in databases}
    differing: list[str] = []
    with Sandbox(workers=1, limits=AGAIN) as sandbox:
        for (db_id,), rows in examples.sort("db_id", "example_id").group_by("db_id", maintain_order=True):
            database = by_id.get(str(db_id))
            if database is None:
                differing += rows["example_id"].to_list()
                continue
            results = sandbox.run(database, rows["sql"].to_list(), want="digest")
            for row, result in zip(rows.iter_rows(named=True), results, strict=True):
                if not result.ok or result.digest_if(row["order_matters"]) != row["result_digest"]:
                    differing.append(row["example_id"])
    return differing


def replay_instances(golds: pl.DataFrame, folder: Path) -> list[str]:
    """The instances on which a gold no longer gives the digest of the index, as "<example_id> on <file>".

    `golds` has the columns example_id, db_id, dialect, sql, order_matters, file (below `folder`) and gold_digest.
    """
    named = golds.select("db_id", "dialect", "file").unique().sort("file")
    instances = {
        row["file"]: Database(
            db_id=row["db_id"],
            dialect=row["dialect"],
            layout=row["dialect"],
            path=folder / row["file"],
            content_hash=row["file"],
            relative_path=row["file"],
        )
        for row in named.iter_rows(named=True)
    }
    differing: list[str] = []
    with Sandbox(workers=1, limits=AGAIN) as sandbox:
        rows = golds.sort("file", "example_id").to_dicts()
        results = sandbox.run_many([(instances[row["file"]], row["sql"]) for row in rows])
        for row, result in zip(rows, results, strict=True):
            if not result.ok or result.digest_if(row["order_matters"]) != row["gold_digest"]:
                differing.append(f"{row['example_id']} on {row['file']}")
    return differing

"""Run stored SQL again and compare with its stored digest: the cheapest proof that a version is what it says."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from agro_data.databases.sandbox import Sandbox
from agro_data.databases.types import Database


def replay(examples: pl.DataFrame, databases: Iterable[Database]) -> list[str]:
    """The ids of examples whose SQL no longer gives `result_digest`, or whose database is not among `databases`.

    `examples` has the columns example_id, db_id, sql, order_matters and result_digest.
    """
    by_id = {database.db_id: database for database in databases}
    differing: list[str] = []
    with Sandbox(workers=1) as sandbox:
        for (db_id,), rows in examples.sort("db_id", "example_id").group_by("db_id", maintain_order=True):
            database = by_id.get(str(db_id))
            if database is None:
                differing += rows["example_id"].to_list()
                continue
            results = sandbox.run(database, rows["sql"].to_list(), want="digest")
            for row, result in zip(rows.iter_rows(named=True), results, strict=True):
                digest = result.ordered_digest if row["order_matters"] else result.digest
                if not result.ok or digest != row["result_digest"]:
                    differing.append(row["example_id"])
    return differing

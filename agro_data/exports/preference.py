"""Pairs of a right and a wrong query for DPO or for training a verifier, with the fault and the rows that show it.

The wrong one is a mutant that an instance told apart from the gold. Best is one that the source itself does not tell
apart: who only runs queries there takes it for right. Survivors are never used: they may mean the same.
"""

from __future__ import annotations

from difflib import SequenceMatcher

import polars as pl

from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.exports.material import ExportError, Form, LeftOut, Material, answer, by_split, counted, messages
from agro_data.verify.execution import execute
from agro_data.verify.ordering import orders


def preference(material: Material, sandbox: Sandbox) -> Form:
    """`data/<split>.parquet` with conversational `prompt`, `chosen`, `rejected`, as TRL's DPOTrainer reads them.

    Beside them `sql` and `wrong_sql`; `fault_kind` and `fault` (the clause, "WHERE age > 56 -> age >= 56"); `instance`
    and `witness` (the file that told them apart, and the first row that differs); `same_on_source`. Rows whose
    certificate keeps no mutant's SQL are left out. Raises `ExportError` when none has one.
    """
    pairs = chosen(candidates(material, sandbox))
    found = material.rows.join(pairs, on="example_id", how="inner", maintain_order="left")
    if found.is_empty():
        raise ExportError(
            f"{material.corpus} {material.version}: no certificate keeps a mutant that was killed, so there is no "
            "wrong query to prefer the right one to; build the corpus with certificates (--certify)"
        )
    found = found.with_columns(  # the thought is the same for both: the query alone is preferred
        pl.Series("right_turn", [answer([], sql) for sql in found["sql"]], dtype=pl.String),
        pl.Series("wrong_turn", [answer([], sql) for sql in found["wrong_sql"]], dtype=pl.String),
    )
    files = {
        f"data/{split}.parquet": rows.select(
            messages("prompt", "user", "prompt"),
            messages("right_turn", "assistant", "chosen"),
            messages("wrong_turn", "assistant", "rejected"),
            *("example_id", "db_id", "question", "sql", "wrong_sql"),
            *("fault_kind", "fault", "instance", "witness", "same_on_source", "hardness"),
        )
        for split, rows in by_split(found).items()
    }
    left = material.rows.join(pairs, on="example_id", how="anti", maintain_order="left")
    alike = int(found["same_on_source"].sum())
    note = (
        f"{alike:,} of {found.height:,} wrong queries give the right result on the source; an instance tells them apart"
    )
    left_out = tuple(
        LeftOut(example_id, split, "its certificate keeps no killed mutant")
        for example_id, split in left.select("example_id", "split").iter_rows()
    )
    return Form(files, counted(found), left_out, (note,))


def candidates(material: Material, sandbox: Sandbox) -> pl.DataFrame:
    """Killed mutants whose SQL is kept: `example_id`, `sql` (the gold), `wrong_sql`, `same_on_source`, and the witness.

    If the version was made from surrogates, the source is not queried: its values decide nothing there.
    """
    killed = material.mutants.filter((pl.col("outcome") == "killed") & pl.col("sql").is_not_null())
    killed = killed.rename({"sql": "wrong_sql"})
    gold = material.rows.select("example_id", "db_id", "sql", "result_digest")
    frame = gold.join(killed, on="example_id", how="inner", maintain_order="left")
    if material.private:
        return frame.with_columns(pl.lit(False).alias("same_on_source"))
    statements = [
        (material.sources[db_id].database, sql) for db_id, sql in frame.select("db_id", "wrong_sql").iter_rows()
    ]
    results = execute(statements, sandbox)
    ordered = [
        orders(sql, material.sources[db_id].database.dialect) for sql, db_id in frame.select("sql", "db_id").iter_rows()
    ]
    same = [
        result.ok and result.digest_if(order) == digest
        for result, order, digest in zip(results, ordered, frame["result_digest"], strict=True)
    ]
    return frame.with_columns(pl.Series("same_on_source", same, dtype=pl.Boolean))


def chosen(frame: pl.DataFrame) -> pl.DataFrame:
    """One mutant for each example: one that the source does not tell apart before others, then the nearest in text."""
    near = [_nearness(gold, wrong) for gold, wrong in frame.select("sql", "wrong_sql").iter_rows()]
    best = frame.with_columns(pl.Series("nearness", near, dtype=pl.Float64)).sort(
        ["example_id", "same_on_source", "nearness", "wrong_sql"],
        descending=[False, True, True, False],
        maintain_order=True,
    )
    best = best.unique("example_id", keep="first", maintain_order=True)
    return best.select(
        *("example_id", "wrong_sql", "same_on_source"),
        pl.col("kind").alias("fault_kind"),
        pl.col("what").alias("fault"),
        pl.col("by").alias("instance"),
        pl.col("difference").alias("witness"),
    )


def _nearness(gold: str, wrong: str) -> float:
    """Share of the words that two queries have in common, in order: 1 for the same."""
    return round(SequenceMatcher(None, gold.split(), wrong.split(), autojunk=False).ratio(), 6)

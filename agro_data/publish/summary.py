"""What a corpus holds, in numbers: pure counts over its frames, in an order that never changes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import polars as pl

from agro_data.sql.difficulty import COMPLEXITY, HARDNESS

SPLITS = ("train", "validation", "test")
NOT_CHOSEN = "not_chosen"  # a count that the rows do not tell: queries that held, and that the sample did not take
_HIDDEN = pl.col("hidden").list.first().struct
# What is the matter with a row that is not answerable; null for the others.
UNANSWERABLE_KIND = (
    pl.when(pl.col("answerable"))
    .then(None)
    .when(pl.col("readings").list.len() > 0)
    .then(pl.lit("ambiguous"))
    .when(_HIDDEN.field("value").is_not_null())
    .then(pl.lit("missing_value"))
    .when(_HIDDEN.field("column").is_not_null())
    .then(pl.lit("missing_column"))
    .otherwise(pl.lit("missing_table"))
)


def summarise(examples: pl.DataFrame, rejected: pl.DataFrame) -> dict[str, Any]:
    """Counts of `examples` (rows of `records.EXAMPLE`) and `rejected` (rows of `records.REJECTED`).

    Every entry is an int or `{label: int}`. Scales (splits, hardness, complexity) keep their own order and
    show zeros; other labels go from most to least common, then by name.
    """
    return {
        "examples": examples.height,
        "databases": examples["db_id"].n_unique(),
        "skeletons": examples["skeleton"].n_unique(),
        "questions": examples["question"].n_unique(),
        "splits": _scale(examples["split"], SPLITS),
        "hardness": _scale(examples["hardness"], HARDNESS),
        "complexity": _scale(examples["complexity"], COMPLEXITY),
        "constructs": _common(examples["constructs"].explode()),
        "styles": _common(examples["style"]),
        "dialects": _common(examples["dialect"]),
        "generators": _common(examples["generator"]),
        "alignment_methods": _common(examples["alignment_method"]),
        "by_database": dict(sorted(_common(examples["db_id"]).items())),
        "unanswerable": _common(examples.select(kind=UNANSWERABLE_KIND).to_series()),
        "mutants": {
            name.removeprefix("mutants_"): int(examples[name].sum())
            for name in ("mutants_total", "mutants_killed", "mutants_equivalent", "mutants_undecided")
        },
        "rejected": rejected.height,
        "rejected_reasons": _common(rejected.select(pl.format("{}: {}", "stage", "reason")).to_series()),
    }


def funnel_stages(manifest: dict[str, Any]) -> list[tuple[str, int]]:
    """`[(stage, rows left after it)]` of a manifest's `funnel`, a list of `{"stage": ..., "rows": ...}`."""
    return [(str(entry["stage"]), int(entry["rows"])) for entry in manifest.get("funnel", [])]


def schema_coverage(examples: pl.DataFrame, databases: Iterable[dict[str, Any]]) -> pl.DataFrame:
    """One row a database of the manifest: examples, and distinct tables and columns that its SQL uses.

    Columns: db_id, examples, tables, columns (Int64), tables_total, columns_total (Int64, null where the
    manifest does not give `tables` and `columns`: the tables with rows and the columns with a value).
    """
    given = pl.DataFrame(
        [
            {
                "db_id": entry["db_id"],
                "tables_total": entry.get("tables"),
                "columns_total": entry.get("columns"),
            }
            for entry in databases
        ],
        schema={"db_id": pl.String, "tables_total": pl.Int64, "columns_total": pl.Int64},
    )
    used = examples.group_by("db_id", maintain_order=True).agg(
        pl.len().cast(pl.Int64).alias("examples"),
        pl.col("tables").list.explode().n_unique().cast(pl.Int64).alias("tables"),
        pl.col("columns").list.explode().n_unique().cast(pl.Int64).alias("columns"),
    )
    counted = [pl.col(name).fill_null(0) for name in ("examples", "tables", "columns")]
    order = ["db_id", "examples", "tables", "tables_total", "columns", "columns_total"]
    joined = given.join(used, on="db_id", how="full", coalesce=True)
    return joined.with_columns(counted).select(order).sort("db_id")


def _common(values: pl.Series) -> dict[str, int]:
    counted = values.drop_nulls().value_counts(name="count")
    label = values.name
    ordered = counted.sort(["count", label], descending=[True, False])
    return {str(name): int(count) for name, count in ordered.iter_rows()}


def _scale(values: pl.Series, scale: tuple[str, ...]) -> dict[str, int]:
    counts = _common(values)
    return {label: counts.pop(label, 0) for label in scale} | counts

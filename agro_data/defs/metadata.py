"""What the UI shows of a stage: counts, rates, reasons, sample rows and plots. Kept small: a few rows, small PNGs."""

from __future__ import annotations

import json
from typing import Any

import dagster as dg
import polars as pl

from agro_data.pipeline import StageReport
from agro_data.publish import plots
from agro_data.publish.read import Version
from agro_data.stages.context import Context

SHOWN = {
    "candidates": ("db_id", "shape", "hardness", "sql"),
    "verified": ("db_id", "hardness", "sql", "result_rows", "checks"),
    "questions": ("db_id", "style", "question", "sql"),
    "distinct": ("db_id", "style", "question", "sql"),
    "selection": ("db_id", "split", "hardness", "question", "sql"),
}
ROWS = 8
REJECTED_ROWS = 5


def of_databases(context: Context) -> dict[str, Any]:
    """The catalog as a table."""
    listing = [
        {"db_id": d.db_id, "dialect": d.dialect, "path": d.relative_path, "content_hash": d.content_hash[:12]}
        for d in context.databases()
    ]
    problems = context.work.read_json("catalog.json")["problems"]
    return {
        "dagster/row_count": len(listing),
        "databases": _table(listing),
        "left_out": dg.MetadataValue.md("\n".join(f"- {p}" for p in problems) or "nothing"),
        "work_folder": dg.MetadataValue.path(str(context.work.root)),
    }


def of_stage(context: Context, report: StageReport) -> dict[str, Any]:
    """Counts, rate and reasons of a stage, rows it made and rows it dropped."""
    found: dict[str, Any] = {
        "dagster/row_count": report.rows_out,
        "rows_in": report.rows_in,
        "kept_share": round(report.rows_out / max(report.rows_in, 1), 4),
        "seconds": round(report.seconds, 2),
        "rows_per_second": round(report.rate, 1),
        **report.figures,
    }
    if report.reasons:
        found["rejected"] = _table([{"reason": reason, "rows": n} for reason, n in report.reasons.items()])
        dropped = context.work.read_rejected(report.stage)
        columns = ("db_id", "reason", "detail", "sql", "question")
        found["rejected_sample"] = _rows(dropped.sample(min(REJECTED_ROWS, dropped.height), seed=0), columns)
    if report.problems:
        found["problems"] = dg.MetadataValue.md("\n".join(f"- {p}" for p in report.problems[:50]))
    if report.stage in SHOWN:
        shard = next(iter(context.work.shards(report.stage)), None)
        if shard is not None:
            frame = context.work.read(report.stage, shard)
            found["sample"] = _rows(frame.sample(min(ROWS, frame.height), seed=0), SHOWN[report.stage])
    return found


def of_version(version: Version) -> dict[str, Any]:
    """Where a version is, its counts, its plots, and what its columns are."""
    examples = version.examples().collect()
    manifest = version.manifest
    return {
        "dagster/row_count": examples.height,
        "dagster/uri": str(version.path),
        "dagster/column_schema": dg.TableSchema(
            columns=[dg.TableColumn(name, str(kind)) for name, kind in examples.schema.items()]
        ),
        "counts": dg.MetadataValue.json(manifest["counts"]),
        "funnel": _table(manifest["funnel"]),
        "sample": _rows(
            examples.sample(min(ROWS, examples.height), seed=0),
            ("db_id", "split", "hardness", "question", "sql"),
        ),
        **{
            name: dg.MetadataValue.md(plots.as_markdown_image(image))
            for name, image in plots.of_version(version).items()
        },
    }


def _rows(frame: pl.DataFrame, columns: tuple[str, ...]) -> dg.TableMetadataValue:
    return _table(frame.select(columns).to_dicts())


def _table(listing: list[dict[str, Any]]) -> dg.TableMetadataValue:
    records = [dg.TableRecord({key: _cell(value) for key, value in row.items()}) for row in listing]
    names = list(listing[0]) if listing else ["nothing"]
    return dg.MetadataValue.table(
        records=records, schema=dg.TableSchema(columns=[dg.TableColumn(name) for name in names])
    )


def _cell(value: Any) -> str | int | float | bool:
    if value is None:
        return ""
    if isinstance(value, str | int | float | bool):
        return value
    return json.dumps(value, ensure_ascii=False)

"""What the UI shows of a stage: counts, rates, reasons, sample rows and plots. Kept small: a few rows, small PNGs.

Numbers stand under names that read as titles: the UI draws each of them over builds.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import dagster as dg
import numpy as np
import polars as pl

from agro_data.databases.types import Database
from agro_data.defs.pools import pools_of
from agro_data.llm.accounting import FREE, Prices, Spending, spending_table
from agro_data.pipeline import StageReport
from agro_data.profiling.profile import DatabaseProfile
from agro_data.publish import plots
from agro_data.publish.card import COLUMNS
from agro_data.publish.layout import flatten, sample_indices
from agro_data.publish.markdown import literal
from agro_data.publish.publication.publishing import Publication
from agro_data.publish.read import Version
from agro_data.publish.retention import VersionFate
from agro_data.publish.summary import funnel_stages
from agro_data.records import EXAMPLE
from agro_data.stages import vectors
from agro_data.stages.context import Context
from agro_data.stages.finish import SELECTION, WRITING
from agro_data.stages.model import spent_in
from agro_data.stages.shares import usable

SHOWN = {
    "candidates": ("db_id", "shape", "hardness", "sql"),
    "verified": ("db_id", "hardness", "sql", "result_rows"),
    "questions": ("db_id", "style", "question", "sql"),
    "distinct": ("db_id", "style", "question", "sql"),
    "certified": ("db_id", "sql", "mutants_total", "mutants_killed", "mutants_equivalent", "instances"),
    "selection": ("db_id", "split", "hardness", "question", "sql"),
}
FIGURES = {
    "databases": "databases that gave rows",
    "kill_rate": "mutants killed, of those not proved equivalent",
    "killed_of_all": "mutants killed, of all",
    "radius_95": "radius, 95 %",
    "radius_95_random": "radius, 95 %, random sample",
    "radius_mean": "radius, mean",
    "radius_mean_random": "radius, mean, random sample",
}
ROWS = 8
REJECTED_ROWS = 5
BAR = 24  # characters of the longest bar
LISTED = 120  # rows of the longest table
PROBLEMS = 50
MAP_POINTS = 2_000
PICTURE = re.compile(r"!\[[^\]]*\]\([^)]*\)\n*")  # of a card: its path is one in the repository


def of_databases(context: Context) -> dict[str, Any]:
    """The catalog as a table, and what was left out of it."""
    found = context.databases()
    catalog = context.work.read_json("catalog.json")
    return {
        "dagster/row_count": len(found),
        "databases": table([_source(database) for database in found]),
        "left out": _list(catalog["problems"], "nothing"),
        "work folder": dg.MetadataValue.path(str(context.work.root)),
    }


def of_stage(context: Context, report: StageReport, prices: Prices = FREE) -> dict[str, Any]:
    """Counts, rate and reasons of a stage, rows it made and rows it dropped."""
    found: dict[str, Any] = {
        "dagster/row_count": report.rows_out,
        "rows in": report.rows_in,
        "share kept": round(report.rows_out / max(report.rows_in, 1), 4),
        "seconds": round(report.seconds, 2),
        **({"rows per second": round(report.rate, 1)} if report.rows_made else {}),  # none of what was finished before
        **{FIGURES.get(name, name.replace("_", " ")): value for name, value in report.figures.items()},
    }
    if pools_of(context.config, report.stage):
        found |= of_spending({stage: spent_in(context.work, stage) for stage in WRITING}, prices)
    if report.problems:
        found["problems"] = _list(report.problems, "none")
    if report.stage == "profiles":
        found["schemas"] = table([_profiled(context.profile(db_id)) for db_id in usable(context)])
    if report.reasons:
        found["rejected"] = counted("reason", report.reasons)
    if report.stage == "selection":
        found["plot: diversity map"] = image("diversity map", diversity_map(context))
    if report.stage in SHOWN and context.work.shards(report.stage):
        rows = _rows_of(context, report.stage)
        if "instances" in rows.columns:
            rows = rows.with_columns(pl.col("instances").list.len())  # their names are of use to programs alone
        found["sample"] = sample(rows, SHOWN[report.stage], ROWS)
    if report.reasons:
        dropped = context.work.read_rejected(report.stage)
        found["rejected rows"] = sample(dropped, ("db_id", "reason", "detail", "question", "sql"), REJECTED_ROWS)
    if report.stage == "selection":
        quotas = context.work.read_json("selection/figures.json")["selection"]["quotas"]
        found["quotas"] = table([{key: quota[key] for key in ("kind", "name", "asked", "given")} for quota in quotas])
    return found


def of_version(version: Version, context: Context, prices: Prices = FREE) -> dict[str, Any]:
    """Where a version is, its counts, its plots, and what its columns are. `context` is of the build that wrote it."""
    examples = version.examples().collect()
    counts = version.manifest["counts"]
    return {
        "dagster/row_count": examples.height,
        "dagster/uri": str(version.path),
        "dagster/column_schema": _schema(examples.schema),
        "folder": dg.MetadataValue.path(str(version.path)),  # the page of an asset does not show dagster/uri
        "version": version.name,
        "databases": counts["databases"],
        "skeletons": counts["skeletons"],
        "funnel": counted("rows left after", dict(funnel_stages(version.manifest))),
        "hardness": counted("hardness", counts["hardness"]),
        "splits": counted("split", counts["splits"]),
        **of_spending({stage: spent_in(context.work, stage) for stage in WRITING}, prices),
        **{f"plot: {name.replace('_', ' ')}": image(name, png) for name, png in plots.of_version(version).items()},
        "plot: diversity map": image("diversity map", diversity_map(context)),
        "sample": sample(examples, ("db_id", "split", "hardness", "question", "sql"), ROWS),
        "all counts": dg.MetadataValue.json(counts),
    }


def of_spending(spent: Mapping[str, Spending], prices: Prices) -> dict[str, Any]:
    """What asking models took, a row a stage that asked one: requests, failures, tokens, cost; {} where none did."""
    asked = {stage: one for stage, one in spent.items() if one.requests}
    if not asked:
        return {}
    rows = spending_table(asked, prices).to_dicts()
    return {
        "asked of a model": table(rows),
        "tokens of a model": sum(row["tokens_read"] + row["tokens_written"] for row in rows),
        "cost of a model": round(sum(row["cost"] for row in rows), 4),
    }


def of_publication(made: Publication) -> dict[str, Any]:
    """Where a version was published, the checks before, and its card."""
    files = made.manifest["files"]
    where = (
        {"hub": dg.MetadataValue.url(made.published.url)} if made.published else {"hub": "dry run: nothing was sent"}
    )
    return {
        **where,
        "dagster/row_count": made.manifest["counts"]["examples"],
        "version": made.manifest["version"],
        "files": len(files),
        "megabytes": round(sum(file["bytes"] for file in files.values()) / 1e6, 1),
        "checks": table([{"check": one["name"], "found": one["says"]} for one in made.manifest["checks"]]),
        "card": dg.MetadataValue.md(PICTURE.sub("", made.card.split("---", 2)[-1])),
    }


def of_drift(figures: Mapping[str, Any], opened: Version) -> dict[str, Any]:
    """What became of a version's examples on databases that changed, and where what holds stands now."""
    changes = [(one["db_id"], change) for one in figures["databases"] for change in one["changes"]]
    return {
        "dagster/row_count": figures["kept"] + figures["repaired"],
        "dagster/uri": str(opened.path),
        "version": opened.name,
        "version before": figures["version"],
        "examples": counted("class", {name: figures[name] for name in ("kept", "repaired", "broken")}),
        "changes": table([{"database": db_id, "what": one["kind"], "says": one["says"]} for db_id, one in changes]),
        "broken": table(figures["reasons"]),
    }


def of_fates(decided: Sequence[tuple[str, VersionFate]]) -> dg.TableMetadataValue:
    """Which versions of which corpora stay, and why."""
    return table(
        [
            {
                "corpus": name,
                "version": fate.path.name,
                "megabytes": round(fate.size / 1e6, 1),
                "stays because": fate.keeps or "goes",
            }
            for name, fate in decided
        ]
    )


def diversity_map(context: Context) -> bytes:
    """The selected rows in the plane of the vectors they were selected by, as PNG."""
    chosen = context.work.read("selection", SELECTION).select(*vectors.KEY, "hardness")
    rows, embeddings = vectors.read(context.work)
    rows = rows.with_row_index("row").join(
        chosen.select(vectors.KEY), on=vectors.KEY, how="semi", maintain_order="left"
    )
    rows = rows[sample_indices(rows.height, MAP_POINTS)]
    points = flatten(embeddings.take(rows["row"].to_numpy()).joined().astype(np.float32))
    colour = "db_id" if rows["db_id"].n_unique() > 1 else "hardness"
    title = f"Question and SQL by {'database' if colour == 'db_id' else colour}"
    return plots.diversity_map(points, rows[colour].to_list(), title=title)


def column_schema() -> dg.TableSchema:
    """The columns of an example, as the contract has them; shown before anything is built."""
    return _schema(EXAMPLE)


def _schema(schema: pl.Schema) -> dg.TableSchema:
    return dg.TableSchema(
        columns=[dg.TableColumn(name, _kind(kind), description=COLUMNS.get(name)) for name, kind in schema.items()]
    )


def _kind(kind: pl.DataType) -> str:
    """The type without the fields of a struct, which would fill the page."""
    return str(kind).partition("({")[0] + (")" if "({" in str(kind) else "")


def _source(database: Database) -> dict[str, Any]:
    return {
        "db_id": database.db_id,
        "dialect": database.dialect,
        "path": database.relative_path,
        "content hash": database.content_hash[:12],
    }


def _profiled(profile: DatabaseProfile) -> dict[str, Any]:
    return {
        "db_id": profile.db_id,
        "tables": len(profile.tables),
        "columns": sum(len(table.columns) for table in profile.tables),
        "rows": sum(table.rows for table in profile.tables),
        "keys declared": sum(key.declared for key in profile.foreign_keys),
        "keys inferred": sum(not key.declared for key in profile.foreign_keys),
    }


def _rows_of(context: Context, stage: str) -> pl.DataFrame:
    """Some rows of some shards: a sample that shows many databases and reads little."""
    shards = context.work.shards(stage)
    frames = [context.work.read(stage, shards[n]) for n in sample_indices(len(shards), ROWS)]
    return pl.concat([frame[sample_indices(frame.height, ROWS)] for frame in frames])


def image(name: str, png: bytes) -> dg.MarkdownMetadataValue:
    """A picture, which the UI shows behind a click."""
    return dg.MetadataValue.md(plots.as_markdown_image(png, name))


def _list(lines: Sequence[str], nothing: str) -> dg.MarkdownMetadataValue:
    more = [f"… and {len(lines) - PROBLEMS:,} more"] if len(lines) > PROBLEMS else []
    listed = [*map(literal, lines[:PROBLEMS]), *more]
    return dg.MetadataValue.md("\n".join(f"- {line}" for line in listed) or nothing)


def sample(frame: pl.DataFrame, columns: tuple[str, ...], most: int) -> dg.TableMetadataValue:
    """A few seeded rows, in the order of the frame; a column that says nothing in any of them is left out."""
    shown = frame.select(columns)[sample_indices(frame.height, most)]
    return table(shown.select(name for name in columns if any(shown[name].to_list())).to_dicts())


def counted(what: str, counts: Mapping[str, int]) -> dg.TableMetadataValue:
    """Counts with a bar each: the UI shows tables at once, images on a click."""
    most = max([1, *counts.values()])
    return table([{what: name, "rows": n, "": "█" * round(BAR * n / most)} for name, n in counts.items()])


def table(listing: list[dict[str, Any]]) -> dg.TableMetadataValue:
    """Rows as a table with the columns of the first row."""
    names = list(listing[0]) if listing else ["nothing"]
    return dg.MetadataValue.table(
        records=[dg.TableRecord({key: _cell(value) for key, value in row.items()}) for row in listing[:LISTED]],
        schema=dg.TableSchema(columns=[dg.TableColumn(name) for name in names]),
    )


def _cell(value: Any) -> str | int | float | bool:
    if value is None:
        return ""
    if isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return ", ".join(value)
    return json.dumps(value, ensure_ascii=False)

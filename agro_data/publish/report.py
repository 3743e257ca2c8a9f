"""One HTML page about a corpus version that opens from a disk, without a server or a network.

Numbers and bars are plain HTML. The rows travel inside the page as gzip in base64: a light index of all examples
(what is filtered, searched and listed) and, in blocks of `BLOCK`, the details of each, which the page unpacks only
when a row is opened. 20,000 examples make a page of a few megabytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from agro_data.pages import packed, templates
from agro_data.publish.layout import Points, sample_indices, word_map
from agro_data.publish.read import Version
from agro_data.publish.summary import funnel_stages, schema_coverage

BLOCK = 250  # examples whose details are unpacked together
MAP_POINTS = 4_000
CODED = ("db_id", "split", "hardness", "complexity", "style", "generator")  # few values: stored as numbers
DETAILS = (
    *("evidence", "skeleton", "dialect", "tables", "columns", "steps", "order_matters", "tie_policy"),
    *("alternatives", "result_digest", "result_rows", "result_columns", "instances", "mutants_total"),
    *("mutants_killed", "mutants_equivalent", "mutants_undecided", "alignment_method", "alignment_score"),
    *("plausibility", "seed"),
)


def render_report(version: Version, *, points: Points | None = None) -> str:
    """The report of `version` as one HTML text.

    `points` (n, 2, each coordinate in -1..1 as `layout.flatten` gives) places the examples, in order of
    `example_id`, on the diversity map; without it a sample of the questions is placed by the words they use.
    Raises `ValueError` when `points` does not fit the examples.
    """
    examples = version.examples().sort("example_id").collect()
    if points is not None and len(points) != examples.height:
        raise ValueError(f"report of {version.name}: {len(points)} points for {examples.height} examples")
    manifest = version.manifest
    counts = manifest["counts"]
    return _TEMPLATES.get_template("report.html.j2").render(
        title=f"{version.corpus} {version.name}",
        m=manifest,
        counts=counts,
        funnel=funnel_stages(manifest),
        coverage=schema_coverage(examples, manifest["databases"]).to_dicts(),
        engines=manifest["library_versions"],
        index=packed(_index(examples)),
        details=[packed(block) for block in _details(examples)],
        map=packed(_map(examples, points)),
        block=BLOCK,
    )


def _index(examples: pl.DataFrame) -> dict[str, Any]:
    """What is listed, searched and filtered, by column; labels are numbers into their own lists."""
    labels = {name: sorted(examples[name].unique().to_list()) for name in CODED}
    constructs = sorted(examples["constructs"].explode().drop_nulls().unique().to_list())
    place = {construct: number for number, construct in enumerate(constructs)}
    return {
        "labels": {**labels, "constructs": constructs},
        "codes": {name: _codes(examples[name].to_list(), labels[name]) for name in CODED},
        "constructs": [[place[c] for c in used or []] for used in examples["constructs"].to_list()],
        **{name: examples[name].to_list() for name in ("example_id", "question", "sql")},
    }


def _codes(values: Sequence[str], labels: Sequence[str]) -> list[int]:
    place = {label: number for number, label in enumerate(labels)}
    return [place[value] for value in values]


def _details(examples: pl.DataFrame) -> list[list[dict[str, Any]]]:
    kept = examples.select(DETAILS)
    return [kept.slice(start, BLOCK).to_dicts() for start in range(0, examples.height, BLOCK)]


def _map(examples: pl.DataFrame, points: Points | None) -> dict[str, Any]:
    chosen = sample_indices(examples.height, MAP_POINTS, 0)
    shown = word_map(examples["question"].gather(chosen).to_list()) if points is None else points[chosen]
    return {
        "rows": chosen,
        "x": [round(float(x), 3) for x in shown[:, 0]],
        "y": [round(float(y), 3) for y in shown[:, 1]],
        "by": "the words of the question" if points is None else "the embedding of question and SQL",
        "total": examples.height,
    }


_TEMPLATES = templates("agro_data.publish")
_TEMPLATES.filters |= {"number": lambda value: f"{value:,}"}

"""One HTML page about a corpus version that opens from a disk, without a server or a network.

Numbers and bars are plain HTML. The rows travel inside the page as gzip in base64: a light index of all examples
(what is filtered, searched and listed) and, in blocks of `BLOCK`, the details of each with its mutants, which the page
unpacks only when a row is opened. The comparison with another version carries the texts of that one's rows alone: what
stands in this one is named by its place.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from agro_data.pages import packed, templates
from agro_data.publish.difference import KINDS, Difference, compare, summary
from agro_data.publish.layout import Points, sample_indices, word_map
from agro_data.publish.read import Version
from agro_data.publish.summary import funnel_stages, schema_coverage

BLOCK = 250  # examples whose details are unpacked together
MAP_POINTS = 4_000
CODED = ("db_id", "split", "hardness", "complexity", "style", "generator", "certificate")  # few values: as numbers
DETAILS = (
    *("evidence", "skeleton", "dialect", "tables", "columns", "steps", "order_matters", "tie_policy"),
    *("alternatives", "result_digest", "result_rows", "result_columns", "instances", "mutants_total"),
    *("mutants_killed", "mutants_equivalent", "mutants_undecided", "alignment_method", "alignment_score"),
    *("plausibility", "seed"),
)
FATE = ("kind", "what", "outcome", "by", "difference", "sql")  # of a mutant, in this order
SHARES_SHOWN = 40  # values of a distribution that are compared, those that changed most


def render_report(version: Version, *, points: Points | None = None, before: Version | None = None) -> str:
    """The report of `version` as one HTML text, with what distinguishes it from the version `before`, if given.

    `points` (n, 2, each coordinate in -1..1 as `layout.flatten` gives) places the examples, in order of
    `example_id`, on the diversity map; without it a sample of the questions is placed by the words they use.
    Raises `ValueError` when `points` does not fit the examples.
    """
    examples = version.examples().sort("example_id").collect().with_columns(_CERTIFICATE)
    if points is not None and len(points) != examples.height:
        raise ValueError(f"report of {version.name}: {len(points)} points for {examples.height} examples")
    manifest = version.manifest
    counts = manifest["counts"]
    mutants = version.all_mutants()
    difference = None if before is None else compare(before, version)
    return _TEMPLATES.get_template("report.html.j2").render(
        title=f"{version.corpus} {version.name}",
        m=manifest,
        counts=counts,
        funnel=funnel_stages(manifest),
        certificates=_by_kind(mutants),
        coverage=schema_coverage(examples, manifest["databases"]).to_dicts(),
        engines=manifest["library_versions"],
        index=packed(_index(examples)),
        details=[packed(block) for block in _details(examples, mutants)],
        map=packed(_map(examples, points)),
        block=BLOCK,
        fate=FATE,
        compared=None if before is None or difference is None else _compared(before, difference),
        rows_compared=None if before is None or difference is None else packed(_rows(before, difference, examples)),
    )


_CERTIFICATE = (
    pl.when(pl.col("mutants_total") == 0)
    .then(pl.lit("no mutant tried"))
    .when(pl.col("mutants_undecided") > 0)
    .then(pl.lit("a mutant survives"))
    .otherwise(pl.lit("every mutant told apart or proved"))
    .alias("certificate")
)


def _index(examples: pl.DataFrame) -> dict[str, Any]:
    """What is listed, searched and filtered, by column; labels are numbers into their own lists."""
    labels = {name: sorted(examples[name].unique().to_list()) for name in CODED}
    constructs = sorted(examples["constructs"].explode().drop_nulls().unique().to_list())
    place = {construct: number for number, construct in enumerate(constructs)}
    reads = [
        [f"{row[0]}: {column}" for column in row[1] or []] for row in examples.select("db_id", "columns").iter_rows()
    ]
    columns = sorted({column for row in reads for column in row})
    column_place = {column: number for number, column in enumerate(columns)}
    return {
        "labels": {**labels, "constructs": constructs, "columns": columns},
        "codes": {name: _codes(examples[name].to_list(), labels[name]) for name in CODED},
        "constructs": [[place[c] for c in used or []] for used in examples["constructs"].to_list()],
        "columns": [[column_place[c] for c in row] for row in reads],
        **{name: examples[name].to_list() for name in ("example_id", "question", "sql")},
    }


def _codes(values: Sequence[str], labels: Sequence[str]) -> list[int]:
    place = {label: number for number, label in enumerate(labels)}
    return [place[value] for value in values]


def _details(examples: pl.DataFrame, mutants: pl.DataFrame) -> Iterator[list[dict[str, Any]]]:
    """Blocks of what a row shows when it is opened; `mutants` as lists in the order of `FATE`."""
    fates: dict[str, list[list[str | None]]] = {}
    for example_id, *fate in mutants.select("example_id", *FATE).iter_rows():
        fates.setdefault(example_id, []).append(fate)
    for start in range(0, examples.height, BLOCK):
        block = examples.slice(start, BLOCK)
        rows = zip(block["example_id"], block.select(DETAILS).iter_rows(named=True), strict=True)
        yield [{**row, "mutants": fates.get(example_id, [])} for example_id, row in rows]


def _by_kind(mutants: pl.DataFrame) -> list[dict[str, Any]]:
    """What became of the mutants of each kind, the most tried first."""
    outcomes = [(pl.col("outcome") == name).sum().alias(name) for name in ("killed", "equivalent", "undecided")]
    counted = mutants.group_by("kind").agg(pl.len().alias("total"), *outcomes)
    return counted.sort(["total", "kind"], descending=[True, False]).to_dicts()


def _compared(before: Version, difference: Difference) -> dict[str, Any]:
    """What the page says of two versions in numbers."""
    told = summary(difference)
    shares = {label: [one for one in rows if one["points"]][:SHARES_SHOWN] for label, rows in told["shares"].items()}
    return {**told, "shares": shares, "title": f"{before.corpus} {before.name}"}


def _rows(before: Version, difference: Difference, examples: pl.DataFrame) -> dict[str, Any]:
    """The rows that differ, by column: kind, place of the row of now (-1: none), question and SQL of the one before."""
    place = {example_id: number for number, example_id in enumerate(examples["example_id"].to_list())}
    rows = difference.rows.filter(pl.col("kind") != "same")
    gone = rows.filter(pl.col("kind") != "changed")["before"].drop_nulls()
    texts = {
        example_id: [question, sql]
        for example_id, question, sql in before.examples()
        .filter(pl.col("example_id").is_in(gone.implode()))
        .select("example_id", "question", "sql")
        .collect()
        .iter_rows()
    }
    return {
        "kind": [KINDS.index(kind) for kind in rows["kind"]],
        "kinds": KINDS,
        "db_id": rows["db_id"].to_list(),
        "place": [place.get(after, -1) for after in rows["after"]],
        "before": [texts.get(one) for one in rows["before"]],
        "columns": rows["columns"].to_list(),
    }


def _map(examples: pl.DataFrame, points: Points | None) -> dict[str, Any]:
    chosen = sample_indices(examples.height, MAP_POINTS)
    shown = word_map(examples["question"].gather(chosen).to_list()) if points is None else points[chosen]
    return {
        "rows": chosen,
        "x": [round(float(x), 3) for x in shown[:, 0]],
        "y": [round(float(y), 3) for y in shown[:, 1]],
        "by": "the words of the question" if points is None else "the embedding of question and SQL",
        "total": examples.height,
    }


_TEMPLATES = templates("agro_data.publish")
_TEMPLATES.filters |= {
    "number": lambda value: f"{value:,}",
    "figure": lambda value: "–" if value is None else f"{value:,}" if isinstance(value, int) else f"{value:,.4f}",
}

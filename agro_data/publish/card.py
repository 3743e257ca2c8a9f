"""The dataset card: what a version is, how it was made, what it is not good for; from its manifest alone."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

from agro_data.publish.markdown import TEMPLATES
from agro_data.publish.summary import SPLITS, funnel_stages
from agro_data.records import EXAMPLE

SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))

COLUMNS = {
    "example_id": "first 16 hex of SHA-256 over `json.dumps([content_hash, dialect, sql, question, evidence], "
    'ensure_ascii=False, separators=(",", ":"))`, the hash being that of its database in `manifest.json`; `hidden`, if '
    "not empty, is a last item, its keys sorted",
    "db_id": "the database it is asked of",
    "dialect": "`sqlite` or `duckdb`: the engine that ran the SQL",
    "split": "`train`, `validation` or `test`",
    "question": "the question, in English",
    "style": "how it is phrased: interrogative, imperative, formal, colloquial, concise, descriptive; by a model also "
    "vague, metaphorical, multi-turn",
    "evidence": "knowledge the question needs beyond the schema, or null",
    "sql": "the gold SQL, as executed",
    "skeleton": "the SQL with literals masked",
    "hardness": "Spider's easy, medium, hard, extra",
    "complexity": "simple, moderate, complex, highly_complex",
    "constructs": "SQL constructs it uses",
    "tables": "tables it reads",
    "columns": "columns it reads, as `table.column`",
    "steps": "the decomposition: named executable steps, each with its intent, SQL, inputs and columns",
    "order_matters": "whether the question asks for an order",
    "tie_policy": "`none`, `total_order` (no ties in this database) or `include_ties`",
    "alternatives": "other SQL known to be right",
    "result_digest": "SHA-256 of the result on the source database, in the format that agro-sql's "
    "docs/reference/columns.md tells",
    "result_rows": "rows of the result",
    "result_columns": "columns of the result",
    "instances": "augmented databases on which a prediction must agree too",
    "mutants_total": "mutants of the gold SQL that were tried",
    "mutants_killed": "mutants whose result differs on some instance",
    "mutants_equivalent": "mutants proved to mean the same",
    "mutants_undecided": "mutants that are neither; they count as surviving",
    "alignment_method": "`construction`: both come from one tree; `verified`: independent solvers agreed; `judged`: a "
    "judge sided with it against them",
    "alignment_score": "share of the solvers' answers that agreed (1 for `construction`: nobody was asked), or null",
    "plausibility": "how likely a person asks this, 0 to 1",
    "generator": "what wrote the SQL and the question",
    "seed": "seed of this example",
    "answerable": "false where something is `hidden`, or where the question has several `readings`",
    "hidden": "what is taken away from the schema and the data shown: tables, columns, or the rows with a value",
    "readings": "all SQL that an ambiguous question can mean, each with its meaning in words and its own certificate",
    "clarification": "what to say instead of an answer, or null",
}  # fmt: skip
INDEX_COLUMNS = {
    "db_id": "the database that the instance is made for",
    "example_id": "the row that is graded on it, or a `reading_id` of one with several readings",
    "file": "the instance, as `<db_id>/<file>` below `instances/`",
    "gold_digest": "SHA-256 of the gold's result there, as `result_digest` is on the source",
}
MUTANT_COLUMNS = {
    "example_id": "the row whose SQL it was made from, or a `reading_id` of one with several readings",
    "kind": "the kind of mistake",
    "what": "the mistake, for a person: `WHERE age > 56 -> age >= 56`",
    "outcome": "`killed`: its result differs from the gold's on an instance; `equivalent`: proved to mean the same; "
    "`undecided`: neither, which counts as surviving",
    "by": "the instance that killed it (`file` of the index), or the rules that prove it equivalent; else empty",
    "sql": "the mutant, where it is undecided or has a `difference`; null for the equivalent and most of the killed",
    "difference": "the first row that differs on that instance, for a few of the killed; else null",
}


def render_card(manifest: dict[str, Any]) -> str:
    """Dataset card (Markdown with a YAML head that `datasets.load_dataset` follows) of a version's manifest.

    `manifest` is written by `version.write_version`; its optional `license`, `pretty_name` and `description` are shown
    only when given. Raises `jinja2.UndefinedError` when a key the card needs is absent.
    """
    counts = manifest["counts"]
    methods = counts["alignment_methods"]
    return TEMPLATES.get_template("card.md.j2").render(
        m=manifest,
        counts=counts,
        splits=[split for split in SPLITS if counts["splits"].get(split)],
        size_category=next((label for bound, label in SIZES if counts["examples"] < bound), "n>1M"),
        funnel=funnel_stages(manifest),
        columns=columns(),
        setting=setting(counts["dialects"]),
        shareable=sum(bool(database.get("shareable")) for database in manifest["databases"]),
        verified=methods.get("verified", 0),
        top_constructs=list(counts["constructs"].items()),
        reasons=list(counts["rejected_reasons"].items())[:12],
        config=json.dumps(manifest["config"], indent=1, sort_keys=True, ensure_ascii=False),
    )


def columns() -> list[tuple[str, str, str]]:
    """Name, type and meaning of each column of `records.EXAMPLE`."""
    return [(name, _type_name(kind), COLUMNS[name]) for name, kind in EXAMPLE.items()]


def setting(dialects: Collection[str]) -> str:
    """What a session needs for the SQL to mean what it meant when it ran here, as the end of a sentence."""
    if "duckdb" not in dialects:
        return ""
    return "; in DuckDB after `SET TimeZone = 'UTC'`, and with all schemas of the database in `search_path`"


def _type_name(kind: Any) -> str:
    names = {"String": "string", "Int64": "int", "Float64": "float", "Boolean": "bool"}
    text = str(kind)
    if text.startswith("List(Struct"):
        return "list of struct"
    return "list of string" if text.startswith("List") else names[text]

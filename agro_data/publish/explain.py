"""The certificate of one example in plain words: what was done, what it showed, and how to check it again."""

from __future__ import annotations

import textwrap
from collections import Counter
from functools import partial
from typing import Any

from agro_data.publish.card import setting
from agro_data.publish.read import Version
from agro_data.sql.concealing import Hidden
from agro_data.words import counted

ENGINES = {"sqlite": ("SQLite", "sqlite"), "duckdb": ("DuckDB", "duckdb"), "postgres": ("PostgreSQL", "")}
TIES = {
    "none": "It asks for no order and no cut, so ties cannot change the answer.",
    "total_order": "The order it asks for has no ties in this database.",
    "include_ties": "All rows that share the extreme value are asked for, so ties are part of the answer.",
}
WIDTH = 100


def explain(version: Version, example_id: str, *, width: int = WIDTH) -> str:
    """The certificate of an example as text for a person, its paragraphs at most `width` characters wide.

    `example_id` may be the first digits of an id. Raises `read.NoVersion` unless exactly one example has it.
    """
    row = version.example(example_id)
    database: dict[str, Any] = next((d for d in version.manifest["databases"] if d["db_id"] == row["db_id"]), {})
    block = partial(_block, width=width)
    blocks = [
        _heading(row, version),
        block("Question", _question(row)),
        block("SQL", row["sql"], verbatim=True),
        block("Executed", _executed(row, version.manifest, database)),
        block("Determinism", TIES.get(row["tie_policy"], f"Tie policy: {row['tie_policy']}.")),
        block("Mutants and instances", _mutants(row, version)),
        block("Question and SQL agree", _alignment(row)),
        block("Steps", _steps(row), verbatim=True),
        block("Provenance", _provenance(row, version)),
        block("Check it again", _recompute(row, database)),
    ]
    return "\n\n".join(blocks) + "\n"


def _heading(row: dict[str, Any], version: Version) -> str:
    title = f"Example {row['example_id']} of {version.corpus} {version.name}"
    return f"{title}\n{'=' * len(title)}"


def _block(title: str, body: str, *, width: int, verbatim: bool = False) -> str:
    lines = body.splitlines()
    if not verbatim:
        lines = [piece for line in lines for piece in textwrap.wrap(line, width - 2, break_long_words=False)]
    return "\n".join([title, *(f"  {line}" for line in lines)])


def _question(row: dict[str, Any]) -> str:
    lines = [row["question"]]
    if row["evidence"]:
        lines.append(f"Evidence: {row['evidence']}")
    if row["clarification"]:
        lines.append(f"It has no one answer. To be said instead: {row['clarification']}")
    lines += [f"Hidden from who is asked: {Hidden.of(one)}." for one in row["hidden"]]
    for reading in row["readings"]:
        lines.append(
            f"It can mean: {reading['says']} {reading['sql']} ({counted(len(reading['instances']), 'instances')})"
        )
    kind = f"{row['hardness']} (Spider), {row['complexity'].replace('_', ' ')}"
    lines.append(f"Style {row['style']}; hardness {kind}; uses {', '.join(row['constructs']) or 'no construct'}.")
    return "\n".join(lines)


def _executed(row: dict[str, Any], manifest: dict[str, Any], database: dict[str, Any]) -> str:
    engine, library = ENGINES.get(row["dialect"], (row["dialect"], ""))
    release = manifest["library_versions"].get(library, "version not recorded")
    content = database.get("content_hash", "not recorded")
    order = "The question asks for an order" if row["order_matters"] else "The question asks for no order"
    return "\n".join(
        [
            f"Passed as one read-only statement on known columns, then executed on database {row['db_id']} "
            f"(content hash {content}) by {engine} {release}.",
            f"It gave {counted(row['result_rows'], 'rows')} of {counted(row['result_columns'], 'columns')}. "
            f"{order}. Result digest {row['result_digest']}.",
            f"Reads {', '.join(row['tables']) or 'no table'}; columns {', '.join(row['columns']) or 'none'}.",
        ]
    )


def _mutants(row: dict[str, Any], version: Version) -> str:
    total = row["mutants_total"]
    if not total:
        return "No mutant of this SQL has been tried: that each of its parts is needed is not claimed."
    equivalent, undecided = row["mutants_equivalent"], row["mutants_undecided"]
    told = (
        f"{counted(total, 'mutants')} tried: {row['mutants_killed']} told apart by some instance, "
        f"{equivalent} proved to mean the same, {undecided} undecided (counted as surviving). "
        f"{counted(len(row['instances']), 'augmented databases')} of the pool can grade a prediction."
    )
    names = f"In instances/: {', '.join(row['instances'])}." if row["instances"] else ""
    return "\n".join([told, names, *_fates(version.mutants(row["example_id"]).to_dicts())])


def _fates(mutants: list[dict[str, Any]]) -> list[str]:
    """Examples of mutants that were killed, with the row that shows it; the rules that proved some; all survivors."""
    killed = [m for m in mutants if m["difference"]]
    rules = Counter(m["by"] for m in mutants if m["outcome"] == "equivalent")
    lines = [f"Killed, for instance: {m['what']}, by {m['by']}: {m['difference']}." for m in killed]
    if rules:
        lines.append(f"Proved equivalent by: {', '.join(f'{rule} ({n})' for rule, n in sorted(rules.items()))}.")
    return lines + [f"Survives: {m['what']}." for m in mutants if m["outcome"] == "undecided"]


def _alignment(row: dict[str, Any]) -> str:
    if row["alignment_method"] == "construction":
        return (
            "Both were rendered from one intent tree. That is a claim, not a proof: "
            "no independent solver has agreed yet."
        )
    score = "" if row["alignment_score"] is None else f", score {row['alignment_score']:.2f}"
    return f"Method: {row['alignment_method']}{score}."


def _steps(row: dict[str, Any]) -> str:
    lines = []
    for number, step in enumerate(row["steps"] or [], start=1):
        source = f" (from {', '.join(step['inputs'])})" if step["inputs"] else ""
        lines += [f"{number}. {step['name']}: {step['intent']}{source}", f"   {step['sql']}"]
    return "\n".join(lines) or "none recorded"


def _provenance(row: dict[str, Any], version: Version) -> str:
    seeds = ", ".join(f"{name} {value}" for name, value in sorted(version.manifest["seeds"].items()))
    return "\n".join(
        [
            f"Generator {row['generator']}, seed {row['seed']}; build seeds: {seeds or 'none'}.",
            f"Build fingerprint {version.fingerprint}.",
            f"Split {row['split']}; plausibility {row['plausibility']:.2f}.",
        ]
    )


def _recompute(row: dict[str, Any], database: dict[str, Any]) -> str:
    place = database.get("relative_path") or row["db_id"]
    return "\n".join(
        [
            f"Open {place} read-only, run the SQL{setting([row['dialect']])}.",
            "Write each cell as text: NULL as n, an integer as i42, a float as f and its repr after rounding to 12 "
            "significant digits (an integral one as an integer), text as t<number of characters>:<text>, a blob as b "
            "and its hex.",
            "Join the cells of a row by commas and sort the rows, unless the SQL orders at top level. The "
            "digest is the SHA-256 of the number of columns and the rows, each followed by a newline.",
            "In Python: agro_data.databases.digest.result_digest(columns, rows, ordered).",
        ]
    )

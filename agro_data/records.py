"""The rows that stages hand to each other: one Polars schema for each, and nothing else.

Every frame that crosses a stage boundary is cast to one of these by `conform`, so a column that is missing, extra
or of the wrong type is found where it is made. DESIGN: the corpus columns are a contract with users.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl
from polars._typing import PolarsDataType

STEP = pl.Struct(
    {
        "name": pl.String,
        "intent": pl.String,
        "sql": pl.String,
        "inputs": pl.List(pl.String),
        "columns": pl.List(pl.String),
    }
)

MUTANT = pl.Struct(
    {
        "kind": pl.String,
        "what": pl.String,  # for a person: "WHERE age > 56 -> age >= 56"
        "outcome": pl.String,  # killed, equivalent or undecided
        "by": pl.String,  # the file that killed it, or the rule that proves it equivalent
        "sql": pl.String,  # of survivors, and of the killed whose difference is shown; else null
        "difference": pl.String,  # the first row that differs, for a few of the killed; else null
    }
)

# What is taken away from a database before it is shown (`sql.concealing`): a table, a column, or a value's rows.
HIDDEN = pl.Struct({"table": pl.String, "column": pl.String, "value": pl.String})

READING = pl.Struct(
    {
        "reading_id": pl.String,  # `example_id` of the question with this SQL; the instance index knows it
        "sql": pl.String,
        "says": pl.String,  # the question with nothing left open
        "result_digest": pl.String,
        "instances": pl.List(pl.String),
    }
)

Columns = Mapping[str, PolarsDataType]


def _schema(*parts: Columns) -> pl.Schema:
    return pl.Schema({name: kind for part in parts for name, kind in part.items()})


CANDIDATE = _schema(
    {
        "candidate_id": pl.String,  # 16 hex of SHA-256 over database content hash, dialect and SQL
        "db_id": pl.String,
        "dialect": pl.String,
        "intent": pl.String,  # JSON of the tree; empty for SQL that no intent gave
        "shape": pl.String,
        "sql": pl.String,
        "skeleton": pl.String,
        "template": pl.String,  # skeleton with table and column names masked too
        "hardness": pl.String,
        "complexity": pl.String,
        "constructs": pl.List(pl.String),
        "tables": pl.List(pl.String),
        "columns": pl.List(pl.String),
        "steps": pl.List(STEP),
        "order_matters": pl.Boolean,
        "tie_policy": pl.String,
        "plausibility": pl.Float64,
        "generator": pl.String,
        "seed": pl.Int64,
    }
)

VERIFIED = _schema(
    CANDIDATE,
    {
        "result_digest": pl.String,
        "result_rows": pl.Int64,
        "result_columns": pl.Int64,
        "alternatives": pl.List(pl.String),
        "instances": pl.List(pl.String),
        "mutants_total": pl.Int64,
        "mutants_killed": pl.Int64,
        "mutants_equivalent": pl.Int64,
        "mutants_undecided": pl.Int64,
        "checks": pl.List(pl.String),  # names of the checks it passed, in order
    },
)

QUESTION = _schema(
    VERIFIED,
    {
        "question": pl.String,
        "style": pl.String,
        "evidence": pl.String,
        "alignment_method": pl.String,
        "alignment_score": pl.Float64,
    },
)

REJECTED = _schema(
    {
        "candidate_id": pl.String,
        "db_id": pl.String,
        "stage": pl.String,
        "reason": pl.String,  # a class: "empty", "tie", "timeout", "unknown_column", ...
        "detail": pl.String,  # one sentence for a person
        "sql": pl.String,
        "question": pl.String,
        "shape": pl.String,
    }
)

# What rows are compared and chosen by. The rest of a row stays in the shards of `questions` until it is chosen:
# steps and trees are most of its bytes, and the stages from here on hold many databases in memory at once.
DISTINCT = pl.Schema(
    {
        name: QUESTION[name]
        for name in (
            "candidate_id", "db_id", "dialect", "shape", "sql", "skeleton", "template", "hardness", "complexity",
            "constructs", "tables", "columns", "plausibility", "result_digest", "question", "style",
        )
    }
)  # fmt: skip

# What the certificate says of a row. `digests` are the gold's, on each of `instances`.
CERTIFICATE: Columns = {
    "instances": pl.List(pl.String),
    "mutants_total": pl.Int64,
    "mutants_killed": pl.Int64,
    "mutants_equivalent": pl.Int64,
    "mutants_undecided": pl.Int64,
    "digests": pl.List(pl.String),
    "mutants": pl.List(MUTANT),
}
CERTIFIED = _schema(dict(DISTINCT), CERTIFICATE)

# Whether a question can be answered as its database is shown, and what else could be said.
ANSWERABILITY: Columns = {
    "answerable": pl.Boolean,  # one reading, and all it needs is shown
    "hidden": pl.List(HIDDEN),
    "readings": pl.List(READING),  # of a question that has several, its own SQL's first; else empty
    "clarification": pl.String,  # what to say instead of an answer; null where there is one
}
ANSWERABLE: Mapping[str, pl.Expr] = {
    "answerable": pl.lit(True),
    "hidden": pl.lit([], dtype=pl.List(HIDDEN)),
    "readings": pl.lit([], dtype=pl.List(READING)),
    "clarification": pl.lit(None, dtype=pl.String),
}  # the default of a row; all rows before there were other kinds

# A chosen row turned into a question without one answer; `candidate_id` and `style` say which.
UNANSWERED = _schema(
    {
        "candidate_id": pl.String,
        "db_id": pl.String,
        "style": pl.String,
        "kind": pl.String,  # missing_column, missing_table, missing_value or ambiguous
        "question": pl.String,
        "evidence": pl.String,
        "hidden": pl.List(HIDDEN),
        "readings": pl.List(READING),
        "clarification": pl.String,
        "digests": pl.List(pl.List(pl.String)),  # of each reading on its instances; its own SQL's are in `certified`
        "mutants": pl.List(pl.List(MUTANT)),  # of each reading, likewise
    }
)

SELECTED = _schema(QUESTION, {"split": pl.String}, ANSWERABILITY)

EXAMPLE = _schema(
    {
        "example_id": pl.String,
        "db_id": pl.String,
        "dialect": pl.String,
        "split": pl.String,
        "question": pl.String,
        "style": pl.String,
        "evidence": pl.String,
        "sql": pl.String,
        "skeleton": pl.String,
        "hardness": pl.String,
        "complexity": pl.String,
        "constructs": pl.List(pl.String),
        "tables": pl.List(pl.String),
        "columns": pl.List(pl.String),
        "steps": pl.List(STEP),
        "order_matters": pl.Boolean,
        "tie_policy": pl.String,
        "alternatives": pl.List(pl.String),
        "result_digest": pl.String,
        "result_rows": pl.Int64,
        "result_columns": pl.Int64,
        "instances": pl.List(pl.String),
        "mutants_total": pl.Int64,
        "mutants_killed": pl.Int64,
        "mutants_equivalent": pl.Int64,
        "mutants_undecided": pl.Int64,
        "alignment_method": pl.String,
        "alignment_score": pl.Float64,
        "plausibility": pl.Float64,
        "generator": pl.String,
        "seed": pl.Int64,
    },
    ANSWERABILITY,
)


# Which instances are valid for an example, and what its SQL answers there: `instances/index.parquet`.
INSTANCE_INDEX = _schema(
    {
        "db_id": pl.String,
        "example_id": pl.String,
        "file": pl.String,  # `<db_id>/<file>`
        "gold_digest": pl.String,
    }
)


def conform(frame: pl.DataFrame, schema: pl.Schema) -> pl.DataFrame:
    """`frame` with exactly the columns of `schema`, in its order, cast strictly.

    Raises `ValueError` that names missing or unexpected columns.
    """
    missing = [name for name in schema if name not in frame.columns]
    extra = [name for name in frame.columns if name not in schema]
    if missing or extra:
        raise ValueError(f"stage frame does not fit its schema: missing {missing}, unexpected {extra}")
    return frame.select(pl.col(name).cast(kind, strict=True) for name, kind in schema.items())


def rejection(row: Mapping[str, Any], stage: str, reason: str, detail: str) -> dict[str, object]:
    """A row of `REJECTED`: what a stage dropped, a candidate or an example, and why. What it does not say is null."""
    said = {name: row.get(name) for name in ("sql", "question", "shape")}
    identity = row["candidate_id"] if "candidate_id" in row else row["example_id"]
    given = {"candidate_id": identity, "db_id": row["db_id"]}
    return {**given, "stage": stage, "reason": reason, "detail": detail, **said}


def rows(records: list[dict[str, object]], schema: pl.Schema) -> pl.DataFrame:
    """Frame of `schema` from row dictionaries; an empty list gives an empty frame of the right types."""
    return pl.DataFrame(records, schema=schema, orient="row", strict=True)

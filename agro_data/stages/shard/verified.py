"""Verified SQL: candidates that passed the gate, ran in the sandbox, and give an answer that means something."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl

from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.databases.types import Database
from agro_data.intent.steps.decompose import Step, decompose
from agro_data.intent.tree import from_json
from agro_data.profiling.profile import DatabaseProfile
from agro_data.records import REJECTED, VERIFIED, rejection, rows
from agro_data.synthesis.decomposition import steps_of
from agro_data.verify.check import StatementVerdict, verify_statements

Row = dict[str, Any]


def verified(
    candidates: pl.DataFrame,
    database: Database,
    profile: DatabaseProfile,
    sandbox: Sandbox,
    shuffled: Database | None,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The candidates that hold, with their result's digest and steps that run; and the others with the reason."""
    records = candidates.to_dicts()
    verdicts = verify_statements(database, profile.schema, [r["sql"] for r in records], sandbox, shuffled, any_cut=True)
    good = [(r, v) for r, v in zip(records, verdicts, strict=True) if v.ok]
    steps = _steps([r for r, _ in good], database, profile, sandbox)
    accepted = [_accepted(r, v, s) for (r, v), s in zip(good, steps, strict=True)]
    refused = [rejection(r, "verified", v.reason, v.detail) for r, v in zip(records, verdicts, strict=True) if not v.ok]
    return rows(accepted, VERIFIED), rows(refused, REJECTED)


def _steps(records: list[Row], database: Database, profile: DatabaseProfile, sandbox: Sandbox) -> list[list[Row]]:
    """Each record's decomposition, executed. One that has a failing or empty step is stored as its final step, whose
    line then says what the others would have done.
    """
    plans = [_plan(record, profile) for record in records]
    inner = [step.sql for plan in plans for step in plan[:-1]]
    results = iter(sandbox.run(database, inner, want="digest"))
    checked: list[list[Row]] = []
    for plan in plans:
        outcomes = [next(results) for _ in plan[:-1]]
        holds = all(r.ok and r.row_count > 0 for r in outcomes)
        kept = plan if holds else (replace(plan[-1], intent=" ".join(step.intent for step in plan)),)
        checked.append(
            [
                {
                    "name": step.name,
                    "intent": step.intent,
                    "sql": step.sql,
                    "inputs": list(step.inputs) if holds else [],
                    "columns": list(step.columns),
                }
                for step in kept
            ]
        )
    return checked


def _plan(record: Row, profile: DatabaseProfile) -> tuple[Step, ...]:
    """The steps of the intent; if there is none, steps read from the SQL text."""
    if record["intent"]:
        return decompose(from_json(record["intent"]), profile)
    return steps_of(record["sql"], profile.dialect, profile.schema)


def _accepted(record: Row, verdict: StatementVerdict, steps: list[Row]) -> Row:
    result = verdict.result
    if result is None:
        raise ValueError(f"{record['db_id']}: a verdict without a result cannot be ok: {record['sql']}")
    return record | {
        "steps": steps,
        "result_digest": result.digest_if(record["order_matters"]),
        "result_rows": result.row_count,
        "result_columns": result.column_count,
        "alternatives": [],
        "instances": [],
        "mutants_total": 0,
        "mutants_killed": 0,
        "mutants_equivalent": 0,
        "mutants_undecided": 0,
        "checks": list(verdict.checks),
    }

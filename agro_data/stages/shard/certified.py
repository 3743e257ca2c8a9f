"""Certified rows: those whose SQL is told from its mutants on instances made for it."""

from __future__ import annotations

from typing import Any

import polars as pl

from agro_data.records import CERTIFIED, EXAMPLE, REJECTED, rejection, rows
from agro_data.verify.certificates.certifier import Certifier
from agro_data.verify.certificates.pool import Certificate, MutantFate

UNCERTIFIED: dict[str, Any] = {
    "instances": [],
    "mutants_total": 0,
    "mutants_killed": 0,
    "mutants_equivalent": 0,
    "mutants_undecided": 0,
    "digests": [],
    "mutants": [],
}


def certified(distinct: pl.DataFrame, certifier: Certifier) -> tuple[pl.DataFrame, pl.DataFrame, tuple[str, ...]]:
    """CERTIFIED rows of one batch, the others with the reason, and which instances could not be made."""
    records = distinct.to_dicts()
    pool = certifier.certify([record["sql"] for record in records])
    pairs = list(zip(records, pool.certificates, strict=True))
    kept = [record | columns_of(found) for record, found in pairs if found.ok]
    refused = [rejection(row, "certified", found.reason, found.detail) for row, found in pairs if not found.ok]
    return rows(kept, CERTIFIED), rows(refused, REJECTED), pool.problems


def uncertified(distinct: pl.DataFrame) -> pl.DataFrame:
    """The rows as they are, for a build that asks for no certificates."""
    return rows([record | UNCERTIFIED for record in distinct.to_dicts()], CERTIFIED)


def columns_of(found: Certificate) -> dict[str, Any]:
    """What a row says of its certificate: the columns of `records.CERTIFICATE`."""
    return {
        "instances": list(found.instances),
        "mutants_total": found.total,
        "mutants_killed": found.count("killed"),
        "mutants_equivalent": found.count("equivalent"),
        "mutants_undecided": found.count("undecided"),
        "digests": list(found.digests),
        "mutants": [mutant_row(fate) for fate in found.mutants],
    }


def stored_columns(found: Certificate | None) -> dict[str, Any]:
    """What a row of a version says of its certificate, or that there is none: the columns of `records.EXAMPLE`."""
    said = columns_of(found) if found else UNCERTIFIED
    return {name: value for name, value in said.items() if name in EXAMPLE}


def mutant_row(fate: MutantFate) -> dict[str, str | None]:
    """A row of `records.MUTANT`."""
    shown = fate.outcome == "undecided" or bool(fate.difference)
    return {
        "kind": fate.kind,
        "what": fate.what,
        "outcome": fate.outcome,
        "by": fate.by,
        "sql": fate.sql if shown else None,
        "difference": fate.difference or None,
    }

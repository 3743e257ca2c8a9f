"""Rows of one database turned into questions without one answer: something hidden, or several readings.

A hidden thing has been tested: without it the SQL fails, or gives another answer. An ambiguous question's readings have
each been certified, and no two give the same answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.databases.types import Database, Result
from agro_data.fingerprint import example_id
from agro_data.hashing import seed_of
from agro_data.intent.ambiguous import Ambiguity, ambiguities
from agro_data.intent.questions import STYLES
from agro_data.intent.rendering.to_sql import render_sql
from agro_data.intent.tree import from_json
from agro_data.intent.withheld import Withheld, withholdings
from agro_data.profiling.profile import DatabaseProfile
from agro_data.profiling.serialising.linking import Name
from agro_data.sql.concealing import NotThere, conceal
from agro_data.stages.shard.certified import mutant_row
from agro_data.verify.certificates.certifier import Certifier
from agro_data.verify.certificates.pool import Certificate
from agro_data.verify.check import StatementVerdict, verify_statements
from agro_data.verify.execution import execute

Row = dict[str, Any]

AMBIGUOUS = "ambiguous"
KINDS = ("missing_column", "missing_table", "missing_value", AMBIGUOUS)


# --- something hidden ----------------------------------------------------------------------------------------------


def withheld(
    chosen: Sequence[Row], database: Database, profile: DatabaseProfile, sandbox: Sandbox, each: int
) -> list[Row]:
    """Rows of `UNANSWERED` with something hidden, up to `each` of a kind, from the first of `chosen` on."""
    tried: list[tuple[Row, Withheld]] = []
    counts: Counter[str] = Counter()
    for row in chosen:
        for one in withholdings(from_json(row["intent"]), _used(row, profile), row["question"], profile):
            if counts[one.kind] < each:
                counts[one.kind] += 1
                tried.append((row, one))
    results = _without(tried, database, profile, sandbox)
    return [
        _unanswered(row, one.kind, hidden=[_hidden_row(one)], clarification=one.clarification)
        for (row, one), result in zip(tried, results, strict=True)
        if _needs(row, result)
    ]


def _used(row: Row, profile: DatabaseProfile) -> set[Name]:
    named = set(row["columns"])
    return {(t.name, c.name) for t in profile.tables for c in t.columns if f"{t.name}.{c.name}" in named}


def _without(
    tried: Sequence[tuple[Row, Withheld]], database: Database, profile: DatabaseProfile, sandbox: Sandbox
) -> list[Result | None]:
    """What each row's SQL gives where the thing is hidden; None where its table is not even there."""
    statements: list[str | None] = []
    for row, one in tried:
        try:
            statements.append(conceal(row["sql"], profile.dialect, profile.schema, [one.hidden]))
        except NotThere:
            statements.append(None)
    found = iter(execute([(database, sql) for sql in statements if sql is not None], sandbox))
    return [None if sql is None else next(found) for sql in statements]


def _needs(row: Row, result: Result | None) -> bool:
    """Whether the SQL does not do without what was hidden."""
    if result is None or not result.ok:
        return result is None or result.status == "error"
    return result.digest_if(row["order_matters"]) != str(row["result_digest"])


def _hidden_row(one: Withheld) -> Row:
    return {"table": one.hidden.table, "column": one.hidden.column or None, "value": one.hidden.value or None}


# --- several readings ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Asked:
    """A row's question with its readings, and their SQL; the first is the row's own."""

    row: Row
    ambiguity: Ambiguity
    sql: tuple[str, ...]


def ambiguous(
    chosen: Sequence[Row],
    database: Database,
    profile: DatabaseProfile,
    sandbox: Sandbox,
    shuffled: Database | None,
    each: int,
    *,
    certifier: Certifier | None,
) -> list[Row]:
    """Rows of `UNANSWERED` with several readings, up to `each`. Without a certifier readings have no instances."""
    asked = list(_proposed(chosen, profile, each))
    statements = [sql for one in asked for sql in one.sql[1:]]
    verdicts = iter(verify_statements(database, profile.schema, statements, sandbox, shuffled))
    apart = [(one, mine) for one in asked if _tell_apart(one, mine := [next(verdicts) for _ in one.sql[1:]])]
    golds = [sql for one, _ in apart for sql in one.sql[1:]]
    found = iter(
        certifier.certify(golds).certificates if certifier is not None else [Certificate(sql) for sql in golds]
    )
    told: list[Row] = []
    for one, mine in apart:
        certificates = [next(found) for _ in mine]
        if all(certificate.ok for certificate in certificates):
            told.append(_ambiguous_row(one, mine, certificates, database))
    return told


def _proposed(chosen: Sequence[Row], profile: DatabaseProfile, each: int) -> Iterator[Asked]:
    left = each
    for row in chosen:
        if row["style"] not in STYLES or not left:
            continue
        intent = from_json(row["intent"])
        own = seed_of(intent.seed, AMBIGUOUS, row["candidate_id"])
        found = next(ambiguities(intent, profile, row["style"], own), None)
        if found is not None:
            further = [render_sql(reading.intent, profile) for reading in found.readings[1:]]
            left -= 1
            yield Asked(row, found, (row["sql"], *further))


def _tell_apart(one: Asked, verdicts: Sequence[StatementVerdict]) -> bool:
    """Whether every further reading holds as SQL, and no two readings give the same answer."""
    if not all(verdict.ok for verdict in verdicts):
        return False
    digests = {one.row["result_digest"], *(_digest(one.row, verdict) for verdict in verdicts)}
    return len(digests) == len(one.sql)


def _digest(row: Row, verdict: StatementVerdict) -> str:
    if verdict.result is None:
        raise ValueError(f"{row['db_id']}: a verdict without a result cannot be ok: {row['sql']}")
    return verdict.result.digest_if(row["order_matters"])


def _ambiguous_row(
    one: Asked, verdicts: Sequence[StatementVerdict], certificates: Sequence[Certificate], database: Database
) -> Row:
    row = one.row | {"question": one.ambiguity.question.text, "evidence": one.ambiguity.question.evidence}
    digests = [row["result_digest"], *(_digest(row, verdict) for verdict in verdicts)]
    instances = [list(row["instances"]), *(list(certificate.instances) for certificate in certificates)]
    readings = [
        {
            "reading_id": example_id(database.content_hash, row, sql),
            "sql": sql,
            "says": reading.says,
            "result_digest": digest,
            "instances": files,
        }
        for reading, sql, digest, files in zip(one.ambiguity.readings, one.sql, digests, instances, strict=True)
    ]
    return _unanswered(
        row,
        AMBIGUOUS,
        readings=readings,
        clarification=one.ambiguity.clarification,
        digests=[[], *(list(certificate.digests) for certificate in certificates)],
        mutants=[[], *([mutant_row(fate) for fate in certificate.mutants] for certificate in certificates)],
    )


def _unanswered(row: Row, kind: str, **said: Any) -> Row:
    kept = {name: row[name] for name in ("candidate_id", "db_id", "style", "question", "evidence")}
    empty: Row = {"hidden": [], "readings": [], "digests": [], "mutants": []}
    return kept | {"kind": kind} | empty | said

"""SQL that fails as it is written, since it is another engine's, or in a code fence: how it would run here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.databases.types import Database, Dialect
from agro_data.fences import unfenced
from agro_data.pairs.finding import Finding
from agro_data.sql.forms.foreign import BLANK, as_ours
from agro_data.sql.parse import SqlRefused
from agro_data.verify.execution import execute

# By sqlglot's names, and ours: of several that read it the first is told.
_ENGINES = {
    "sqlite": "SQLite", "postgres": "PostgreSQL", "mysql": "MySQL", "tsql": "SQL Server", "bigquery": "BigQuery",
    "snowflake": "Snowflake", "oracle": "Oracle", "duckdb": "DuckDB",
}  # fmt: skip
_FAILS = frozenset({"syntax", "unknown_name", "does_not_run", "not_a_query"})


def with_our_sql(
    database: Database, found: Mapping[str, Sequence[Finding]], sandbox: Sandbox
) -> dict[str, list[Finding]]:
    """The findings of each statement; what fails has for a witness the statement that runs here, where that follows."""
    failing = [sql for sql, some in found.items() if any(one.kind in _FAILS for one in some)]
    read = [(sql, *way) for sql in failing for way in _ways(sql, database)]
    results = execute([(database, ours) for *_, ours in read], sandbox)
    runs: dict[str, tuple[str, str]] = {}
    for (sql, says, ours), result in zip(read, results, strict=True):
        if result.ok:
            runs.setdefault(sql, (says, ours))
    return {sql: [_told(one, *runs[sql]) if sql in runs else one for one in some] for sql, some in found.items()}


def _ways(sql: str, database: Database) -> Iterator[tuple[str, str]]:
    """What a statement may be, with what it is then in the database's own SQL."""
    block = unfenced(sql)
    if block is not None:
        yield "It stands in a code fence.", block
        return
    for engine, called in _ENGINES.items():
        if engine != database.dialect and (ours := _ours(sql, engine, database.dialect)):
            yield f"It reads as SQL of {called}; the witness is the same as SQL of {_ENGINES[database.dialect]}.", ours


def _ours(sql: str, engine: str, dialect: Dialect) -> str:
    """A statement of an engine in the database's SQL; "" where that would be the same, or has parameters."""
    try:
        text = as_ours(sql, engine, dialect)
    except SqlRefused:
        return ""
    return text if text != sql and f"'{BLANK}'" not in text else ""


def _told(finding: Finding, says: str, ours: str) -> Finding:
    if finding.kind not in _FAILS or finding.witness:
        return finding
    return replace(finding, says=f"{finding.says} {says}", witness=ours)

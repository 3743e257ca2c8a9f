"""Whether a gold's own answer is open to chance on one database: of a rewrite it then says nothing."""

from __future__ import annotations

from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.databases.types import Database
from agro_data.sql.names.resolution import Resolution
from agro_data.verify.chance.ties import chance_in, probes_of


def by_chance(gold: Resolution, database: Database, sandbox: Sandbox) -> bool | None:
    """As `verify.chance.ties` finds it; None where a probe met its limit, and so said nothing."""
    if chance_in(gold) is not None:
        return True
    probes = probes_of(gold, database.dialect)
    results = sandbox.run_many([(database, probe.sql) for probe in probes], want="rows")
    if any(result.ok and probe.judge(result.rows) for probe, result in zip(probes, results, strict=True)):
        return True
    return False if all(result.ok for result in results) else None

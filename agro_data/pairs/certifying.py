"""Certificates for pairs that others made: is each part of the gold needed, on instances made to show it?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl

from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.databases.types import Database
from agro_data.hashing import seed_of, stable_hash
from agro_data.pairs.finding import Certified, Checked, Finding
from agro_data.profiling.profile import DatabaseProfile
from agro_data.records import INSTANCE_INDEX
from agro_data.verify.certificates.certifier import Certifier
from agro_data.verify.certificates.pool import Certificate
from agro_data.words import capital


def certificates(
    database: Database, profile: DatabaseProfile, golds: Sequence[str], sandbox: Sandbox, folder: Path
) -> dict[str, Certificate]:
    """The certificate of each gold; its instances are written in `folder/<db_id>/`, made anew."""
    if not golds:
        return {}
    certifier = Certifier(database, profile, sandbox, folder / database.db_id, seed_of(0, database.db_id))
    pool = certifier.certify(golds)
    return {found.sql: found for found in pool.certificates}


def summarised(found: Certificate) -> Certified:
    """What is kept of a certificate."""
    return Certified(found.total, found.count("killed"), found.count("equivalent"), found.instances, found.digests)


def with_certificate(findings: Iterable[Finding], found: Certificate) -> list[Finding]:
    """The findings of a gold, refined by what its instances show, and the findings of the certificate itself."""
    fates = {fate.sql: fate for fate in found.mutants}
    told: list[Finding] = []
    for finding in findings:
        fate = fates.get(finding.witness) if finding.kind.startswith("untested_") else None
        if fate is not None and fate.outcome == "killed":
            finding = replace(finding, says=f"{finding.says} Instance {fate.by} tells them apart.")  # noqa: PLW2901
        elif fate is not None and fate.outcome == "undecided":
            finding = replace(finding, says=f"{finding.says} No instance tells them apart.")  # noqa: PLW2901
        told.append(finding)
    if found.reason:
        survivors = "; ".join(fate.what for fate in found.survivors)
        told.append(Finding(found.reason, f"{capital(found.detail)}.", survivors))
    return told


def instance_index(checked: Sequence[Checked]) -> pl.DataFrame:
    """One row for each pair and instance that is valid for it, as in a corpus version's `instances/index.parquet`.

    `example_id` is the pair's own id, or 16 hex digits over database and SQL.
    """
    rows = {
        (one.pair.db_id, one.pair.identity or stable_hash([one.pair.db_id, one.pair.sql])[:16], file, digest)
        for one in checked
        if one.certificate is not None
        for file, digest in zip(one.certificate.instances, one.certificate.digests, strict=True)
    }
    return pl.DataFrame(sorted(rows), schema=INSTANCE_INDEX, orient="row")

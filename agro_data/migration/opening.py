"""A new version from one that was checked against changed databases: the examples that hold, with present names."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from agro_data.config import ConfigError
from agro_data.databases.discovery.identity import database_identity
from agro_data.hashing import stable_hash
from agro_data.migration.drift import Drift, Drifted, profile_now
from agro_data.profiling.cache import encode, without_rows
from agro_data.profiling.profile import DatabaseProfile
from agro_data.publish.read import Version, inherited, open_version
from agro_data.publish.summary import SPLITS
from agro_data.publish.version import MUTANTS, Beside, Instances, write_version
from agro_data.records import EXAMPLE, INSTANCE_INDEX, REJECTED, rejection, rows
from agro_data.software import code_version
from agro_data.stages.shard.certified import mutant_row

SCHEME = 1
STAGE = "migration"  # of the rows that are broken, in `rejected/`


def open_migrated(drift: Drift, out: Path, databases: Path | str, instances: Path, cache: Path) -> Version:
    """Write what is kept or repaired as the next version of its corpus under `out`; its parent is the old one.

    `databases` and `instances` are those that `verify_version` was given. Rows that are broken stand in `rejected/`
    with the reason. The same drift gives the version that is there. Raises `ConfigError` when nothing is left.
    """
    version = drift.version
    held = [fate for fate in drift.fates if fate.new is not None]
    if not held:
        raise ConfigError(f"{version.corpus} {version.name}: every example is broken, so no version is opened")
    profiles = {
        one.database.db_id: profile_now(version, one.database, cache)
        for one in drift.databases
        if one.database is not None
    }
    return open_version(
        write_version(
            out,
            version.corpus,
            fingerprint=_fingerprint(drift),
            examples=rows([fate.new for fate in held if fate.new is not None], EXAMPLE),
            rejected=rows([rejection(f.row, STAGE, f.reason, f.says) for f in drift.fates if f.new is None], REJECTED),
            manifest=_manifest(drift, str(databases), profiles),
            beside=Beside(
                _instances(drift, instances),
                profiles={db_id: encode(without_rows(profile)) for db_id, profile in profiles.items()},
            ),
        )
    )


def _fingerprint(drift: Drift) -> str:
    """The new version's fingerprint. It covers the examples that are written, since they also depend on what was known
    of the databases before.
    """
    now = [database_identity(one.database) for one in drift.databases if one.database is not None]
    rows = [[f.row["example_id"], f.new["example_id"] if f.new is not None else f.reason] for f in drift.fates]
    parent = drift.version.fingerprint
    return stable_hash(
        {"migration": SCHEME, "parent": parent, "databases": now, "examples": rows, "code": code_version()}
    )


def _manifest(drift: Drift, databases: str, profiles: dict[str, DatabaseProfile]) -> dict[str, Any]:
    old = drift.version.manifest
    counts = drift.counts
    kept = inherited(old)
    changes = {one.db_id: [change.says for change in one.changes] for one in drift.databases if one.changes}
    ids = {one.db_id: one.database.db_id for one in drift.databases if one.database is not None}
    only = [ids[db_id] for db_id in old["config"].get("only", ()) if db_id in ids]
    if "yields" in old:
        kept["yields"] = [one | {"db_id": ids[one["db_id"]]} for one in old["yields"] if one["db_id"] in ids]
    if "split" in old:
        kept["split"] = _split(old["split"], ids, [fate.new["split"] for fate in drift.fates if fate.new is not None])
    return {
        **kept,
        "parent": drift.version.name,
        "config": old["config"] | {"databases": databases, "only": only},
        "databases": [_fact(one, profiles, old) for one in drift.databases if one.database is not None],
        "funnel": [
            {"stage": f"version {drift.version.name}", "rows": len(drift.fates)},
            {"stage": STAGE, "rows": counts["kept"] + counts["repaired"]},
        ],
        "migration": {
            "from": drift.version.name,
            "fingerprint": drift.version.fingerprint,
            **counts,
            "changes": changes,
        },
        "problems": list(drift.problems),
    }


def _split(was: dict[str, Any], ids: dict[str, str], rows: list[str]) -> dict[str, Any]:
    """How the splits were made, for the databases that are left, under their present names: training is refused on
    databases that are held back.
    """
    clusters = ([ids[db_id] for db_id in cluster if db_id in ids] for cluster in was.get("clusters", ()))
    return was | {
        "counts": {split: rows.count(split) for split in SPLITS},
        "clusters": [cluster for cluster in clusters if cluster],
        "databases": {ids[db_id]: split for db_id, split in was.get("databases", {}).items() if db_id in ids},
    }


def _fact(one: Drifted, profiles: dict[str, DatabaseProfile], old: dict[str, Any]) -> dict[str, Any]:
    """What the manifest says of a database, as a build does."""
    database = one.database
    if database is None:
        raise ValueError(f"{one.db_id} is gone")
    before = next(fact for fact in old["databases"] if fact["db_id"] == one.db_id)
    tables = [table for table in profiles[database.db_id].tables if table.rows]
    return {
        **before,
        "db_id": database.db_id,
        "dialect": database.dialect,
        "relative_path": database.relative_path,
        "content_hash": one.content_hash,
        "shareable": bool(before.get("shareable")) and one.state == "unchanged",
        "tables": len(tables),
        "columns": sum(column.has_values for table in tables for column in table.columns),
    }


def _instances(drift: Drift, folder: Path) -> Instances:
    """New certificates; for databases that did not change, the old version's."""
    old = drift.version
    unchanged = {one.db_id for one in drift.databases if one.state == "unchanged"}
    carried = [fate.row for fate in drift.fates if fate.new is not None and fate.row["db_id"] in unchanged]
    same = [row["example_id"] for row in carried]
    same += [reading["reading_id"] for row in carried for reading in row["readings"]]
    index = old.instances().filter(pl.col("example_id").is_in(same)).collect()
    mutants = old.all_mutants().filter(pl.col("example_id").is_in(same))
    files = {str(name): old.path / "instances" / str(name) for name in index["file"].unique().sort()}
    new = pl.DataFrame(list(_indexed(drift)), schema=INSTANCE_INDEX, orient="row")
    files |= {str(name): folder / str(name) for name in new["file"].unique().sort()}
    fates = [
        {"example_id": fate.new["example_id"], **mutant_row(one)}
        for fate in drift.fates
        if fate.new is not None and fate.certificate is not None
        for one in fate.certificate.mutants
    ]
    return Instances(
        files, pl.concat([index.select(list(INSTANCE_INDEX)), new]), pl.concat([mutants, rows(fates, MUTANTS)])
    )


def _indexed(drift: Drift) -> Iterator[tuple[str, str, str, str]]:
    for fate in drift.fates:
        if fate.new is not None and fate.certificate is not None:
            for file, digest in zip(fate.certificate.instances, fate.certificate.digests, strict=True):
                yield fate.new["db_id"], fate.new["example_id"], file, digest

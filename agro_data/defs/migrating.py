"""A corpus that follows its databases when their schema changes: one asset, its job, and the sensor that starts it.

(No postponed annotations here: Dagster reads the config's type from them.)
"""

from pathlib import Path

import dagster as dg
from pydantic import Field

from agro_data.config import ConfigError
from agro_data.databases.discovery.catalog import find_databases
from agro_data.databases.scratch import ScratchFolder
from agro_data.defs import metadata
from agro_data.defs.assets import OWNER, Result, corpus
from agro_data.defs.built import built_last
from agro_data.defs.failures import said
from agro_data.defs.jobs import job_in_process
from agro_data.defs.place import Place
from agro_data.defs.pools import DATABASE
from agro_data.defs.sensors import LOOK_EVERY, Seen, in_words, key_of, source_of, watch
from agro_data.hashing import stable_hash
from agro_data.migration.drift import lost_names, verify_version
from agro_data.migration.opening import open_migrated
from agro_data.migration.report import summary
from agro_data.progress import Lines
from agro_data.publish.read import Version, latest, open_version


class MigrationConfig(dg.Config):
    """Which version follows its databases. The defaults: the one last built, on those that its build found."""

    name: str = Field("", description="Name of the corpus: its folder under datasets/. Empty: what corpus made last.")
    version: str = Field("", description="A version's folder. Empty: the newest of the corpus that is named.")
    databases: str = Field("", description="The databases as they are now. Empty: where the build found them.")
    before: str = Field("", description="The databases as they were. Empty: as the version remembers them.")
    least: float = Field(0.5, description="Share of the examples that must hold; if fewer hold, no version is made.")


@dg.asset(group_name="migration", owners=[OWNER], kinds={"sqlite", "duckdb"}, deps=[corpus], pool=DATABASE)
def migrated_corpus(context: dg.AssetExecutionContext, config: MigrationConfig, place: Place) -> Result:
    """The version on databases that have changed: kept and repaired examples, certified again, in a version of their
    own; broken ones in its rejected rows, each with the reason.
    """
    with said():
        if not 0 <= config.least <= 1:
            raise ConfigError(f"least is {config.least:g}: expected a share between 0 and 1")
        version = open_version(_asked_for(context, config, place))
        source = Path(config.databases) if config.databases else source_of(version)
        with ScratchFolder("certified") as scratch:
            folder = Path(scratch)
            drift = verify_version(
                version,
                source,
                folder,
                before=config.before or None,
                cache=place.cache,
                workers=place.run.workers,
                progress=Lines(context.log.info),
            )
            for problem in drift.problems:
                context.log.warning(problem)
            figures = summary(drift)
            if drift.sound < config.least:
                why = ", ".join(f"{one['examples']:,} {one['reason']}" for one in figures["reasons"])
                raise ConfigError(
                    f"{figures['broken']:,} of {figures['examples']:,} examples are broken ({why}): build it again"
                )
            opened = open_migrated(drift, place.out, source, folder, place.cache) if drift.differs else version
    return dg.MaterializeResult(value=str(opened.path), metadata=metadata.of_drift(figures, opened))


migrate_corpus = job_in_process(
    "migrate_corpus",
    dg.AssetSelection.assets(migrated_corpus),
    "Opens a version of a corpus for databases whose schema has changed: what holds, under the new names.",
)


@dg.sensor(
    job=migrate_corpus,
    minimum_interval_seconds=LOOK_EVERY,
    description="Opens a version that follows when tables or columns of a corpus' databases are gone, renamed or of "
    "another type. Where rows change, too, switch on changed_databases instead: both would answer a change of schema.",
)
def changed_schemas(context: dg.SensorEvaluationContext, place: Place) -> dg.SensorResult:
    """The schema of each database that changed is compared with what the version remembers of it."""
    return watch(context, place, _follow)


def _asked_for(context: dg.AssetExecutionContext, config: MigrationConfig, place: Place) -> Path:
    if config.version:
        return Path(config.version)
    last = None if config.name else built_last(context.instance, place.out)
    if last is None and not config.name:
        raise ConfigError(
            f"Dagster has built no corpus that lies below {place.out}: say the `name` of one, or a `version`"
        )
    return last.path if last else latest(place.out, config.name)


def _follow(version: Version, seen: Seen, changes: dict[str, list[str]]) -> dg.RunRequest | None:
    source = source_of(version)
    now = {database.db_id: database for database in find_databases(source).databases}
    own = [fact["db_id"] for fact in version.manifest["databases"]]  # others may lie beside them
    lost = {db_id: lost_names(version, now[db_id]) for db_id in changes.get("changed", ()) if db_id in own}
    lost |= {db_id: ["the database"] for db_id in changes.get("gone", ()) if db_id in own}
    lost = {db_id: names for db_id, names in lost.items() if names}
    if not lost:
        return None
    config = {"name": version.corpus, "version": str(version.path), "databases": str(source)}
    return dg.RunRequest(
        run_key=key_of(version, "schemas", stable_hash(seen.databases)[:16]),
        run_config={"ops": {"migrated_corpus": {"config": config}}},
        tags={"agro/corpus": version.corpus, "agro/because": in_words(lost)[:200]},
    )

"""The jobs of the factory, each in one process, and when they run by themselves: schedules are off until started."""

from typing import TYPE_CHECKING

import dagster as dg
from pydantic import Field

from agro_data.config import ConfigError
from agro_data.defs import metadata
from agro_data.defs.assets import ASSETS, corpus, published_corpus
from agro_data.defs.built import built_last
from agro_data.defs.failures import said
from agro_data.defs.last_words import last_words
from agro_data.defs.place import Place
from agro_data.defs.pools import DATABASE
from agro_data.publish.retention import sweep

if TYPE_CHECKING:  # Dagster shows this type nowhere else
    from dagster._core.definitions.unresolved_asset_job_definition import UnresolvedAssetJobDefinition


def job_in_process(name: str, selection: dg.AssetSelection, description: str) -> "UnresolvedAssetJobDefinition":
    """A job whose steps run in its own process, one after the other.

    Stages and programs of training start processes themselves: one for each step would only cost time. It gets no
    default run config: the launchpad would open on that instead of on all settings, and would ask for none.
    """
    return dg.define_asset_job(
        name, selection=selection, description=description, executor_def=dg.in_process_executor, hooks={last_words}
    )


build_corpus = job_in_process(
    "build_corpus",
    dg.AssetSelection.assets(*ASSETS),
    "Databases in, a verified, diverse, versioned corpus out.",
)

publish_corpus = job_in_process(
    "publish_corpus",
    dg.AssetSelection.assets(published_corpus),
    "The newest corpus version on the Hugging Face Hub; builds nothing.",
)

verify_corpus = job_in_process(
    "verify_corpus",
    dg.AssetSelection.checks_for_assets(corpus),
    "The checks of the corpus version last built, again: its files and stored answers are as they were.",
)


class RetentionConfig(dg.Config):
    """How much is kept of each corpus. Never deleted: the latest, what the asset corpus made last, published ones, and
    those others were made from."""

    keep: int = Field(3, description="Newest versions of a corpus that stay in any case.")
    name: str = Field("", description="Only this corpus, and its trajectories. Empty: every one.")
    dry_run: bool = Field(False, description="Say what would go; delete nothing.")


@dg.op(pool=DATABASE, out=dg.Out(dg.Nothing))
def delete_old_versions(context: dg.OpExecutionContext, config: RetentionConfig, place: Place) -> None:
    """Old versions go, each whole, as with `agro versions prune`."""
    last = built_last(context.instance, place.out)
    held = {last.path: "the asset corpus stands for it"} if last else {}
    with said():
        if config.keep < 1:
            raise ConfigError(f"keep is {config.keep}: at least 1, since the latest version stays")
        decided = sweep(place.out, config.keep, config.name, dry_run=config.dry_run, held=held)
    gone = [fate for _, fate in decided if not fate.keeps]
    freed = sum(fate.size for fate in gone) / 1e6
    verb = "would free" if config.dry_run else "freed"
    context.log.info(f"{len(gone)} of {len(decided)} versions; {verb} {freed:,.1f} MB")
    context.add_output_metadata({"versions": metadata.of_fates(decided), "megabytes freed": round(freed, 1)})


@dg.job(executor_def=dg.in_process_executor, hooks={last_words})
def prune_versions() -> None:
    """Deletes old corpus versions; never the latest, the asset corpus' last, a published one, or one that trajectories
    were made from."""
    delete_old_versions()


JOBS = [build_corpus, publish_corpus, verify_corpus]  # of assets and their checks
OP_JOBS = [prune_versions]

SCHEDULES = [
    dg.ScheduleDefinition(
        name="nightly_verification",
        job=verify_corpus,
        cron_schedule="0 3 * * *",
        description="Every night: are the files of the corpus version, and the answers stored in it, as they were?",
    ),
    dg.ScheduleDefinition(
        name="weekly_pruning",
        job=prune_versions,
        cron_schedule="0 4 * * 0",
        description="Every Sunday: old corpus versions go, down to the newest three and all that must stay.",
    ),
]

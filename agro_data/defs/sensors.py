"""What Dagster's daemon looks out for: databases that changed, runs that failed. Off until someone starts it."""

import json
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import dagster as dg

from agro_data.databases.discovery.catalog import find_databases, without_copies
from agro_data.databases.discovery.watching import difference, glance, identities, unusable
from agro_data.databases.errors import DatabaseError
from agro_data.defs.assets import CorpusConfig
from agro_data.defs.jobs import build_corpus
from agro_data.defs.notices import COMMAND, UI, WEBHOOK, Notice, configured, send
from agro_data.defs.place import Place, project_root
from agro_data.hashing import stable_hash
from agro_data.publish.read import NoVersion, Version, latest, list_corpora

LOOK_EVERY = 60  # seconds
RUN_KEY = "dagster/run_key"  # Dagster's tag of a run that a sensor asked for
AGAIN = ":again"  # ends the key of a run that is asked for because the first one failed


@dataclass(frozen=True)
class Seen:
    """The sensor's knowledge of one corpus' databases: the glance of the last tick, the glance at which content was
    read, the identities read then, and the key of the last run asked for, while the corpus' latest version is older.
    """

    glance: str = ""
    read_at: str = ""
    databases: dict[str, str] = field(default_factory=dict)
    asked: str = ""


@dg.sensor(
    job=build_corpus,
    minimum_interval_seconds=LOOK_EVERY,
    description="Builds a corpus anew when a database that its latest version was made from changed, came or went; the "
    "shards of the other databases are taken over. Switch on this sensor or changed_schemas, not both: both answer "
    "a change of schema.",
)
def changed_databases(context: dg.SensorEvaluationContext, place: Place) -> dg.SensorResult:
    """The build repeats the version's manifest, and takes over the shards of databases that did not change
    (`stages.reuse`).
    """
    return watch(context, place, _rebuild)


def watch(
    context: dg.SensorEvaluationContext,
    place: Place,
    request: Callable[[Version, Seen, dict[str, list[str]]], dg.RunRequest | None],
) -> dg.SensorResult:
    """The runs that `request` asks for where databases of a corpus' latest version changed.

    Files are looked at by size and time, and read once they have kept still for a tick. A run that failed is asked for
    once more, since it may have been killed; after that its failure is said, tick by tick.
    """
    seen = {name: Seen(**facts) for name, facts in json.loads(context.cursor or "{}").items()}
    requests: list[dg.RunRequest] = []
    said: list[str] = []
    after: dict[str, Seen] = {}
    for name in list_corpora(place.out):
        before = seen.get(name, Seen())
        try:
            version = Version(latest(place.out, name))
            after[name], changes, closed = look(version, before)
            said += [f"{name}: {in_words(changes) if changes else 'nothing new'}", *closed]
            asked = request(version, after[name], changes) if changes else None
            waits = before.asked if before.asked.startswith(key_of(version, "")) else ""
            if asked is None and waits:
                asked, failed = again(context.instance, waits)
                said += [f"{name}: {one}" for one in failed]
            after[name] = replace(after[name], asked=str(asked.run_key) if asked else waits)
            requests += [asked] if asked is not None else []
        except (NoVersion, OSError, DatabaseError) as error:  # another corpus is looked at all the same
            after[name] = before
            said.append(f"{name}: {error}")
    cursor = json.dumps({name: asdict(facts) for name, facts in after.items()}, sort_keys=True)
    skipped = None if requests else "; ".join(said) or f"no corpus below {place.out}: build one first"
    return dg.SensorResult(run_requests=requests, skip_reason=skipped, cursor=cursor)


def look(version: Version, before: Seen) -> tuple[Seen, dict[str, list[str]], list[str]]:
    """The present knowledge of the version's databases; the changes since `before`, or since the version if they were
    never read; and the databases that exist but cannot be used, with the reason: these count as unchanged until they
    can be read. Raises `DatabaseError` when they are not where they were.
    """
    source = source_of(version)
    now = glance(source)
    if now == before.read_at:
        return Seen(now, now, before.databases), {}, []
    if now != before.glance:  # perhaps still being written
        return Seen(now, before.read_at, before.databases), {}, []
    catalog = find_databases(source)
    only = version.manifest["config"]["only"]
    found = identities(without_copies(catalog), only)
    if not found:
        raise DatabaseError(f"{source}: no database that can be used is left")
    facts = version.manifest["databases"]
    closed = unusable(facts, catalog.problems)
    if before.read_at:
        found |= {db_id: before.databases[db_id] for db_id in closed if db_id in before.databases}
        changes = difference(before.databases, found)
    else:
        contents = {database.db_id: database.content_hash for database in catalog.databases if database.db_id in found}
        built_on = {fact["db_id"]: fact["content_hash"] for fact in facts}
        changes = difference(built_on, contents | {db_id: built_on[db_id] for db_id in closed})
        found |= dict.fromkeys(closed, "")  # what it is, is not known yet
    return Seen(now, now, found), changes, list(closed.values())


def again(instance: dg.DagsterInstance, key: str) -> tuple[dg.RunRequest | None, list[str]]:
    """A second try of the failed run that was asked for as `key`; if that was the second try already, a message
    instead.
    """
    runs = instance.get_runs(dg.RunsFilter(tags={RUN_KEY: key}), limit=1)
    if not runs or runs[0].status != dg.DagsterRunStatus.FAILURE:
        return None, []
    failed = runs[0]
    if key.endswith(AGAIN):
        return None, [
            f"asked for, not built: run {failed.run_id} failed, as the one before; see why, and start it again"
        ]
    tags = {name: value for name, value in failed.tags.items() if name.startswith("agro/")}
    return dg.RunRequest(run_key=f"{key}{AGAIN}", run_config=failed.run_config, tags=tags), []


def key_of(version: Version, *more: str) -> str:
    """Key of a run. The version is part of it: databases may come back to what they were before."""
    return ":".join([version.corpus, version.name, *more])


def source_of(version: Version) -> Path:
    """Where a version's databases were when it was made. Raises `DatabaseError` when nothing is there any more."""
    source = project_root() / Path(version.manifest["config"]["databases"]).expanduser()
    if not source.exists():
        raise DatabaseError(f"its databases are not at {source} any more")
    return source


def _rebuild(version: Version, seen: Seen, changes: dict[str, list[str]]) -> dg.RunRequest:
    config: dict[str, Any] = {k: v for k, v in version.manifest["config"].items() if k in CorpusConfig.model_fields}
    config |= {"databases": str(source_of(version))}
    return dg.RunRequest(
        run_key=key_of(version, "databases", stable_hash(seen.databases)[:16]),
        run_config={"ops": {"databases": {"config": config}}},
        tags={"agro/corpus": version.corpus, "agro/because": in_words(changes)[:200]},
    )


def in_words(changes: dict[str, list[str]]) -> str:
    """What changed, in one line."""
    return "; ".join(f"{kind}: {', '.join(ids)}" for kind, ids in changes.items())


@dg.run_failure_sensor(
    monitor_all_code_locations=True,  # a run of `dagster job execute` belongs to none
    description=f"Tells of each failed run: by POST to ${WEBHOOK}, or to the command ${COMMAND} on its standard input. "
    "Without either nothing is sent.",
)
def failure_notice(context: dg.RunFailureSensorContext) -> dg.SkipReason | None:
    """A notice that does not arrive fails the sensor's tick, which says why."""
    if not configured(os.environ):
        return dg.SkipReason(f"nowhere to send notices to: set {WEBHOOK} or {COMMAND}")
    run = context.dagster_run
    failures = {str(event.step_key): _error(event) for event in context.get_step_failure_events()}
    link = f"{os.environ[UI].rstrip('/')}/runs/{run.run_id}" if os.environ.get(UI) else ""
    notice = Notice(run.job_name, run.run_id, failures or {"run": _error(context.failure_event)}, link)
    context.log.info(f"sent to {', '.join(send(notice, os.environ))}")
    return None


def _error(event: dg.DagsterEvent) -> str:
    """What went wrong, without the stack: what the failure says in words, else the first cause."""
    said = getattr(event.event_specific_data, "user_failure_data", None)
    if said is not None and said.description:
        return str(said.description)
    error = getattr(event.event_specific_data, "error", None)
    while error is not None and error.cause is not None:
        error = error.cause
    return (error.message if error is not None else event.message or "it failed").strip()


SENSORS = [changed_databases, failure_notice]

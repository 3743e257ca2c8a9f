"""A corpus version compared with the databases as they are now: every example is kept, repaired or broken."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import polars as pl

from agro_data.config import ConfigError, RunConfig, cache_folder
from agro_data.databases.discovery.catalog import nothing_at, usable_databases
from agro_data.databases.discovery.identity import database_identity
from agro_data.databases.discovery.watching import unusable
from agro_data.databases.hostile.sandbox import own_sandbox
from agro_data.databases.quoting import folded
from agro_data.databases.trusted.connections import open_database
from agro_data.databases.types import STEPS, Catalog, Database, Limits
from agro_data.hashing import stable_hash
from agro_data.migration.changes import Change
from agro_data.migration.evidence import Side, of_database, of_profile
from agro_data.migration.migrate import Certification, ExampleFate, Migration, Outcome, broken
from agro_data.parallel import ShardsLost, run_shards
from agro_data.profiling.cache import cached_profile, decode
from agro_data.profiling.profile import DatabaseProfile
from agro_data.progress import Reporter, counting, silent
from agro_data.publish.publication.checks import sources_of
from agro_data.publish.read import DERIVED, Version
from agro_data.software import code_version
from agro_data.stages.surrogates import surrogates
from agro_data.verify.certificates.pool import LIMITS
from agro_data.verify.chance.shuffled_copy import shuffled_or_none
from agro_data.verify.replay import replay, replay_instances

SOURCE = Limits(seconds=10.0, steps=STEPS)

State = Literal["unchanged", "changed", "gone", "unreadable"]


@dataclass(frozen=True)
class Drifted:
    """One database of a version: what it is now (None: it is gone or unreadable), and how it differs from what it was.

    `content_hash` is the source's. Where no value of the source may be seen, `database` is its stand-in.
    """

    db_id: str
    state: State
    database: Database | None
    content_hash: str = ""
    changes: tuple[Change, ...] = ()


@dataclass(frozen=True)
class Drift:
    """Every example of a version on the databases of now, sorted by its id, and each database, sorted by its id.

    `problems` are databases and tables that could not be looked at, and instances that could not be made.
    """

    version: Version
    fates: tuple[ExampleFate, ...]
    databases: tuple[Drifted, ...]
    problems: tuple[str, ...] = ()

    @property
    def counts(self) -> dict[Outcome, int]:
        found = Counter(fate.outcome for fate in self.fates)
        return {"kept": found["kept"], "repaired": found["repaired"], "broken": found["broken"]}

    @property
    def sound(self) -> float:
        """Share of the examples that are kept or repaired, 0 to 1."""
        return (len(self.fates) - self.counts["broken"]) / len(self.fates)

    @property
    def differs(self) -> bool:
        """Whether the version that follows is another one: a database or an example is not as it was."""
        return any(one.state != "unchanged" for one in self.databases) or self.counts["broken"] > 0


@dataclass(frozen=True)
class _Task:
    version: Version
    db_id: str
    database: Database
    was: Database | None  # the database as it was, where it is at hand
    unchanged: bool
    cache: Path
    instances: Path | None

    def __str__(self) -> str:
        return self.db_id


@dataclass(frozen=True)
class _Answer:
    fates: tuple[ExampleFate, ...]
    changes: tuple[Change, ...] = ()
    problems: tuple[str, ...] = ()
    state: State = "changed"


def verify_version(
    version: Version,
    databases: Path | str,
    instances: Path,
    *,
    before: Path | str | None = None,
    cache: Path | None = None,
    workers: int = 2,
    progress: Reporter = silent,
) -> Drift:
    """Hold `version` against the databases at `databases`: what holds, what can follow a change, and what is broken.

    Every example that is not broken was executed and certified again; the new certificates' instances are written in
    `instances/<db_id>/`. A database is found by its id, else by its content; if one old and one new database are left
    over, they are the same. Its old state is read from `before` or from where the build found it, if the content is the
    same, else from the profile in the version. Raises `ConfigError` when there is no database, when `before` has none
    of the old databases, or when `version` is not a corpus version (trajectories), and `ShardsLost` when the process of
    a database was killed.
    """
    if DERIVED in version.manifest:
        raise ConfigError(
            f"{version.path}: was made from a corpus and names no database; give the version of the corpus"
        )
    catalog = usable_databases(databases, "--databases names the databases as they are now")
    folder = cache or cache_folder(RunConfig())
    found, closed = _as_built(version, catalog, folder)
    facts = {str(fact["db_id"]): fact for fact in version.manifest["databases"]}
    hashes = {database.db_id: database.content_hash for database in catalog.databases}  # not those of stand-ins
    contents = {db_id: str(fact["content_hash"]) for db_id, fact in facts.items() if db_id not in closed}
    now = _paired(contents, found, hashes)
    was = _databases_before(version, before)
    certifies = version.manifest["config"].get("certify", True)
    tasks = [
        _Task(
            version,
            db_id,
            database,
            was.get(db_id),
            facts[db_id]["content_hash"] == hashes[database.db_id] and database.db_id == db_id,
            folder,
            instances if certifies else None,
        )
        for db_id, database in now.items()
    ]
    answers = _run(version, tasks, workers, progress)
    answers |= {db_id: _unread(version, db_id, why) for db_id, why in closed.items()}
    answers |= {db_id: _gone(version, db_id) for db_id in contents.keys() - now.keys()}
    return Drift(
        version,
        tuple(sorted((fate for answer in answers.values() for fate in answer.fates), key=_id_of)),
        tuple(_drifted(db_id, answers[db_id], now.get(db_id), hashes) for db_id in sorted(facts)),
        tuple(line for db_id in sorted(facts) for line in answers[db_id].problems),
    )


def _id_of(fate: ExampleFate) -> str:
    return str(fate.row["example_id"])


def _drifted(db_id: str, answer: _Answer, database: Database | None, hashes: Mapping[str, str]) -> Drifted:
    if database is None or answer.state == "unreadable":
        return Drifted(db_id, answer.state, None)
    return Drifted(db_id, answer.state, database, hashes[database.db_id], answer.changes)


def _as_built(version: Version, catalog: Catalog, cache: Path) -> tuple[Sequence[Database], dict[str, str]]:
    """The databases as the build would use them: in privacy mode their surrogates, since no value is to be seen. Also
    the version's databases that exist but cannot be used, by id, with the reason.
    """
    closed = unusable(version.manifest["databases"], catalog.problems)
    found = catalog.databases
    if not version.private:
        return found, closed
    seed = int(version.manifest["config"].get("seed", 0))
    made_of = [seed, code_version(), *map(database_identity, found)]
    made, failed, _ = surrogates(found, cache / "surrogates" / stable_hash(made_of)[:16], seed)
    ids = {database.db_id for database in made}
    lacking = [database.db_id for database in found if database.db_id not in ids]
    own = {fact["db_id"] for fact in version.manifest["databases"]}
    return made, closed | {db_id: why for db_id, why in zip(lacking, failed, strict=True) if db_id in own}


def profile_now(version: Version, database: Database, cache: Path) -> DatabaseProfile:
    """The profile of a present database, taken as the build of `version` would; a stand-in's profile leaves out the
    files beside the source. Raises `DatabaseError` when it cannot be read.
    """
    return cached_profile(database, cache / "profiles", side_values=not version.private)


def _databases_before(version: Version, before: Path | str | None) -> dict[str, Database]:
    """The databases as they were, by id, as far as they are at hand; in privacy mode none, the profile must do."""
    said = before or version.manifest["config"].get("databases")
    if version.private or not said:
        return {}
    place = Path(said).expanduser()
    if before and not place.exists():
        raise ConfigError(nothing_at(before, "--before names the databases as they were"))
    found = {one.db_id: one for one in sources_of(version, place)}
    if before and not found:
        raise ConfigError(f"{before}: --before holds none of the databases that the version was made from")
    return found


def _paired(old: Mapping[str, str], found: Sequence[Database], hashes: Mapping[str, str]) -> dict[str, Database]:
    """The database of now for each id of the version that has one; `old` and `hashes` are contents by id."""
    by_id = {database.db_id.lower(): database for database in found}
    now = {db_id: by_id[db_id.lower()] for db_id in sorted(old) if db_id.lower() in by_id}
    for db_id in sorted(old.keys() - now.keys()):
        same = [one for one in found if hashes[one.db_id] == old[db_id] and one not in now.values()]
        if same:
            now[db_id] = same[0]
    left = [db_id for db_id in old if db_id not in now]
    free = [database for database in found if database not in now.values()]
    if len(left) == len(free) == 1:
        now[left[0]] = free[0]
    return now


def _gone(version: Version, db_id: str) -> _Answer:
    why = f"there is no database {db_id} any more"
    return _Answer(tuple(broken(row, "no_database", why) for row in _rows(version, db_id)), state="gone")


def _run(version: Version, tasks: Sequence[_Task], workers: int, progress: Reporter) -> dict[str, _Answer]:
    """The answer of each database by its id; the largest is begun first."""
    lengths: dict[str, int] = dict(version.examples().group_by("db_id").len().collect().rows())
    add = counting(progress, "verify", sum(lengths.get(task.db_id, 0) for task in tasks), "examples")
    ordered = sorted(tasks, key=lambda task: (-lengths.get(task.db_id, 0), task.db_id))
    outcomes = run_shards(_follow, ordered, workers, lambda outcome: add(lengths.get(outcome.task.db_id, 0)))
    lost = [outcome for outcome in outcomes if outcome.lost]
    if lost:
        raise ShardsLost(lost, "nothing is said without them. With fewer --workers each has more memory: run it again")
    return {one.task.db_id: one.answer or _unread(version, one.task.db_id, one.error) for one in outcomes}


def _unread(version: Version, db_id: str, error: str) -> _Answer:
    """The result for a database that could not be looked at."""
    why = f"database {db_id} could not be looked at: {error}"
    fates = tuple(broken(row, "database_unreadable", why) for row in _rows(version, db_id))
    return _Answer(fates, problems=(f"{db_id}: {error}",), state="unreadable")


def _rows(version: Version, db_id: str) -> list[dict[str, Any]]:
    """The examples of one database."""
    return version.examples().filter(pl.col("db_id") == db_id).sort("example_id").collect().to_dicts()


def _follow(task: _Task) -> _Answer:
    """The examples of one database."""
    rows = _rows(task.version, task.db_id)
    if task.unchanged:
        return _as_it_was(task, rows)
    before = _before(task)
    if before is None:
        why = (
            f"what {task.db_id} was is not known: the version keeps no profile of it that can be read, and no database "
            "of that content was found; name the old databases with --before"
        )
        return _Answer(tuple(broken(row, "not_known", why) for row in rows), (), (f"{task.db_id}: {why}",))
    was, now = before.profile.dialect, task.database.dialect
    if was != now:  # the same text may mean something else there: 5 / 2, LIKE, "x"
        why = f"it was written for {was}, and {task.database.db_id} is a {now} database now: build it again"
        return _Answer(tuple(broken(row, "other_engine", why) for row in rows))
    profile = profile_now(task.version, task.database, task.cache)
    config = task.version.manifest["config"]
    certification = Certification(
        own_sandbox(LIMITS), task.instances, int(config.get("seed", 0)), task.version.min_kill_rate
    )
    found = Migration(
        before,
        of_database(task.database, profile),
        task.database,
        own_sandbox(SOURCE),
        shuffled_or_none(task.database, task.cache / "shuffled", seed=0),
        certification,
    ).run(rows)
    notes = tuple(f"{task.db_id}: {note}" for note in profile.problems)
    return _Answer(found.fates, found.changes, (*notes, *found.problems))


def lost_names(version: Version, database: Database) -> list[str]:
    """Tables and columns (`table.column`) that `database` had when `version` was made, and has no more under that name
    and type. Cheap: no row is read. Raises `FileNotFoundError` when the version remembers no schema of it.
    """
    before = _remembered(version, database.db_id)
    if before is None:
        raise FileNotFoundError(f"{version.path} does not say what {database.db_id} was; build the corpus again")
    with open_database(database) as connection:
        now = {
            (folded(table.name), folded(column.name), column.declared_type.upper())
            for table in connection.objects()
            for column in table.columns
        }
    tables = {table for table, _, _ in now}
    return [
        f"{table.name}.{column.name}" if folded(table.name) in tables else table.name
        for table in before.tables
        for column in (table.columns if folded(table.name) in tables else table.columns[:1])
        if (folded(table.name), folded(column.name), column.declared_type.upper()) not in now
    ]


def _remembered(version: Version, db_id: str) -> DatabaseProfile | None:
    """The database's old state from the version's profile; None if the version has no profile that this release can
    read.
    """
    try:
        return decode((version.path / "profiles" / f"{db_id}.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def _before(task: _Task) -> Side | None:
    """The database's old state: read again if it is still at hand, else from the version's profile."""
    if task.was is not None:
        return of_database(task.was, cached_profile(task.was, task.cache / "profiles"))
    profile = _remembered(task.version, task.db_id)
    return None if profile is None else of_profile(profile)


def _as_it_was(task: _Task, rows: Sequence[dict[str, Any]]) -> _Answer:
    """A database that did not change: its examples run again, on it and on the instances of their certificates."""
    frame = pl.DataFrame(rows, schema=task.version.examples().collect_schema())
    changed = set(replay(frame, [task.database]))
    index = task.version.instances().filter(pl.col("db_id") == task.db_id).drop("db_id").collect()
    golds = frame.select("example_id", "db_id", "dialect", "sql", "order_matters").join(index, on="example_id")
    on = {line.split(" on ", 1)[0]: line for line in replay_instances(golds, task.version.path / "instances")}
    fates = []
    for row in rows:
        name = row["example_id"]
        if name in changed:
            fates.append(broken(row, "answer_differs", "its database is the same, and its SQL answers otherwise now"))
        elif name in on:
            fates.append(broken(row, "certificate_differs", f"its certificate does not hold: {on[name]}"))
        else:
            fates.append(ExampleFate(row, "kept", new=row))
    return _Answer(tuple(fates), state="unchanged")

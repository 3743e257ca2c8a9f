"""What every stage function is given: the work folder, the settings, and the databases by id."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from agro_data.config import BuildConfig
from agro_data.databases.discovery.content import still_holds
from agro_data.databases.errors import DatabaseError
from agro_data.databases.types import Database, Dialect
from agro_data.faults import NO_SPACE
from agro_data.focus import NO_FOCUS, Focus, read_focus
from agro_data.intent.logs.query_log import LogReading, prior_from_log, read_log
from agro_data.intent.sampling.prior import Prior, default_prior
from agro_data.parallel import Lost
from agro_data.profiling.cache import cached_profile
from agro_data.profiling.hidden.concealing import asked_about
from agro_data.profiling.profile import DatabaseProfile
from agro_data.work import Work, written

CATALOG = "catalog.json"


@dataclass(frozen=True)
class Context:
    """One build as its stages see it. Small and picklable: worker processes get it with each task."""

    work: Work
    config: BuildConfig
    cache: Path
    seconds: float = 10.0  # limit per statement

    @property
    def fingerprint(self) -> str:
        """The build's fingerprint, from the content of its databases, its settings and the code."""
        return str(self.work.read_json("build.json")["fingerprint"])

    def databases(self) -> list[Database]:
        """The databases the examples are made on, sorted by id: the sources, or their surrogates."""
        return list(_databases(self.work.root, written(self.work.root / CATALOG)))

    def database(self, db_id: str) -> Database:
        return next(database for database in self.databases() if database.db_id == db_id)

    def unchanged(self) -> list[Database]:
        """The databases that have not changed since the build was named, sorted by id."""
        return [database for database in self.databases() if not _changed(database)]

    @contextmanager
    def reading(self, db_id: str) -> Iterator[Database]:
        """The database, for a block that reads it.

        Raises `Lost` before the block, and after it, where the database is not what it was when the build was named:
        what is kept, in this work folder and in caches, is kept under the content that it had then.
        """
        database = self.database(db_id)
        _confirm(database)
        yield database
        _confirm(database)

    def profile(self, db_id: str) -> DatabaseProfile:
        return _profile(self.work.root, self.database(db_id), self.cache, self.config.values == "source")

    def asked(self, db_id: str) -> DatabaseProfile:
        """The profile of what the grammar asks about."""
        return asked_about(self.profile(db_id), views=self.config.views)

    def log(self, dialect: Dialect) -> LogReading:
        """The query log of the build, for databases of `dialect`."""
        return read_log(Path(self.config.query_log), dialect, self.config.log_dialect)

    def prior(self, db_id: str) -> Prior:
        """What is asked of this database: the shipped prior, moved by `semantics.yml`, a query log and the focus."""
        profile = self.profile(db_id)
        prior = default_prior().for_profile(profile)
        if self.config.query_log:
            prior = prior_from_log(self.log(profile.dialect), prior)
        return prior.focused(self.focus, db_id) if self.config.focus else prior

    @property
    def focus(self) -> Focus:
        """The weights and shares that move the build's budget."""
        return read_focus(Path(self.config.focus)) if self.config.focus else NO_FOCUS


def store_catalog(work: Work, databases: list[Database], problems: list[str], notes: list[str]) -> None:
    """Write the databases of this build, so that later stages neither search nor hash again."""
    work.write_json(CATALOG, {"databases": [_encode(d) for d in databases], "problems": problems, "notes": notes})


@lru_cache(maxsize=4)
def _databases(root: Path, _written: tuple[int, int]) -> tuple[Database, ...]:
    return tuple(_decode(row) for row in Work(root).read_json(CATALOG)["databases"])


def _confirm(database: Database) -> None:
    if said := _changed(database):
        raise Lost(f"{database.path} {said}")


def _changed(database: Database) -> str:
    """What has become of a database, or "" where it is what it was."""
    try:
        same = still_holds(database)
    except (OSError, DatabaseError) as error:
        if isinstance(error, OSError) and error.errno in NO_SPACE:
            raise
        return f"cannot be read any more: {error}"
    return "" if same else "has changed since the build began; where it changes all the time, give a copy"


@lru_cache(maxsize=8)
def _profile(_root: Path, database: Database, cache: Path, side_values: bool) -> DatabaseProfile:
    """In a work folder neither the content of a database changes nor what the files beside it say."""
    return cached_profile(database, cache / "profiles", side_values=side_values)


PATHS = ("path", "spider_tables", "descriptions", "semantics", "dbt_manifest")


def _encode(database: Database) -> dict[str, Any]:
    row = asdict(database)
    return row | {key: str(row[key]) if row[key] is not None else None for key in PATHS}


def _decode(row: dict[str, Any]) -> Database:
    paths = {key: Path(row[key]) if row[key] is not None else None for key in PATHS}
    seen = tuple(map(tuple, row.get("seen", ())))  # a release before did not note it
    return Database(**row | paths | {"seen": seen})

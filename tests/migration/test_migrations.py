"""Scripted migrations: every example gets the class that a person gives it, and a repair answers as a person's does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from migration.scripted import contents, names, presence, shapes
from migration.scripted.migration import Migration
from migration.shop import ASKED, make_shop, rows

from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.databases.types import Database, Dialect, Limits
from agro_data.migration import migrate
from agro_data.migration.evidence import Side, of_database, of_profile
from agro_data.migration.migrate import Certification, ExampleFate, Migrated
from agro_data.profiling.cache import without_rows
from agro_data.profiling.profiler import profile_database

SQLITE: Dialect = "sqlite"
DUCKDB: Dialect = "duckdb"
MIGRATIONS = [
    *(names.RENAMES + names.SWAPS),
    *(presence.LOSSES + presence.ADDITIONS),
    *(contents.TYPES + contents.VALUES),
    *shapes.SHAPES,
]


@dataclass(frozen=True)
class Before:
    side: Side
    rows: dict[str, dict[str, Any]]


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox(workers=1, limits=Limits(seconds=10)) as opened:
        yield opened


@pytest.fixture(scope="module", params=[SQLITE, DUCKDB])
def before(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, sandbox: Sandbox) -> Before:
    database = make_shop(tmp_path_factory.mktemp("before"), request.param)
    # What a version remembers: less than the database itself, which is gone when a migration is noticed.
    return Before(of_profile(without_rows(profile_database(database))), rows(database, sandbox))


def followed(before: Before, database: Database, sandbox: Sandbox, instances: Path | None = None) -> Migrated:
    after = of_database(database, profile_database(database))
    own = Certification(sandbox, instances)
    return migrate.Migration(before.side, after, database, sandbox, None, own).run(list(before.rows.values()))


def by_name(before: Before, found: Migrated) -> dict[str, ExampleFate]:
    return dict(zip(before.rows, found.fates, strict=True))


def test_there_are_fifty() -> None:
    assert len({migration.name for migration in MIGRATIONS}) == len(MIGRATIONS) >= 50


def cases() -> Iterator[Any]:
    """Each migration on SQLite, of which `make test` runs a third; on DuckDB those whose outcome is its own and every
    third of the others, all by `make test-all`."""
    for number, migration in enumerate(MIGRATIONS):
        later = (pytest.mark.ci,) if number % 3 else ()
        yield pytest.param(SQLITE, migration, id=f"{SQLITE}-{migration.name}", marks=later)
        marks = () if migration.broken_in_duckdb or number % 3 == 0 else (pytest.mark.slow,)
        yield pytest.param(DUCKDB, migration, id=f"{DUCKDB}-{migration.name}", marks=marks)


@pytest.mark.parametrize(("before", "migration"), cases(), indirect=["before"])
def test_every_example_gets_its_class(before: Before, migration: Migration, sandbox: Sandbox, tmp_path: Path) -> None:
    dialect = before.side.profile.dialect
    database = make_shop(tmp_path, dialect, migration.changes)
    fates = by_name(before, followed(before, database, sandbox))
    broken = {**migration.broken, **(migration.broken_in_duckdb if dialect == DUCKDB else {})}
    truth = (
        dict.fromkeys(ASKED, "kept") | dict.fromkeys(migration.repaired, "repaired") | dict.fromkeys(broken, "broken")
    )
    assert {name: fate.outcome for name, fate in fates.items()} == truth, {
        name: (fate.outcome, fate.reason, fate.says, fate.new and fate.new["sql"])
        for name, fate in fates.items()
        if fate.outcome != truth[name]
    }
    assert {name: fates[name].reason for name in broken} == broken
    assert all(fates[name].says for name in (*broken, *migration.repaired))
    for name, fate in fates.items():
        if fate.reason == "execution_error":
            assert fate.answer == ""  # there is none to compare
        if fate.new is None:
            continue
        right = migration.repaired.get(name, ASKED[name][1])
        given, wanted = sandbox.run(database, [fate.new["sql"], right])
        assert wanted.ok, (name, wanted.error)
        assert given.digest == wanted.digest, (name, fate.new["sql"], right)
        assert fate.new["result_digest"] == wanted.digest
        assert fate.new["question"] == migration.questions.get(name, ASKED[name][0])
        if name not in migration.repaired:
            assert fate.new["sql"] == ASKED[name][1]

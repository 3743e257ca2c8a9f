"""The sensor for schemas that changed, and the run that it asks for, with real databases, sensors and runs."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import dagster as dg
import pytest
from defs.ticking import Daemon
from making import run_sqlite
from migration.test_drift import change, write_shop

from agro_data.defs.migrating import MigrationConfig, changed_schemas, migrated_corpus
from agro_data.publish.read import latest, open_version
from agro_train.definitions import defs

pytestmark = pytest.mark.ci


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.instance_for_test() as opened:
        yield opened


def requests(folder: Path, instance: dg.DagsterInstance) -> list[dg.RunRequest]:
    """What the sensor asks for in its first ticks."""
    return Daemon(changed_schemas, folder, instance).requests(3)


def run(folder: Path, request: dg.RunRequest, instance: dg.DagsterInstance) -> dg.ExecuteInProcessResult:
    where = {"datasets": str(folder / "out"), "cache_folder": str(folder / "cache"), "workers": 1}
    config = request.run_config | {"resources": {"place": {"config": where}}}
    job = defs.resolve_job_def("migrate_corpus")
    return job.execute_in_process(run_config=config, instance=instance, raise_on_error=False)


def test_rows_that_change_are_not_its_business(tmp_path: Path, instance: dg.DagsterInstance) -> None:
    write_shop(tmp_path)
    assert not requests(tmp_path, instance)
    change(tmp_path, ("DELETE FROM purchase WHERE purchase_id > 70", "ALTER TABLE staff ADD COLUMN phone TEXT"))
    assert not requests(tmp_path, instance)


def test_a_schema_that_changed_opens_a_version_that_follows(tmp_path: Path, instance: dg.DagsterInstance) -> None:
    before = write_shop(tmp_path)
    change(tmp_path)
    (request,) = requests(tmp_path, instance)
    assert request.tags["agro/because"] == "shop: customer, product.price, staff"
    done = run(tmp_path, request, instance)
    assert done.success
    opened = open_version(latest(tmp_path / "out", "shop"))
    assert opened.manifest["parent"] == before.name
    (event,) = done.asset_materializations_for_node("migrated_corpus")
    assert event.metadata["dagster/row_count"].value == 3
    assert not requests(tmp_path, instance)  # the new version knows the new schema


def test_no_version_is_opened_of_too_few(tmp_path: Path, instance: dg.DagsterInstance) -> None:
    before = write_shop(tmp_path)
    change(tmp_path)
    (request,) = requests(tmp_path, instance)
    for least, why in ((0.9, "are broken"), (3.0, "expected a share between 0 and 1")):
        request.run_config["ops"]["migrated_corpus"]["config"]["least"] = least
        done = run(tmp_path, request, instance)
        assert not done.success
        (event,) = (event for event in done.all_events if event.event_type_value == "STEP_FAILURE")
        assert why in str(event.step_failure_data.user_failure_data.description)
    assert latest(tmp_path / "out", "shop") == before.path


def test_databases_that_are_not_where_they_were_are_said(tmp_path: Path, instance: dg.DagsterInstance) -> None:
    write_shop(tmp_path)
    (tmp_path / "databases").rename(tmp_path / "moved")
    daemon = Daemon(changed_schemas, tmp_path, instance)
    assert not daemon.requests()
    assert "shop: its databases are not at" in daemon.said
    with dg.build_asset_context() as context, pytest.raises(dg.Failure) as failure:
        migrated_corpus(context, MigrationConfig(name="shop"), daemon.place)
    assert "its databases are not at" in str(failure.value.description)


def test_by_hand_it_follows_from_what_was_built_last(tmp_path: Path, instance: dg.DagsterInstance) -> None:
    before = write_shop(tmp_path)
    change(tmp_path)
    asked = dg.RunRequest(run_config={})
    failed = run(tmp_path, asked, instance)
    (event,) = (event for event in failed.all_events if event.event_type_value == "STEP_FAILURE")
    assert "say the `name` of one" in str(event.step_failure_data.user_failure_data.description)
    instance.report_runless_asset_event(dg.AssetMaterialization("corpus", metadata={"dagster/uri": str(before.path)}))
    assert run(tmp_path, asked, instance).success
    assert open_version(latest(tmp_path / "out", "shop")).manifest["parent"] == before.name


def test_a_missing_database_is_a_change_of_schema(tmp_path: Path, instance: dg.DagsterInstance) -> None:
    write_shop(tmp_path)
    with closing(sqlite3.connect(tmp_path / "databases" / "other.sqlite")) as connection:
        connection.execute("CREATE TABLE thing (thing_id INTEGER)")
        connection.execute("INSERT INTO thing VALUES (1)")
        connection.commit()
    (tmp_path / "databases" / "shop.sqlite").unlink()
    (request,) = requests(tmp_path, instance)
    assert request.tags["agro/because"] == "shop: the database"


def test_a_database_that_the_version_was_not_made_from_is_nobodys_business(
    tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    write_shop(tmp_path)
    other = tmp_path / "databases" / "other.sqlite"
    assert not requests(tmp_path, instance)
    daemon = Daemon(changed_schemas, tmp_path, instance)
    for statement in ("CREATE TABLE thing (a INTEGER)", "INSERT INTO thing VALUES (1)", "INSERT INTO thing VALUES (2)"):
        run_sqlite(other, statement)
        assert not daemon.requests()
    assert "shop: changed: other" in daemon.said  # and that asks for nothing
    other.unlink()
    assert not daemon.requests()
    change(tmp_path)
    assert len(daemon.requests()) == 1

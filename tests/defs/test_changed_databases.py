"""The sensor that builds a corpus anew when its databases change, by real databases, sensors and runs."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from defs.ticking import Daemon
from making import make_school, one_worker, raise_salaries

import agro_data
from agro_data.databases.discovery.catalog import find_databases
from agro_data.databases.discovery.watching import difference, glance, unusable
from agro_data.defs.assets import CorpusConfig
from agro_data.defs.sensors import changed_databases
from agro_data.publish.read import Version, latest
from agro_data.stages import reuse
from agro_data.work import Work
from agro_train.definitions import defs

pytestmark = pytest.mark.ci

SETTINGS: dict[str, Any] = {"name": "schools", "size": 30, "embedding_model": "structural", "certify": False}
IDS = ("first", "second", "third")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with three databases, and a corpus of them."""
    folder = tmp_path_factory.mktemp("built")
    (folder / "databases").mkdir()
    for name in IDS:
        make_school(folder / "databases" / f"{name}.sqlite", name)
    run = one_worker(folder)
    agro_data.build(folder / "databases", run=run, **SETTINGS)
    return folder


@pytest.fixture
def folder(built: Path, tmp_path: Path) -> Path:
    """A copy, whose corpus says that its databases lie in the copy."""
    copy = Path(shutil.copytree(built, tmp_path / "copy"))
    manifest = latest(copy / "out", "schools") / "manifest.json"
    manifest.write_text(manifest.read_text().replace(str(built), str(copy)))
    return copy


@pytest.fixture
def daemon(folder: Path) -> Iterator[Daemon]:
    with dg.instance_for_test() as instance:
        yield Daemon(changed_databases, folder, instance)


def because(request: dg.RunRequest) -> str:
    return request.tags["agro/because"]


def test_databases_that_stay_as_they_are_build_nothing(daemon: Daemon, folder: Path) -> None:
    assert not daemon.requests(4)
    (folder / "databases" / "first.sqlite").touch()  # another time, the same content
    assert not daemon.requests()
    assert not daemon.tick()
    assert "schools: nothing new" in daemon.said
    shutil.copy(folder / "databases" / "first.sqlite", folder / "databases" / "first_again.sqlite")
    assert not daemon.requests(4)  # a build leaves a copy out


def test_a_changed_a_new_and_a_missing_database_each_build_anew(daemon: Daemon, folder: Path) -> None:
    daemon.requests()
    databases = folder / "databases"
    raise_salaries(databases / "second.sqlite")
    assert not daemon.tick()  # it may still be written to
    (request,) = daemon.tick()
    assert because(request) == "changed: second"
    assert request.run_config["ops"]["databases"]["config"]["databases"] == str(databases)
    assert not daemon.requests(3)

    make_school(databases / "fourth.sqlite", "D")
    (databases / "first.sqlite").unlink()
    (request,) = daemon.requests()
    assert because(request) == "new: fourth; gone: first"

    (databases / "semantics.yml").write_text("tables: {}\n")  # beside several: used for none
    (databases / "second.semantics.yml").write_text("tables:\n  teacher: {name: professor}\n")
    (request,) = daemon.requests()
    assert because(request) == "changed: second"


def test_what_changed_before_the_sensor_was_started_is_seen(daemon: Daemon, folder: Path) -> None:
    raise_salaries(folder / "databases" / "third.sqlite")
    (request,) = daemon.requests()
    assert because(request) == "changed: third"


def test_databases_that_come_back_to_what_they_were_are_another_request(daemon: Daemon, folder: Path) -> None:
    daemon.requests()
    second = folder / "databases" / "second.sqlite"
    before = second.read_bytes()
    raise_salaries(second)
    (forth,) = daemon.requests()
    second.write_bytes(before)
    (back,) = daemon.requests()
    assert forth.run_key != back.run_key


def test_a_build_that_fails_is_asked_for_once_more_and_then_said(daemon: Daemon, folder: Path) -> None:
    daemon.requests()
    raise_salaries(folder / "databases" / "second.sqlite")
    (request,) = daemon.requests()
    assert not daemon.tick()  # it is under way
    fail(daemon, request)
    (again,) = daemon.tick()
    assert (because(again), again.run_config) == (because(request), request.run_config)
    assert again.run_key != request.run_key
    assert not daemon.requests(3)
    failed = fail(daemon, again)
    assert not daemon.tick()
    assert f"schools: asked for, not built: run {failed} failed" in daemon.said
    raise_salaries(folder / "databases" / "first.sqlite")
    (new,) = daemon.requests()
    assert because(new) == "changed: first"
    assert not daemon.tick()
    assert "not built" not in daemon.said


def fail(daemon: Daemon, request: dg.RunRequest) -> str:
    """What Dagster keeps of a run that was asked for and killed; its id."""
    tags = {**request.tags, "dagster/run_key": str(request.run_key)}
    run = daemon.instance.create_run_for_job(
        defs.resolve_job_def("build_corpus"), run_config=request.run_config, tags=tags
    )
    daemon.instance.report_run_failed(run)
    return run.run_id


def test_a_corpus_whose_databases_are_gone_is_named_and_not_built_of_nothing(daemon: Daemon, folder: Path) -> None:
    daemon.requests()
    databases = folder / "databases"
    databases.rename(folder / "elsewhere")
    assert not daemon.tick()
    assert f"schools: its databases are not at {databases} any more" in daemon.said
    databases.mkdir()
    assert not daemon.requests(4)
    assert "no database that can be used is left" in daemon.said
    shutil.rmtree(databases)
    (folder / "elsewhere").rename(databases)
    assert not daemon.requests(3)


def test_a_database_that_is_being_written_is_not_gone(daemon: Daemon, folder: Path) -> None:
    daemon.requests()
    second = folder / "databases" / "second.sqlite"
    whole = second.read_bytes()
    second.write_bytes(whole[: len(whole) // 2])
    assert not daemon.tick()
    assert not daemon.tick()
    assert "second.sqlite: truncated SQLite file" in daemon.said
    second.write_bytes(whole)
    assert not daemon.requests()
    second.write_bytes(whole[: len(whole) // 2])
    assert not Daemon(changed_databases, folder, daemon.instance).requests()  # the first look, too
    second.write_bytes(whole)
    raise_salaries(second)
    (request,) = daemon.requests()
    assert because(request) == "changed: second"


def test_a_strange_manifest_stops_no_other_corpus(daemon: Daemon, folder: Path) -> None:
    strange = folder / "out" / "another" / "v0001-00000000"
    strange.mkdir(parents=True)
    (strange / "manifest.json").write_text("{}")
    daemon.requests()
    assert "another: " in daemon.said
    assert "it lacks corpus, version, fingerprint, config, databases" in daemon.said
    raise_salaries(folder / "databases" / "second.sqlite")
    (request,) = daemon.requests()
    assert because(request) == "changed: second"


def test_there_is_nothing_to_watch_without_a_corpus(tmp_path: Path) -> None:
    with dg.instance_for_test() as instance:
        nothing = Daemon(changed_databases, tmp_path, instance)
        assert not nothing.tick()
    assert "build one first" in nothing.said


def test_the_launchpad_has_every_setting_of_a_build() -> None:
    """What a manifest says can be built again from the sensor."""
    assert set(CorpusConfig.model_fields) == set(agro_data.BuildConfig.__dataclass_fields__)


def test_a_glance_sees_what_may_have_changed(tmp_path: Path) -> None:
    seen = [glance(tmp_path)]
    for act in (
        lambda: (tmp_path / "a.sqlite").write_text("x"),
        lambda: (tmp_path / "a.sqlite").write_text("xy"),
        lambda: (tmp_path / "a.sqlite").rename(tmp_path / "b.sqlite"),
        (tmp_path / "b.sqlite").unlink,
    ):
        act()
        seen.append(glance(tmp_path))
    assert seen[0] == seen[-1]
    assert len(set(seen)) == 4
    (tmp_path / ".hidden").write_text("x")
    assert glance(tmp_path) == seen[0]
    with pytest.raises(FileNotFoundError):
        glance(tmp_path / "nothing")


def test_a_glance_at_one_file_sees_its_log_and_what_is_written_beside_it(tmp_path: Path) -> None:
    file = tmp_path / "shop.sqlite"
    seen: list[str] = []
    described = ("target/manifest.json", "database_description/t.csv", "tables.json")
    for name in ("shop.sqlite", "shop.sqlite-wal", "shop.semantics.yml", "semantics.yml", *described):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
        seen.append(glance(file))
    assert len(set(seen)) == 7
    (tmp_path / "other.sqlite").write_text("x")
    assert glance(file) == seen[-1]


def test_a_glance_passes_over_what_it_cannot_look_at(tmp_path: Path) -> None:
    (tmp_path / "a.sqlite").write_text("x")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    before = glance(tmp_path)
    (tmp_path / os.fsdecode(b"caf\xe9")).write_text("x")
    assert glance(tmp_path) != before


def test_a_file_with_a_hard_space_in_its_name_is_told_from_one_that_is_gone(tmp_path: Path) -> None:
    name = "my\N{NO-BREAK SPACE}shop.sqlite"
    (tmp_path / name).write_bytes(b"SQLite format 3\0, cut off")
    facts = [{"db_id": "my_shop", "relative_path": name}, {"db_id": "other", "relative_path": "other.sqlite"}]
    found = unusable(facts, find_databases(tmp_path).problems)
    assert list(found) == ["my_shop"]
    assert "truncated" in found["my_shop"]


def test_a_difference_names_what_is_new_changed_and_gone() -> None:
    assert difference({"a": "1", "b": "1", "c": "1"}, {"b": "1", "c": "2", "d": "1"}) == {
        "new": ["d"],
        "changed": ["c"],
        "gone": ["a"],
    }


@pytest.mark.slow
def test_the_run_it_asks_for_redoes_only_what_depends_on_the_change(daemon: Daemon, folder: Path) -> None:
    daemon.requests()
    raise_salaries(folder / "databases" / "second.sqlite")
    (request,) = daemon.requests()
    job = defs.resolve_job_def("build_corpus")
    config = request.run_config | {
        "resources": {"place": {"config": {"datasets": str(folder / "out"), "cache_folder": str(folder / "cache")}}}
    }
    done = job.execute_in_process(run_config=config, instance=daemon.instance, tags=request.tags)
    assert done.success
    version = Version(latest(folder / "out", "schools"))
    assert version.name.startswith("v0002-")
    work = Work(Path(done.output_for_node("selection")))
    for stage in ("candidates", "verified", "questions", "distinct", "certified", "embeddings"):
        figures = reuse.counts(work, stage)
        own = sum(shard.startswith("second") for shard in work.shards(stage))
        assert figures[reuse.SHARDS] - figures[reuse.TAKEN] == own, stage
    (shown,) = done.asset_materializations_for_node("certified")
    assert shown.metadata["shards taken over"].value == figures[reuse.TAKEN]
    assert not daemon.requests(3)

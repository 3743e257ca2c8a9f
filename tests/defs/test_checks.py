"""Checks say why they fail, and a failing one stops the corpus."""

from __future__ import annotations

import json
import logging
import re
import shutil
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import dagster as dg
import polars as pl
import pytest
import yaml
from making import make_school, one_worker, run_sqlite

from agro_data.config import BuildConfig
from agro_data.defs import assets, checks
from agro_data.defs.assets import CODE
from agro_data.defs.place import Place
from agro_data.locking import exclusive
from agro_data.pipeline import LOCK, STAGES, open_work, prepare, run_stage, write_corpus
from agro_data.publish.read import Version
from agro_data.work import Work
from agro_train.definitions import defs

ROOT = Path(__file__).resolve().parents[2]
Change = Callable[[pl.DataFrame], pl.DataFrame]
SETTINGS: dict[str, Any] = {"name": "school", "size": 30, "embedding_model": "structural"}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a school, and a cache in which every stage of its build is done."""
    folder = tmp_path_factory.mktemp("finished")
    database = make_school(folder / "school.sqlite")
    config = BuildConfig(databases=str(database), **SETTINGS)
    context = prepare(config, one_worker(folder))
    for stage in STAGES:
        run_stage(stage, context, workers=1)
    return folder


@pytest.fixture
def folder(finished: Path, tmp_path: Path) -> Path:
    """A copy of it, to be doctored."""
    return Path(shutil.copytree(finished, tmp_path / "copy"))


def place(folder: Path) -> Place:
    return Place(datasets=str(folder / "out"), cache_folder=str(folder / "cache"), workers=1)


def work(folder: Path) -> Work:
    (root,) = (folder / "cache" / "work").iterdir()
    return Work(root)


def doctor(folder: Path, change: Change) -> None:
    """Rewrite the finished selection."""
    build = work(folder)
    build.write("selection", "all", change(build.read("selection", "all")))


def leaking(rows: pl.DataFrame) -> pl.DataFrame:
    """The first row of train, once more, in test."""
    first = rows.filter(pl.col("split") == "train").head(1)
    return pl.concat([rows, first.with_columns(split=pl.lit("test"))])


def ambiguous(rows: pl.DataFrame) -> pl.DataFrame:
    """The first question, with another SQL."""
    return pl.concat([rows, rows.head(1).with_columns(sql=pl.lit("SELECT 1"))])


def unspoken(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.with_columns(question=pl.lit("How many pupils per school_id?") + pl.col("candidate_id"))


def test_sound_rows_pass(folder: Path) -> None:
    root = str(work(folder).root)
    for check in (checks.databases_contribute, checks.questions_are_unambiguous, checks.splits_do_not_leak):
        assert check(root, place(folder)).passed, check(root, place(folder)).description


@pytest.mark.parametrize(
    ("check", "change", "reason"),
    [
        (checks.splits_do_not_leak, leaking, "leaks in 31 rows; for instance .* in test and train"),
        (checks.questions_are_unambiguous, ambiguous, "1 with two SQL"),
        (checks.questions_are_unambiguous, unspoken, "with a snake_case name; for instance 'How many pupils per"),
        (checks.as_many_as_asked, lambda rows: rows.head(7), "7 rows of 30 asked for; limited by"),
    ],
)
def test_what_is_wrong_is_said(check: Any, change: Change, reason: str, folder: Path) -> None:
    doctor(folder, change)
    result = check(str(work(folder).root), place(folder))
    assert not result.passed
    assert re.search(reason, result.description or ""), result.description


def test_a_question_with_other_evidence_is_another(folder: Path) -> None:
    doctor(folder, lambda rows: pl.concat([rows, ambiguous(rows).tail(1).with_columns(evidence=pl.lit("all of it"))]))
    result = checks.questions_are_unambiguous(str(work(folder).root), place(folder))
    assert result.passed, result.description


def test_databases_that_gave_nothing_are_named(folder: Path) -> None:
    build = work(folder)
    build.write_json("usable.json", ["school", "hospital"])
    result = checks.databases_contribute(str(build.root), place(folder))
    assert not result.passed
    assert "1 of 2 databases gave verified SQL; nothing from 'hospital'" in (result.description or "")


def corpus(folder: Path) -> Version:
    """The version of the finished selection."""
    return write_corpus(open_work(work(folder).root, folder / "cache"), folder / "out")


def of_corpus(folder: Path, version: Version, selection: Path | None = None) -> dict[str, dg.AssetCheckResult]:
    """What the checks of a version say, by their names."""
    path, root = str(version.path), str(selection or work(folder).root)
    return {
        "whole": checks.corpus_is_whole(path),
        "replay": checks.stored_digests_replay(path, root, place(folder)),
        "certificates": checks.certificates_hold(path),
    }


def overwritten(file: Path, content: bytes | pl.DataFrame) -> None:
    file.chmod(0o644)
    if isinstance(content, bytes):
        file.write_bytes(content)
    else:
        content.write_parquet(file)


def test_a_version_as_it_was_written_passes(folder: Path) -> None:
    said = of_corpus(folder, corpus(folder))
    assert all(result.passed for result in said.values()), said
    assert said["replay"].metadata["replayed"].value == 30


def test_a_version_is_replayed_on_its_own_databases_whatever_was_chosen_since(folder: Path, tmp_path: Path) -> None:
    """A build of others that stopped after its selection is no fault of the version."""
    version = corpus(folder)
    other = BuildConfig(databases=str(make_school(tmp_path / "other.sqlite", tag="2")), **SETTINGS)
    later = prepare(other, one_worker(folder)).work.root
    replayed = checks.stored_digests_replay(str(version.path), str(later), place(folder))
    assert replayed.passed, replayed.description
    assert replayed.metadata["replayed"].value == 30


def test_a_version_is_replayed_without_the_cache_that_it_was_made_in(folder: Path) -> None:
    version = corpus(folder)
    root = work(folder).root
    shutil.rmtree(root.parent)
    replayed = checks.stored_digests_replay(str(version.path), str(root), place(folder))
    assert replayed.passed, replayed.description
    assert replayed.metadata["replayed"].value == 30
    with dg.build_asset_context() as context, pytest.raises(dg.Failure, match="this work folder is gone"):
        assets.selection(context, str(root), place(folder))


def test_a_stage_alone_does_not_go_on_with_what_another_release_began(folder: Path) -> None:
    build = work(folder)
    build.write_json("build.json", build.read_json("build.json") | {"code": "before"})
    with dg.build_asset_context() as context, pytest.raises(dg.Failure, match="begun by another release"):
        assets.selection(context, str(build.root), place(folder))


def test_no_version_is_written_of_what_another_release_chose(folder: Path) -> None:
    """It would be called by a fingerprint that says which code made it."""
    build = work(folder)
    build.write_json("build.json", build.read_json("build.json") | {"code": "before"})
    with dg.build_asset_context() as context, pytest.raises(dg.Failure, match="begun by another release"):
        assets.corpus(context, str(build.root), place(folder))
    assert not list((folder / "out").glob("school/v*"))


def test_where_nothing_can_be_written_is_told_before_the_first_stage(folder: Path) -> None:
    (folder / "out").write_text("")
    config = assets.CorpusConfig(databases=str(folder / "school.sqlite"), **SETTINGS)
    with dg.build_asset_context() as context, pytest.raises(dg.Failure) as failure:
        assets.databases(context, config, place(folder))
    assert f"{folder / 'out'}: is no folder, so no corpus can be written" in str(failure.value.description)


def test_no_workers_are_refused_in_words(folder: Path) -> None:
    nobody = Place(datasets=str(folder / "out"), cache_folder=str(folder / "cache"), workers=0)
    config = assets.CorpusConfig(databases=str(folder / "school.sqlite"), **SETTINGS)
    with dg.build_asset_context() as context, pytest.raises(dg.Failure, match="workers is 0: at least 1"):
        assets.databases(context, config, nobody)


def test_a_file_in_the_way_is_said_in_words(folder: Path) -> None:
    build = work(folder)
    (folder / "out").write_text("")
    with dg.build_asset_context() as context, pytest.raises(dg.Failure, match=f"{folder / 'out'}.*: Not a directory"):
        assets.corpus(context, str(build.root), place(folder))


def test_a_version_is_not_replayed_on_a_database_that_has_changed(folder: Path) -> None:
    """Its answers are not wrong: there is nothing to hold them to."""
    build = open_work(work(folder).root, folder / "cache")
    catalog = build.work.read_json("catalog.json")
    del catalog["databases"][0]["seen"]  # as a release before wrote it
    build.work.write_json("catalog.json", catalog)
    version, (school,) = corpus(folder), build.unchanged()
    before = school.path.read_bytes()
    try:
        run_sqlite(school.path, "DELETE FROM lesson")
        replayed = checks.stored_digests_replay(str(version.path), str(build.work.root), place(folder))
    finally:
        school.path.write_bytes(before)
    assert not replayed.passed
    assert "not at hand with the content of the build, such as school" in str(replayed.description)


def test_files_that_changed_are_said_and_not_stumbled_over(folder: Path) -> None:
    version = corpus(folder)
    (file, *_) = sorted((version.path / "data").glob("*.parquet"))
    overwritten(file, file.read_bytes()[:100])
    result = checks.corpus_is_whole(str(version.path))
    assert not result.passed
    assert f"1 changed; for instance data/{file.name}: 100 bytes, expected" in (result.description or "")


def cut_off(version: Version) -> None:
    (file, *_) = sorted((version.path / "data").glob("*.parquet"))
    overwritten(file, file.read_bytes()[:100])


def gone(version: Version) -> None:
    shutil.rmtree(version.path)


def garbage(version: Version) -> None:
    overwritten(version.path / "manifest.json", b"{")


def without_files(version: Version) -> None:
    facts = {name: value for name, value in version.manifest.items() if name != "files"}
    overwritten(version.path / "manifest.json", json.dumps(facts).encode())


def without_index(version: Version) -> None:
    (version.path / "instances" / "index.parquet").unlink()


@pytest.mark.parametrize(
    ("damage", "failing"),
    [
        (cut_off, {"whole", "replay", "certificates"}),
        (gone, {"whole", "replay", "certificates"}),
        (garbage, {"whole", "replay", "certificates"}),
        (without_files, {"whole"}),
        (without_index, {"whole", "certificates"}),
    ],
)
def test_damage_fails_the_checks_that_meet_it(
    damage: Callable[[Version], None], failing: set[str], folder: Path
) -> None:
    version = corpus(folder)
    damage(version)
    said = of_corpus(folder, version)
    assert {name for name, result in said.items() if not result.passed} == failing
    for name in failing - {"whole"}:
        assert "delete the folder and build again" in (said[name].description or "")


def test_a_report_on_a_version_that_is_gone_is_refused_in_words(folder: Path) -> None:
    version = corpus(folder)
    gone(version)
    with pytest.raises(dg.Failure, match="not a corpus version"):
        assets.corpus_report(str(version.path), place(folder))


def test_without_certificates_nothing_is_said_to_hold(folder: Path) -> None:
    build = work(folder)
    facts = build.read_json("build.json")
    build.write_json("build.json", facts | {"config": facts["config"] | {"certify": False}})
    doctor(folder, lambda rows: rows.with_columns(instances=pl.lit([], dtype=pl.List(pl.String))))
    held = checks.certificates_hold(str(corpus(folder).path))
    assert held.passed
    assert "no certificates were asked for" in (held.description or "")


def test_answers_that_changed_are_named(folder: Path) -> None:
    doctor(folder, lambda rows: rows.with_columns(result_digest=pl.lit("0" * 64)))
    version = corpus(folder)
    index = version.instances().with_columns(gold_digest=pl.lit("0" * 64)).collect()
    overwritten(version.path / "instances" / "index.parquet", index)
    said = of_corpus(folder, version)
    assert not any(result.passed for result in said.values())
    assert "30 gave another digest; for instance " in (said["replay"].description or "")
    assert re.search("for instance [0-9a-f]{16} on school/", said["certificates"].description or "")


def run(folder: Path, instance: dg.DagsterInstance | None = None) -> dg.ExecuteInProcessResult:
    return defs.resolve_job_def("build_corpus").execute_in_process(
        run_config={
            "resources": {"place": {"config": {"datasets": str(folder / "out"), "workers": 1}}},
            "ops": {"databases": {"config": {"databases": str(folder / "school.sqlite"), **SETTINGS}}},
        },
        instance=instance,
        raise_on_error=False,
    )


class Releasing(logging.Handler):
    """Lets go of what is held when somebody says that he waits."""

    def __init__(self, held: ExitStack) -> None:
        super().__init__()
        self.held = held

    def emit(self, record: logging.LogRecord) -> None:
        self.held.close()


@pytest.mark.ci
def test_a_run_that_waits_for_another_says_for_whom(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGRO_CACHE", str(folder / "cache"))
    logs = yaml.safe_load((ROOT / "dagster_home" / "dagster.yaml").read_text())["python_logs"]
    waiting = logging.getLogger("agro_data.locking")
    with ExitStack() as held, dg.instance_for_test(overrides={"python_logs": logs}) as instance:
        held.enter_context(exclusive(work(folder).root / LOCK, wait_seconds=0, doing="is at the same build"))
        waiting.addHandler(releasing := Releasing(held))
        result = run(folder, instance)
        waiting.removeHandler(releasing)
        told = [entry.user_message for entry in instance.all_logs(result.run_id)]
    assert result.success
    assert [line for line in told if "waiting for process" in line and "is at the same build" in line], told


def test_a_failing_check_stops_the_corpus(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGRO_CACHE", str(folder / "cache"))
    doctor(folder, leaking)
    result = run(folder)
    assert not result.success
    failed = [evaluation.check_name for evaluation in result.get_asset_check_evaluations() if not evaluation.passed]
    assert failed == ["splits_do_not_leak"]
    assert not result.asset_materializations_for_node("corpus")
    assert not list((folder / "out").glob("school/v*"))


def test_what_the_ui_keeps_is_small(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGRO_CACHE", str(folder / "cache"))
    result = run(folder)
    assert result.success
    assert len(list((folder / "out").glob("school/v*"))) == 1
    shown = {
        event.asset_key.to_user_string(): event.materialization.metadata
        for event in result.get_asset_materialization_events()
        if event.asset_key
    }
    for asset, metadata in shown.items():
        for name, value in metadata.items():
            size = len(dg.serialize_value(value))
            assert size < 61_000, f"{asset}: {name} takes {size:,} bytes"
    plots = {name for name, value in shown["corpus"].items() if "data:image/png;base64," in str(value.value)}
    assert plots == {"plot: funnel", "plot: hardness", "plot: construct coverage", "plot: diversity map"}
    assert {"radius, 95 %", "radius, 95 %, random sample"} <= set(shown["selection"])
    assert "rows per second" not in shown["selection"], "all was finished before: there is no rate to show"


def test_what_was_made_again_is_not_stale(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of a build has its fingerprint for a version, which the same settings, databases and code give again."""
    monkeypatch.setenv("AGRO_CACHE", str(folder / "cache"))
    result = run(folder)
    made = {
        event.asset_key.to_user_string(): event.materialization.tags["dagster/data_version"]
        for event in result.get_asset_materialization_events()
        if event.asset_key
    }
    del made["corpus_report"]
    assert set(made.values()) == {work(folder).read_json("build.json")["fingerprint"]}
    assert {spec.code_version for spec in defs.resolve_all_asset_specs() if spec.group_name == "corpus"} == {CODE}


def test_a_wrong_setting_is_one_line(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGRO_CACHE", str(folder / "cache"))
    monkeypatch.setitem(SETTINGS, "size", 0)
    result = run(folder)
    (failure,) = result.get_step_failure_events()
    assert "size is 0: ask for at least 1 example" in str(failure.step_failure_data.user_failure_data)

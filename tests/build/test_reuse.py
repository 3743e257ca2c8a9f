"""A build after one changed database redoes only what depends on it, and gives what a fresh build gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from making import build_corpus, hashes, make_school, raise_salaries

import agro_data
from agro_data import parallel
from agro_data.stages import reuse
from agro_data.stages.shares import steady
from agro_data.work import Work

pytestmark = pytest.mark.ci

STAGES = ("candidates", "verified", "questions", "distinct", "certified", "embeddings")
build = partial(build_corpus, size=30)


def told(built: agro_data.Build) -> dict[str, str]:
    """The hashes of a version's files, but of its manifest and card, which name versions and places."""
    return {name: sha for name, sha in hashes(built.version.path).items() if name not in ("manifest.json", "README.md")}


@pytest.fixture
def run_tasks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The databases of the shards that are made, one for each shard."""
    made: list[str] = []
    run_shards = parallel.run_shards

    def noting(function: Callable[[Any], Any], tasks: Sequence[Any], *rest: Any, **named: Any) -> Any:
        made.extend(task.db_id for task in tasks if task.shard)
        return run_shards(function, tasks, *rest, **named)

    monkeypatch.setattr(parallel, "run_shards", noting)
    return made


@pytest.mark.slow
def test_one_changed_database_redoes_its_own_shards_alone(tmp_path: Path, run_tasks: list[str]) -> None:
    databases = tmp_path / "databases"
    databases.mkdir()
    for name in ("first", "second", "third"):
        make_school(databases / f"{name}.sqlite", name)
    before = build(tmp_path / "kept", databases)
    assert set(run_tasks) == {"first", "second", "third"}

    raise_salaries(databases / "second.sqlite")
    run_tasks.clear()
    after = build(tmp_path / "kept", databases)
    assert set(run_tasks) == {"second"}
    assert after.version.fingerprint != before.version.fingerprint
    figures = {report.stage: report.figures for report in after.reports}
    for stage in STAGES:
        shards, taken = figures[stage][reuse.SHARDS], figures[stage][reuse.TAKEN]
        assert 0 < taken < shards, stage
    assert any("taken over from earlier builds: candidates" in note for note in after.notes)

    run_tasks.clear()
    fresh = build(tmp_path / "fresh", databases)
    assert set(run_tasks) == {"first", "second", "third"}
    assert told(fresh) == told(after)
    assert not after.version.verify_hashes()


@pytest.mark.slow
def test_what_decides_a_shard_is_not_taken_over_from_another(tmp_path: Path, run_tasks: list[str]) -> None:
    databases = tmp_path / "databases"
    databases.mkdir()
    make_school(databases / "school.sqlite")
    build(tmp_path, databases)

    run_tasks.clear()
    build(tmp_path, databases, name="other", split_by="skeleton")  # plans and names; no shard depends on it
    assert not run_tasks

    build(tmp_path, databases, seed=1)
    assert run_tasks

    (databases / "semantics.yml").write_text("tables:\n  teacher: {name: professor}\n")
    run_tasks.clear()
    build(tmp_path, databases)
    assert run_tasks


def test_a_shard_whose_folder_goes_meanwhile_is_made_anew(
    tmp_path: Path, run_tasks: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    databases = tmp_path / "databases"
    databases.mkdir()
    make_school(databases / "school.sqlite")
    build(tmp_path, databases)

    def gone(source: Path, target: Path) -> None:
        raise FileNotFoundError(source)

    monkeypatch.setattr(reuse, "_link", gone)
    run_tasks.clear()
    assert build(tmp_path, databases, name="other").complete
    assert run_tasks


def test_where_there_are_no_links_files_are_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    databases = tmp_path / "databases"
    databases.mkdir()
    make_school(databases / "school.sqlite")
    first = build(tmp_path, databases)

    def refuse(source: Path, target: Path) -> None:
        raise PermissionError("no links here")

    monkeypatch.setattr("os.link", refuse)
    second = build(tmp_path, databases, name="other")
    assert second.version.examples().collect().equals(first.version.examples().collect())
    for work in (tmp_path / "cache" / "work").iterdir():
        assert all(reuse.counts(Work(work), stage)[reuse.SHARDS] for stage in STAGES)
        for note in (work / reuse.KEYS / "candidates").iterdir():
            note.write_text("the notes of one stage are nothing to another")
        assert reuse.counts(Work(work), "verified")[reuse.SHARDS]


@given(st.integers(1, 10_000_000))
def test_a_steady_share_is_enough_and_not_much_more(share: int) -> None:
    assert share <= steady(share) <= share * 9 / 8
    assert steady(steady(share)) == steady(share) <= steady(share + 1)

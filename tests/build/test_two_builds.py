"""Two builds of the same: at once one writes in the work folder, and the other waits and says for whom; one after the
other in one process, the second knows nothing that is not so any more."""

from __future__ import annotations

import logging
import os
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import polars as pl
import pytest
from making import make_school, one_worker

from agro_data.config import STRUCTURAL, BuildConfig
from agro_data.locking import exclusive
from agro_data.pipeline import LOCK, prepare, run_stage
from agro_data.stages import tally
from agro_data.work import Work


def test_a_database_may_move_between_two_builds_of_a_process(tmp_path: Path) -> None:
    run = one_worker(tmp_path)
    (tmp_path / "zero").mkdir()
    make_school(tmp_path / "zero" / "school.sqlite")
    for before, name in (("zero", "one"), ("one", "two")):
        (tmp_path / before).rename(tmp_path / name)
        config = BuildConfig(databases=str(tmp_path / name), size=12, embedding_model=STRUCTURAL)
        context = prepare(config, run)
        assert [database.path for database in context.databases()] == [tmp_path / name / "school.sqlite"]
        assert run_stage("profiles", context, 1).rows_out == 1


def test_rows_of_a_shard_that_is_made_anew_are_counted_anew(tmp_path: Path) -> None:
    work = Work(tmp_path)
    for rows in (1, 3):
        work.write("stage", "shop", pl.DataFrame({"a": range(rows)}))
        assert tally.rows(work, "stage") == rows


def test_a_second_build_waits_for_the_first(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    make_school(tmp_path / "school.sqlite")
    config = BuildConfig(databases=str(tmp_path / "school.sqlite"), size=12, embedding_model=STRUCTURAL)
    run = one_worker(tmp_path)
    context = prepare(config, run)
    with ThreadPoolExecutor() as others, caplog.at_level(logging.WARNING):
        with exclusive(context.work.root / LOCK, wait_seconds=0, doing="is here"):
            later = [others.submit(prepare, config, run), others.submit(run_stage, "profiles", context, 1)]
            assert not wait(later, timeout=0.5).done
            assert not (context.work.root / "profiles.json").exists()
        for one in later:
            one.result(timeout=60)
    assert f"waiting for process {os.getpid()} on" in caplog.text
    assert "which is at the same build" in caplog.text
    assert (context.work.root / "profiles.json").exists()

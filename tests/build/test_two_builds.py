"""Two builds of the same at once: one writes in the work folder, the other waits and says for whom."""

from __future__ import annotations

import logging
import os
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import pytest
from making import make_school

from agro_data.config import STRUCTURAL, BuildConfig, RunConfig
from agro_data.pipeline import LOCK, prepare, run_stage
from agro_data.publish.storage import exclusive


def test_a_second_build_waits_for_the_first(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    make_school(tmp_path / "school.sqlite")
    config = BuildConfig(databases=str(tmp_path / "school.sqlite"), size=12, embedding_model=STRUCTURAL)
    run = RunConfig(out=tmp_path / "out", cache=tmp_path / "cache", workers=1)
    context = prepare(config, run)
    with ThreadPoolExecutor() as others, caplog.at_level(logging.WARNING):
        with exclusive(context.work.root / LOCK, wait_seconds=0):
            later = [others.submit(prepare, config, run), others.submit(run_stage, "profiles", context, 1)]
            assert not wait(later, timeout=0.5).done
            assert not (context.work.root / "profiles.json").exists()
        for one in later:
            one.result(timeout=60)
    assert f"waiting for process {os.getpid()} on" in caplog.text
    assert "which is at the same build" in caplog.text
    assert (context.work.root / "profiles.json").exists()

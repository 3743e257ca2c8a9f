"""A shard whose worker is killed twice: no version without it, and the next run makes the whole one."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
from making import make_school

import agro_data
from agro_data.config import STRUCTURAL

# Imported by the process that workers are forked from: while the file `poison` is there, every worker of the stage
# that samples candidates of one database is killed as the kernel would do it.
POISON = """
import os, signal
from pathlib import Path
from agro_data.stages import shards

sample = shards._sample

def poisoned(task):
    if task.db_id == "second" and Path(os.environ["POISON"]).exists():
        with open(os.environ["POISON"], "a") as log:
            log.write("killed\\n")
        os.kill(os.getpid(), signal.SIGKILL)
    return sample(task)

poisoned.__module__, poisoned.__qualname__ = "agro_data.stages.shards", "_sample"
shards._sample = poisoned
"""
BUILD = """
import sys
from agro_data import parallel
parallel.PRELOADED.append("poison")
import poison
from agro_train.cli import main
main()
"""


@pytest.fixture(scope="module")
def schools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("databases")
    make_school(folder / "first.sqlite")
    make_school(folder / "second.sqlite", "B")
    return folder


def build(schools: Path, place: Path, poison: Path) -> subprocess.CompletedProcess[str]:
    (place / "code").mkdir(parents=True, exist_ok=True)
    (place / "code" / "poison.py").write_text(POISON)
    arguments = ["build", "--databases", str(schools), "--out", str(place / "out"), "--size", "30", "--workers", "2"]
    return subprocess.run(
        [sys.executable, "-c", BUILD, *arguments, "--embedding-model", STRUCTURAL],
        env=os.environ | {"PYTHONPATH": str(place / "code"), "POISON": str(poison), "AGRO_CACHE": str(place / "cache")},
        capture_output=True,
        text=True,
        check=False,
    )


def tree(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.mark.slow
def test_a_shard_that_is_killed_twice_is_not_left_out(schools: Path, tmp_path: Path) -> None:
    poison = tmp_path / "poison"
    poison.touch()
    for attempt in (1, 2):
        failed = build(schools, tmp_path / "lost", poison)
        assert failed.returncode == 1, failed.stderr
        assert poison.read_text().count("killed") == 2 * attempt
        assert "second, shard second.00.000: its worker process died" in failed.stderr
        assert "Traceback" not in failed.stderr
        assert not list((tmp_path / "lost" / "out").glob("*/v*"))
    poison.unlink()
    resumed = build(schools, tmp_path / "lost", poison)
    assert resumed.returncode == 0, resumed.stderr
    whole = build(schools, tmp_path / "whole", poison)
    assert whole.returncode == 0, whole.stderr
    (late,) = (tmp_path / "lost" / "out" / "corpus").glob("v*")
    (first,) = (tmp_path / "whole" / "out" / "corpus").glob("v*")
    assert tree(late) == tree(first)
    assert set(agro_data.open_version(late).examples().collect()["db_id"]) == {"first", "second"}

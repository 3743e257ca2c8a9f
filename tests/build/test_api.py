"""`import agro_data` as people use it: in a script without a guard, and where there is no main file at all."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from making import make_school

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = """
import agro_data
print("started")
result = agro_data.build(
    {databases!r}, size=12, embedding_model="structural", run=agro_data.RunConfig(out={out!r}, workers=2)
)
print(result.version.examples().collect().height, result.complete, len(result.problems))
"""


@pytest.mark.ci
@pytest.mark.parametrize(
    "way", ["a file", *(pytest.param(way, marks=pytest.mark.slow) for way in ("standard input", "-c"))]
)
def test_a_plain_script_builds_with_two_workers(way: str, tmp_path: Path) -> None:
    (tmp_path / "databases").mkdir()
    for name in ("one", "two"):
        make_school(tmp_path / "databases" / f"{name}.sqlite", tag=name)
    script = SCRIPT.format(databases=str(tmp_path / "databases"), out=str(tmp_path / "out"))
    (tmp_path / "script.py").write_text(script)
    arguments = {"a file": ["script.py"], "standard input": ["-"], "-c": ["-c", script]}[way]
    environment = os.environ | {"AGRO_CACHE": str(tmp_path / "cache"), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=tmp_path,
        env=environment,
        input=script if way == "standard input" else None,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["started", "12 True 0"], "the script ran once, and in no worker"
    assert "Traceback" not in done.stderr

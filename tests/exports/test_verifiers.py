"""The exported package is an environment of `verifiers`, where that is installed."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace

import pytest
from exports.making_exports import exported

from agro_data.publish.read import Version

vf = pytest.importorskip("verifiers.v1", reason="needs verifiers >= 0.4")


def test_it_loads_and_grades(corpus: Version, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(exported(corpus, "verifiers", tmp_path)))
    environment = vf.load_environment(vf.SingleAgentEnvConfig(taskset={"id": "agro-corpus", "split": "train"}))
    tasks = list(environment.taskset)
    assert len(tasks) == corpus.manifest["counts"]["splits"]["train"]
    right = f"<think>so</think><solution>{tasks[0].data.sql}</solution>"
    for reply, reward in ((right, 1.0), ("SELECT 1", 0.0)):
        assert asyncio.run(tasks[0].right(SimpleNamespace(last_reply=reply))) == reward

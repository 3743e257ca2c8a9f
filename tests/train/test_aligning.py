"""Who checks a corpus: models that differ, each with as many answers as the rule needs."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from train import scripted
from train.scripted import Scripted
from train.small import make_corpus
from train.tiny import make_tiny_model

from agro_data.publish.read import Version
from agro_data.stages.aligned import Referees
from agro_train.agents.agent import Agent
from agro_train.agents.opening import Found
from agro_train.aligning import AlignConfig, align
from agro_train.programs.settings import SettingsError
from agro_train.runs.store import ModelRun, begin
from agro_train.tasks import PromptFormat


def test_a_model_with_two_names_is_one_solver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its answers are the same twice: they would confirm each other."""
    version = make_corpus(tmp_path)
    draft = begin(tmp_path / "models", "small", "cd" * 32)
    assert not isinstance(draft, ModelRun)
    make_tiny_model(draft.model)
    run = draft.finish({})
    copy = shutil.copytree(run.model, tmp_path / "copy")
    opened: list[Found] = []
    solvers: list[str] = []

    def open_agent(found: Found, *_: Any, prompt_format: PromptFormat) -> Agent:
        opened.append(found)
        assert prompt_format.direct
        return scripted.agent(Scripted(lambda *_: ""))

    def align_version(of: Version, homes: object, out: Path, referees: Referees, *_: Any, **__: Any) -> Path:
        solvers.extend(one.name for one in referees.solvers)
        return of.path

    monkeypatch.setattr("agro_train.agents.opening.open_agent", open_agent)
    monkeypatch.setattr("agro_data.stages.aligned.align_version", align_version)
    told: list[str] = []
    config = AlignConfig(
        corpus=str(version.path),
        databases=str(tmp_path / "databases"),
        solvers=("small", run.name, str(run.model), str(copy)),
        samples=2,
        direct=True,
        need=3,
        cycles=1,
        models=str(tmp_path / "models"),
        data=str(tmp_path),
        cache=str(tmp_path / "cache"),
        workers=1,
    )
    with pytest.raises(SettingsError, match="need is 3, but only 2 answers"):
        align(config, note=told.append)
    assert told == [f"4 solvers are named, of which 1 differ: {run.name}; each of these is asked once"]
    assert opened == []
    align(replace(config, need=2))
    assert (opened, solvers) == ([run], [run.name])


def test_settings_that_confirm_nothing_are_refused_at_once() -> None:
    with pytest.raises(SettingsError, match="5 samples at temperature 0 are all the same: give a temperature"):
        AlignConfig(solvers=("promoted",), temperature=0.0)
    assert AlignConfig(solvers=("a", "b", "c"), temperature=0.0, samples=1).need == 3
    with pytest.raises(SettingsError, match="need is 3, but only 2 answers"):
        AlignConfig(solvers=("a", "a"), samples=2)

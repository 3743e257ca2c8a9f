"""Training computes in what is faster here, and a run says which that was."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from train.small import cold_start_config, grpo_config, make_split_corpus, make_writer, prompts_of
from train.tiny import make_tiny_model

from agro_train import cold_start, grpo
from agro_train.cold_start import ColdStartConfig
from agro_train.language_model import precision
from agro_train.language_model.precision import settled
from agro_train.reinforcement.config import GrpoConfig


def faster(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which this kind of numbers is the faster one."""
    monkeypatch.setattr(precision, "fastest_precision", lambda device: kind)


@pytest.mark.parametrize(("kind", "expected"), [("bfloat16", "mixed"), ("float32", "float32")])
def test_auto_is_what_is_faster_here(kind: str, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    faster(kind, monkeypatch)
    assert settled("auto") == expected
    assert ColdStartConfig().tuning.mixed == (expected == "mixed")
    assert [settled(named) for named in ("mixed", "bfloat16", "float32")] == ["mixed", "bfloat16", "float32"]
    assert replace(ColdStartConfig(), precision="mixed").tuning.mixed
    assert GrpoConfig().precision == "auto"


@pytest.mark.ci
def test_a_run_is_that_of_the_precision_it_was_settled_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a machine where `auto` means the same, it is the same run, and one that was stopped goes on."""
    corpus, model = make_split_corpus(tmp_path), make_tiny_model(tmp_path / "tiny")
    faster("float32", monkeypatch)
    cold = cold_start_config(corpus, model)
    run = cold_start.train(replace(cold, precision="auto"))
    assert run.manifest["config"]["precision"] == "float32"
    assert cold_start.train(cold) == run
    policy = grpo_config(corpus, make_writer(tmp_path / "writer", prompts_of(corpus)), tmp_path / "models")
    learnt = grpo.train(replace(policy, precision="auto", steps=1))
    assert learnt.manifest["config"]["precision"] == "float32"
    assert grpo.train(replace(policy, steps=1)).path == learnt.path

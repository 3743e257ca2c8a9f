"""GRPO with a tiny model on a real corpus: it learns, and what it learns from is what happened."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from train.small import make_corpus, make_writer

from agro_data.protocol import wrap_observation
from agro_data.publish.read import Version
from agro_train import grpo
from agro_train.grpo import GrpoConfig, train
from agro_train.settings import SettingsError, settings_from, settings_to
from agro_train.tokens import encode


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Version:
    return make_corpus(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="module")
def writer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_writer(tmp_path_factory.mktemp("writer"))


@pytest.fixture
def config(corpus: Version, writer: Path, tmp_path: Path) -> GrpoConfig:
    root = corpus.path.parents[1]
    return GrpoConfig(
        corpus=str(corpus.path),
        databases=str(root / "databases"),
        cache=str(root / "cache"),
        models=str(tmp_path / "models"),
        model=str(writer),
        workers=1,
        prompts=8,
        select_rollouts=0,
        prompts_per_step=2,
        group=8,
        micro_batch=8,
        steps=2,
        learning_rate=1e-3,
        turn_tokens=40,
        rollout_tokens=160,
        tensorboard=False,
    )


def test_a_run_is_made_measured_and_found_again(config: GrpoConfig) -> None:
    lines: list[dict[str, Any]] = []
    run = train(replace(config, tensorboard=True), lines.append)
    facts = run.manifest
    steps = list(run.metrics())
    assert [line["step"] for line in steps] == [1, 2]
    assert [line for line in lines if line["phase"] == "grpo"] == steps
    for line in steps:
        assert line["reward"] == pytest.approx(line["reward/correct"] + line["reward/malformed"])
        assert line["format_rate"] + line["malformed_rate"] + line["truncated_rate"] == pytest.approx(1)
        assert 0 < line["environment_share"] < 1
        assert line["groups"] == 2
        assert line["seconds"] >= line["generation_seconds"] + line["environment_seconds"]
    assert (facts["kind"], facts["parent"], facts["steps"]) == ("grpo", None, 2)
    assert facts["model_sha256"] != facts["base_sha256"]
    assert facts["parameters_moved"]["moved"]
    assert facts["selection"]["kept"] == 8
    assert [one["db_id"] for one in facts["databases"]] == ["school"]
    assert not (run.path / "checkpoints").exists()
    assert list(run.path.glob("tensorboard/events*"))
    assert train(replace(config, tensorboard=True, workers=2)).path == run.path  # the same settings, where it matters


def test_what_is_learnt_from_is_what_the_agent_wrote(config: GrpoConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    """The loss mask leaves out exactly the environment's turns, and tokens are those that were sampled."""
    from agro_train.grpo_trainer import AgenticTrainer

    seen: list[tuple[dict[str, Any], list[Any], Any]] = []
    real = AgenticTrainer._generate_and_score_completions

    def spy(self: Any, inputs: Any) -> dict[str, Any]:
        output: dict[str, Any] = real(self, inputs)
        seen.append((output, list(self.episodes), self.player.tokenizer))
        return output

    monkeypatch.setattr(AgenticTrainer, "_generate_and_score_completions", spy)
    train(replace(config, steps=4))
    observed = 0
    for output, episodes, tokenizer in seen:
        mask = output["completion_mask"] * output["tool_mask"]
        for row, episode in enumerate(episodes):
            answers = [s.observation for s in episode.rollout.env.steps if s.observation is not None]
            told = sum(len(encode(wrap_observation(text), tokenizer)) for text in answers)
            observed += len(answers)
            assert int(output["completion_mask"][row].sum() - mask[row].sum()) == told
            sampled = output["sampling_per_token_logps"][row]
            assert bool((sampled[mask[row] == 0] == 0).all())
            assert bool((sampled[mask[row] == 1] <= 0).all())
            assert bool((output["advantages"][row][mask[row] == 0] == 0).all())
            text = tokenizer.decode(output["completion_ids"][row][output["completion_mask"][row] == 1])
            assert all(wrap_observation(answer) in text for answer in answers)
    assert observed > 0


@pytest.mark.slow
def test_it_learns(config: GrpoConfig) -> None:
    """From turns of which few are well formed to turns of which most are."""
    lines: list[dict[str, Any]] = []
    train(replace(config, steps=24, micro_batch=16, prompts_per_step=4, learning_rate=2e-3), lines.append)
    rewards = [line["reward"] for line in lines if line["phase"] == "grpo"]
    assert sum(rewards[-6:]) / 6 > sum(rewards[:6]) / 6 + 0.15


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"reward": "best"}, "expected one of agro"),
        ({"group": 1}, "at least 2"),
        ({"micro_batch": 3}, "does not divide"),
        ({"temperature": 0.0}, "above 0"),
        ({"solve_rate_low": 0.9}, "low <= high"),
        ({"iterations": 3}, "multiples"),
        ({"step": 3}, "did you mean 'steps'"),
    ],
)
def test_settings_that_cannot_be_are_refused(changes: dict[str, Any], told: str) -> None:
    with pytest.raises(SettingsError, match=told):
        settings_from(GrpoConfig, changes)


def test_settings_are_json(config: GrpoConfig) -> None:
    assert settings_from(GrpoConfig, json.loads(json.dumps(settings_to(config)))) == config


@pytest.mark.slow
def test_a_killed_run_goes_on_as_if_nothing_had_been(
    config: GrpoConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed after random steps, perhaps while it writes a checkpoint; the losses are those of a quiet run."""
    monkeypatch.setattr(grpo, "training_code_version", lambda: "fixed")  # whoever edits the code meanwhile
    config = replace(config, steps=6, save_steps=2)
    quiet = train(replace(config, models=str(tmp_path / "quiet")))
    settings = tmp_path / "settings.json"
    settings.write_text(json.dumps(settings_to(config)), encoding="utf-8")
    program = "from agro_train import grpo; grpo.training_code_version = lambda: 'fixed'; grpo.main()"
    command = [sys.executable, "-c", program, "--config", str(settings)]
    chance = random.Random(time.time_ns())
    for step in (chance.choice((1, 2)), chance.choice((3, 4, 5))):
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)
        assert child.stdout is not None
        for line in child.stdout:
            if line.startswith(b"{") and json.loads(line).get("step", 0) >= step:
                time.sleep(chance.random() * 0.2)
                break
        os.killpg(child.pid, signal.SIGKILL)
        assert child.wait() == -signal.SIGKILL
    resumed = train(config)
    assert resumed.manifest["resumed_from"] is not None
    assert [_lasting(line) for line in resumed.metrics()] == [_lasting(line) for line in quiet.metrics()]
    assert resumed.manifest["model_sha256"] == quiet.manifest["model_sha256"]


def _lasting(line: dict[str, Any]) -> dict[str, Any]:
    """What does not depend on the clock."""
    return {name: value for name, value in line.items() if "second" not in name and name != "environment_share"}

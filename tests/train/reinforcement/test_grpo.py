"""Runs of GRPO with a tiny model on a real corpus: what they are made of, found by, and go on from."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from train.small import make_corpus
from train.tiny import oddly_sampled

from agro_data.config import ConfigError
from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.errors import InWords
from agro_data.files import write_json
from agro_data.profiling.serialising.serialise import SerialiserMismatch
from agro_data.publish.read import Version
from agro_train import cold_start, grpo
from agro_train.agents import engine
from agro_train.cold_start import ColdStartConfig
from agro_train.grpo import train
from agro_train.programs.settings import SettingsError, settings_to
from agro_train.questions import SeenInTraining
from agro_train.reinforcement.config import GrpoConfig
from agro_train.reinforcement.prompts import BadGolds
from agro_train.runs.store import runs_of


def test_a_run_is_made_measured_and_found_again(config: GrpoConfig, tmp_path: Path) -> None:
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
    seen = replace(config, tensorboard=True, workers=2, log_steps=2, save_steps=4, kl_every=0)
    assert train(seen).path == run.path  # the same settings, where it matters
    unseen = train(replace(seen, models=str(tmp_path / "unseen"))).manifest
    assert unseen["model_sha256"] == facts["model_sha256"]


@pytest.mark.parametrize("lora", [0, 4])
def test_a_model_whose_files_name_a_temperature_for_what_is_likeliest_is_saved(
    writer: Path, config: GrpoConfig, tmp_path: Path, lora: int
) -> None:
    base = oddly_sampled(shutil.copytree(writer, tmp_path / "odd"))
    run = train(replace(config, model=str(base), steps=1, lora=lora))
    assert "temperature" not in json.loads((run.model / "generation_config.json").read_text())


def test_an_engine_that_is_not_installed_is_told_at_once(config: GrpoConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"vLLM is not installed here: .*, or unset use_vllm$"):
        train(replace(config, use_vllm=True))
    assert not Path(config.models).exists()


def test_prompts_are_chosen_once_and_counted(config: GrpoConfig) -> None:
    """The writer is hardly ever right: only the lowest bound keeps prompts, and what was left out is said."""
    settings = replace(config, select_rollouts=2, solve_rate_low=0.0, solve_rate_high=1.0, prompts=3)
    facts = train(settings).manifest["selection"]
    assert (facts["kept"], facts["tried"]) == (3, 9)
    with pytest.raises(SettingsError, match="0 of 9 candidates"):
        train(replace(settings, solve_rate_low=1.0))


def test_no_step_is_taken_while_a_gold_fails(writer: Path, config: GrpoConfig, tmp_path: Path) -> None:
    broken = make_corpus(tmp_path / "broken", golds=["SELECT ghost FROM school", "SELECT name FROM school WHERE 1 = 0"])
    settings = replace(config, corpus=str(broken.path), databases=str(tmp_path / "broken" / "databases"), prompts=20)
    with pytest.raises(BadGolds, match="2 examples") as told:
        train(settings)
    assert "0000000000000009" in str(told.value)
    assert "000000000000000a" in str(told.value)
    selection = train(replace(settings, bad_golds="drop", steps=1)).manifest["selection"]
    assert (selection["bad_golds"], selection["kept"]) == (2, 9)


@pytest.mark.ci
def test_a_parent_gives_its_history_and_must_read_alike(config: GrpoConfig, corpus: Version, tmp_path: Path) -> None:
    parent = train(replace(config, steps=1, name="first"))
    child = train(replace(config, steps=1, model="first"))
    assert child.manifest["parent"] == parent.name
    assert child.manifest["base_sha256"] == parent.manifest["base_sha256"]
    assert child.manifest["databases"] == parent.manifest["databases"]
    for same in (parent.name, str(parent.path), str(parent.model)):  # however it is named
        assert train(replace(config, steps=1, model=same)).path == child.path
    copied = shutil.copytree(parent.model, tmp_path / "copied")  # nobody knows what it has read
    assert train(replace(config, steps=1, model=str(copied))).path != child.path
    with pytest.raises(SettingsError, match="budget=250, turns=4; found 'compact', 400, 4"):
        train(replace(config, model="first", budget=400))
    held = make_corpus(tmp_path / "held", split={"mark": "", "databases": {"school": "test"}})
    with pytest.raises(SeenInTraining, match="holds back"):
        train(replace(config, model="first", corpus=str(held.path)))
    assert train(replace(config, model="first", corpus=str(held.path), allow_evaluated=True, steps=1)).path.is_dir()


def test_a_parent_is_asked_as_it_was_taught(config: GrpoConfig) -> None:
    """One that may ask back may go on to; one of another protocol, or whose tokenizer was changed, is refused."""
    parent = train(replace(config, steps=1, name="first"))
    manifest = dict(parent.manifest)
    after = replace(config, steps=1, model="first")
    write_json(parent.path / "manifest.json", {**manifest, "clarify": True})
    assert train(replace(after, name="asks")).manifest["clarify"] is True
    for change, told in ({"protocol": 1}, "protocol 1"), ({"framing": "plain"}, "the framing plain"):
        write_json(parent.path / "manifest.json", {**manifest, **change})
        with pytest.raises(SerialiserMismatch, match=told):
            train(replace(after, name="refused"))


@pytest.mark.parametrize("split", ["validation", "test"])
@pytest.mark.parametrize("mark", ["", "same-database"])
def test_what_is_evaluated_on_is_learnt_from_only_by_who_says_so(
    config: GrpoConfig, tmp_path: Path, split: str, mark: str
) -> None:
    version = make_corpus(tmp_path, split={"mark": mark, "databases": {}})
    with pytest.raises(SeenInTraining, match=f"split='{split}'.*set allow_evaluated"):
        train(replace(config, corpus=str(version.path), split=split))


def test_several_processes_make_another_run(corpus: Version, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    config, cold = GrpoConfig(corpus=str(corpus.path)), ColdStartConfig(corpus=str(corpus.path))
    start = None, tmp_path
    alone = grpo._fingerprint(config, corpus, start), cold_start._fingerprint(cold, corpus, [], start)
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert grpo._fingerprint(config, corpus, start) != alone[0]
    assert cold_start._fingerprint(cold, corpus, [], start) != alone[1]


def test_a_corpus_without_validation_rows_is_learnt_from_all_the_same(corpus: Version) -> None:
    config = ColdStartConfig(corpus=str(corpus.path), check_questions=4)
    with Sandbox(workers=1) as sandbox:
        assert cold_start._check(config, corpus, None, sandbox) is None


def test_a_bad_gold_is_said_in_words_on_the_terminal() -> None:
    assert issubclass(BadGolds, InWords)


@pytest.mark.slow
def test_a_killed_run_goes_on_as_if_nothing_had_been(
    config: GrpoConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed after random steps, perhaps while it writes a checkpoint; the losses are those of a quiet run, and so are
    those of SPA-RL's head, which goes on with its weights and its optimiser's state."""
    monkeypatch.setattr(grpo, "training_code_version", lambda: "fixed")  # whoever edits the code meanwhile
    config = replace(config, steps=6, save_steps=2, advantage="spa")
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
    assert len({line["progress_loss"] for line in resumed.metrics()}) == 6
    assert resumed.manifest["resumed_from"] is not None
    assert [_lasting(line) for line in resumed.metrics()] == [_lasting(line) for line in quiet.metrics()]
    assert resumed.manifest["model_sha256"] == quiet.manifest["model_sha256"]


@pytest.mark.slow
def test_two_processes_learn_together(config: GrpoConfig, tmp_path: Path) -> None:
    settings = tmp_path / "settings.json"
    settings.write_text(json.dumps(settings_to(config)), encoding="utf-8")
    launch = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]  # as accelerate does with GPUs
    done = subprocess.run(
        [sys.executable, *launch, "--module", "agro_train.grpo", "--config", str(settings)],
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    (run,) = runs_of(Path(config.models), "grpo")
    assert [line for line in done.stdout.splitlines() if line.startswith("grpo: ")] == [f"grpo: {run.path}"]
    lines = list(run.metrics())
    assert [line["step"] for line in lines] == [1, 2]
    for line in lines:
        assert line["groups"] == 2  # of each process
        assert line["right"] * 32 == pytest.approx(round(line["right"] * 32))  # a mean over the rollouts of both


def _lasting(line: dict[str, Any]) -> dict[str, Any]:
    """What does not depend on the clock."""
    return {name: value for name, value in line.items() if "second" not in name and name != "environment_share"}

"""`agro train`: the training programs on a terminal."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from train.small import make_split_corpus
from train.tiny import make_tiny_model

from agro_train.cli import agro
from agro_train.runs.store import read_metrics, runs_of

SETTINGS = {"max_length": 2_000, "embedding_model": "structural", "batch": 2, "micro_batch": 2, "check_questions": 0}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    make_split_corpus(tmp_path)
    make_tiny_model(tmp_path / "tiny")
    places = {"models": str(tmp_path / "models"), "cache": str(tmp_path / "cache"), "trajectories": str(tmp_path)}
    settings = SETTINGS | places | {"model": str(tmp_path / "tiny")}
    (tmp_path / "settings.json").write_text(json.dumps(settings))
    return tmp_path


def arguments(folder: Path, *more: str) -> list[str]:
    known = ["--corpus", str(folder / "school"), "--databases", str(folder / "databases")]
    return ["train", "cold-start", *known, "--config", str(folder / "settings.json"), *more]


def test_a_cold_start_from_the_terminal(folder: Path) -> None:
    done = CliRunner().invoke(agro, arguments(folder, "--examples", "8", "--json"), catch_exceptions=False)
    assert done.exit_code == 0, done.stderr
    shown = json.loads(done.stdout)
    (run,) = runs_of(folder / "models", "cold-start")
    assert shown["run"] == run.name
    assert shown["manifest"]["config"]["examples"] == 8
    assert shown["manifest"]["corpus"]["name"] == "school"
    assert "cold_start step 4 of 4: loss" in done.stderr


def test_what_cannot_be_trained_is_said(folder: Path) -> None:
    (folder / "settings.json").write_text(json.dumps({"epoch": 2}))
    done = CliRunner().invoke(agro, arguments(folder))
    assert "did you mean 'epochs'?" in str(done.exception)
    done = CliRunner().invoke(agro, ["train", "grpo", "--corpus", str(folder / "nothing")])
    assert "not a corpus version" in str(done.exception)


def test_settings_are_checked_before_a_corpus_is_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "settings.json").write_text(json.dumps({"learning_rate": -1}))
    for verb in ("cold-start", "grpo"):
        done = CliRunner().invoke(agro, ["train", verb, "--config", "settings.json"])
        assert str(done.exception) == "settings.json: learning_rate is -1: expected at least 0"
        done = CliRunner().invoke(agro, ["train", verb])
        assert "there is no corpus below datasets" in str(done.exception)


def test_what_cannot_be_learnt_from_is_said_and_leaves_nothing(folder: Path) -> None:
    def told(**changes: str) -> str:
        settings = (
            json.loads((folder / "settings.json").read_text()) | {"databases": str(folder / "databases")} | changes
        )
        (folder / "pairs.json").write_text(json.dumps([{"db_id": "school", "question": "Which?"}]))
        (folder / "these.json").write_text(json.dumps(settings))
        done = CliRunner().invoke(agro, ["train", "cold-start", "--config", str(folder / "these.json")])
        assert not (folder / "models" / "cold-start").exists()
        return str(done.exception)

    assert "pairs.json: no row has SQL" in told(pairs=str(folder / "pairs.json"))
    nowhere = {"pairs": str(folder / "nowhere.json"), "model": "no/model"}  # the Hub is not asked
    assert told(**nowhere) == f"pairs: {folder / 'nowhere.json'}: no such file or folder"


@pytest.mark.parametrize(("option", "value"), [("--lora", "-1"), ("--seed", "-5"), ("--name", "../evil")])
def test_options_that_cannot_be_are_refused(option: str, value: str) -> None:
    done = CliRunner().invoke(agro, ["train", "cold-start", option, value])
    assert (f"'{option}'" in done.output) if option != "--name" else ("name of a folder" in str(done.exception))


@pytest.mark.slow
def test_two_processes_write_one_run(folder: Path) -> None:
    settings = json.loads((folder / "settings.json").read_text())
    known = {"corpus": str(folder / "school"), "databases": str(folder / "databases"), "examples": 8}
    (folder / "settings.json").write_text(json.dumps(settings | known))
    launch = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]  # as accelerate does with GPUs
    done = subprocess.run(
        [sys.executable, *launch, "--module", "agro_train.cold_start", "--config", str(folder / "settings.json")],
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    (run,) = runs_of(folder / "models", "cold-start")
    assert [line for line in done.stdout.splitlines() if line.startswith("cold start: ")] == [f"cold start: {run.path}"]
    assert run.manifest["steps"] == 2  # 8 trajectories, 2 processes, 2 at a time
    assert len([line for line in read_metrics(run.path / "metrics.jsonl") if line.get("final")]) == 1

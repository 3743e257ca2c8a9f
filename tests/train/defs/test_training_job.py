"""The jobs of training, as the README runs them, with a tiny model on a tiny corpus."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
import yaml
from train.small import make_split_corpus, make_writer, prompts_of

from agro_data.defs.pools import GPU
from agro_train.definitions import defs
from agro_train.runs.store import PROMOTED, NoRun, find_run

ROOT = Path(__file__).resolve().parents[3]


def run_config(folder: Path, **changes: dict[str, Any]) -> Path:
    ops: dict[str, dict[str, Any]] = {
        "cold_start_trajectories": {"examples": 8},
        "cold_start_model": {
            "batch": 2,
            "micro_batch": 2,
            "learning_rate": 1e-4,
            "epochs": 5,
            "freeze": 0.0,  # with one of its two layers so small a model learns too little in twenty steps
            "settings": {"max_length": 2_000, "check_questions": 2},
        },
        "grpo_model": {
            "steps": 2,
            "prompts": 4,
            "candidates": 8,
            "prompts_per_step": 2,
            "learning_rate": 1e-3,
            "group": 8,
            "settings": {"temperature": 0.5},  # at 0.85 none of a model this small is in the format
        },
        "model_evaluation": {"limit": 4},
    }
    for op, values in changes.items():
        ops[op] |= values
    config = {
        "resources": {
            "place": {"config": {"datasets": str(folder), "workers": 1}},
            "training": {"config": {"model": str(folder / "writer"), "models": str(folder / "models")}},
        },
        "ops": {op: {"config": values} for op, values in ops.items()},
    }
    path = folder / "run.yaml"
    path.write_text(yaml.safe_dump(config))
    return path


def execute(job: str, config: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    home = folder / "home"
    home.mkdir(exist_ok=True)
    shutil.copy(ROOT / "dagster_home" / "dagster.yaml", home)
    return subprocess.run(
        ["bash", "-c", f"source env.sh && dagster job execute -j {job} -c {config}"],
        cwd=ROOT,
        env=os.environ | {"DAGSTER_HOME": str(home), "AGRO_CACHE": str(folder / "cache")},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
def test_the_whole_chain(tmp_path: Path) -> None:
    make_writer(tmp_path / "writer", prompts_of(make_split_corpus(tmp_path)))
    done = execute("train_grpo", run_config(tmp_path), tmp_path)
    said = done.stdout + done.stderr
    assert done.returncode == 0, said[-6000:]
    assert re.search(r"corpus: school v0001-00000000; model: .*writer; 8 trajectories", said)
    assert re.search(r"promotion, by strict-ts on 4 questions: grpo/r0001-\w+ ", said)
    assert re.search(r"promoted model: ", said)
    run = find_run(tmp_path / "models", "grpo")
    assert run.manifest["parent"].startswith("cold-start/r0001-")
    assert run.settings["workers"] == 1  # of the place
    assert list(run.path.rglob("events.out.tfevents.*"))
    try:
        now = find_run(tmp_path / "models", PROMOTED).name
    except NoRun:
        now = "none"
    assert f"promoted model: {now}" in said


@pytest.mark.slow
def test_nothing_learned_is_a_failure(tmp_path: Path) -> None:
    make_writer(tmp_path / "writer", prompts_of(make_split_corpus(tmp_path)))
    config = run_config(tmp_path, cold_start_model={"learning_rate": 0.0})
    done = execute("train_grpo", config, tmp_path)
    said = done.stdout + done.stderr
    assert done.returncode != 0
    assert re.search(r"0 of \d+ tensors changed, .* nothing was learned", said)
    assert not (tmp_path / "models" / "grpo").exists()


@pytest.mark.ci
def test_a_typo_for_a_later_step_is_told_before_the_first(tmp_path: Path) -> None:
    done = execute("train_grpo", run_config(tmp_path, model_evaluation={"settings": {"sampels": 4}}), tmp_path)
    said = done.stdout + done.stderr
    assert done.returncode != 0
    assert "did you mean 'samples'?" in said
    assert "there is no corpus" not in said  # which would be looked for next


def test_settings_that_cannot_be_used_are_told_while_others_train(tmp_path: Path) -> None:
    one_each = {"concurrency": {"pools": {"granularity": "op", "default_limit": 1}}, "telemetry": {"enabled": False}}
    config = yaml.safe_load(run_config(tmp_path, grpo_model={"settings": {"stepz": 4}}).read_text())
    with dg.instance_for_test(overrides=one_each) as instance:
        instance.event_log_storage.initialize_concurrency_limit_to_default(GPU)
        assert instance.event_log_storage.claim_concurrency_slot(GPU, "another run", "trains").is_claimed
        done = defs.resolve_job_def("train_grpo").execute_in_process(
            run_config=config, instance=instance, raise_on_error=False
        )
    (failed,) = [event for event in done.all_events if event.event_type_value == "STEP_FAILURE"]
    assert "did you mean 'steps'?" in str(failed.step_failure_data.user_failure_data.description)


@pytest.mark.parametrize(
    ("job", "told"),
    [
        ("train_grpo", "model_evaluation: split: .*no rows in split 'test'; splits with rows: train, validation"),
        ("train_cold_start", "training: model '.*writer': no such folder"),  # it evaluates nothing
    ],
)
def test_a_corpus_without_rows_to_evaluate_on_is_told_before_it_is_learnt_from(
    tmp_path: Path, job: str, told: str
) -> None:
    (make_split_corpus(tmp_path).path / "data" / "test-00000.parquet").unlink()
    config = yaml.safe_load(run_config(tmp_path).read_text())
    known = {node.name for node in defs.resolve_job_def(job).nodes}
    config["ops"] = {op: given for op, given in config["ops"].items() if op in known}
    with dg.instance_for_test() as instance:
        done = defs.resolve_job_def(job).execute_in_process(run_config=config, instance=instance, raise_on_error=False)
    failed, *_ = [event for event in done.all_events if event.event_type_value == "STEP_FAILURE"]
    assert re.match(told, str(failed.step_failure_data.user_failure_data.description))


def test_without_a_corpus_one_line_says_what_to_run(tmp_path: Path) -> None:
    done = execute("train_grpo", run_config(tmp_path), tmp_path)
    assert done.returncode != 0
    told, end = done.stderr.splitlines()[-2:]
    assert told.startswith(f"cold_start_trajectories: there is no corpus below {tmp_path}: run `make corpus`")
    assert "Error: Run" in end

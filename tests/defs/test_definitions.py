"""The Dagster side: what is defined, that it is documented, and the commands of the README."""

from __future__ import annotations

import itertools
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from making import make_school
from ui.server import running_ui

from agro_data.publish.card import COLUMNS
from agro_data.records import EXAMPLE
from agro_train.definitions import defs

ROOT = Path(__file__).resolve().parents[2]

BESIDE = {"migrated_corpus", "aligned_corpus"}  # branch off the corpus, each by a job of its own
SNAPSHOT = Path(__file__).with_name("definitions.txt")


def described() -> str:
    """The graph as text: each asset with what it needs, its kinds, pool, automation, checks; jobs with what they run;
    sensors and schedules with what they start."""
    graph = defs.resolve_asset_graph()
    lines: list[str] = []
    for key in graph.toposorted_asset_keys:
        node = graph.get(key)
        needs = ", ".join(sorted(parent.to_user_string() for parent in node.parent_keys)) or "nothing"
        turns = [f"pool {pool}" for pool in sorted(node.pools or ())]
        label = node.automation_condition.get_label() if node.automation_condition else None
        says = [*turns, *([f"when {label}"] if label else []), *(["freshness"] if node.freshness_policy else [])]
        more = f" {'; '.join(says)}" if says else ""
        lines.append(f"{node.group_name}/{key.to_user_string()} <- {needs} [{', '.join(sorted(node.kinds))}]{more}")
        for check in sorted(node.check_keys, key=lambda check: check.name):
            lines.append(f"  {check.name}: {'blocks' if graph.get(check).blocking else 'warns'}")
    for job in sorted(defs.resolve_all_job_defs(), key=lambda job: job.name):
        if not job.name.startswith("__"):
            keys = sorted(key.to_user_string() for key in job.asset_layer.executable_asset_keys)
            runs = keys or sorted(check.to_user_string() for check in job.asset_layer.asset_graph.asset_check_keys)
            lines.append(f"job {job.name} ({job.executor_def.name}): {', '.join(runs or job.graph.node_dict)}")
    repository = defs.get_repository_def()
    for sensor in sorted(repository.sensor_defs, key=lambda sensor: sensor.name):
        lines.append(
            f"sensor {sensor.name} ({sensor.sensor_type.value.lower()}, {sensor.default_status.value.lower()})"
        )
    for schedule in sorted(repository.schedule_defs, key=lambda schedule: schedule.name):
        status = schedule.default_status.value.lower()
        lines.append(f"schedule {schedule.name} ({schedule.cron_schedule}, {status}): {schedule.job_name}")
    return "\n".join(lines) + "\n"


def test_the_graph_is_the_one_we_mean() -> None:
    assert described() == SNAPSHOT.read_text(), (
        "if this is meant: PYTHONPATH=tests python tests/defs/test_definitions.py"
    )


def test_the_chain_reads_left_to_right() -> None:
    graph = defs.resolve_asset_graph()
    keys = graph.toposorted_asset_keys
    for group, first in (("corpus", "nothing"), ("training", "corpus")):
        chain = [key for key in keys if graph.get(key).group_name == group and key.to_user_string() not in BESIDE]
        for left, right in itertools.pairwise(chain):
            assert left in graph.get(right).parent_keys
        parents = {parent.to_user_string() for parent in graph.get(chain[0]).parent_keys}
        assert (parents or {"nothing"}) == {first}


def test_every_asset_and_check_says_what_it_is() -> None:
    graph = defs.resolve_asset_graph()
    for node in graph.asset_nodes:
        assert node.description, node.key
        assert node.owners, node.key
        for key in node.check_keys:
            assert graph.get(key).description, key


def test_a_setting_that_an_asset_does_not_have_is_refused() -> None:
    """Those of a build are all of `databases`: given to `corpus`, they would change nothing and say nothing."""
    for job in defs.resolve_all_job_defs():
        for key in job.asset_layer.executable_asset_keys:
            given = {"ops": {key.to_user_string(): {"config": {"sise": 40}}}}
            with pytest.raises(dg.DagsterInvalidConfigError, match='unexpected config entry "sise"'):
                dg.validate_run_config(job, given)


@pytest.mark.parametrize(
    ("job", "op", "config", "said"),
    [
        (
            "build_corpus",
            "databases",
            {"values": "syn", "wording": "writer"},
            r"values not in enum.*wording not in enum",
        ),
        ("train_grpo", "cold_start_trajectories", {"selection": "any"}, "selection not in enum .*diverse.*random"),
        ("train_grpo", "grpo_model", {"reward": "mine"}, "reward not in enum .*arctic"),
        (
            "publish_corpus",
            "published_corpus",
            {"personal_data": "Drop"},
            "license.*repo_id.*source_licenses.*personal_data not in enum",
        ),
    ],
)
def test_a_choice_that_cannot_be_is_refused_by_the_launchpad(
    job: str, op: str, config: dict[str, Any], said: str
) -> None:
    with pytest.raises(dg.DagsterInvalidConfigError, match=rf"(?s){said}"):
        dg.validate_run_config(defs.resolve_job_def(job), {"ops": {op: {"config": config}}})


def test_the_launchpad_opens_on_all_settings() -> None:
    """Of a job with a default run config it shows that alone."""
    assert not [job.name for job in defs.resolve_all_job_defs() if job.run_config]


# What only a run needs, each a fifth of a second and more: `bench.loading` says what is left.
LATER = {"torch", "transformers", "trl", "vllm", "datasets", "sentence_transformers", "inflect", "wordninja"}


def test_definitions_load_without_what_only_a_run_needs() -> None:
    code = (
        "import sys; from agro_train.definitions import defs; defs.resolve_asset_graph(); defs.resolve_all_job_defs();"
        "print(*{name.partition('.')[0] for name in sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert "dagster" in done.stdout.split()
    assert not LATER & set(done.stdout.split())


def test_every_column_of_the_corpus_is_explained() -> None:
    assert set(COLUMNS) == set(EXAMPLE)


def environment(tmp_path: Path) -> dict[str, str]:
    home = tmp_path / "home"
    home.mkdir()
    shutil.copy(ROOT / "dagster_home" / "dagster.yaml", home)
    return os.environ | {"DAGSTER_HOME": str(home), "AGRO_CACHE": str(tmp_path / "cache")}


def run_config(tmp_path: Path) -> Path:
    make_school(tmp_path / "school.sqlite")
    config = tmp_path / "run.yaml"
    config.write_text(
        f"""
resources:
  place:
    config: {{datasets: "{tmp_path / "out"}", workers: 1}}
ops:
  databases:
    config: {{databases: "{tmp_path / "school.sqlite"}", name: school, size: 30, embedding_model: structural}}
"""
    )
    return config


@pytest.mark.ci
@pytest.mark.parametrize(
    "command",
    [
        "dagster job execute -j build_corpus -c {config}",
        pytest.param("dg launch --job build_corpus --config {config}", marks=pytest.mark.slow),
    ],
)
def test_the_job_runs_as_the_readme_says(command: str, tmp_path: Path) -> None:
    config = run_config(tmp_path)
    line = f"source env.sh && {command.format(config=config)}"
    done = subprocess.run(
        ["bash", "-c", line], cwd=ROOT, env=environment(tmp_path), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    said = done.stdout + done.stderr
    assert re.search(r"verified: [\d,]+ of [\d,]+ candidates, [\d,.]+ candidates/s, done in", said)
    assert "DEBUG" not in said
    assert "superseded" not in said
    (latest,) = (tmp_path / "out").glob("school/latest")
    version = latest.parent / latest.read_text().strip()
    assert (version / "manifest.json").exists()


def test_commands_and_the_ui_speak_of_the_same_code_location() -> None:
    """Dagster keeps switches by the location's name: `dagster sensor start` is for the daemon of `dg dev`."""
    told = subprocess.run(
        ["bash", "-c", "unset DAGSTER_MODULE_NAME; source env.sh; echo $DAGSTER_MODULE_NAME"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["dg"]["project"]
    assert project["code_location_name"] == told.stdout.strip()


@pytest.mark.slow
def test_the_ui_starts_as_the_readme_says(tmp_path: Path) -> None:
    with running_ui(tmp_path) as ui:
        assert ui.answers()


if __name__ == "__main__":
    SNAPSHOT.write_text(described())

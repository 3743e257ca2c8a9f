"""The Dagster side: what is defined, that it is documented, and the commands of the README."""

from __future__ import annotations

import itertools
import os
import subprocess
from pathlib import Path

import dagster as dg
import pytest
from making import make_school

from agro_train.definitions import defs

ROOT = Path(__file__).resolve().parents[2]

CHAIN = [
    "databases", "profiles", "candidates", "verified", "questions",
    "distinct", "embeddings", "selection", "corpus", "corpus_report",
]  # fmt: skip


def test_one_group_reads_left_to_right() -> None:
    graph = defs.resolve_asset_graph()
    for left, right in itertools.pairwise(CHAIN):
        assert dg.AssetKey(left) in graph.get(dg.AssetKey(right)).parent_keys
    assert {graph.get(key).group_name for key in graph.get_all_asset_keys()} == {"corpus"}


def test_every_asset_says_what_it_is() -> None:
    for node in defs.resolve_asset_graph().asset_nodes:
        assert node.description, node.key
        assert node.owners, node.key
        assert node.kinds, node.key


def test_the_job_selects_every_asset() -> None:
    job = defs.resolve_job_def("build_corpus")
    assert {key.to_user_string() for key in job.asset_layer.executable_asset_keys} == set(CHAIN)


def test_checks_block_the_corpus() -> None:
    graph = defs.resolve_asset_graph()
    for asset in ("verified", "selection", "corpus"):
        keys = graph.get(dg.AssetKey(asset)).check_keys
        assert keys, asset
        assert all(graph.get(key).blocking for key in keys)


def environment(tmp_path: Path) -> dict[str, str]:
    home = tmp_path / "home"
    home.mkdir()
    (home / "dagster.yaml").write_text("telemetry:\n  enabled: false\n")
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


@pytest.mark.parametrize(
    "command",
    ["dagster job execute -j build_corpus -c {config}", "dg launch --job build_corpus --config {config}"],
)
def test_the_job_runs_as_the_readme_says(command: str, tmp_path: Path) -> None:
    config = run_config(tmp_path)
    line = f"source env.sh && {command.format(config=config)}"
    done = subprocess.run(
        ["bash", "-c", line], cwd=ROOT, env=environment(tmp_path), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    (latest,) = (tmp_path / "out").glob("school/latest")
    version = latest.parent / latest.read_text().strip()
    assert (version / "manifest.json").exists()

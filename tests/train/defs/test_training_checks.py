"""What the checks of training say of a run, and where they stop what follows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from agro_train.defs.asked import _side_by_side
from agro_train.defs.checks import ERROR, WARN, grpo_parameters_moved, loss_went_down
from agro_train.defs.training import Training
from agro_train.runs.store import METRICS, ModelRun


def made(folder: Path, lines: list[dict[str, Any]], *, moved: bool = True) -> ModelRun:
    """A run with these metrics."""
    folder.mkdir(parents=True)
    facts = {"moved": moved, "share": float(moved), "changed": 5 * moved, "tensors": 5, "largest": 0.1 * moved}
    manifest = {"steps": len(lines), "parameters_moved": facts, "base_model": "base"}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    (folder / METRICS).write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return ModelRun(folder)


def checked(check: Any, run: ModelRun) -> dg.AssetCheckResult:
    found: dg.AssetCheckResult = check(str(run.path))
    return found


@pytest.mark.parametrize(
    ("line", "severity", "why"),
    [
        ({"informative_groups": 0.0}, WARN, "no group had attempts of different rewards"),
        ({"informative_groups": 0.0, "proved_groups": 1.0}, ERROR, "a higher learning rate"),
        ({"informative_groups": 0.5}, ERROR, "a higher learning rate"),
    ],
)
def test_where_nothing_was_to_be_learnt_an_unmoved_model_stops_nothing(
    tmp_path: Path, line: dict[str, float], severity: dg.AssetCheckSeverity, why: str
) -> None:
    still = checked(grpo_parameters_moved, made(tmp_path / "still", [line, line], moved=False))
    assert (still.passed, still.severity) == (False, severity)
    assert why in str(still.description)
    assert checked(grpo_parameters_moved, made(tmp_path / "moved", [line])).passed


@pytest.mark.parametrize(
    ("losses", "passed", "severity"),
    [([2.0], False, WARN), ([1.0, 2.0], False, WARN), ([2.0, 1.5, 1.0], True, ERROR), ([1.0, 2.0, 3.0], False, ERROR)],
)
def test_of_two_steps_nothing_is_told(
    tmp_path: Path, losses: list[float], passed: bool, severity: dg.AssetCheckSeverity
) -> None:
    found = checked(loss_went_down, made(tmp_path / "run", [{"loss": loss} for loss in losses]))
    assert (found.passed, found.severity) == (passed, severity)


def test_a_model_that_learnt_nothing_is_not_asked_beside_the_one_that_it_is(tmp_path: Path) -> None:
    from train.small import make_corpus

    corpus, training = make_corpus(tmp_path / "corpus"), Training(models=str(tmp_path))
    cold = made(tmp_path / "cold-start" / "r0001-00000000", [])
    for moved in (True, False):
        grpo = made(tmp_path / "grpo" / f"r000{1 + moved}-00000000", [], moved=moved)
        assert _side_by_side(cold, grpo, corpus, training) == ["base", cold.name, *([grpo.name] if moved else [])]

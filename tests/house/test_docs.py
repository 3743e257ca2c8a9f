"""What a user can set, read or call is in docs/reference.md."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from agro_data.config import BuildConfig
from agro_data.defs.assets import ASSETS
from agro_data.defs.checks import CHECKS
from agro_data.defs.jobs import JOBS
from agro_data.pairs.finding import KINDS
from agro_data.records import EXAMPLE, REJECTED
from agro_train.cli import agro
from agro_train.cold_start import ColdStartConfig
from agro_train.defs import assets, checks, jobs
from agro_train.evaluate import EvaluationConfig
from agro_train.grpo import GrpoConfig
from agro_train.verbs.train import train_group

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")

NAMES = [
    *(f"`{field.name}`" for field in fields(BuildConfig)),
    *(f"`{field.name}`" for kind in (EvaluationConfig, ColdStartConfig, GrpoConfig) for field in fields(kind)),
    *(f"`{column}`" for column in [*EXAMPLE, *REJECTED]),
    *(f"`agro {verb}`" for verb in agro.commands if verb != train_group.name),
    *(f"`agro train {verb}`" for verb in train_group.commands),
    *(f"`{asset.key.to_user_string()}`" for asset in [*ASSETS, *assets.ASSETS]),
    *(f"`{next(iter(check.check_keys)).name}`" for check in [*CHECKS, *checks.CHECKS]),
    *(f"`{job.name}`" for job in [*JOBS, *jobs.JOBS]),
    *(f"`{kind}`" for kind in KINDS),
]


@pytest.mark.parametrize("name", sorted(set(NAMES)))
def test_it_is_documented(name: str) -> None:
    assert name in REFERENCE


@pytest.mark.parametrize("field", fields(BuildConfig), ids=lambda f: f.name)
def test_the_default_in_the_reference_is_the_default(field: object) -> None:
    line = next(line for line in REFERENCE.splitlines() if line.startswith(f"| `{field.name}` |"))  # type: ignore[attr-defined]
    default = field.default  # type: ignore[attr-defined]
    if isinstance(default, int | float | str) and default != "":
        assert str(default) in line

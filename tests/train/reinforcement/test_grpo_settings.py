"""Settings of GRPO: what cannot be used is refused in words."""

from __future__ import annotations

import json
import math
from typing import Any, get_args

import pytest

from agro_train.programs.settings import SettingsError, settings_from, settings_to
from agro_train.reinforcement.config import GrpoConfig, Schedule


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"reward": "best"}, "expected one of agro"),
        ({"group": 1}, "at least 2"),
        ({"temperature": 0.0}, "above 0"),
        ({"solve_rate_low": 0.9}, "low <= high"),
        ({"iterations": 3}, "multiples"),
        ({"prompts": 4}, "at least prompts_per_step=8"),
        ({"precision": "bfloat16"}, "trains adapters"),
        ({"advantage": "pav", "resample": 1}, "set resample to 0"),
        ({"advantage": "pav", "pav_rollouts": 4}, "pav_rollouts=4: expected more than pav_best_of=4"),
        ({"names": True, "use_vllm": True}, "unset use_vllm"),
        ({"log_steps": 3}, "save_steps=10: expected a multiple of log_steps=3"),
        ({"pav_rollouts": 0}, "pav_rollouts is 0: expected at least 1"),
        ({"step": 3}, "did you mean 'steps'"),
        ({"pav_groups": 0}, "pav_groups is 0: expected at least 1"),
        ({"candidates": 0}, "candidates is 0: expected at least 1"),
        ({"gamma": 1.5}, "gamma=1.5: expected a share"),
        ({"epsilon": -0.1}, "epsilon is -0.1: expected at least 0"),
        ({"learning_rate": -1.0}, "learning_rate is -1: expected at least 0"),
        ({"learning_rate": math.nan}, "learning_rate is nan: expected a finite number"),
        ({"temperature": math.inf}, "temperature is inf: expected a finite number"),
        ({"omega": math.nan}, "omega is nan: expected a finite number"),
        ({"pav_alpha": -1.0}, "pav_alpha is -1: expected at least 0"),
        ({"advantage": "spa", "spa_beta": 50.0}, "spa_beta=50: expected below 1, what a right answer earns"),
        ({"advantage": "spa", "spa_beta": 0.9, "reward": "arctic"}, "spa_beta=0.9: expected below 0.9"),
        ({"lora": -1}, "lora is -1: expected at least 0"),
        ({"seed": -5}, "seed is -5: expected 0 to 4294967295"),
        ({"vllm_memory": 0.0}, "vllm_memory=0.0: expected a share above 0"),
        ({"kl_every": -1}, "kl_every is -1: expected at least 0"),
        ({"kl_every": 5, "iterations": 2}, "kl_every=5: expected 0, or a multiple of iterations=2"),
        ({"schedule": "cosin"}, "schedule='cosin': expected one of constant_with_warmup"),
        ({"name": "../evil"}, "name is '../evil': expected the name of a folder"),
    ],
)
def test_settings_that_cannot_be_are_refused(changes: dict[str, Any], told: str) -> None:
    with pytest.raises(SettingsError, match=told):
        settings_from(GrpoConfig, changes)


def test_a_micro_batch_parts_a_step() -> None:
    asked = [GrpoConfig(prompts_per_step=1, group=group, micro_batch=8) for group in (2, 8, 9, 12, 16)]
    assert [config.micro_batch for config in asked] == [2, 8, 3, 6, 8]


@pytest.mark.parametrize("name", get_args(Schedule))
def test_a_schedule_needs_nothing_but_the_steps_of_the_warm_up(name: str) -> None:
    import torch
    from transformers import get_scheduler

    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    assert get_scheduler(name, optimizer, num_warmup_steps=2, num_training_steps=8).get_last_lr()


def test_settings_are_json(config: GrpoConfig) -> None:
    assert settings_from(GrpoConfig, json.loads(json.dumps(settings_to(config)))) == config

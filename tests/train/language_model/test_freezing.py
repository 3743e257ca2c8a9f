"""Layers that are frozen stay as they are, and the others learn."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from train.small import TUNING, draft, grpo_config, make_corpus, make_writer, prompts_of
from train.tiny import make_tiny_model, make_tiny_other
from transformers import AutoModelForCausalLM

from agro_train.finetuning.fine_tune import fine_tune
from agro_train.grpo import train
from agro_train.language_model.freezing import freeze
from agro_train.language_model.tokens import Example
from agro_train.programs.settings import SettingsError

EXAMPLES = [Example([1, 5 + number, 9, 10, 11, 2], [0, 0, 1, 1, 1, 1]) for number in range(8)]
GPT2 = {"n_embd": 32, "n_layer": 2, "n_head": 4}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_model(tmp_path_factory.mktemp("base"))


def changed(before: Path, after: Path) -> set[str]:
    """The names of weights that differ."""
    one, other = (AutoModelForCausalLM.from_pretrained(path, dtype="bfloat16").state_dict() for path in (before, after))
    return {name for name in one if not one[name].equal(other[name])}


@pytest.mark.parametrize("further", [{}, {"share_prompts": True}, {"lora": 4}])
def test_only_the_upper_layers_learn(base: Path, tmp_path: Path, further: dict[str, Any]) -> None:
    started = draft(tmp_path / "run")
    fine_tune(base, EXAMPLES, replace(TUNING, learning_rate=1e-2, freeze=0.5, **further), started)
    names = changed(base, started.model)
    assert any(name.startswith("model.layers.1.") for name in names)
    assert not any(name.startswith(("model.layers.0.", "model.embed_tokens", "lm_head")) for name in names)


def test_a_run_that_was_interrupted_goes_on_alike(base: Path, tmp_path: Path) -> None:
    tuning = replace(TUNING, freeze=0.5)
    whole, broken = draft(tmp_path / "whole"), draft(tmp_path / "broken")
    fine_tune(base, EXAMPLES, tuning, whole)

    def stop(line: Any) -> None:
        if line.get("step") == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fine_tune(base, EXAMPLES, tuning, broken, report=stop)
    assert fine_tune(base, EXAMPLES, tuning, broken)["resumed_from"] == "checkpoint-4"
    assert changed(whole.model, broken.model) == set()


@pytest.mark.parametrize("checkpointing", [False, True])
def test_grpo_leaves_them_as_they_are(tmp_path: Path, checkpointing: bool) -> None:
    corpus = make_corpus(tmp_path / "corpus")
    writer = make_writer(tmp_path / "writer", prompts_of(corpus))
    config = grpo_config(corpus, writer, tmp_path / "models")
    run = train(replace(config, steps=1, learning_rate=1e-2, freeze=0.5, gradient_checkpointing=checkpointing))
    names = changed(writer, run.model)
    assert any(name.startswith("model.layers.1.") for name in names)
    assert not any(name.startswith(("model.layers.0.", "model.embed_tokens")) for name in names)


def test_layers_are_found_in_other_models(tmp_path: Path) -> None:
    module = AutoModelForCausalLM.from_pretrained(make_tiny_other(tmp_path / "other", "gpt2", **GPT2))
    freeze(module, 0.5)
    learns = {name for name, weights in module.named_parameters() if weights.requires_grad}
    assert any(".h.1." in name for name in learns)
    assert not any(".h.0." in name or ".wte." in name or ".wpe." in name for name in learns)


def test_one_layer_at_least_learns(base: Path) -> None:
    module = AutoModelForCausalLM.from_pretrained(base)
    with pytest.raises(SettingsError, match=r"freeze=0.9: none of the model's 2 layers would learn; .* at most 0.5"):
        freeze(module, 0.9)
    freeze(module, 0.0)
    assert all(weights.requires_grad for weights in module.parameters())

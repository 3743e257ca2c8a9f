"""Whether training moved a model is told of any folders that hold one, however their tensors are called."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from train.tiny import make_tiny_model
from transformers import AutoModelForCausalLM

from agro_data.config import ConfigError
from agro_train.language_model.moved import parameters_moved


@pytest.fixture
def before(tmp_path: Path) -> Path:
    return make_tiny_model(tmp_path / "before")


def _trained(before: Path, after: Path, by: float) -> Path:
    """The model with one weight of one tensor changed."""
    module = AutoModelForCausalLM.from_pretrained(before)
    with torch.no_grad():
        module.get_input_embeddings().weight[0, 0] += by
    module.save_pretrained(after)
    return after


def test_one_weight_is_seen(before: Path, tmp_path: Path) -> None:
    moved = parameters_moved(before, _trained(before, tmp_path / "after", 0.25))
    assert (moved.any, moved.changed) == (True, 1)
    assert moved.largest == pytest.approx(0.25)
    assert not parameters_moved(before, _trained(before, tmp_path / "same", 0.0)).any


def test_a_folder_whose_names_lack_the_prefix_is_compared_as_it_is_loaded(before: Path, tmp_path: Path) -> None:
    """GPT-2's on the Hub is such: training would have ended, after hours, without a model."""
    after = _trained(before, tmp_path / "after", 0.25)
    file = before / "model.safetensors"
    save_file({name.removeprefix("model."): tensor for name, tensor in load_file(file).items()}, file, {"format": "pt"})
    moved = parameters_moved(before, after)
    assert (moved.changed, moved.largest) == (1, pytest.approx(0.25))


@pytest.mark.parametrize("lost", [float("nan"), float("inf")])
def test_what_is_no_number_is_no_change(before: Path, tmp_path: Path, lost: float) -> None:
    """It would pass for the largest of changes, and a run for the newest model."""
    with pytest.raises(ConfigError, match=r"no numbers, the first in model\.embed_tokens\.weight: lower learning_rate"):
        parameters_moved(before, _trained(before, tmp_path / "after", lost))

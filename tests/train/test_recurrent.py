"""Models whose layers keep a state are refused before anything is trained or written with them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from train.small import cold_start_config, make_split_corpus
from train.tiny import make_tiny_model

from agro_data.config import ConfigError
from agro_train.cold_start import train
from agro_train.language_model.loading import load, refuse_recurrent


def hybrid(folder: Path) -> Path:
    """A model whose settings say that one of its layers is recurrent."""
    path = make_tiny_model(folder) / "config.json"
    facts = json.loads(path.read_text())
    facts |= {"model_type": "qwen3_next", "layer_types": ["linear_attention", "full_attention"]}
    path.write_text(json.dumps(facts))
    return folder


def test_a_recurrent_model_is_refused_in_words(tmp_path: Path) -> None:
    folder = hybrid(tmp_path / "hybrid")
    with pytest.raises(ConfigError, match=r"layers \(linear_attention\) keep a state.*--engine vllm"):
        load(str(folder), tmp_path)
    config = cold_start_config(make_split_corpus(tmp_path / "corpus"), folder)
    with pytest.raises(ConfigError, match="linear_attention"):
        train(config)
    assert not list(Path(config.trajectories).glob("*-trajectories"))  # nothing was made for it
    with pytest.raises(ConfigError, match="linear_attention"):
        train(replace(config, name="again"))


def test_a_model_that_attends_is_not(tmp_path: Path) -> None:
    refuse_recurrent(make_tiny_model(tmp_path / "tiny"))

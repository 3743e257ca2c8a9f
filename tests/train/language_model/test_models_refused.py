"""Models that cannot be trained or written with, for their layers or their files, are refused in words before that."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file, save_file
from train.small import TUNING, cold_start_config, grpo_config, make_corpus, make_split_corpus
from train.tiny import make_tiny_model, make_tiny_other
from transformers import AutoTokenizer

from agro_data.config import ConfigError
from agro_data.models import ModelMissing
from agro_train import grpo, teach
from agro_train.cold_start import train
from agro_train.finetuning.fine_tune import fine_tune
from agro_train.language_model.loading import load, refuse_recurrent, shares_prompts
from agro_train.language_model.reach import by_distance, reads, sees
from agro_train.language_model.tokens import Example
from agro_train.runs.store import Draft


def hybrid(folder: Path) -> Path:
    """A model whose settings say that one of its layers is recurrent."""
    make_tiny_model(folder)
    change(folder, model_type="qwen3_next", layer_types=["linear_attention", "full_attention"])
    return folder


def change(folder: Path, **facts: Any) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | facts))


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


def add_tokens(folder: Path, *tokens: str, special: bool = False) -> None:
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.add_tokens(list(tokens), special_tokens=special)
    tokenizer.save_pretrained(folder)


def leave_out_the_end(folder: Path) -> None:
    path = folder / "tokenizer_config.json"
    facts = json.loads(path.read_text())
    path.write_text(
        json.dumps({name: value for name, value in facts.items() if name not in ("eos_token", "pad_token")})
    )


def lose_a_tensor(folder: Path) -> None:
    path = folder / "model.safetensors"
    tensors = load_file(path)
    del tensors["model.layers.1.mlp.up_proj.weight"]
    save_file(tensors, path, metadata={"format": "pt"})


@pytest.mark.parametrize(
    ("harm", "told"),
    [
        (lose_a_tensor, r"lack 1 tensors of the model, the first model\.layers\.1\.mlp\.up_proj"),
        (lambda folder: (folder / "model.safetensors").write_bytes(b"cut"), "as a causal language model"),
        (lambda folder: add_tokens(folder, "<sql>"), "does not know.*'<sql>'"),
        (leave_out_the_end, "names no end token"),
        (
            lambda folder: (folder / "chat_template.jinja").write_text("{{ raise_exception('who is system?') }}"),
            "refuses a user's message alone: who is system?",
        ),
    ],
)
def test_a_base_that_cannot_be_trained_is_told_of_before_anything_is_made(
    tmp_path: Path, harm: Callable[[Path], object], told: str
) -> None:
    folder = make_tiny_model(tmp_path / "broken")
    harm(folder)
    config = cold_start_config(make_split_corpus(tmp_path / "corpus"), folder)
    for start in (train, teach.make):
        with pytest.raises((ModelMissing, ConfigError), match=rf"broken.*{told}"):
            start(config)
    assert not list(Path(config.trajectories).glob("*-trajectories"))


def test_training_reads_a_model_as_everyone_does(tmp_path: Path) -> None:
    """transformers fills with random numbers what files lack."""
    folder = make_tiny_model(tmp_path / "broken")
    lose_a_tensor(folder)
    with pytest.raises(ModelMissing, match="lack 1 tensors"):
        fine_tune(folder, [Example([5, 6, 7], [0, 1, 1])], TUNING, Draft(tmp_path, "0" * 64))


def test_a_token_for_images_needs_no_place_in_a_model_of_texts(tmp_path: Path) -> None:
    folder = make_tiny_model(tmp_path / "tiny")
    add_tokens(folder, "<image>", special=True)
    assert load(str(folder), tmp_path).tokenizer.convert_tokens_to_ids("<image>") == 400


FALCON = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "multi_query": False}
GPTJ = {"n_embd": 32, "n_layer": 2, "n_head": 4, "rotary_dim": 4, "n_positions": 4_096}


MISTRAL = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
MISTRAL |= {"num_key_value_heads": 2, "head_dim": 8, "sliding_window": 128}


@pytest.mark.parametrize(
    ("kind", "facts", "longest", "shares"),
    [
        ("gptj", GPTJ, 1, False),
        ("bloom", {"hidden_size": 32, "n_layer": 2, "n_head": 4}, 1, False),
        ("falcon", FALCON | {"alibi": True}, 1, False),
        ("falcon", FALCON | {"alibi": False}, 1, False),
        ("mistral", MISTRAL, 128, True),
        ("mistral", MISTRAL, 129, False),
    ],
)
def test_which_models_can_share_prompts(
    tmp_path: Path, kind: str, facts: dict[str, Any], longest: int, shares: bool
) -> None:
    assert shares_prompts(make_tiny_other(tmp_path / kind, kind, **facts), longest) == shares


@pytest.mark.parametrize(("kind", "facts"), [("gptj", GPTJ), ("mistral", MISTRAL)])
def test_trajectories_have_rows_of_their_own_where_a_model_cannot_read_shared_ones(
    tmp_path: Path, kind: str, facts: dict[str, Any]
) -> None:
    config = cold_start_config(make_split_corpus(tmp_path / "corpus"), make_tiny_other(tmp_path / kind, kind, **facts))
    found = train(config).manifest
    apart = train(replace(config, share_prompts=False)).manifest
    assert not found["shared_prompts"]
    assert found["model_sha256"] == apart["model_sha256"]


def test_attempts_are_read_apart_where_attention_goes_by_distance(tmp_path: Path) -> None:
    model = make_tiny_other(tmp_path / "falcon", "falcon", **FALCON, alibi=True)
    config = grpo_config(make_corpus(tmp_path / "corpus"), model, tmp_path / "models")
    still = replace(config, steps=2, kl_every=1, learning_rate=0.0, group=2, micro_batch=4)
    *_, line = grpo.train(still).metrics()
    assert line["kl"] == pytest.approx(0, abs=1e-7)


@pytest.mark.parametrize(
    ("harm", "told"),
    [
        (lambda folder: change(folder, model_type="no_such_architecture"), "as a model of transformers"),
        (lambda folder: (folder / "tokenizer.json").unlink(), "with its tokenizer"),
        (lambda folder: (folder / "model.safetensors").write_bytes(b"cut"), "as a causal language model"),
        (lambda folder: change(folder, num_hidden_layers=3), "lack .* tensors of the model"),
        (lambda folder: add_tokens(folder, "<sql>", "<think>"), "2 tokens that its model, .*, does not know.*'<sql>'"),
        (leave_out_the_end, "names no end token"),
    ],
)
def test_a_folder_that_holds_no_model_is_told_in_words(
    tmp_path: Path, harm: Callable[[Path], object], told: str
) -> None:
    folder = make_tiny_model(tmp_path / "broken")
    harm(folder)
    with pytest.raises(ModelMissing, match=rf"broken.*{told}"):
        load(str(folder), tmp_path)


@pytest.mark.parametrize(
    ("facts", "window"),
    [
        ({}, math.inf),
        ({"layer_types": ["full_attention"], "sliding_window": 8}, math.inf),
        ({"layer_types": ["full_attention", "sliding_attention"], "sliding_window": 512}, 512),
        ({"sliding_window": 4_096}, 4_096),
        ({"attention_layers": ["global", "local"], "window_size": 256}, 256),
        ({"attention_layers": ["global", "global"], "window_size": 256}, math.inf),
    ],
)
def test_how_far_a_model_looks_back(facts: dict[str, Any], window: float) -> None:
    from transformers import PretrainedConfig

    assert sees(PretrainedConfig(**facts)) == window


@pytest.mark.parametrize("kind", ["llama", "falcon", "mpt"])
def test_who_sees_how_far_off_a_token_stands(kind: str) -> None:
    from transformers import AutoConfig

    assert not by_distance(AutoConfig.for_model(kind, **({"attn_config": {"alibi": False}} if kind == "mpt" else {})))
    if kind != "llama":
        said = {"attn_config": {"alibi": True}} if kind == "mpt" else {"alibi": True}
        assert by_distance(AutoConfig.for_model(kind, **said))


@pytest.mark.parametrize(
    ("kind", "facts", "most"),
    [
        ("gpt2", {"n_positions": 64}, 64),
        ("mpt", {"max_seq_len": 128}, 128),
        ("llama", {"max_position_embeddings": 256}, 256),
        ("bloom", {}, math.inf),
    ],
)
def test_how_much_a_model_reads(kind: str, facts: dict[str, int], most: float) -> None:
    from transformers import AutoConfig

    assert reads(AutoConfig.for_model(kind, **facts)) == most


def test_a_model_that_attends_is_not(tmp_path: Path) -> None:
    refuse_recurrent(make_tiny_model(tmp_path / "tiny"))

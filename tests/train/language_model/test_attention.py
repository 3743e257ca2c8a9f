"""Folding heads changes the speed of attention, not what it gives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from train.tiny import make_tiny_model

from agro_train.language_model.attention import FOLDED, folded_attention
from agro_train.language_model.loading import load


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_model(tmp_path_factory.mktemp("tiny"))


def test_logits_are_those_of_the_usual_attention(folder: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM

    ours = load(str(folder), Path("unused")).network
    usual = AutoModelForCausalLM.from_pretrained(folder, attn_implementation="sdpa").eval()
    assert ours.config._attn_implementation == FOLDED
    assert ours.config.num_key_value_heads < ours.config.num_attention_heads
    prompt = torch.tensor([[9, 9, 5, 6, 7], [4, 5, 6, 7, 8]])
    mask = torch.tensor([[0, 0, 1, 1, 1], [1, 1, 1, 1, 1]])
    logits = []
    for module in (ours, usual):
        with torch.no_grad():
            read = module(input_ids=prompt, attention_mask=mask, use_cache=True)
            seen = torch.cat([mask, torch.ones(2, 1, dtype=torch.long)], dim=1)
            step = torch.tensor([[11], [12]])
            written = module(
                input_ids=step,
                attention_mask=seen,
                position_ids=seen.sum(dim=1, keepdim=True) - 1,
                past_key_values=read.past_key_values,
            )
        logits += [read.logits, written.logits]
    torch.testing.assert_close(logits[0][:, -1], logits[2][:, -1])
    torch.testing.assert_close(logits[1], logits[3])


def test_how_a_kernel_lays_out_its_result_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a GPU, and under a mask, PyTorch takes a kernel that puts the heads inside the queries."""
    import torch
    from torch.nn import functional

    usual = functional.scaled_dot_product_attention
    chance = torch.Generator().manual_seed(0)
    query = torch.randn(2, 6, 1, 8, generator=chance)
    key, value = (torch.randn(2, 2, 5, 8, generator=chance) for _ in range(2))
    module = torch.nn.Module().eval()
    expected, _ = folded_attention(module, query, key, value, None)

    def other(*tensors: torch.Tensor, **settings: Any) -> torch.Tensor:
        return usual(*tensors, **settings).transpose(1, 2).contiguous().transpose(1, 2)

    monkeypatch.setattr(functional, "scaled_dot_product_attention", other)
    torch.testing.assert_close(folded_attention(module, query, key, value, None)[0], expected)


def test_a_saved_model_is_loaded_by_anyone(folder: Path, tmp_path: Path) -> None:
    from transformers import AutoModelForCausalLM

    load(str(folder), Path("unused")).network.save_pretrained(tmp_path)
    assert FOLDED not in (tmp_path / "config.json").read_text(encoding="utf-8")
    assert AutoModelForCausalLM.from_pretrained(tmp_path).config._attn_implementation == "sdpa"

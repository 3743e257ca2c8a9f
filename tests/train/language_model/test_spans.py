"""Attention within rows that lie end to end: that of a mask over all pairs of tokens, without the pairs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from train.tiny import make_tiny_model

from agro_train.language_model.attention import fold_heads
from agro_train.language_model.shared_prompts import collate, lay_row
from agro_train.language_model.spans import Spans
from agro_train.language_model.tokens import Example

rows_of_spans = st.lists(
    st.tuples(st.integers(0, 6), st.lists(st.integers(1, 5), min_size=1, max_size=3)).map(
        lambda row: [row[0], *row[1]]
    ),
    min_size=1,
    max_size=3,
)


def pairs(rows: list[list[int]]) -> torch.Tensor:
    """Which token sees which, by their rows and tails."""
    places = [(row, span) for row, spans in enumerate(rows) for span, length in enumerate(spans) for _ in range(length)]
    return torch.tensor(
        [
            [
                place >= other and places[place][0] == row and span in (0, places[place][1])
                for other, (row, span) in enumerate(places)
            ]
            for place in range(len(places))
        ]
    )


@pytest.mark.parametrize("way", [Spans.one_by_one, Spans.side_by_side])
@given(rows=rows_of_spans, heads=st.sampled_from([1, 2, 4]), seed=st.integers(0, 99))
def test_attention_and_gradient_are_those_of_a_mask_of_pairs(
    way: Any, rows: list[list[int]], heads: int, seed: int
) -> None:
    torch.manual_seed(seed)
    tokens = sum(map(sum, rows))
    asked = torch.randn(1, 4, tokens, 8, requires_grad=True)
    keys, values = (torch.randn(1, heads, tokens, 8, requires_grad=True) for _ in range(2))
    weights = torch.randn(1, 4, tokens, 8)
    every = [tensor.repeat_interleave(4 // heads, dim=1) for tensor in (keys, values)]
    scores = (asked @ every[0].mT * 0.3).masked_fill(~pairs(rows), -torch.inf)
    expected = scores.softmax(-1) @ every[1]
    found = way(Spans(rows), asked, keys, values, 0.3, 0.0)
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)
    for one, other in zip(
        torch.autograd.grad((found * weights).sum(), (asked, keys, values)),
        torch.autograd.grad((expected * weights).sum(), (asked, keys, values)),
        strict=True,
    ):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-5)


@given(rows_of_spans)
def test_spans_go_through_a_model_as_a_mask(rows: list[list[int]]) -> None:
    mask = Spans(rows).as_mask()
    assert mask.ndim == 4
    held = Spans.of(mask)
    assert held == Spans(rows)
    assert Spans.of(mask) is held  # read once
    assert Spans.of(mask.clone()) == held


@pytest.mark.parametrize("mask", [None, torch.ones(1, 1, 2, 2, dtype=torch.bool), torch.zeros(1, 1, 2, 2)])
def test_a_mask_of_pairs_holds_no_spans(mask: torch.Tensor | None) -> None:
    assert Spans.of(mask) is None


def test_only_attention_that_knows_spans_takes_them(tmp_path: Path) -> None:
    """Another would let every token see every other, which no figure would tell."""
    from transformers import AutoModelForCausalLM

    network = AutoModelForCausalLM.from_pretrained(make_tiny_model(tmp_path), attn_implementation="sdpa")
    inputs = collate([lay_row([Example([5, 6, 7, 8], [0, 0, 1, 1]), Example([5, 6, 9], [0, 0, 1])])])
    with pytest.raises(RuntimeError, match="attn_mask"):
        network(**inputs)
    fold_heads(network)
    assert network(**inputs).logits.shape[1] == 6


def test_what_is_computed_twice_to_save_memory_is_the_same(tmp_path: Path) -> None:
    """Layers that are computed again for the gradient see the same spans."""
    from transformers import AutoModelForCausalLM

    network = AutoModelForCausalLM.from_pretrained(make_tiny_model(tmp_path), attn_implementation="sdpa").train()
    fold_heads(network)
    row = lay_row([Example([5, 6, 7, 8], [0, 0, 1, 1]), Example([5, 6, 9], [0, 0, 1])])
    gradients = []
    for again in (False, True):
        if again:
            network.gradient_checkpointing_enable()
        network.zero_grad()
        network(**collate([row, row]), use_cache=False).logits.logsumexp(-1).sum().backward()
        gradients.append(network.model.embed_tokens.weight.grad.clone())
    torch.testing.assert_close(gradients[0], gradients[1])


def test_on_other_devices_each_head_has_keys_of_its_own() -> None:
    asked, keys = torch.empty(1, 4, 9, 8, device="meta"), torch.empty(1, 2, 9, 8, device="meta")
    assert Spans([[4, 2, 3]]).attended(asked, keys, keys, None).shape == (1, 4, 9, 8)

"""Norms and feed-forward layers that are compiled compute what they did."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import torch
from torch._dynamo.utils import counters
from train.tiny import make_tiny_model
from transformers import AutoModelForCausalLM

from agro_train.language_model.fused_layers import fuse, unfuse


def learnt(module: Any, ids: torch.Tensor) -> tuple[float, list[torch.Tensor]]:
    module.zero_grad()
    loss = module(input_ids=ids, labels=ids).loss
    loss.backward()
    return loss.item(), [weights.grad.clone() for weights in module.parameters() if weights.grad is not None]


@pytest.mark.ci
def test_losses_and_gradients_are_the_same_at_every_length(tmp_path: Path) -> None:
    plain = AutoModelForCausalLM.from_pretrained(make_tiny_model(tmp_path / "tiny")).train()
    fused = deepcopy(plain)
    torch._dynamo.reset()
    counters.clear()
    fuse(fused, backend="aot_eager")
    for rows, length in ((2, 9), (3, 14), (2, 30), (4, 5)):
        ids = torch.randint(5, 90, (rows, length))
        (loss, gradients), (same, others) = learnt(plain, ids), learnt(fused, ids)
        assert same == pytest.approx(loss, abs=1e-5)
        assert len(others) == len(gradients)
        for one, other in zip(gradients, others, strict=True):
            torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-4)
    assert counters["stats"]["unique_graphs"] == 2  # a norm and a feed-forward layer, for all layers and lengths


def test_afterwards_nothing_is_compiled(tmp_path: Path) -> None:
    module = AutoModelForCausalLM.from_pretrained(make_tiny_model(tmp_path / "tiny"))
    fuse(module, backend="aot_eager")
    assert any(part._compiled_call_impl is not None for part in module.modules())
    unfuse(module)
    assert all(part._compiled_call_impl is None for part in module.modules())
    fuse(module, backend="aot_eager")
    module.save_pretrained(tmp_path / "saved")  # the names of its weights are those of any other
    assert AutoModelForCausalLM.from_pretrained(tmp_path / "saved").state_dict().keys() == module.state_dict().keys()

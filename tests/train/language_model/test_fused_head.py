"""Leaving out what is not learnt, and tiles changed in place, change no loss and no gradient."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from train.tiny import make_tiny_model

from agro_data.config import ConfigError


def test_losses_and_gradients_are_those_of_every_position(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch
    import trl.trainer.utils as trl_utils
    from transformers import AutoModelForCausalLM

    from agro_train.language_model.fused_head import score_only_what_is_learnt

    folder = make_tiny_model(tmp_path / "tiny")
    torch.manual_seed(1)
    ids = torch.randint(5, 300, (3, 40))
    labels = ids.clone()
    labels[:, :25] = -100
    labels[1, 30:34] = -100

    def losses() -> tuple[list[float], torch.Tensor]:
        model = AutoModelForCausalLM.from_pretrained(folder)
        trl_utils.add_fused_lm_head(model, outputs=("log_probs", "entropy", "is_top1"))
        out = model(input_ids=ids, labels=labels, fused_lm_head=True)
        (-out.log_probs.sum()).backward()
        found = [out.log_probs.sum().item(), out.entropy.sum().item(), float(out.is_top1.sum())]
        return found, model.get_input_embeddings().weight.grad

    for name in ("_use_triton", "_ChunkedLogProbFunction"):
        monkeypatch.setattr(trl_utils, name, getattr(trl_utils, name))  # put back when the test ends
    everywhere, all_gradients = losses()
    score_only_what_is_learnt()
    learnt, gradients = losses()
    assert everywhere == pytest.approx(learnt, rel=1e-5)
    assert torch.allclose(all_gradients, gradients, atol=1e-4)


@pytest.mark.parametrize("name", ["_use_triton", "_ChunkedLogProbFunction"])
def test_what_trl_does_not_call_any_more_is_not_replaced(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import trl.trainer.utils as trl_utils

    from agro_train.language_model.fused_head import score_only_what_is_learnt

    monkeypatch.delattr(trl_utils, name)
    with pytest.raises(
        ConfigError, match=rf"trl\.trainer\.utils of trl \d\S* .* has no {name}, .*install the releases"
    ):
        score_only_what_is_learnt()


@pytest.mark.parametrize("outputs", [("log_probs",), ("log_probs", "entropy"), ("log_probs", "entropy", "is_top1")])
@pytest.mark.parametrize(("precision", "tolerance"), [("float32", 1e-5), ("bfloat16", 5e-3)])
def test_tiles_give_what_trl_gives(
    outputs: tuple[str, ...], precision: str, tolerance: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of several tiles, the last of them smaller, at a temperature and a scale."""
    import torch
    from trl.kernels import ChunkedLogProbFunction

    from agro_train.language_model import fused_head

    monkeypatch.setattr(fused_head, "TILE", 64)
    torch.manual_seed(0)
    start = torch.randn(40, 16), torch.randn(300, 16)
    targets, weights = torch.randint(0, 300, (40,)), torch.randn(40)

    def asked(head: Any) -> tuple[Any, ...]:
        hidden, weight = (one.clone().requires_grad_() for one in start)
        with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bfloat16"):
            found = head.apply(hidden, weight, None, targets, 0.7, 128, None, 1.3, outputs)
            (found[0] * weights).sum().backward()
        return *found, hidden.grad, weight.grad

    for ours, theirs in zip(asked(fused_head.Head), asked(ChunkedLogProbFunction), strict=True):
        assert (ours is None) == (theirs is None)
        if ours is not None:
            torch.testing.assert_close(ours, theirs, rtol=tolerance, atol=tolerance * 5)


def test_what_is_asked_otherwise_is_left_to_trl() -> None:
    import torch
    from trl.kernels import ChunkedLogProbFunction

    from agro_train.language_model.fused_head import Head

    hidden, weight, targets = torch.randn(5, 8), torch.randn(30, 8), torch.arange(5)
    for bias, softcap, outputs in ((torch.randn(30), None, ()), (None, 20.0, ()), (None, None, ("mean_logits",))):
        given = (hidden, weight, bias, targets, 1.0, 16, softcap, 1.0, outputs)
        for ours, theirs in zip(Head.apply(*given), ChunkedLogProbFunction.apply(*given), strict=True):
            assert (ours is None) == (theirs is None)
            assert ours is None or torch.equal(ours, theirs)


def test_a_frozen_head_has_no_gradient() -> None:
    import torch

    from agro_train.language_model.fused_head import Head

    hidden, weight = torch.randn(5, 8, requires_grad=True), torch.randn(30, 8)
    Head.apply(hidden, weight, None, torch.arange(5), 1.0, 16)[0].sum().backward()
    assert hidden.grad is not None
    assert weight.grad is None

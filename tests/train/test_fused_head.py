"""Leaving out what is not learnt changes no loss and no gradient."""

from __future__ import annotations

from pathlib import Path

import pytest
from train.tiny import make_tiny_model


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

    monkeypatch.setattr(trl_utils, "_use_triton", trl_utils._use_triton)  # put back when the test ends
    everywhere, all_gradients = losses()
    score_only_what_is_learnt()
    learnt, gradients = losses()
    assert everywhere == pytest.approx(learnt, rel=1e-5)
    assert torch.allclose(all_gradients, gradients, atol=1e-4)

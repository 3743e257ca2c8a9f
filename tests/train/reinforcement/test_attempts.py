"""What a step of GRPO reads and what it leaves out: the same log-probabilities, losses and gradients as TRL's own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from train.small import grpo_config, make_corpus, make_writer, prompts_of
from train.tiny import make_tiny_model

from agro_train.grpo import train
from agro_train.language_model.attention import fold_heads
from agro_train.reinforcement.attempts import log_probs, without_idle
from agro_train.reinforcement.config import GrpoConfig

PROMPTS = [[5, 6, 7, 8, 9], [5, 6, 7, 8, 9], [11, 12], [5, 6, 7, 8, 9], [3], [5, 6, 7, 8, 9], [5, 6, 7, 8, 9], [5, 6]]
ANSWERS = [[20, 21, 22], [20, 21, 22, 23, 24], [30], [40, 41], [20, 21], [40, 41], [20, 21, 22], [20, 21]]


def padded(lists: list[list[int]], *, left: bool) -> tuple[Any, Any]:
    longest = max(map(len, lists))
    gaps = [[0] * (longest - len(one)) for one in lists]
    ids = [gap + one if left else one + gap for gap, one in zip(gaps, lists, strict=True)]
    seen = [[1] * len(one) for one in lists]
    mask = [gap + one if left else one + gap for gap, one in zip(gaps, seen, strict=True)]
    return torch.tensor(ids), torch.tensor(mask)


def test_attempts_are_scored_as_each_would_be_alone(tmp_path: Path) -> None:
    from transformers import AutoModelForCausalLM
    from trl.trainer.utils import add_fused_lm_head

    from agro_train.language_model.fused_head import score_only_what_is_learnt

    score_only_what_is_learnt()
    network = AutoModelForCausalLM.from_pretrained(make_tiny_model(tmp_path), attn_implementation="sdpa")
    fold_heads(network)
    plain = AutoModelForCausalLM.from_pretrained(tmp_path)
    add_fused_lm_head(network, temperature=0.7, outputs=("log_probs", "entropy"))
    prompts, completions = padded(PROMPTS, left=True), padded(ANSWERS, left=False)
    found, entropies = log_probs(network, prompts, completions)
    assert entropies is not None
    assert found.shape == entropies.shape == completions[0].shape
    for row, (prompt, answer) in enumerate(zip(PROMPTS, ANSWERS, strict=True)):
        logits = plain(torch.tensor([prompt + answer])).logits[0, len(prompt) - 1 : -1]
        scores = torch.log_softmax(logits / 0.7, dim=-1)
        assert torch.allclose(found[row, : len(answer)], scores.gather(1, torch.tensor([answer]).T)[:, 0], atol=1e-5)
        assert torch.allclose(entropies[row, : len(answer)], -(scores.exp() * scores).sum(-1), atol=1e-4)
        assert bool((found[row, len(answer) :] == 0).all())


def test_attempts_that_are_the_same_are_read_once(tmp_path: Path) -> None:
    from transformers import AutoModelForCausalLM
    from trl.trainer.utils import add_fused_lm_head

    from agro_train.language_model.fused_head import score_only_what_is_learnt

    score_only_what_is_learnt()
    network = AutoModelForCausalLM.from_pretrained(make_tiny_model(tmp_path), attn_implementation="sdpa")
    fold_heads(network)
    add_fused_lm_head(network, temperature=1.0, outputs=("log_probs", "entropy"))
    read: list[int] = []
    network.model.embed_tokens.register_forward_hook(lambda _module, given, _out: read.append(given[0].numel()))
    gradients = []
    for times in (1, 3):
        network.zero_grad()
        prompts, completions = padded([[5, 6, 7]] * times, left=True), padded([[20, 21]] * times, left=False)
        found, _ = log_probs(network, prompts, completions)
        found[:, 0].sum().backward()
        gradients.append(network.model.embed_tokens.weight.grad.clone())
    assert read == [5, 5]
    torch.testing.assert_close(gradients[1], 3 * gradients[0])


def test_what_teaches_nothing_is_left_out() -> None:
    inputs = {
        "advantages": torch.tensor([[0.0, 1.0], [0.0, 0.0], [-1.0, 0.0]]),
        "ids": torch.arange(3),
        "count": torch.tensor(9),
    }
    assert without_idle(inputs)["ids"].tolist() == [0, 2]
    assert int(without_idle(inputs)["count"]) == 9
    nothing = {**inputs, "advantages": torch.zeros(3, 2)}
    assert without_idle(nothing)["ids"].tolist() == [0]
    assert without_idle(inputs, 3)["ids"].tolist() == [0, 1, 2]
    assert without_idle(nothing, 2)["ids"].tolist() == [0, 1]


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> GrpoConfig:
    folder = tmp_path_factory.mktemp("corpus")
    corpus = make_corpus(folder)
    writer = make_writer(tmp_path_factory.mktemp("writer"), prompts_of(corpus))
    return replace(grpo_config(corpus, writer, folder / "models"), precision="float32", kl_every=1)


@pytest.mark.ci
@pytest.mark.parametrize(
    ("loss_type", "beta"),
    [
        *(pytest.param(plain, 0.0, marks=pytest.mark.slow) for plain in ("dapo", "grpo")),
        ("dr_grpo", 0.0),
        ("dapo", 0.1),
    ],
)
def test_a_step_is_the_one_that_trl_takes(
    config: GrpoConfig, loss_type: Any, beta: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In micro batches that part the groups, too. The model is seldom right, so that some groups tell nothing."""
    from trl import GRPOTrainer

    from agro_train.reinforcement.trainer import AgenticTrainer

    settings = replace(config, loss_type=loss_type, beta=beta, prompts_per_step=4, group=4, steps=2, scale="none")
    ours = train(replace(settings, models=str(tmp_path / "ours")))
    parted = train(replace(settings, models=str(tmp_path / "parted"), micro_batch=2))
    for name in ("_prepare_inputs", "_compute_loss", "_get_per_token_logps_and_entropies"):
        monkeypatch.setattr(AgenticTrainer, name, getattr(GRPOTrainer, name))
    theirs = train(replace(settings, models=str(tmp_path / "theirs"), share_prompts=False))
    lines = [list(run.metrics()) for run in (theirs, ours, parted)]
    assert any(line["informative_groups"] < line["groups"] for line in lines[0])
    assert any(line["grad_norm"] > 0 for line in lines[0])
    for expected, *found in zip(*lines, strict=True):
        for line in found:
            # with beta TRL logs a mean of micro batches, which are others here
            for name in ("loss", "grad_norm", "reward", *(() if beta else ("kl",))):
                assert line[name] == pytest.approx(expected[name], rel=1e-3, abs=1e-6), name

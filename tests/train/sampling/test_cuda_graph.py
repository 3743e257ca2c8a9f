"""Turns written by steps in fixed places are those that are written row by row; on a GPU the steps are a recording."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import torch

from agro_train.language_model.loading import LanguageModel
from agro_train.sampling.cuda_graph import LOOK, write
from agro_train.sampling.drawing import Turn
from agro_train.sampling.module import ModuleSampler

PREFIXES = [[5, 6, 7, 8], [9, 10], [5, 6, 7, 8], [11] * 30]
SEEDS: Sequence[int | None] = [1, 2, 3, None]
no_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="a recording is a CUDA graph: make test-gpu")


def row_by_row(model: LanguageModel) -> ModuleSampler:
    sampler = ModuleSampler(model.network, model.tokenizer)
    sampler.record = False
    return sampler


@pytest.mark.parametrize("temperature", [0.3, 1.0])
@pytest.mark.parametrize("tokens", [1, LOOK, 2 * LOOK + 3])
def test_the_turns_are_those_written_row_by_row(model: LanguageModel, temperature: float, tokens: int) -> None:
    sampler = row_by_row(model)
    expected = sampler(PREFIXES, temperature=temperature, max_tokens=tokens, seeds=SEEDS)
    chances = [None if seed is None else torch.Generator().manual_seed(seed) for seed in SEEDS]
    turns = [Turn(chance) for chance in chances]
    states = [None if chance is None else chance.get_state() for chance in chances]
    with torch.no_grad():
        pad = model.tokenizer.pad_token_id
        count = write(model.network, PREFIXES, turns, temperature, tokens, sampler._over, pad, record=False)
    assert count == sum(len(turn.ids) for turn in turns)
    for turn, other in zip(turns, expected, strict=True):
        assert (turn.ids, turn.cut) == (other.ids, other.cut)
        assert turn.logprobs == pytest.approx(other.logprobs, abs=1e-4)
    for chance, state in zip(chances, states, strict=True):  # whoever falls back draws what it would have drawn
        assert chance is None or state is None or torch.equal(chance.get_state(), state)


def test_a_turn_ends_within_what_was_written_together(model: LanguageModel) -> None:
    turns = [Turn(torch.Generator().manual_seed(seed)) for seed in range(4)]
    with torch.no_grad():
        pad = model.tokenizer.pad_token_id
        write(model.network, PREFIXES, turns, 1.0, 3 * LOOK, lambda ids: len(ids) == LOOK + 2, pad, record=False)
    assert [len(turn.ids) for turn in turns] == [LOOK + 2] * 4
    assert not any(turn.cut for turn in turns)


def test_what_cannot_be_recorded_is_said_and_written_row_by_row(
    model: LanguageModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: dict[str, Any] = {"temperature": 1.0, "max_tokens": 6, "seeds": SEEDS}
    expected = row_by_row(model)(PREFIXES, **asked)
    sampler = ModuleSampler(model.network, model.tokenizer)
    monkeypatch.setattr(sampler, "_records", lambda restrictions: sampler.record)  # as on a GPU: here CUDA is missing
    with pytest.warns(UserWarning, match="row by row"):
        turns = sampler(PREFIXES, **asked)
    assert not sampler.record
    assert [turn.ids for turn in turns] == [turn.ids for turn in expected]


@pytest.mark.gpu
@no_gpu
@pytest.mark.parametrize("autocast", [False, True])
def test_a_recording_writes_what_single_steps_write(model: LanguageModel, autocast: bool) -> None:
    sampler = ModuleSampler(model.network, model.tokenizer)
    found = []
    for record in (True, False):
        turns = [Turn(torch.Generator().manual_seed(seed)) for seed in range(4)]
        with torch.no_grad(), torch.autocast("cuda", torch.bfloat16, enabled=autocast):
            pad = model.tokenizer.pad_token_id
            write(model.network, PREFIXES, turns, 1.0, 3 * LOOK, sampler._over, pad, record=record)
        found.append(turns)
    for turn, other in zip(*found, strict=True):
        assert (turn.ids, turn.cut) == (other.ids, other.cut)
        assert turn.logprobs == pytest.approx(other.logprobs, abs=1e-3)


@pytest.mark.gpu
@no_gpu
def test_a_sampler_on_a_gpu_records_and_sees_weights_that_have_changed(model: LanguageModel) -> None:
    sampler, plain = ModuleSampler(model.network, model.tokenizer), ModuleSampler(model.network, model.tokenizer)
    plain.record = False
    asked: dict[str, Any] = {"temperature": 1.0, "max_tokens": 20, "seeds": [0, 1, 2, 3]}
    for _ in range(2):
        turns, others = sampler(PREFIXES, **asked), plain(PREFIXES, **asked)
        assert sampler.record
        assert [turn.ids for turn in turns] == [turn.ids for turn in others]
        with torch.no_grad():
            for weights in model.network.parameters():
                weights.mul_(0.9)

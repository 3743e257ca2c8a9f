"""A turn that says the same over and over is cut where that is seen, and no other."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from train.tiny import make_tiny_model

from agro_train.language_model.loading import LanguageModel, load
from agro_train.sampling.module import ModuleSampler
from agro_train.sampling.rounds import LEAST, LONGEST, ROUNDS, goes_round


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> LanguageModel:
    return load(str(make_tiny_model(tmp_path_factory.mktemp("tiny"))), Path("unused"))


def plainly(ids: list[int]) -> bool:
    """By the definition: some passage makes up the end, as often and for as long as it takes."""
    for length in range(1, LONGEST + 1):
        times = max(ROUNDS, -(-LEAST // length))
        if length * times <= len(ids) and ids[-length * times :] == ids[-length:] * times:
            return True
    return False


passages = st.lists(st.integers(0, 3), min_size=1, max_size=40)


@given(before=st.lists(st.integers(0, 3), max_size=9), passage=passages, times=st.integers(0, 70))
def test_what_is_said_often_enough_goes_round(before: list[int], passage: list[int], times: int) -> None:
    ids = before + passage * times
    if plainly(ids):
        assert goes_round(ids)
        assert goes_round(tuple(ids))
    if goes_round(ids):  # a passage that was begun once more has ended before
        assert any(plainly(ids[: len(ids) - begun]) for begun in range(LONGEST))


@given(ids=st.lists(st.integers(0, 2), max_size=200))
def test_what_changes_does_not(ids: list[int]) -> None:
    numbered = [number for place, one in enumerate(ids) for number in (one, 3 + place)]
    assert not goes_round(numbered)


def test_a_query_that_says_much_alike_does_not_go_round(model: LanguageModel) -> None:
    written = " UNION ".join(f"SELECT name FROM club WHERE year = {year}" for year in range(1990, 2010))
    ids = model.tokenizer(written, add_special_tokens=False)["input_ids"]
    assert not any(goes_round(ids[:end]) for end in range(len(ids) + 1))


class Says(nn.Module):
    """A model made to write the tokens that it is given, whatever it reads, from its place `after` on."""

    def __init__(self, model: LanguageModel, ids: list[int], after: int) -> None:
        super().__init__()
        self.inner, self.ids, self.after = model.network, ids, after

    def forward(self, **inputs: object) -> object:
        out = self.inner(**inputs)
        for row, place in enumerate(inputs["position_ids"][:, -1].tolist()):  # type: ignore[index]
            out.logits[row, -1] = -100.0
            out.logits[row, -1, self.ids[(place + 1 - self.after) % len(self.ids)]] = 100.0
        return out


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_a_turn_that_goes_round_is_cut_there(model: LanguageModel, temperature: float) -> None:
    passage = [7, 8, 9, 10, 11]
    sampler = ModuleSampler(Says(model, passage, after=2), model.tokenizer)
    [turn] = sampler([[5, 6]], temperature=temperature, max_tokens=200, seeds=[0])
    assert turn.cut
    assert turn.ids == (passage * 40)[:LEAST]
    [shorter] = sampler([[5, 6]], temperature=temperature, max_tokens=30, seeds=[0])
    assert shorter.cut
    assert shorter.ids == turn.ids[:30]


def test_those_beside_it_are_written_to_their_ends(model: LanguageModel) -> None:
    """A greedy tiny model goes round behind some prefixes; behind the others it writes as if it were alone."""
    sampler = ModuleSampler(model.network, model.tokenizer)
    prefixes = [[5 + row, 6, 7 + row] for row in range(6)]
    together = sampler(prefixes, temperature=0.0, max_tokens=120, seeds=[0] * 6)
    alone = [sampler([one], temperature=0.0, max_tokens=120, seeds=[0])[0] for one in prefixes]
    assert [turn.ids for turn in together] == [turn.ids for turn in alone]
    for turn in together:
        assert not any(goes_round(turn.ids[:end]) for end in range(len(turn.ids)))
        assert len(turn.ids) == 120 or goes_round(turn.ids) or not turn.cut


def test_beams_that_go_round_are_left(model: LanguageModel) -> None:
    from train.test_beams import Letters

    passage = model.tokenizer("ab", add_special_tokens=False)["input_ids"]
    sampler = ModuleSampler(Says(model, passage, after=2), model.tokenizer)
    with torch.no_grad():
        [turn] = sampler.within([Letters("abc", 999)], [[5, 6]], temperature=0.0, max_tokens=200, seeds=[0], beams=1)
    assert turn.cut
    assert len(turn.ids) == LEAST

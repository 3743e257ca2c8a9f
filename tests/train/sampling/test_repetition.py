"""A turn that says the same over and over is cut where that is seen, and no other."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from agro_train.language_model.loading import LanguageModel
from agro_train.sampling.module import ModuleSampler
from agro_train.sampling.repetition import LONGEST, SHORTEST, TIMES, repeats_itself


@given(
    before=st.lists(st.integers(0, 3), max_size=9),
    passage=st.lists(st.integers(0, 3), min_size=1, max_size=40),
    times=st.integers(0, 70),
    begun=st.integers(0, 40),
)
def test_it_is_what_it_says(before: list[int], passage: list[int], times: int, begun: int) -> None:
    """By the definition: the last tokens are some passage of 16 to 32, four times, wherever it is thought to begin."""
    ids = before + passage * times + passage[:begun]
    plainly = any(
        len(ids) >= TIMES * length and ids[-TIMES * length :] == ids[-length:] * TIMES
        for length in range(SHORTEST, LONGEST + 1)
    )
    assert repeats_itself(ids) == plainly
    assert repeats_itself(tuple(ids)) == plainly
    if len(passage) <= LONGEST and times * len(passage) >= TIMES * (LONGEST + SHORTEST):
        assert plainly


@given(ids=st.lists(st.integers(0, 2), max_size=200))
def test_what_changes_does_not(ids: list[int]) -> None:
    numbered = [number for place, one in enumerate(ids) for number in (one, 3 + place)]
    assert not repeats_itself(numbered)


def test_a_query_that_says_much_alike_is_no_repetition(model: LanguageModel) -> None:
    written = " UNION ".join(f"SELECT name FROM club WHERE year = {year}" for year in range(1990, 2010))
    ids = model.tokenizer(written, add_special_tokens=False)["input_ids"]
    assert not any(repeats_itself(ids[:end]) for end in range(len(ids) + 1))


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
def test_a_turn_that_repeats_itself_is_cut_there(model: LanguageModel, temperature: float) -> None:
    passage = [7, 8, 9, 10, 11]  # four of it are a passage of twenty
    sampler = ModuleSampler(Says(model, passage, after=2), model.tokenizer)
    [turn] = sampler([[5, 6]], temperature=temperature, max_tokens=200, seeds=[0])
    assert turn.cut
    assert turn.ids == passage * 4 * TIMES
    [shorter] = sampler([[5, 6]], temperature=temperature, max_tokens=30, seeds=[0])
    assert shorter.cut
    assert shorter.ids == turn.ids[:30]


def test_those_beside_it_are_written_to_their_ends(model: LanguageModel) -> None:
    """A greedy tiny model repeats itself behind some prefixes; behind the others it writes as if it were alone."""
    sampler = ModuleSampler(model.network, model.tokenizer)
    prefixes = [[5 + row, 6, 7 + row] for row in range(6)]
    together = sampler(prefixes, temperature=0.0, max_tokens=120, seeds=[0] * 6)
    alone = [sampler([one], temperature=0.0, max_tokens=120, seeds=[0])[0] for one in prefixes]
    assert [turn.ids for turn in together] == [turn.ids for turn in alone]
    for turn in together:
        assert not any(repeats_itself(turn.ids[:end]) for end in range(len(turn.ids)))
        assert len(turn.ids) == 120 or repeats_itself(turn.ids) or not turn.cut


def test_beams_that_repeat_themselves_are_left(model: LanguageModel) -> None:
    from train.sampling.test_beams import Letters

    passage = model.tokenizer("ab", add_special_tokens=False)["input_ids"]
    sampler = ModuleSampler(Says(model, passage, after=2), model.tokenizer)
    with torch.no_grad():
        [turn] = sampler.within([Letters("abc", 999)], [[5, 6]], temperature=0.0, max_tokens=200, seeds=[0], beams=1)
    assert turn.cut
    assert len(turn.ids) == SHORTEST * TIMES

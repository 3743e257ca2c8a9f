"""Beam search finds the likeliest turn: checked against every turn that there is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product

import pytest

from agro_train.language_model.loading import LanguageModel
from agro_train.sampling.beams import search
from agro_train.sampling.module import ModuleSampler
from agro_train.sampling.rows import Rows
from agro_train.sampling.token_mask import Held
from agro_train.sampling.types import Sampled

PREFIXES = [[5, 6, 7, 8], [9, 10]]


@dataclass
class Letters:
    """Allows only some letters, and only so many of them."""

    allowed: str
    most: int
    text: str = ""
    active: bool = True

    def allows(self, piece: str) -> bool:
        return set(piece) <= set(self.allowed) and len(self.text + piece) <= self.most

    def go_on(self, text: str) -> None:
        self.text = text

    def copy(self) -> Letters:
        return replace(self)


def score(model: LanguageModel, prefix: list[int], ids: tuple[int, ...]) -> float:
    import torch

    with torch.no_grad():
        logits = model.network(torch.tensor([[*prefix, *ids]])).logits[0].log_softmax(dim=-1)
    return sum(logits[len(prefix) - 1 + place, token].item() for place, token in enumerate(ids))


def tokens_of(model: LanguageModel, letters: str) -> list[int]:
    """The tokens of some of `letters` and nothing else."""
    pieces = ((one, model.tokenizer.decode([one])) for one in range(len(model.tokenizer)))
    return [one for one, piece in pieces if piece and set(piece) <= set(letters)]


def test_with_as_many_beams_as_turns_it_is_exact(model: LanguageModel) -> None:
    tokens = tokens_of(model, "aeNT1")
    rows = Rows.begin(model.network, PREFIXES, model.tokenizer.pad_token_id)
    turns = searched(rows, [Letters("aeNT1", 99) for _ in PREFIXES], model)
    for prefix, (turn, _) in zip(PREFIXES, turns, strict=True):
        best = max(product(tokens, repeat=2), key=lambda ids: score(model, prefix, ids))
        assert tuple(turn.ids) == best
        assert sum(turn.logprobs) == pytest.approx(score(model, prefix, best), abs=1e-3)
        assert turn.cut


def searched(rows: Rows, letters: list[Letters], model: LanguageModel) -> list[tuple[Sampled, bool]]:
    """Two tokens, with room for all that there are."""
    import torch

    with torch.no_grad():
        return search(rows, letters, Held(model.tokenizer), 900, 2, lambda ids: False)


def test_more_beams_find_what_is_at_least_as_likely(model: LanguageModel) -> None:
    sampler = ModuleSampler(model.network, model.tokenizer)
    asked = {"temperature": 0.0, "max_tokens": 6, "seeds": [0, 0]}
    found = {
        beams: sampler.within([Letters("abcde", 9) for _ in PREFIXES], PREFIXES, **asked, beams=beams)  # type: ignore[arg-type]
        for beams in (1, 4)
    }
    for one, more, prefix in zip(found[1], found[4], PREFIXES, strict=True):
        assert set(model.tokenizer.decode(more.ids)) <= set("abcde")
        assert sum(more.logprobs) == pytest.approx(score(model, prefix, tuple(more.ids)), abs=1e-3)
        assert sum(more.logprobs) >= sum(one.logprobs) - 1e-4


def test_one_beam_that_may_write_anything_is_greedy(model: LanguageModel) -> None:
    sampler = ModuleSampler(model.network, model.tokenizer)
    asked = {"temperature": 0.0, "max_tokens": 12, "seeds": [0, 0]}
    free = sampler(PREFIXES, **asked)  # type: ignore[arg-type]
    held = sampler.within([Letters("", 0, active=False) for _ in PREFIXES], PREFIXES, **asked)  # type: ignore[arg-type]
    assert [one.ids for one in held] == [one.ids for one in free]


def test_without_a_seed_the_likeliest_of_the_allowed_is_taken(model: LanguageModel) -> None:
    sampler = ModuleSampler(model.network, model.tokenizer)
    found = {
        seed: sampler.within(
            [Letters("abcde", 9) for _ in PREFIXES], PREFIXES, temperature=temperature, max_tokens=6, seeds=[seed] * 2
        )
        for seed, temperature in ((0, 0.0), (None, 0.7))
    }
    assert [turn.ids for turn in found[None]] == [turn.ids for turn in found[0]]
    assert all(turn.turned for turn in found[None])


@pytest.mark.parametrize("temperature", [0.0, 0.7])
def test_where_nothing_may_follow_the_turn_is_cut(temperature: float, model: LanguageModel) -> None:
    sampler = ModuleSampler(model.network, model.tokenizer)
    turns = sampler.within(
        [Letters("ab", 3) for _ in PREFIXES], PREFIXES, temperature=temperature, max_tokens=12, seeds=[0, 0], beams=3
    )
    assert all(turn.cut and len(model.tokenizer.decode(turn.ids)) == 3 for turn in turns)
    assert sampler.held.dead_ends > 0


def test_what_no_beginning_ends_is_drawn(model: LanguageModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """Turns end with a letter that none of four beginnings comes to, and chance only behind the first prefix."""
    import torch

    sampler = ModuleSampler(model.network, model.tokenizer)
    monkeypatch.setattr(sampler, "_over", lambda ids: model.tokenizer.decode(ids).endswith("d"))
    letters, asked = [Letters("abcdefgh", 99) for _ in PREFIXES], {"temperature": 0.0, "max_tokens": 6, "seeds": [0, 0]}
    rows = Rows.begin(model.network, PREFIXES, model.tokenizer.pad_token_id)
    with torch.no_grad():
        likeliest = search(rows, letters, sampler.held, 4, 6, sampler._over)
    assert all(turn.cut for turn, _ in likeliest)
    greedy, found = (sampler.within(letters, PREFIXES, **asked, beams=beams) for beams in (1, 4))  # type: ignore[arg-type]
    assert [turn.cut for turn in found] == [False, True]
    assert set(model.tokenizer.decode(found[0].ids)) <= set("abcdefgh")
    assert found[1] == greedy[1]
    assert sampler.within(letters, PREFIXES, **asked, beams=4) == found  # type: ignore[arg-type]


@dataclass
class Once(Letters):
    """Allows each letter once: what may follow is another thing for every beginning."""

    def allows(self, piece: str) -> bool:
        whole = self.text + piece
        return super().allows(piece) and len(set(whole)) == len(whole)


def test_each_beginning_is_held_to_what_it_has_written(model: LanguageModel) -> None:
    rows = Rows.begin(model.network, PREFIXES, model.tokenizer.pad_token_id)
    turns = searched(rows, [Once("aeNT1", 99) for _ in PREFIXES], model)
    texts = {ids: model.tokenizer.decode(ids) for ids in product(tokens_of(model, "aeNT1"), repeat=2)}
    allowed = [ids for ids, text in texts.items() if len(set(text)) == len(text)]
    for prefix, (turn, _) in zip(PREFIXES, turns, strict=True):
        assert tuple(turn.ids) == max(allowed, key=lambda ids: score(model, prefix, ids))

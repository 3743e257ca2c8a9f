"""Sampling from a module is what the module says: checked against one plain forward pass a token."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from train.tiny import make_tiny_model, make_tiny_other

from agro_train.language_model.loading import LanguageModel, load
from agro_train.sampling import preallocated_cache
from agro_train.sampling.module import ModuleSampler
from agro_train.sampling.rows import Rows, seats


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> LanguageModel:
    folder = make_tiny_model(tmp_path_factory.mktemp("tiny"))
    return load(str(folder), Path("unused"))


PREFIXES = [[5, 6, 7, 8], [9, 10], [5, 6, 7, 8], [11] * 30]


def test_greedy_is_the_argmax_of_a_plain_forward_pass(model: LanguageModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preallocated_cache, "ROOM", 3)  # so that room is made more than once
    turns = ModuleSampler(model.network, model.tokenizer, batch=3)(
        PREFIXES, temperature=0.0, max_tokens=12, seeds=[0] * 4
    )
    for prefix, turn in zip(PREFIXES, turns, strict=True):
        ids = list(prefix)
        for token, logprob in zip(turn.ids, turn.logprobs, strict=True):
            with torch.no_grad():
                scores = torch.log_softmax(model.network(torch.tensor([ids])).logits[0, -1], dim=-1)
            assert scores.argmax().item() == token
            assert scores[token].item() == pytest.approx(logprob, abs=1e-4)
            ids.append(token)
    assert turns[0].ids == turns[2].ids
    assert turns[0].logprobs == pytest.approx(turns[2].logprobs, abs=1e-4)


@given(st.lists(st.integers(0, 9), max_size=12))
def test_who_can_keep_a_row_keeps_it(parents: list[int]) -> None:
    found = seats(parents)
    assert sorted(found) == list(range(len(parents)))
    kept = {row for row, parent in zip(found, parents, strict=True) if row == parent}
    assert kept == {parent for parent in parents if parent < len(parents)}


@given(st.lists(st.lists(st.integers(0, 20), min_size=1, max_size=6), min_size=1, max_size=5))
@settings(max_examples=25, deadline=None)
def test_rows_end_fork_and_change_places(model: LanguageModel, forks: list[list[int]]) -> None:
    """What stands behind each row is what the module says of its whole text, whatever became of the rows before."""
    rows = Rows.begin(model.network, PREFIXES, model.tokenizer.pad_token_id)
    texts = PREFIXES
    for token, fork in enumerate(forks):
        parents = [number % len(texts) for number in fork]
        tokens = [20 + token + place for place in range(len(parents))]
        seated = rows.go_on(parents, tokens)
        grown = [[*texts[parent], token] for parent, token in zip(parents, tokens, strict=True)]
        texts = [text for _, text in sorted(zip(seated, grown, strict=True))]
    with torch.no_grad():
        for text, logits in zip(texts, rows.logits, strict=True):
            torch.testing.assert_close(logits, model.network(torch.tensor([text])).logits[0, -1], atol=1e-4, rtol=1e-4)


def test_a_seed_is_a_turn_whatever_stands_beside_it(model: LanguageModel) -> None:
    sampler = ModuleSampler(model.network, model.tokenizer)
    together = sampler(PREFIXES, temperature=1.0, max_tokens=20, seeds=[1, 2, 3, 4])
    alone = [
        sampler([prefix], temperature=1.0, max_tokens=20, seeds=[seed])[0]
        for prefix, seed in zip(PREFIXES, [1, 2, 3, 4], strict=True)
    ]
    assert [turn.ids for turn in together] == [turn.ids for turn in alone]
    assert together[0].ids != together[2].ids  # the same prefix, another seed


@pytest.mark.parametrize("temperature", [0.0, 0.01, 0.03, 1.0])
def test_turns_that_begin_alike_are_computed_once(model: LanguageModel, temperature: float) -> None:
    prefixes = [prefix for prefix in PREFIXES for _ in range(4)]
    asked = {"temperature": temperature, "max_tokens": 12, "seeds": [*range(len(prefixes))]}
    shared, single = ModuleSampler(model.network, model.tokenizer), ModuleSampler(model.network, model.tokenizer)
    single.share = False
    turns, alone = shared(prefixes, **asked), single(prefixes, **asked)
    assert [turn.ids for turn in turns] == [turn.ids for turn in alone]
    for one, other in zip(turns, alone, strict=True):
        assert one.logprobs == pytest.approx(other.logprobs, abs=1e-4)
    beginnings = {
        (tuple(prefix), tuple(turn.ids[:end]))
        for prefix, turn in zip(prefixes, turns, strict=True)
        for end in range(1, len(turn.ids) + 1)
    }
    assert shared.written == len(beginnings)
    assert single.written == sum(len(turn.ids) for turn in turns)
    assert temperature == 1.0 or shared.written < 0.9 * single.written


def test_a_turn_without_a_seed_is_the_likeliest_in_any_company(model: LanguageModel) -> None:
    sampler = ModuleSampler(model.network, model.tokenizer)
    asked = {"temperature": 0.7, "max_tokens": 12}
    prefixes = [prefix for prefix in PREFIXES for _ in range(3)]
    turns = sampler(prefixes, seeds=[None, 1, 2] * len(PREFIXES), **asked)  # type: ignore[arg-type]
    sure = sampler(PREFIXES, temperature=0.0, max_tokens=12, seeds=[0] * len(PREFIXES))
    assert [turn.ids for turn in turns[::3]] == [turn.ids for turn in sure]
    alone = sampler(prefixes, seeds=[7, 1, 2] * len(PREFIXES), **asked)  # type: ignore[arg-type]
    assert [turn.ids for turn in turns[1::3]] == [turn.ids for turn in alone[1::3]]
    for turn, prefix in zip(turns[::3], PREFIXES, strict=True):  # to be held against those that are drawn
        with torch.no_grad():
            logits = model.network(torch.tensor([[*prefix, *turn.ids]])).logits[0, len(prefix) - 1 : -1]
        own = torch.log_softmax(logits / 0.7, dim=-1).gather(1, torch.tensor(turn.ids)[:, None])
        assert turn.logprobs == pytest.approx(own[:, 0].tolist(), abs=1e-4)


def test_sampled_logprobs_are_of_the_tempered_distribution(model: LanguageModel) -> None:
    [turn] = ModuleSampler(model.network, model.tokenizer)([[5, 6, 7]], temperature=0.7, max_tokens=8, seeds=[3])
    ids = [5, 6, 7]
    for token, logprob in zip(turn.ids, turn.logprobs, strict=True):
        with torch.no_grad():
            logits = model.network(torch.tensor([ids])).logits[0, -1]
        assert torch.log_softmax(logits / 0.7, dim=-1)[token].item() == pytest.approx(logprob, abs=1e-4)
        ids.append(token)


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_no_more_is_read_than_the_model_has_places_for(tmp_path: Path, temperature: float) -> None:
    small = make_tiny_other(tmp_path / "gpt2", "gpt2", n_embd=32, n_layer=1, n_head=2, n_positions=32)
    model = load(str(small), Path("unused"))
    sampler = ModuleSampler(model.network, model.tokenizer)
    prefixes = [[5] * 27, [5] * 3, [5] * 40, [6] * 32]
    turns = sampler(prefixes, temperature=temperature, max_tokens=10, seeds=[0, 1, 2, 3])
    assert [len(turn.ids) for turn in turns] == [5, 10, 0, 0]
    assert all(turn.cut for turn in turns)
    assert [turn.refusal[:24] for turn in turns] == ["", "", "40 tokens were to be rea", "32 tokens were to be rea"]
    assert all("lower the budget of schemas, or shorten the question" in turn.refusal for turn in turns[2:])
    assert turns[1] == sampler([prefixes[1]], temperature=temperature, max_tokens=10, seeds=[1])[0]


def test_a_turn_ends_at_its_tag_or_is_cut(model: LanguageModel) -> None:
    """The model's output layer is made to write one text, whatever it reads."""
    from torch import nn

    text = "<think>a</think><sql>SELECT 1</sql> and more"
    wanted = model.tokenizer(text, add_special_tokens=False)["input_ids"]

    class Scripted(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = model.network

        def forward(self, **inputs: object) -> object:
            out = self.inner(**inputs)
            position = int(inputs["position_ids"][0, -1])  # type: ignore[index]
            out.logits[:] = -100.0
            out.logits[:, -1, wanted[min(position - 1, len(wanted) - 1)]] = 100.0
            return out

    sampler = ModuleSampler(Scripted(), model.tokenizer)
    [turn] = sampler([[5, 6]], temperature=0.0, max_tokens=100, seeds=[0])
    written = model.tokenizer.decode(turn.ids)
    assert "</sql>" in written
    assert "and more" not in written
    assert not turn.cut
    [short] = sampler([[5, 6]], temperature=0.0, max_tokens=4, seeds=[0])
    assert short.cut
    assert short.ids == turn.ids[:4]

"""What was read is not read again while weights stay as they are, and what is said behind it stays the same."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from making import make_school
from train.scripted import one_database
from train.tiny import make_tiny_model, make_tiny_other

from agro_data.databases.hostile.sandbox import Sandbox
from agro_train import decoding
from agro_train.decoding import Decoding, decode
from agro_train.language_model.loading import LanguageModel, load
from agro_train.language_model.tokens import encode_prompt
from agro_train.rollouts import Limits, Policy
from agro_train.sampling.module import ModuleSampler, parts
from agro_train.sampling.prefix_cache import Remembered
from agro_train.sampling.rows import Rows
from agro_train.tasks import Task

SCHEMAS = [[5, 6, 7] * 4, [8, 9] * 7]
PROMPTS = [[*schema, *range(20, 20 + asked)] for schema in SCHEMAS for asked in (1, 3, 4)]
LATER = [
    [*PROMPTS[0], 30, 31, 32],
    [*PROMPTS[3], 33],
    PROMPTS[1],
    SCHEMAS[0],
]


@pytest.fixture(params=["llama", "gpt2"])
def model(tmp_path: Path, request: pytest.FixtureRequest) -> LanguageModel:
    folder = make_tiny_model(tmp_path / "llama") if request.param == "llama" else make_tiny_other(
        tmp_path / "gpt2", "gpt2", n_embd=32, n_layer=2, n_head=2, n_positions=64
    )  # fmt: skip
    found = load(str(folder), Path("unused"))
    found.network.eval()
    return found


@contextmanager
def places_read(module: Any) -> Iterator[list[int]]:
    """The places that a module reads meanwhile, of each call."""
    read: list[int] = []
    hook = module.register_forward_pre_hook(
        lambda _module, _args, kwargs: read.append(kwargs["input_ids"].numel()), with_kwargs=True
    )
    try:
        yield read
    finally:
        hook.remove()


def said(module: Any, text: list[int]) -> torch.Tensor:
    logits: torch.Tensor = module(torch.tensor([text])).logits[0, -1]
    return logits


@pytest.mark.parametrize("share", [True, False])
def test_what_follows_a_text_that_was_read_is_all_that_is_read(model: LanguageModel, share: bool) -> None:
    module, pad, remembered = model.network, model.tokenizer.pad_token_id, Remembered()
    with torch.no_grad():
        Rows.begin(module, PROMPTS, pad, share, remembered)
        with places_read(module) as read:
            rows = Rows.begin(module, [*LATER, LATER[0]], pad, share, remembered)
        assert read == [4 * 3]  # four texts, of which three tokens are new at most
        again = Rows.begin(module, LATER, pad, share, remembered)
        for text, logits in zip([*LATER, LATER[0]], rows.logits, strict=True):
            torch.testing.assert_close(logits, said(module, text), atol=1e-4, rtol=1e-4)
        torch.testing.assert_close(again.logits, rows.logits[:4], atol=1e-4, rtol=1e-4)
        grown = [[*LATER[0], 40], [*LATER[1], 41], [*LATER[0], 42]]
        seated = rows.go_on([4, 1, 0], [40, 41, 42])
        for text, logits in zip(grown, rows.logits[seated], strict=True):
            torch.testing.assert_close(logits, said(module, text), atol=1e-4, rtol=1e-4)


def test_under_autocast_what_is_remembered_is_what_attention_reads(model: LanguageModel) -> None:
    """A trainer's weights are in float32, and its attention in bfloat16."""
    module, pad, remembered = model.network, model.tokenizer.pad_token_id, Remembered()
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        Rows.begin(module, PROMPTS, pad, remembered=remembered)
        rows = Rows.begin(module, LATER, pad, remembered=remembered)
        seated = rows.go_on([0, 1, 2, 3], [40] * 4)
        for text, logits in zip(LATER, rows.logits[seated], strict=True):
            torch.testing.assert_close(logits, said(module, [*text, 40]), atol=0.02, rtol=0.1)


def test_what_would_be_read_again_for_a_new_text_is_read_with_it(model: LanguageModel) -> None:
    """Beside a long text that is new, what is known is cut by no more than all are."""
    module, pad, remembered = model.network, model.tokenizer.pad_token_id, Remembered()
    texts = [*PROMPTS, [11] * 20]
    with torch.no_grad():
        Rows.begin(module, PROMPTS, pad, remembered=remembered)
        rows = Rows.begin(module, texts, pad, remembered=remembered)
        for text, logits in zip(texts, rows.logits, strict=True):
            torch.testing.assert_close(logits, said(module, text), atol=1e-4, rtol=1e-4)


def test_no_more_is_kept_than_there_is_room_for(model: LanguageModel) -> None:
    module, pad = model.network, model.tokenizer.pad_token_id
    whole = Remembered()
    with torch.no_grad():
        Rows.begin(module, PROMPTS, pad, remembered=whole)
        for most in (0, whole.bytes // 2):
            remembered = Remembered(most)
            for _ in range(2):
                rows = Rows.begin(module, PROMPTS, pad, remembered=remembered)
                assert remembered.bytes <= most
                for text, logits in zip(PROMPTS, rows.logits, strict=True):
                    torch.testing.assert_close(logits, said(module, text), atol=1e-4, rtol=1e-4)


def test_a_sampler_remembers_no_longer_than_it_is_asked_to(model: LanguageModel) -> None:
    sampler = ModuleSampler(model.network, model.tokenizer)

    def turns() -> list[list[int]]:
        return [one.ids for one in sampler(PROMPTS, temperature=0.7, max_tokens=4, seeds=[*range(len(PROMPTS))])]

    with sampler.remembering():
        first = turns()
        with places_read(model.network) as read:
            assert turns() == first
        assert read[0] == len(PROMPTS)  # the last token of each, whose logits are wanted
    assert sampler.remembered is None
    with torch.no_grad():
        for weight in model.network.parameters():
            weight.mul_(-1)
    changed = turns()
    assert changed == [
        one.ids
        for one in ModuleSampler(model.network, model.tokenizer, share=False)(
            PROMPTS, temperature=0.7, max_tokens=4, seeds=[*range(len(PROMPTS))]
        )
    ]
    assert changed != first


def test_a_second_round_does_not_read_its_prompts_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing that a random model writes is an answer, so every tree grows again."""
    model = load(str(make_tiny_model(tmp_path / "model")), Path("unused"))
    database = one_database(make_school(tmp_path / "school.sqlite"))
    prompts = [f"A school has pupils. How many of them are in class {number}?" for number in range(3)]
    tasks = [Task(prompt, prompt, prompt, "SELECT 1", database) for prompt in prompts]
    tree, limits = Decoding("tree", 6, 1.0), Limits(turn=6, rollout=40, turns=2)

    def written() -> tuple[list[list[list[int]]], int]:
        sampler = ModuleSampler(model.network, model.tokenizer)
        with Sandbox(1) as sandbox, places_read(model.network) as read:
            found = decode(tasks, Policy(sampler, model.tokenizer, limits), sandbox, tree)
        return [[leaf.rollout.tokens.ids for leaf in one.leaves] for one in found], sum(read)

    leaves, places = written()
    monkeypatch.setattr(decoding, "remembering", lambda _sampler: nullcontext())
    again, all_places = written()
    assert again == leaves
    assert {len(one) for one in leaves} == {6}
    prompt = min(len(encode_prompt(text, model.tokenizer)) for text in prompts)
    assert places <= all_places - prompt  # the prompts begin alike


@given(
    st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=5), min_size=1, max_size=20),
    st.integers(1, 6),
    st.integers(1, 6),
    st.booleans(),
)
def test_batches_hold_as_many_turns_as_have_room(texts: list[list[int]], most: int, batch: int, shared: bool) -> None:
    texts = sorted(texts)
    found = [*parts(texts, most, batch, shared)]
    assert [place for start, end in found for place in range(start, end)] == [*range(len(texts))]
    for start, end in found:
        some = [tuple(text) for text in texts[start:end]]
        if not shared:
            assert len(some) == batch or end == len(texts)
            continue
        limit = batch * (max(map(len, texts)) + most)
        held = sum(map(len, {*some})) + len(some) * most
        assert held <= limit
        if end < len(texts):  # no more would have had room
            own = 0 if texts[end] == texts[end - 1] else len(texts[end])
            assert held + own + most > limit
    if not shared:
        assert len(found) == -(-len(texts) // batch)

"""What texts begin with is read once, and what stands behind is what the module says of the whole text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from train.tiny import make_tiny_model, make_tiny_other

from agro_train.language_model.loading import load
from agro_train.sampling import reading
from agro_train.sampling.common_prefix import cuts, places_read
from agro_train.sampling.module import ModuleSampler
from agro_train.sampling.rows import Rows

SCHEMAS = [[5, 6, 7] * 8, [8, 9] * 7]
PROMPTS = [[*schema, *range(20, 20 + asked)] for schema in SCHEMAS for asked in (1, 3, 4)] + [[10] * 17, SCHEMAS[0]]


@given(st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=12), min_size=1, max_size=12))
@example(PROMPTS)
@example([[1, 2, 3]])
@example([[1], [1, 2]])
def test_every_text_has_a_rest_and_no_more_is_read_than_in_one_pass(texts: list[list[int]]) -> None:
    behind = cuts(texts)
    assert all(0 <= cut < len(text) for text, cut in zip(texts, behind, strict=True))
    whole = len(texts) * max(map(len, texts))
    assert places_read(texts, behind) < 0.75 * whole if any(behind) else behind == [0] * len(texts)


def test_a_schema_is_read_once_for_all_that_is_asked_of_it() -> None:
    texts = [[*[schema] * 600, *[9 + number] * 20] for schema in range(2) for number in range(8)]
    assert cuts(texts) == [600] * 16
    assert places_read(texts, cuts(texts)) == 2 * 600 + 16 * 20
    other = [7] * 500  # of a schema of its own: cut where the others' rests are as long
    assert cuts([*texts, other]) == [600] * 16 + [480]
    assert cuts([[number] * 600 for number in range(8)]) == [0] * 8


@pytest.mark.parametrize("kind", ["llama", "gpt2"])
def test_logits_are_those_of_whole_texts(tmp_path: Path, kind: str) -> None:
    folder = make_tiny_model(tmp_path / kind) if kind == "llama" else make_tiny_other(
        tmp_path / kind, kind, n_embd=32, n_layer=2, n_head=2, n_positions=64
    )  # fmt: skip
    model = load(str(folder), Path("unused"))
    assert any(cuts(PROMPTS))
    rows = Rows.begin(model.network.eval(), [*PROMPTS, PROMPTS[1]], model.tokenizer.pad_token_id)
    texts = [*PROMPTS, PROMPTS[1]]
    for token in (30, 31):
        with torch.no_grad():
            for text, logits in zip(texts, rows.logits, strict=True):
                whole = model.network(torch.tensor([text])).logits[0, -1]
                torch.testing.assert_close(logits, whole, atol=1e-4, rtol=1e-4)
            assert rows.go_on(range(len(texts)), [token] * len(texts)) == [*range(len(texts))]
        texts = [[*text, token] for text in texts]


SIZES = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
GROUPED = {**SIZES, "num_key_value_heads": 2}
GEMMA = {**GROUPED, "head_dim": 8, "layer_types": ["sliding_attention", "full_attention"]}
LOCAL = {"hidden_size": 32, "num_layers": 2, "num_heads": 4, "attention_types": [[["global", "local"], 1]]}
COUNTING: list[tuple[str, dict[str, Any]]] = [
    ("mistral", {**GROUPED, "sliding_window": 4}),
    ("gemma3_text", {**GEMMA, "sliding_window": 4}),
    ("gpt_neo", {**LOCAL, "window_size": 4, "max_position_embeddings": 128}),
    ("mpt", {"d_model": 32, "n_layers": 2, "n_heads": 4}),
]


@pytest.mark.parametrize(("kind", "facts"), COUNTING)
def test_padding_is_no_part_of_a_window_or_a_distance(tmp_path: Path, kind: str, facts: dict[str, Any]) -> None:
    """Rests of several lengths, in a first turn and, behind what is remembered, in a second one."""
    model = load(str(make_tiny_other(tmp_path / kind, kind, **facts)), Path("unused"))
    texts, sampler = PROMPTS, ModuleSampler(model.network.eval(), model.tokenizer)
    with sampler.remembering():
        for _ in range(2):
            turns = sampler(texts, temperature=1.0, max_tokens=6, seeds=[*range(len(texts))])
            for text, turn in zip(texts, turns, strict=True):
                with torch.no_grad():
                    logits = model.network(torch.tensor([[*text, *turn.ids]])).logits[0, len(text) - 1 : -1]
                own = torch.log_softmax(logits, dim=-1).gather(1, torch.tensor(turn.ids)[:, None])
                assert turn.logprobs == pytest.approx(own[:, 0].tolist(), abs=1e-4)
            texts = [
                [*text, *turn.ids, *[40] * (1 + len(turn.ids) % 3)] for text, turn in zip(texts, turns, strict=True)
            ]


@pytest.mark.parametrize(("window", "read_once"), [(256, True), (33, True), (32, False)])
def test_a_window_that_holds_the_whole_row_hides_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, window: int, read_once: bool
) -> None:
    """Texts of at most 24 + 4 tokens, written on by 5: of a Mistral's window of 4,096 all prompts are no part."""
    folder = make_tiny_other(tmp_path / "mistral", "mistral", **GROUPED, sliding_window=window)
    model = load(str(folder), Path("unused"))
    read: list[int] = []

    def counted(module: Any, texts: list[list[int]], *others: Any) -> Any:
        read.append(len(texts))
        return real(module, texts, *others)

    real = reading.read
    monkeypatch.setattr(reading, "read", counted)
    ModuleSampler(model.network, model.tokenizer)(PROMPTS[:3], temperature=0.0, max_tokens=5, seeds=[0] * 3)
    assert bool(read) is read_once

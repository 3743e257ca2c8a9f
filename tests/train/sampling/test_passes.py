"""Texts are read in passes of about one length, and what the module says of each is what it says of it alone."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from agro_train.sampling import passes
from agro_train.sampling.passes import by_length
from agro_train.sampling.prefix_cache import Remembered
from agro_train.sampling.rows import Rows

LENGTHS = st.lists(st.integers(1, 30), min_size=1, max_size=9)


def taken(lengths: list[int], found: list[list[int]], cost: int) -> int:
    return sum(cost + len(places) * max(lengths[place] for place in places) for places in found)


def ways(count: int) -> list[list[int]]:
    """Where so many things in a row can be cut."""
    return [[0, *(cut for cut in range(1, count) if kept >> cut & 1), count] for kept in range(0, 2**count, 2)]


@given(LENGTHS, st.integers(0, 40))
def test_no_other_passes_are_shorter(lengths: list[int], cost: int) -> None:
    found = by_length(lengths, cost)
    assert sorted(place for places in found for place in places) == [*range(len(lengths))]
    order = sorted(range(len(lengths)), key=lengths.__getitem__)
    others = [[order[start:end] for start, end in pairwise(way)] for way in ways(len(lengths))]
    assert taken(lengths, found, cost) == min(taken(lengths, other, cost) for other in others)


def test_what_is_alike_in_length_is_read_together() -> None:
    assert by_length([30, 31, 29] * 4) == [[*range(12)]]
    assert by_length([300, *[20] * 30]) == [[*range(1, 31)], [0]]


def text(length: int, first: int) -> list[int]:
    return [5 + (first + 7 * place) % 80 for place in range(length)]


@pytest.mark.parametrize("share", [True, False])
@pytest.mark.parametrize("schemas", [[text(400, 1)], [text(400, 1), text(390, 2)], []])
def test_logits_are_those_of_each_text_alone(
    model: Any, share: bool, schemas: list[list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []

    def counted(module: Any, rests: list[list[int]], *others: Any) -> Any:
        read.append(len(rests))
        return real(module, rests, *others)

    real = passes.read
    monkeypatch.setattr(passes, "read", counted)
    begun = schemas or [[]]
    texts = [[*begun[number % len(begun)], *text(10 + 120 * (number % 3), number)] for number in range(9)]
    texts.append(texts[1])
    remembered = Remembered()
    for again in (1, 2):
        rows = Rows.begin(model.network.eval(), texts, model.tokenizer.pad_token_id, share, remembered)
        for token in (30, 31):
            with torch.no_grad():
                for one, logits in zip(texts, rows.logits, strict=True):
                    whole = model.network(torch.tensor([one])).logits[0, -1]
                    torch.testing.assert_close(logits, whole, atol=1e-4, rtol=1e-4)
                rows.go_on(range(len(texts)), [token] * len(texts))
            texts = [[*one, token] for one in texts]
        if again == 1:
            assert len(read) > 1
            texts = [[*one, *text(5 + 200 * (number % 2), number)] for number, one in enumerate(texts)]

"""Rows in which a shared beginning is read once: every token is scored as it would be alone."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from train.small import TUNING as ONE_BY_ONE
from train.small import draft
from train.tiny import make_tiny_model

from agro_train.finetuning.fine_tune import fine_tune
from agro_train.finetuning.schedule import padded, sharing
from agro_train.language_model.attention import fold_heads
from agro_train.language_model.shared_prompts import (
    Row,
    collate,
    group,
    lay_batches,
    lay_row,
    shared_length,
)
from agro_train.language_model.tokens import IGNORED, Example
from agro_train.runs.store import read_metrics

MOST = 4
SHARED = 0


def trajectory(opening: int, question: int, turns: int = 2) -> Example:
    """The opening's tokens, a question's, then turns of the agent with observations between them."""
    one = Random(question)
    ids = [10 + opening] * 20 + [one.randint(40, 300) for _ in range(6)]
    mask = [0] * len(ids)
    for turn in range(turns):
        for own, length in ((1, 5 + question % 3), (0, 4 * (turn + 1 < turns))):
            ids += [one.randint(40, 300) for _ in range(length)]
            mask += [own] * length
    return Example(ids, mask, f"opening {opening}")


EXAMPLES = [trajectory(opening, 10 * opening + n, 1 + n % 3) for opening in range(3) for n in range(opening * 2 + 1)]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_model(tmp_path_factory.mktemp("tiny"))


def network(base: Path) -> Any:
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(base, attn_implementation="sdpa")
    fold_heads(model)
    return model


def tails(row: Row) -> list[int]:
    """Of each token which trajectory it is of, from 1, or `SHARED`."""
    return [tail for tail, length in enumerate(row.spans) for _ in range(length)]


def logits(model: Any, row: Row, *others: Row) -> Any:
    """Of the tokens of `row`, which lies before the others."""
    inputs = collate([row, *others])
    inputs.pop("labels")
    return model(**inputs).logits[0, : len(row.ids)]


def test_logits_are_those_of_each_trajectory_alone(base: Path) -> None:
    import torch

    model = network(base)
    examples = EXAMPLES[-4:]
    row = lay_row(examples)
    found = logits(model, row, lay_row(EXAMPLES[:1] * 2))
    assert len(row.ids) < sum(len(one.ids) for one in examples)
    for number, example in enumerate(examples, start=1):
        alone = model(input_ids=torch.tensor([example.ids])).logits[0]
        mine = [place for place, tail in enumerate(tails(row)) if tail in (SHARED, number)]
        assert [row.ids[place] for place in mine] == example.ids
        assert torch.allclose(found[mine], alone, atol=1e-5)


def test_no_token_sees_another_tail(base: Path) -> None:
    import torch

    model = network(base)
    row = lay_row(EXAMPLES[-3:])
    before = logits(model, row)
    changed = replace(row, ids=[id + 1 if tail == 2 else id for id, tail in zip(row.ids, tails(row), strict=True)])
    after = logits(model, changed)
    others = [place for place, tail in enumerate(tails(row)) if tail != 2]
    assert torch.equal(before[others], after[others])
    assert not torch.allclose(before, after)


def test_loss_and_gradient_are_those_of_trajectories_apart(base: Path) -> None:
    """TRL's own loss: of labels moved by one, over all that is learnt."""
    import torch
    from torch.nn.functional import cross_entropy

    def loss(model: Any, inputs: dict[str, Any], learnt: int) -> Any:
        labels = inputs.pop("labels")[:, 1:]
        scores = model(**inputs).logits[:, :-1].transpose(1, 2)
        return cross_entropy(scores, labels, ignore_index=IGNORED, reduction="sum") / learnt

    learnt = sum(sum(one.mask) for one in EXAMPLES)
    apart, together = network(base), network(base)
    single = [
        loss(apart, {"input_ids": torch.tensor([one.ids]), "labels": torch.tensor([one.labels])}, learnt)
        for one in EXAMPLES
    ]
    sum(single).backward()
    rows = [lay_row([EXAMPLES[place] for place in places]) for places in group(EXAMPLES, MOST, seed=1)]
    assert max(max(tails(row)) for row in rows) > 2
    shared = loss(together, collate(rows), learnt)
    shared.backward()
    assert shared.item() == pytest.approx(sum(single).item(), rel=1e-5)
    for (name, one), other in zip(apart.named_parameters(), together.parameters(), strict=True):
        assert torch.allclose(one.grad, other.grad, atol=1e-5), name


def test_what_is_shared_ends_before_what_differs_or_is_learnt() -> None:
    same = Example([1, 2, 3, 4, 5], [0, 0, 0, 1, 1])
    assert shared_length([same]) == 0
    assert shared_length([same, same]) == 2  # 3 stays in each tail: 4 is scored from it
    assert shared_length([same, Example([1, 9, 3], [0, 0, 1])]) == 1
    assert shared_length([same, Example([9], [1])]) == 0
    row = lay_row([Example([7, 8], [1, 1]), Example([7, 8], [1, 1])])  # nothing to score the first from
    assert row.labels == [IGNORED, 8, IGNORED, 8]


examples = st.lists(
    st.builds(
        lambda opening, tail, own: Example([opening] * 5 + tail, [0] * 5 + [own] * len(tail), f"{opening or ''}"),
        st.integers(0, 3),
        st.lists(st.integers(4, 9), max_size=30),
        st.integers(0, 1),
    ),
    min_size=1,
    max_size=40,
)


@given(examples, st.integers(1, 6), st.integers(1, 5), st.integers(0, 9))
def test_every_trajectory_is_laid_once_and_whole(made: list[Example], size: int, most: int, seed: int) -> None:
    batches = lay_batches(made, size, most, seed)
    laid = Counter(place for rows in batches for places in rows for place in places)
    assert laid == Counter(range(len(made)))
    counts = sorted(sum(map(len, rows)) for rows in batches)
    assert counts[1:] == [size] * (len(batches) - 1)
    for places in (places for rows in batches for places in rows):
        members = [made[place] for place in places]
        row = lay_row(members)
        assert len({one.opening for one in members}) == 1
        assert len(row.ids) == sum(row.spans)
        assert len(places) == 1 or (len(places) <= most and members[0].opening)
        for number, example in enumerate(members, start=1):
            mine = [place for place, tail in enumerate(tails(row)) if tail in (SHARED, number)]
            assert [row.ids[place] for place in mine] == example.ids
            assert [row.positions[place] for place in mine] == [*range(len(example.ids))]
            assert [row.labels[place] for place in mine][1:] == example.labels[1:]


def test_the_schedule_is_that_of_its_seed_and_other_in_each_epoch() -> None:
    first = sharing(EXAMPLES, 2.5, 3, MOST, seed=4)
    assert first == sharing(EXAMPLES, 2.5, 3, MOST, seed=4)
    assert first != sharing(EXAMPLES, 2.5, 3, MOST, seed=5)
    assert len(first) == 3 + 3 + 2
    assert first[:3] != first[3:6]


TUNING = replace(ONE_BY_ONE, epochs=2.0, batch=6, micro_batch=3, save_every=1, share_prompts=True)


def losses(folder: Path) -> list[float]:
    return [line["loss"] for line in read_metrics(folder / "metrics.jsonl") if "learning_rate" in line]


@pytest.mark.parametrize("lora", [0, 4])
def test_a_step_has_the_loss_of_its_trajectories(base: Path, tmp_path: Path, lora: int) -> None:
    """With and without sharing, in one micro batch and in several: the mean over all that is learnt in the step."""
    still = replace(TUNING, epochs=1.0, learning_rate=0.0, batch=12, lora=lora)
    for name, tuning in {
        "apart": replace(still, share_prompts=False, micro_batch=12),
        "shared": replace(still, micro_batch=12),
        "parted": replace(still, micro_batch=4),
    }.items():
        fine_tune(base, EXAMPLES, tuning, draft(tmp_path / name))
    expected = losses(tmp_path / "apart")
    assert len(expected) == 1
    assert losses(tmp_path / "shared") == pytest.approx(expected, rel=1e-4)
    assert losses(tmp_path / "parted") == pytest.approx(expected, rel=1e-4)


def test_a_killed_run_goes_on_with_the_same_rows(base: Path, tmp_path: Path) -> None:
    fine_tune(base, EXAMPLES, TUNING, draft(tmp_path / "whole"))

    class Killed(Exception):
        pass

    def die(line: Any) -> None:
        if line["step"] == 3:
            raise Killed

    with pytest.raises(Killed):
        fine_tune(base, EXAMPLES, TUNING, draft(tmp_path / "cut"), report=die)
    assert fine_tune(base, EXAMPLES, TUNING, draft(tmp_path / "cut"))["resumed_from"] == "checkpoint-2"
    assert losses(tmp_path / "cut") == losses(tmp_path / "whole")
    saved = [(tmp_path / name / "model" / "model.safetensors").read_bytes() for name in ("cut", "whole")]
    assert saved[0] == saved[1]


def test_a_tenth_of_a_pass_is_a_tenth_of_its_batches() -> None:
    assert [len(sharing(EXAMPLES[:1] * 10, epochs, 1, 1, 0)) for epochs in (1.1, 1.2, 1.25, 2.2)] == [11, 12, 13, 22]


@given(
    st.lists(st.integers(1, 40), min_size=1, max_size=40),
    st.sampled_from([0.3, 1.0, 1.5, 2.0]),
    st.integers(1, 5),
    st.integers(0, 3),
)
def test_padded_batches_have_each_example_once_a_pass(lengths: list[int], epochs: float, size: int, seed: int) -> None:
    found = padded(lengths, epochs, size, seed)
    assert found == padded(lengths, epochs, size, seed)
    a_pass = len(padded(lengths, 1.0, size, seed))
    assert len(found) == math.ceil(round(epochs * a_pass, 6))
    assert max(lengths[place] for place in found[0]) == max(lengths)
    if epochs >= 1.0:
        for start in range(0, a_pass * int(epochs), a_pass):
            batches = found[start : start + a_pass]
            assert sorted(place for batch in batches for place in batch) == [*range(len(lengths))]
            assert max(map(len, batches)) <= size


def test_what_is_padded_is_of_about_one_length() -> None:
    lengths = [Random(0).randint(1, 400) for _ in range(3)] + [*range(1, 401)]
    batches = padded(lengths, 1.0, 4, seed=0)
    read = sum(len(batch) * max(lengths[place] for place in batch) for batch in batches)
    assert sum(lengths) <= read < 1.05 * sum(lengths)


def test_tokens_are_counted_as_they_are_read(base: Path, tmp_path: Path) -> None:
    fine_tune(base, EXAMPLES, replace(TUNING, epochs=1.0), draft(tmp_path / "run"))
    last = [line for line in read_metrics(tmp_path / "run" / "metrics.jsonl") if "learning_rate" in line][-1]
    batches = sharing(EXAMPLES, 1.0, TUNING.micro_batch, TUNING.row_examples, TUNING.seed)
    read = sum(len(lay_row([EXAMPLES[place] for place in places]).ids) for rows in batches for places in rows)
    assert read < sum(len(one.ids) for one in EXAMPLES)
    assert last["tokens_per_second"] / last["trajectories_per_second"] == pytest.approx(read / len(EXAMPLES), rel=0.02)


def test_two_ways_to_lay_rows_exclude_each_other() -> None:
    with pytest.raises(ValueError, match="packing and share_prompts"):
        replace(TUNING, packing=True)

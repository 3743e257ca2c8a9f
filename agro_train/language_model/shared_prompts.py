"""Trajectories that begin alike, in one row: what they share is read once.

Most questions about a database have the same prompt up to the question, and it is the greater part of a trajectory. A
row holds what its trajectories share, then the tail of each. A tail sees the shared beginning and itself, and its
positions go on from there: its logits are those it would have alone (tested, as is the gradient). Rows lie end to end,
so nothing is padded, and nothing is cut.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from random import Random
from typing import Any

from agro_data.hashing import seed_of
from agro_train.language_model.spans import Spans
from agro_train.language_model.tokens import IGNORED, Example

Places = tuple[int, ...]  # of trajectories


@dataclass(frozen=True)
class Row:
    """Tokens of several trajectories. `spans`: how many they share, then how many each has of its own."""

    ids: list[int]
    labels: list[int]
    positions: list[int]
    spans: list[int]


def shared_length(examples: Sequence[Example]) -> int:
    """How many tokens all begin with, up to one before the first that is learnt.

    That one stays in its tail: the next token is scored from it, and for each trajectory that is another one.
    """
    if len(examples) < 2:
        return 0
    ids = [example.ids for example in examples]
    first, last = min(ids), max(ids)  # what these two begin with, all that lie between them do
    begun = next(
        (place for place, (one, other) in enumerate(zip(first, last, strict=False)) if one != other), len(first)
    )
    return max(0, min(begun, *(example.first_learnt - 1 for example in examples)))


def lay_row(examples: Sequence[Example]) -> Row:
    """One row of `examples`."""
    shared = shared_length(examples)
    row = Row(examples[0].ids[:shared], [IGNORED] * shared, [*range(shared)], [shared])
    for example in examples:
        tail = example.ids[shared:]
        row.ids.extend(tail)
        row.labels.extend([IGNORED, *example.labels[shared + 1 :]])  # no tail is scored from the one before it
        row.positions.extend(range(shared, len(example.ids)))
        row.spans.append(len(tail))
    return row


def group(examples: Sequence[Example], most: int, seed: int) -> list[Places]:
    """Which trajectories share a row: at most so many with the same `opening`, at random. One without is alone."""
    alike: dict[str, list[int]] = defaultdict(list)
    groups: list[Places] = []
    for place, example in enumerate(examples):
        if example.opening:
            alike[example.opening].append(place)
        else:
            groups.append((place,))
    for opening, places in alike.items():
        Random(seed_of(seed, "who shares a row", opening)).shuffle(places)
        groups += [tuple(places[start : start + most]) for start in range(0, len(places), most)]
    return groups


def lay_batches(examples: Sequence[Example], size: int, most: int, seed: int) -> list[list[Places]]:
    """Every example once, in batches of exactly `size` trajectories, the last one of what is left, in random order; at
    most so many in a row.

    A group goes whole into a batch that has room for it; where none fits, the smallest is parted.
    """
    groups = group(examples, most, seed)
    Random(seed_of(seed, "rows")).shuffle(groups)
    waiting: dict[int, list[Places]] = defaultdict(list)
    for places in groups:
        waiting[len(places)].append(places)
    batches: list[list[Places]] = []
    while any(waiting.values()):
        batch: list[Places] = []
        room = size
        while room and any(waiting.values()):
            places = _next(waiting, room)
            batch.append(places)
            room -= len(places)
        batches.append(batch)
    Random(seed_of(seed, "batches")).shuffle(batches)
    return batches


def _next(waiting: dict[int, list[Places]], room: int) -> Places:
    """The largest group of at most `room` trajectories, or so many of the smallest group."""
    sizes = sorted(size for size, groups in waiting.items() if groups)
    fits = [size for size in sizes if size <= room]
    if fits:
        return waiting[fits[-1]].pop()
    parted = waiting[sizes[0]].pop()
    waiting[sizes[0] - room].append(parted[room:])
    return parted[:room]


def collate(rows: Sequence[Row]) -> dict[str, Any]:
    """Rows end to end as tensors: `input_ids`, `labels`, `position_ids` of (1, tokens), and their `Spans` as
    `attention_mask`. No row is scored from the one before it: its first label is ignored."""
    import torch  # noqa: PLC0415

    def line(lists: Iterable[list[int]]) -> Any:
        return torch.tensor([[*chain.from_iterable(lists)]])

    return {
        "input_ids": line(row.ids for row in rows),
        "labels": line(row.labels for row in rows),
        "position_ids": line(row.positions for row in rows),
        "attention_mask": Spans([row.spans for row in rows]).as_mask(),
    }

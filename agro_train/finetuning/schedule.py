"""The batches of a whole training in their order, decided by its seed: epochs lie one after the other, each in an order
of its own."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from random import Random
from typing import TypeVar

from agro_data.hashing import seed_of
from agro_train.language_model.shared_prompts import Places, lay_batches
from agro_train.language_model.tokens import Example

Batch = TypeVar("Batch")

NEIGHBOURS = 50  # batches among which examples of about one length are sought, at most


def sharing(examples: Sequence[Example], epochs: float, size: int, most: int, seed: int) -> list[list[Places]]:
    """Batches of rows that share their prompts; each epoch lays its rows anew."""
    return _over(epochs, seed, lambda own: lay_batches(examples, size, most, own))


def padded(lengths: Sequence[int], epochs: float, size: int, seed: int) -> list[list[int]]:
    """Batches of `size` examples, by their places, of about one length: what is shorter than the longest is padded."""
    return _over(epochs, seed, lambda own: _alike(lengths, size, own))


def _over(epochs: float, seed: int, batches_of: Callable[[int], list[Batch]]) -> list[Batch]:
    """The batches of each epoch by a seed of its own, of the last one as many as are wanted."""
    found: list[Batch] = []
    for epoch in range(math.ceil(epochs)):
        batches = batches_of(seed_of(seed, "epoch", epoch))
        wanted = min(1.0, epochs - epoch) * len(batches)
        found += batches[: math.ceil(round(wanted, 6))]  # 1.1 - 1.0 is a hair more than a tenth
    return found


def _alike(lengths: Sequence[int], size: int, seed: int) -> list[list[int]]:
    """Every example once, sorted by length among so many at random that other company comes together in each epoch;
    the batch with the longest comes first, so that memory that is too small shows at once."""
    places = [*range(len(lengths))]
    Random(seed_of(seed, "company")).shuffle(places)
    wide = size * max(1, min(len(places) // (4 * size), NEIGHBOURS))
    batches: list[list[int]] = []
    for start in range(0, len(places), wide):
        some = sorted(places[start : start + wide], key=lengths.__getitem__)
        batches += [some[begin : begin + size] for begin in range(0, len(some), size)]
    Random(seed_of(seed, "batches")).shuffle(batches)
    batches.sort(key=lambda batch: max(lengths[place] for place in batch) < max(lengths))  # stable: the longest only
    return batches

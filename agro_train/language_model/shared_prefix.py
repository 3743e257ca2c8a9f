"""Attention behind beginnings that rows have in common: keys and values of each are held, and read, once.

Attempts at one prompt, and prompts about one database, begin alike. Where each row holds a copy of its beginning, most
of what a token costs on a CPU is to read the copies. Here the rows of a beginning ask it together, each asks what is
its own alone, and both answers are weighed by how much of the attention is theirs (2402.05099).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

KEPT = 0.5  # part of the beginnings that may have no row left before room is made


@dataclass
class Beginnings:
    """`layers`: keys and values of each (beginnings, key heads, places, size), in the type in which attention is
    computed. `mask` (beginnings, places): 0 on padding. `of`: the beginning of each row.
    """

    layers: Sequence[tuple[torch.Tensor, torch.Tensor]]
    mask: torch.Tensor
    of: list[int]
    lengths: torch.Tensor = field(init=False)  # (rows,): tokens of the beginning of each
    _hidden: torch.Tensor = field(init=False)
    _asked: torch.Tensor = field(init=False)  # (beginnings, most rows of one): rows, filled up by row 0
    _answers: torch.Tensor = field(init=False)  # (rows,): where the row stands among those

    def __post_init__(self) -> None:
        self.lengths = self.mask.sum(dim=1)[self.of]
        self._hidden = _hidden(self.mask[:, None, None].bool(), self.layers[0][1])
        most = max(Counter(self.of).values())
        asked = [[0] * most for _ in self.mask]
        before = Counter[int]()
        answers = []
        for row, beginning in enumerate(self.of):
            asked[beginning][before[beginning]] = row
            answers.append(beginning * most + before[beginning])
            before[beginning] += 1
        self._asked, self._answers = self.mask.new_tensor(asked), self.mask.new_tensor(answers)

    def taken(self, rows: Sequence[int]) -> Beginnings:
        """Those of these rows, as often as they stand there."""
        of = [self.of[row] for row in rows]
        left = sorted({*of})
        if len(left) > KEPT * len(self.mask):
            return Beginnings(self.layers, self.mask, of)
        layers = [(keys[left], values[left]) for keys, values in self.layers]
        return Beginnings(layers, self.mask[left], [left.index(beginning) for beginning in of])

    def attended(
        self,
        layer: int,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        mask: torch.Tensor | None,
        scale: float | None,
    ) -> torch.Tensor:
        """Attention of one token of each row. `query` (rows, key heads, queries, size), over its beginning, then over
        its own `key` and `value` (rows, key heads, places, size), where `mask` (rows, 1, 1, places) is true.
        """
        keys, values = self.layers[layer]
        query, key, value = query.to(keys.dtype), key.to(keys.dtype), value.to(keys.dtype)
        _rows, heads, queries, size = query.shape
        texts, most = self._asked.shape
        together = query[self._asked].transpose(1, 2).reshape(texts, heads, most * queries, size)
        common, common_weight = _attention(together, keys, values, self._hidden, scale)
        own, own_weight = _attention(query, key, value, None if mask is None else _hidden(mask, value), scale)
        common = common.reshape(texts, heads, most, queries, -1).transpose(1, 2).flatten(0, 1)[self._answers]
        common_weight = common_weight.reshape(texts, heads, most, queries).transpose(1, 2).flatten(0, 1)[self._answers]
        part = (common_weight - own_weight).sigmoid().unsqueeze(-1)
        return (common * part + own * (1 - part)).to(value.dtype)


def _hidden(mask: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """The numbers that are added to scores where `mask` is false, in the type of `values`. A query that sees nothing
    gets something that is finite, with a weight next to 0."""
    import torch  # noqa: PLC0415

    return values.new_zeros(mask.shape).masked_fill(~mask, torch.finfo(values.dtype).min)


def _attention(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, hidden: torch.Tensor | None, scale: float | None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Attention, and for each query the logarithm of the sum that its weights are divided by."""
    flash = _flash_for_cpu() if query.device.type == "cpu" else None
    if flash is None:
        return by_hand(query, key, value, hidden, scale)
    found: tuple[torch.Tensor, torch.Tensor] = flash(query, key, value, 0.0, False, attn_mask=hidden, scale=scale)
    return found


@cache
def _flash_for_cpu() -> Any:
    """PyTorch's own kernel, since the public one keeps that sum to itself; None in a release that has it no more."""
    import torch  # noqa: PLC0415

    return getattr(torch.ops.aten, "_scaled_dot_product_flash_attention_for_cpu", None)


def by_hand(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, hidden: torch.Tensor | None, scale: float | None
) -> tuple[torch.Tensor, torch.Tensor]:
    """The same where PyTorch has no kernel for it that is one for all."""
    scores = (query @ key.mT).float() * (query.shape[-1] ** -0.5 if scale is None else scale)
    scores = scores if hidden is None else scores + hidden
    return scores.softmax(dim=-1).to(value.dtype) @ value, scores.logsumexp(dim=-1)


_BEGUN: ContextVar[Beginnings | None] = ContextVar("beginnings", default=None)
_LAYERS: ContextVar[set[int] | None] = ContextVar("layers", default=None)


@contextmanager
def behind(beginnings: Beginnings | None) -> Iterator[None]:
    """A module that attends by `folded_attention` reads what follows behind `beginnings`."""
    token = _BEGUN.set(beginnings)
    try:
        yield
    finally:
        _BEGUN.reset(token)


@contextmanager
def layers_that_attend() -> Iterator[set[int]]:
    """The numbers of the layers that attend by `folded_attention` meanwhile: only they could do so behind something."""
    layers = set[int]()
    token = _LAYERS.set(layers)
    try:
        yield layers
    finally:
        _LAYERS.reset(token)


def beginnings_of(module: Any) -> tuple[int, Beginnings] | None:
    """The layer of an attention module and what it reads behind, if anything. Its layer is noted."""
    layer = getattr(module, "layer_idx", None)
    layers = _LAYERS.get()
    if layer is not None and layers is not None:
        layers.add(layer)
    begun = _BEGUN.get()
    return None if begun is None or layer is None else (layer, begun)

"""Texts read in passes of about one length each, on a CPU: padding is computed there like any token, and of questions
about one schema the longest may be three times as long as the mean. A GPU reads them all at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agro_train.language_model.attention import attends_behind
from agro_train.sampling.reading import Heads, as_cache, grows, read, without_first

if TYPE_CHECKING:
    import torch

COST = 64  # tokens in whose time a pass reads the weights, whatever else it reads


@dataclass(frozen=True)
class Pass:
    """`rows` of the texts; their logits, and cache and mask with the heads that stand before them."""

    rows: Sequence[int]
    logits: torch.Tensor
    cache: Any
    mask: torch.Tensor


def read_behind(module: Any, rests: Sequence[Sequence[int]], pad: int, heads: Heads) -> list[Pass]:
    """Read what follows the heads of texts."""
    device = next(module.parameters()).device
    grown = heads.cache is None or grows(heads.cache)
    apart = device.type == "cpu" and attends_behind(module) and grown
    found = []
    for rows in by_length([*map(len, rests)]) if apart else [[*range(len(rests))]]:
        cache, mask = heads.taken(rows)
        found.append(Pass(rows, *read(module, [rests[row] for row in rows], pad, cache, mask)))
    return found


def by_length(lengths: Sequence[int], cost: int = COST) -> list[list[int]]:
    """The places of `lengths` in passes, each as long as its longest; together, with the `cost` of each pass, they are
    as short as can be."""
    order = sorted(range(len(lengths)), key=lengths.__getitem__)
    least, begins = [0.0], [0]  # of the first so many: what they take, and where their last pass begins
    for end in range(1, len(order) + 1):
        longest = lengths[order[end - 1]]
        taken, begin = min((least[start] + cost + (end - start) * longest, start) for start in range(end))
        least.append(taken)
        begins.append(begin)
    found, end = [], len(order)
    while end:
        found.append(sorted(order[begins[end] : end]))
        end = begins[end]
    return found[::-1]


def joined(passes: Sequence[Pass], head: int, keep: bool) -> tuple[torch.Tensor, Any, torch.Tensor]:
    """Logits, cache and mask of all texts in their order, without the first `head` places of each row, unless they are
    to be kept; what follows is padded on its left where it is shorter than the longest."""
    import torch  # noqa: PLC0415

    start = head if keep else 0
    first = passes[0]
    if len(passes) == 1:
        kept = (first.cache, first.mask) if keep else without_first(first.cache, first.mask, head)
        return first.logits, *kept
    longest = max(one.mask.shape[1] for one in passes) - head
    texts = sum(len(one.rows) for one in passes)

    def laid(parts: Sequence[torch.Tensor]) -> torch.Tensor:
        """Tensors (rows, ..., places, size) of the passes as one of all texts."""
        whole = parts[0].new_zeros(texts, *parts[0].shape[1:-2], start + longest, parts[0].shape[-1])
        for one, part in zip(passes, parts, strict=True):
            whole[one.rows, ..., :start, :] = part[..., :start, :]
            whole[one.rows, ..., start + longest + head - part.shape[-2] :, :] = part[..., head:, :]
        return whole

    logits = torch.empty(texts, first.logits.shape[1], dtype=first.logits.dtype)
    for one in passes:
        logits[one.rows] = one.logits
    layers = zip(*(one.cache.layers for one in passes), strict=True)
    cache = as_cache([(laid([one.keys for one in each]), laid([one.values for one in each])) for each in layers])
    return logits, cache, laid([one.mask.unsqueeze(-1) for one in passes]).squeeze(-1)

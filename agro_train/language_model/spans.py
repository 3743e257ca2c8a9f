"""Attention within rows that lie end to end: what a row's trajectories share sees itself, a tail sees that and itself.

A mask over pairs of tokens could say the same, and costs what it leaves out: a kernel scores every pair and throws most
away, and rows beside each other are padded to the longest. On a CPU that is most of the time, so there each span is
attended by itself. A GPU has that time, and not the time to be told of each span in each layer: there the rows stand
side by side under a mask.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch


NONE = -1  # fills rows of few tails up


@dataclass(frozen=True)
class Spans:
    """For each row the number of tokens that its trajectories share, then the number of tokens of each tail."""

    rows: Sequence[Sequence[int]]
    _found: dict[Any, Any] = field(default_factory=dict, init=False, repr=False, compare=False)  # by device

    def as_mask(self) -> torch.Tensor:
        """Integers (1, 1, rows, most spans), which go through a model of transformers as a mask of four dimensions
        does: as they are, to each layer. Attention that takes them for a mask of pairs raises."""
        import torch  # noqa: PLC0415

        most = max(len(row) for row in self.rows)
        return torch.tensor([[[[*row, *[NONE] * (most - len(row))] for row in self.rows]]])

    @classmethod
    def of(cls, mask: torch.Tensor | None) -> Spans | None:
        """The spans from which `as_mask` made this mask; None for a mask of pairs."""
        if mask is None or mask.is_floating_point() or mask.dtype.itemsize == 1:
            return None
        held: Spans | None = getattr(mask, "spans", None)
        if held is None:
            held = cls([[length for length in row if length != NONE] for row in mask[0, 0].tolist()])
            mask.spans = held  # type: ignore[attr-defined]  # read once, not in each layer: a GPU would be waited for
        return held

    def attended(
        self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, scale: float | None, dropout: float = 0.0
    ) -> torch.Tensor:
        """Attention of `query` (1, heads, tokens, size) over `key` and `value` (1, key heads, tokens, size), for all
        rows end to end.

        Returns (1, heads, tokens, size).
        """
        way = self.one_by_one if query.device.type == "cpu" else self.side_by_side
        return way(query, key, value, scale, dropout)

    def one_by_one(
        self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, scale: float | None, dropout: float
    ) -> torch.Tensor:
        """`attended`, a call of a kernel for each span: no pair is scored in vain."""
        import torch  # noqa: PLC0415

        lengths = [*chain.from_iterable(self.rows)]
        parts = zip(*(torch.split(tensor, lengths, dim=2) for tensor in (query, key, value)), strict=True)
        found = []
        for row in self.rows:
            asked, keys, values = next(parts)
            if row[0]:
                found.append(_seen(asked, keys, values, scale, dropout))
            for _ in row[1:]:
                asked, own_keys, own_values = next(parts)
                behind = torch.cat([keys, own_keys], dim=2), torch.cat([values, own_values], dim=2)
                found.append(_seen(asked, *behind, scale, dropout))
        return torch.cat(found, dim=2)

    def side_by_side(
        self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, scale: float | None, dropout: float
    ) -> torch.Tensor:
        """`attended`, one call of a kernel for all rows, padded to the longest."""
        from torch.nn.functional import scaled_dot_product_attention  # noqa: PLC0415

        places, sees, back = self._beside(query.device)
        count, longest = places.shape
        times = query.shape[1] // key.shape[1]  # a GPU's kernels take a mask only with keys for every head

        def laid(tensor: torch.Tensor, times: int = 1) -> torch.Tensor:
            rows = tensor[0].index_select(1, places.flatten()).view(-1, count, longest, tensor.shape[-1])
            return rows.transpose(0, 1).repeat_interleave(times, dim=1)

        found = scaled_dot_product_attention(
            laid(query), laid(key, times), laid(value, times), attn_mask=sees, dropout_p=dropout, scale=scale
        )
        return found.transpose(0, 1).flatten(1, 2).index_select(1, back).unsqueeze(0)

    def _beside(self, device: torch.device) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """For rows side by side: the tokens of each (rows, longest), padded by its first; which of them sees which
        (rows, 1, longest, longest); and where each token of all rows end to end then stands (tokens,). Found once, not
        in each layer."""
        import torch  # noqa: PLC0415

        if device in self._found:
            known: tuple[torch.Tensor, torch.Tensor, torch.Tensor] = self._found[device]
            return known
        lengths = [sum(row) for row in self.rows]
        longest = max(lengths)
        place = torch.arange(longest)
        starts = torch.tensor([*accumulate(lengths, initial=0)][:-1])[:, None]
        inside = place < torch.tensor(lengths)[:, None]
        places = starts + place * inside
        part = torch.tensor(
            [
                [*chain.from_iterable([span] * length for span, length in enumerate(row)), *[0] * (longest - sum(row))]
                for row in self.rows
            ]
        )
        back = inside.flatten().nonzero().squeeze(1)
        part, place = part.to(device), place.to(device)  # millions of pairs: found on the device, not sent there
        sees = ((part[:, None] == 0) | (part[:, None] == part[:, :, None])) & (place <= place[:, None])
        found = places.to(device), sees[:, None], back.to(device)
        self._found[device] = found
        return found


def _seen(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, scale: float | None, dropout: float
) -> torch.Tensor:
    """Attention of the last tokens over all: each sees those up to its own."""
    import torch  # noqa: PLC0415
    from torch.nn.functional import scaled_dot_product_attention  # noqa: PLC0415

    own, places = query.shape[2], key.shape[2]
    mask = None
    if own < places:
        mask = torch.ones(own, places, dtype=torch.bool, device=query.device).tril(places - own)
    return scaled_dot_product_attention(
        query,
        key,
        value,
        attn_mask=mask,
        dropout_p=dropout,
        is_causal=mask is None,
        scale=scale,
        enable_gqa=query.shape[1] != key.shape[1],
    )

"""Texts that a torch module goes on with, a row each: the logits behind each, and what the module keeps of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch


@dataclass
class Rows:
    """`logits` (rows, vocabulary) of what comes next; `cache`: keys and values; `mask` (rows, places): 0 on padding."""

    module: Any
    logits: torch.Tensor
    cache: Any
    mask: torch.Tensor

    @classmethod
    def begin(cls, module: Any, prefixes: Sequence[Sequence[int]], pad: int) -> Rows:
        """A row for each prefix; those that are alike are read once. Padding stands on the left."""
        import torch  # noqa: PLC0415

        from agro_train.sampling.roomy_cache import make_room  # noqa: PLC0415

        device = next(module.parameters()).device
        unique = list(dict.fromkeys(map(tuple, prefixes)))
        longest = max(map(len, unique))
        rows = [[pad] * (longest - len(prefix)) + list(prefix) for prefix in unique]
        ids = torch.tensor(rows, device=device)
        mask = torch.tensor([[0] * (longest - len(p)) + [1] * len(p) for p in unique], device=device)
        places = (mask.cumsum(dim=1) - 1).clamp(min=0)
        out = module(input_ids=ids, attention_mask=mask, position_ids=places, use_cache=True, logits_to_keep=1)
        index = {prefix: place for place, prefix in enumerate(unique)}
        take = torch.tensor([index[tuple(prefix)] for prefix in prefixes], device=device)
        out.past_key_values.batch_select_indices(take)
        make_room(out.past_key_values)
        return cls(module, out.logits[take, -1], out.past_key_values, mask[take])

    def go_on(self, parents: Sequence[int], tokens: Sequence[int]) -> list[int]:
        """The rows are now those of `parents`, as often as they stand there, a token longer each.

        Gives the row of each, by `seats`: keys and values of a row that does not change its place are not copied.
        """
        import torch  # noqa: PLC0415

        device, places = self.mask.device, seats(parents)
        seated = sorted(zip(places, parents, tokens, strict=True))
        taken = [parent for _, parent, _ in seated]
        if taken != list(range(len(self.mask))):
            keep = torch.tensor(taken, device=device)
            self.cache.batch_select_indices(keep)
            self.mask = self.mask[keep]
        self.mask = torch.cat([self.mask, self.mask.new_ones(len(tokens), 1)], dim=1)
        out = self.module(
            input_ids=torch.tensor([token for _, _, token in seated], device=device).unsqueeze(1),
            attention_mask=self.mask,
            position_ids=self.mask.sum(dim=1, keepdim=True) - 1,
            past_key_values=self.cache,
            use_cache=True,
        )
        self.logits, self.cache = out.logits[:, -1], out.past_key_values
        return places


def seats(parents: Sequence[int]) -> list[int]:
    """A row, from 0, for each of `parents`: its own for the first of each, where there are so many; of the others, the
    rows that are left.
    """
    first = {parent: place for place, parent in reversed([*enumerate(parents)])}
    own = {place: parent for parent, place in first.items() if parent < len(parents)}
    left = iter(sorted({*range(len(parents))} - {*own.values()}))
    return [own[place] if place in own else next(left) for place in range(len(parents))]

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

    def go_on(self, parents: Sequence[int], tokens: Sequence[int]) -> None:
        """The rows are now those of `parents`, in that order and as often as they stand there, a token longer each."""
        import torch  # noqa: PLC0415

        device = self.mask.device
        if list(parents) != list(range(len(self.mask))):
            keep = torch.tensor(parents, device=device)
            self.cache.batch_select_indices(keep)
            self.mask = self.mask[keep]
        self.mask = torch.cat([self.mask, self.mask.new_ones(len(tokens), 1)], dim=1)
        out = self.module(
            input_ids=torch.tensor(tokens, device=device).unsqueeze(1),
            attention_mask=self.mask,
            position_ids=self.mask.sum(dim=1, keepdim=True) - 1,
            past_key_values=self.cache,
            use_cache=True,
        )
        self.logits, self.cache = out.logits[:, -1], out.past_key_values

"""Texts that a torch module goes on with, a row each: the logits behind each, and what the module keeps of it.

What several rows begin with is kept once, where the module can attend behind it (`language_model.shared_prefix`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any

from agro_train.language_model.shared_prefix import Beginnings, behind, layers_that_attend
from agro_train.sampling.passes import joined, read_behind
from agro_train.sampling.prefix_cache import Remembered
from agro_train.sampling.reading import grows, read_heads, states, taken, without_first

if TYPE_CHECKING:
    import torch


@dataclass
class Rows:
    """`logits` (rows, vocabulary) of what comes next; `cache`: keys and values; `mask` (rows, places): 0 on padding.

    Behind `begun` cache and mask are of what follows it.
    """

    module: Any
    logits: torch.Tensor
    cache: Any
    mask: torch.Tensor
    begun: Beginnings | None = None

    @classmethod
    def begin(
        cls,
        module: Any,
        prefixes: Sequence[Sequence[int]],
        pad: int,
        share: bool = True,
        remembered: Remembered | None = None,
        room: float = inf,
    ) -> Rows:
        """A row for each prefix. Those that are alike are read once, as is what several begin with (`cuts`), and not at
        all what is `remembered`; what is read once is kept once if they `share` it. Each goes on for as many tokens as
        there is `room` for.
        """
        from agro_train.sampling.preallocated_cache import make_room  # noqa: PLC0415

        index = {prefix: place for place, prefix in enumerate(dict.fromkeys(map(tuple, prefixes)))}
        texts = [*index]
        with layers_that_attend() as attending:
            heads = read_heads(module, texts, pad, remembered, room)
            rests = [text[cut:] for text, cut in zip(texts, heads.cuts, strict=True)]
            passes = read_behind(module, rests, pad, heads)
        first = passes[0].cache
        share = share and grows(first) and attending == {*range(len(first.layers))}
        begun = heads.beginnings() if share else None
        logits, cache, mask = joined(passes, heads.length, keep=begun is None)
        if remembered and grows(cache):
            remembered.add(texts, heads.texts, heads.cuts, states(cache))
        places = [index[tuple(prefix)] for prefix in prefixes]
        if begun is not None:
            begun = begun.taken(places)
        elif share and mask.shape[1] > 1:
            whole = mask[:, :-1]  # whole texts, but for their last tokens
            begun = Beginnings(states(cache, whole.shape[1]), whole, [*range(len(index))]).taken(places)
            cache, mask = without_first(cache, mask, whole.shape[1])
        cache, mask = taken(cache, mask, places)
        make_room(cache)
        return cls(module, logits[places], cache, mask, begun)

    def go_on(self, parents: Sequence[int], tokens: Sequence[int]) -> list[int]:
        """The rows become those of `parents`, as often as they occur there, each a token longer.

        Gives the row of each, by `seats`: keys and values of a row that does not change its place are not copied.
        """
        import torch  # noqa: PLC0415

        device, places = self.mask.device, seats(parents)
        seated = sorted(zip(places, parents, tokens, strict=True))
        kept = [parent for _, parent, _ in seated]
        if kept != list(range(len(self.mask))):
            self.cache, self.mask = taken(self.cache, self.mask, kept)
            self.begun = self.begun and self.begun.taken(kept)
        self.mask = torch.cat([self.mask, self.mask.new_ones(len(tokens), 1)], dim=1)
        before = 0 if self.begun is None else self.begun.lengths[:, None]
        with behind(self.begun):
            out = self.module(
                input_ids=torch.tensor([token for _, _, token in seated], device=device).unsqueeze(1),
                attention_mask=self.mask,
                position_ids=before + self.mask.sum(dim=1, keepdim=True) - 1,
                past_key_values=self.cache,
                use_cache=True,
            )
        self.logits, self.cache = out.logits[:, -1], out.past_key_values
        return places


def seats(parents: Sequence[int]) -> list[int]:
    """A row, from 0, for each of `parents`. The first occurrence of a parent keeps its own row, if there are so many
    rows; the others get the rows that are left.
    """
    first = {parent: place for place, parent in reversed([*enumerate(parents)])}
    own = {place: parent for parent, place in first.items() if parent < len(parents)}
    left = iter(sorted({*range(len(parents))} - {*own.values()}))
    return [own[place] if place in own else next(left) for place in range(len(parents))]

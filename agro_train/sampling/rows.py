"""Texts that a torch module goes on with, a row each: the logits behind each, and what the module keeps of it.

What several rows begin with is kept once, where the module can attend behind it (`language_model.beginnings`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agro_train.language_model.beginnings import Beginnings, behind, layers_that_attend
from agro_train.sampling.beginnings import cuts

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
    def begin(cls, module: Any, prefixes: Sequence[Sequence[int]], pad: int, share: bool = True) -> Rows:
        """A row for each prefix. Those that are alike are read once, as is what several begin with (`cuts`); what is
        read once is kept once if they `share` it."""
        from agro_train.sampling.roomy_cache import grows, make_room  # noqa: PLC0415

        index = {prefix: place for place, prefix in enumerate(dict.fromkeys(map(tuple, prefixes)))}
        parts = [(prefix[:cut], prefix[cut:]) for prefix, cut in zip(index, cuts([*index]), strict=True)]
        heads = {head: place for place, head in enumerate(dict.fromkeys(head for head, _ in parts))}
        cache, mask, begun = None, None, None
        with layers_that_attend() as attending:
            if any(heads):
                _, cache, mask = _read(module, [*heads], pad)
                of = [heads[head] for head, _ in parts]
                if share and grows(cache):
                    begun = Beginnings(_layers(cache), mask, of)
                cache, mask = _taken(cache, mask, of)
            logits, cache, mask = _read(module, [rest for _, rest in parts], pad, cache, mask)
        places = [index[tuple(prefix)] for prefix in prefixes]
        if share and begun is None and grows(cache) and mask.shape[1] > 1:  # whole texts, but for their last tokens
            first = mask[:, :-1]
            begun = Beginnings(_layers(cache, first.shape[1]), first, [*range(len(index))])
        if begun is not None and attending == {*range(len(begun.layers))}:
            cache, mask = _behind(cache, mask, begun.mask.shape[1])
            begun = begun.taken(places)
        else:
            begun = None
        cache, mask = _taken(cache, mask, places)
        make_room(cache)
        return cls(module, logits[places], cache, mask, begun)

    def go_on(self, parents: Sequence[int], tokens: Sequence[int]) -> list[int]:
        """The rows are now those of `parents`, as often as they stand there, a token longer each.

        Gives the row of each, by `seats`: keys and values of a row that does not change its place are not copied.
        """
        import torch  # noqa: PLC0415

        device, places = self.mask.device, seats(parents)
        seated = sorted(zip(places, parents, tokens, strict=True))
        taken = [parent for _, parent, _ in seated]
        if taken != list(range(len(self.mask))):
            self.cache, self.mask = _taken(self.cache, self.mask, taken)
            self.begun = self.begun and self.begun.taken(taken)
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


def _layers(cache: Any, places: int | None = None) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Keys and values of the first `places`, in the type in which attention is computed: autocast casts them anew for
    each token."""
    import torch  # noqa: PLC0415

    values = cache.layers[0].values
    device = values.device.type
    kind = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else values.dtype
    return [(layer.keys[:, :, :places].to(kind), layer.values[:, :, :places].to(kind)) for layer in cache.layers]


def _behind(cache: Any, mask: torch.Tensor, places: int) -> tuple[Any, torch.Tensor]:
    """A cache and its mask without their first `places`."""
    for layer in cache.layers:
        layer.keys, layer.values = layer.keys[:, :, places:], layer.values[:, :, places:]
    return cache, mask[:, places:]


def _read(
    module: Any, texts: Sequence[Sequence[int]], pad: int, cache: Any = None, mask: torch.Tensor | None = None
) -> tuple[torch.Tensor, Any, torch.Tensor]:
    """The logits behind each text, padded on the left, the cache with it, and its mask. A row of `cache` and `mask`, if
    given, stands before each."""
    import torch  # noqa: PLC0415

    device, longest = next(module.parameters()).device, max(map(len, texts))
    padding = [longest - len(text) for text in texts]
    ids = torch.tensor([[pad] * left + [*text] for left, text in zip(padding, texts, strict=True)], device=device)
    seen = torch.tensor([[0] * left + [1] * (longest - left) for left in padding], device=device)
    mask = seen if mask is None else torch.cat([mask, seen], dim=1)
    out = module(
        input_ids=ids,
        attention_mask=mask,
        position_ids=(mask.cumsum(dim=1) - 1).clamp(min=0)[:, -longest:],
        past_key_values=cache,
        use_cache=True,
        logits_to_keep=1,
    )
    return out.logits[:, -1], out.past_key_values, mask


def _taken(cache: Any, mask: torch.Tensor, rows: Sequence[int]) -> tuple[Any, torch.Tensor]:
    """A cache and its mask with those rows, as often as they stand there."""
    keep = mask.new_tensor(rows)
    cache.batch_select_indices(keep)
    return cache, mask[keep]


def seats(parents: Sequence[int]) -> list[int]:
    """A row, from 0, for each of `parents`: its own for the first of each, where there are so many; of the others, the
    rows that are left.
    """
    first = {parent: place for place, parent in reversed([*enumerate(parents)])}
    own = {place: parent for parent, place in first.items() if parent < len(parents)}
    left = iter(sorted({*range(len(parents))} - {*own.values()}))
    return [own[place] if place in own else next(left) for place in range(len(parents))]

"""Texts as a torch module reads them: what several begin with once, what is remembered not at all, then the rests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any

from agro_train.language_model.reach import by_distance, sees
from agro_train.language_model.shared_prefix import Beginnings
from agro_train.sampling.common_prefix import cuts, longest_row, places_read
from agro_train.sampling.prefix_cache import Remembered, Text, stacked

if TYPE_CHECKING:
    import torch

    from agro_train.sampling.prefix_cache import Layers


@dataclass(frozen=True)
class Heads:
    """What texts begin with: of each as many tokens as `cuts` says, which are in row `of` it of `cache` and `mask`, and
    in the remembered `texts`. There is no cache where nothing is cut.
    """

    cuts: Sequence[int]
    of: list[int]
    texts: Sequence[Text | None]
    cache: Any = None
    mask: torch.Tensor | None = None

    @property
    def length(self) -> int:
        """Places of a head."""
        return 0 if self.mask is None else self.mask.shape[1]

    def beginnings(self) -> Beginnings | None:
        """Them, to attend behind, where layers grow."""
        if self.cache is None or self.mask is None:
            return None
        return Beginnings(states(self.cache), self.mask, self.of)

    def taken(self, rows: Sequence[int]) -> tuple[Any, torch.Tensor | None]:
        """The cache and mask of what these texts begin with. Where layers do not grow, once only: it is changed."""
        if self.cache is None or self.mask is None:
            return None, None
        of = [self.of[row] for row in rows]
        if not grows(self.cache):
            return taken(self.cache, self.mask, of)
        return as_cache([(layer.keys[of], layer.values[of]) for layer in self.cache.layers]), self.mask[of]


def read_heads(
    module: Any, texts: Sequence[tuple[int, ...]], pad: int, remembered: Remembered | None, room: float
) -> Heads:
    """The heads of `texts`: those that are remembered where that leaves less to read, else by `cuts`.

    Rests are padded on the left, so that padding stands between a head and its rest. A layer that looks back on some
    places only, or sees how far off they are, would count it: its texts are read whole, unless it sees all places of
    the longest row with `room` for what it goes on with.
    """
    reach = _reach(module)

    def fits(behind: Sequence[int]) -> bool:
        return longest_row(texts, behind) + room <= reach

    near = [remembered.longest(text) if remembered else None for text in texts]
    kept = [min(known.length, len(text) - 1) if known else 0 for known, text in zip(near, texts, strict=True)]
    plain = cuts(texts)
    if any(kept) and fits(kept) and places_read(texts, kept, known=True) <= places_read(texts, plain):
        pairs = [*zip(near, kept, strict=True)]
        rows = {pair: row for row, pair in enumerate(dict.fromkeys(pairs))}
        layers, mask = stacked([known for known, _ in rows], [cut for _, cut in rows])
        return Heads(kept, [rows[pair] for pair in pairs], near, as_cache(layers), mask)
    none: list[Text | None] = [None] * len(texts)
    if not (any(plain) and fits(plain)):
        return Heads([0] * len(texts), [0] * len(texts), none)
    heads = [text[:cut] for text, cut in zip(texts, plain, strict=True)]
    places = {head: row for row, head in enumerate(dict.fromkeys(heads))}
    _, cache, mask = read(module, [*places], pad)
    of = [places[head] for head in heads]
    if remembered and grows(cache):
        found = remembered.add([*places], none[: len(places)], [0] * len(places), states(cache))
        return Heads(plain, of, [found[row] for row in of], cache, mask)
    return Heads(plain, of, none, cache, mask)


def _reach(module: Any) -> float:
    """How many places a row may have, padding among them, before a layer of the module counts them."""
    config = getattr(module, "config", None)
    if config is None:
        return inf
    return 0 if by_distance(config) else sees(config)


def read(
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


def taken(cache: Any, mask: torch.Tensor, rows: Sequence[int]) -> tuple[Any, torch.Tensor]:
    """A cache and its mask with those rows, as often as they stand there."""
    keep = mask.new_tensor(rows)
    cache.batch_select_indices(keep)
    return cache, mask[keep]


def without_first(cache: Any, mask: torch.Tensor, places: int) -> tuple[Any, torch.Tensor]:
    """A cache and its mask without their first `places`."""
    for layer in cache.layers:
        layer.keys, layer.values = layer.keys[:, :, places:], layer.values[:, :, places:]
    return cache, mask[:, places:]


def grows(cache: Any) -> bool:
    """Whether `cache` has layers, each of which grows with each token and keeps all."""
    from transformers.cache_utils import DynamicLayer  # noqa: PLC0415

    return bool(cache.layers) and all(type(layer) is DynamicLayer for layer in cache.layers)


def states(cache: Any, places: int | None = None) -> Layers:
    """Keys and values of the first `places`, in the type in which attention is computed: autocast casts them anew for
    each token."""
    import torch  # noqa: PLC0415

    values = cache.layers[0].values
    device = values.device.type
    kind = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else values.dtype
    return [(layer.keys[:, :, :places].to(kind), layer.values[:, :, :places].to(kind)) for layer in cache.layers]


def as_cache(layers: Layers) -> Any:
    """These keys and values as transformers keeps them."""
    from transformers import DynamicCache  # noqa: PLC0415

    cache = DynamicCache()
    for number, (keys, values) in enumerate(layers):
        cache.update(keys, values, number)
    return cache

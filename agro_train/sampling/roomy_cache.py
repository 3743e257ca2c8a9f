"""Keys and values of a text that is being written, with room for what comes.

A cache of transformers is a tensor that each token copies whole, to be one place longer: on a CPU that takes longer
than all the rest of writing. Here a token is written into room that is there, and more is made when it is full.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from transformers.cache_utils import DynamicLayer

if TYPE_CHECKING:
    import torch

ROOM = 64  # places that are made at a time


class RoomyLayer(DynamicLayer):  # type: ignore[misc]
    """A layer whose `keys` and `values` (rows, heads, places, size) are the used part of what is held for it."""

    def __init__(self, layer: DynamicLayer) -> None:
        super().__init__()
        self.lazy_initialization(layer.keys, layer.values)
        self._held_keys, self._held_values = self.keys, self.values = layer.keys, layer.values

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *_: Any, **__: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        used = self.keys.shape[-2]
        wanted = used + key_states.shape[-2]
        if wanted > self._held_keys.shape[-2]:
            self._held_keys, self._held_values = _longer(self.keys, wanted), _longer(self.values, wanted)
        self._held_keys[..., used:wanted, :] = key_states
        self._held_values[..., used:wanted, :] = value_states
        self.keys, self.values = self._held_keys[..., :wanted, :], self._held_values[..., :wanted, :]
        return self.keys, self.values

    def batch_select_indices(self, indices: torch.Tensor) -> None:
        """The rows are now those at `indices`; one that stays where it stands is not copied."""
        used = self.keys.shape[-2]
        if len(indices) > len(self.keys):
            self._held_keys, self._held_values = self._held_keys[indices], self._held_values[indices]
        else:
            moved = (indices != indices.new_tensor(range(len(indices)))).nonzero().squeeze(1)
            for held in (self._held_keys, self._held_values):
                held[moved, :, :used] = held[indices[moved], :, :used]
            self._held_keys, self._held_values = self._held_keys[: len(indices)], self._held_values[: len(indices)]
        self.keys, self.values = self._held_keys[..., :used, :], self._held_values[..., :used, :]


def make_room(cache: Any) -> None:
    """Give each layer of `cache` room, where it is one that grows with each token; others stay as they are."""
    cache.layers = [RoomyLayer(layer) if type(layer) is DynamicLayer else layer for layer in cache.layers]


def _longer(states: torch.Tensor, wanted: int) -> torch.Tensor:
    rows, heads, used, size = states.shape
    longer = states.new_empty(rows, heads, wanted + ROOM, size)
    longer[..., :used, :] = states
    return longer

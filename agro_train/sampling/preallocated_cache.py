"""Keys and values of a text that is being written, with room for what comes.

A cache of transformers is a tensor that each token copies whole, to be one place longer: on a CPU that takes longer
than all the rest of writing. Here a token is written into room that is there, and so is a row that parts from another;
more room is made when it is full.
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
        rows, _heads, used, _size = self.keys.shape
        wanted = used + key_states.shape[-2]
        if wanted > self._held_keys.shape[-2]:
            self._hold(rows, wanted + ROOM)
        self._held_keys[:rows, :, used:wanted] = key_states
        self._held_values[:rows, :, used:wanted] = value_states
        self._use(rows, wanted)
        return self.keys, self.values

    def batch_select_indices(self, indices: torch.Tensor) -> None:
        """The rows are now those at `indices`; one that stays where it stands is not copied."""
        rows, used = len(indices), self.keys.shape[-2]
        if rows > len(self._held_keys):
            self._hold(rows + rows // 2, self._held_keys.shape[-2])  # rows that part are followed by others
        moved = (indices != indices.new_tensor(range(rows))).nonzero().squeeze(1)
        for held in (self._held_keys, self._held_values):
            held[moved, :, :used] = held[indices[moved], :, :used]
        self._use(rows, used)

    def _hold(self, rows: int, places: int) -> None:
        self._held_keys, self._held_values = (_held(states, rows, places) for states in (self.keys, self.values))

    def _use(self, rows: int, places: int) -> None:
        self.keys, self.values = self._held_keys[:rows, :, :places], self._held_values[:rows, :, :places]


def make_room(cache: Any) -> None:
    """Give each layer of `cache` room, where it is one that grows with each token; others stay as they are."""
    cache.layers = [RoomyLayer(layer) if type(layer) is DynamicLayer else layer for layer in cache.layers]


def _held(states: torch.Tensor, rows: int, places: int) -> torch.Tensor:
    """Room for so many, in which `states` stand."""
    used, heads, written, size = states.shape
    held = states.new_empty(rows, heads, places, size)
    held[:used, :, :written] = states
    return held

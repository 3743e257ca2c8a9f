"""Layers between attention as a few kernels each, made by `torch.compile`.

PyTorch's own way is a kernel for each operation of a norm or a gate: on a GPU a small model spends more time on
starting them and on reading and writing what lies between than on its matrix products. Norms are alike, and so are the
layers behind attention, so that two graphs serve a whole model, at any length.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch.nn import Module

_FUSED = ("RMSNorm", "MLP")  # what transformers calls them, behind the name of an architecture


def fuse(module: Module, backend: str = "inductor") -> None:
    """Let norms and feed-forward layers of a model of transformers be compiled when they are called next."""
    for part in _parts(module):
        part.compile(dynamic=True, backend=backend)


def unfuse(module: Module) -> None:
    """As it was before `fuse`: what is compiled cannot be recorded, and is compiled anew where nothing is learnt."""
    for part in _parts(module):
        part._compiled_call_impl = None


def _parts(module: Module) -> Iterator[Module]:
    return (part for part in module.modules() if type(part).__name__.endswith(_FUSED))

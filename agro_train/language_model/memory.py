"""Memory that PyTorch has freed on the CPU, given back to the system.

glibc keeps what is freed in pieces below 32 MB for later, and since tensors of each step have other sizes, a training
would hold several times what it uses.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


def give_back(device: torch.device) -> None:
    """Give back what is free, if tensors lie on the CPU and the C library is glibc. Takes some 0.1 s with gigabytes."""
    if device.type == "cpu" and (trim := _trim()) is not None:
        trim(0)


@cache
def _trim() -> Callable[[int], int] | None:
    try:
        found: Callable[[int], int] = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):  # musl, macOS, Windows
        return None
    return found

"""Memory that PyTorch has freed on the CPU, given back to the system.

glibc keeps what is freed in pieces below 32 MB for later, and since tensors of each step have other sizes, a training
would hold several times what it uses.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache


def give_back() -> None:
    """Give back what is free; where the C library is not glibc, do nothing. Takes some 0.1 s with gigabytes."""
    if (trim := _trim()) is not None:
        trim(0)


@cache
def _trim() -> Callable[[int], int] | None:
    try:
        found: Callable[[int], int] = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):  # musl, macOS, Windows
        return None
    return found

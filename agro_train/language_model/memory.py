"""Memory: what PyTorch has freed on the CPU goes back to the system, and a device that has too little says so in words.

glibc keeps what is freed in pieces below 32 MB for later, and since tensors of each step have other sizes, a training
would hold several times what it uses.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

from agro_data.config import ConfigError

if TYPE_CHECKING:
    import torch

_OF_CPU = "DefaultCPUAllocator: "  # begins what PyTorch says where the CPU's memory is too small


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


@contextmanager
def enough_memory(lower: str) -> Iterator[None]:
    """Around work on a device. Raises `ConfigError` where its memory is too small: which settings to `lower`, and what
    PyTorch says of the memory."""
    try:
        yield
    except RuntimeError as error:
        import torch  # noqa: PLC0415

        said = str(error).split(" Process ")[0].split(" Including ")[0]  # then it tells of others' memory, at length
        if isinstance(error, torch.OutOfMemoryError):
            who = "the GPU"
        elif _OF_CPU in said:
            who, said = "this machine", said[said.index(_OF_CPU) + len(_OF_CPU) :]
        else:
            raise
        raise ConfigError(f"{who} has too little memory: lower {lower}. {said}") from error

"""Memory that was freed is given back, where the C library can."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest

from agro_train.language_model.memory import give_back

MEGABYTE = 1_000_000


def resident() -> int:
    """Bytes of this process that are in memory."""
    (line,) = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) * 1_024


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc is asked to give memory back")
def test_what_is_freed_in_pieces_is_given_back() -> None:
    import torch

    held = [torch.ones(25_000) for _ in range(3_000)]  # 300 MB, in pieces that no allocator returns one by one
    kept = held[::50]
    before = resident()
    del held
    give_back(torch.device("cpu"))
    assert resident() < before - 200 * MEGABYTE
    assert all(bool((one == 1).all()) for one in kept)

"""Memory that was freed is given back, where the C library can."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest

from agro_data.config import ConfigError
from agro_train.language_model.memory import enough_memory, give_back

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


def test_a_gpu_with_too_little_memory_says_what_to_lower() -> None:
    import torch

    said = (
        "CUDA out of memory. Tried to allocate 26.00 MiB. GPU 0 has a total capacity of 79.18 GiB of which 8.25 MiB is "
        "free. Process 2807 has 13.97 GiB memory in use. Including non-PyTorch memory, this process has 16.89 GiB."
    )
    told = r"lower micro_batch\. CUDA out of memory.* 8\.25 MiB is free\.$"
    with pytest.raises(ConfigError, match=told), enough_memory("micro_batch"):
        raise torch.OutOfMemoryError(said)


def test_a_machine_with_too_little_memory_says_so_too() -> None:
    import torch

    told = "^this machine has too little memory: lower micro_batch. can't allocate memory: you tried to allocate"
    with pytest.raises(ConfigError, match=told), enough_memory("micro_batch"):
        torch.empty(10**15)


def test_other_errors_stay_what_they_are() -> None:
    with pytest.raises(RuntimeError, match="shapes"), enough_memory("micro_batch"):
        raise RuntimeError("shapes differ")

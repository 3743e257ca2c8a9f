"""A process trains on one GPU, whatever the machine has."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from agro_train.programs.settings import SettingsError
from agro_train.runs.ranks import on_one_gpu, refuse_shared_gpus


@pytest.mark.parametrize("there", [0, 1, 8])
def test_the_trainer_sees_one_gpu_at_most(there: int) -> None:
    args = SimpleNamespace(n_gpu=there, _n_gpu=there)
    assert on_one_gpu(args)._n_gpu == min(there, 1)


@pytest.mark.parametrize(("processes", "there", "refused"), [(8, 8, False), (2, 0, False), (1, 1, False), (8, 1, True)])
def test_no_gpu_is_shared(monkeypatch: pytest.MonkeyPatch, processes: int, there: int, refused: bool) -> None:
    """On a machine without a GPU several processes train on its processor."""
    import torch

    monkeypatch.setenv("LOCAL_WORLD_SIZE", str(processes))
    monkeypatch.setattr(torch.cuda, "device_count", lambda: there)
    said = pytest.raises(SettingsError, match=r"processes is 8: a process .* this machine has 1$")
    with said if refused else nullcontext():
        refuse_shared_gpus()

"""A process trains on one GPU, whatever the machine has."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from agro_train.runs.ranks import on_one_gpu


@pytest.mark.parametrize("there", [0, 1, 8])
def test_the_trainer_sees_one_gpu_at_most(there: int) -> None:
    args = SimpleNamespace(n_gpu=there, _n_gpu=there)
    assert on_one_gpu(args)._n_gpu == min(there, 1)

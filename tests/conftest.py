"""What several packages' tests share: where real databases are."""

from __future__ import annotations

import gc
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Workers share the cores. With a thread for each core in each of them, and in their children, a kernel waits for
# threads that have none. Torch reads this when it is loaded, which is later.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")


# Set where output is looked at while it comes, as in CI; it hides what a stream that nobody reads still holds.
os.environ.pop("PYTHONUNBUFFERED", None)


def pytest_configure(config: pytest.Config) -> None:
    """Tests are of the CPU, which every machine has, also where there is a GPU: `-m gpu` alone lets them see it. Torch
    reads this when it is loaded, which is later."""
    if config.option.markexpr != "gpu":
        os.environ["CUDA_VISIBLE_DEVICES"] = ""


def pytest_collection() -> None:
    """There is little garbage among what is imported for all tests."""
    gc.disable()


def pytest_collection_finish() -> None:
    """What is imported stays. Else whoever collects garbage, as a training run does several times, looks through it
    again, which takes half a second."""
    gc.collect()
    gc.freeze()
    gc.enable()


def pytest_unconfigure() -> None:
    """Else extension modules tell of what they hold at the end as of leaks."""
    gc.unfreeze()


# What a test says of the code does not depend on how busy the machine is.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Real benchmark databases and questions, which the repository does not hold."""
    if not SHARED.is_dir():
        pytest.skip("needs ../shared/data (real databases under their own licences, not in the repository)")
    return SHARED

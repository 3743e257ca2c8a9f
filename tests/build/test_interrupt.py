"""An interrupt does not wait for shards that have not been done."""

from __future__ import annotations

import multiprocessing
import time
from typing import Any

import pytest

from agro_data.parallel import run_shards

LONG = 120.0  # seconds: what waiting would cost


def interrupt(_: Any) -> None:
    raise KeyboardInterrupt


def test_an_interrupt_ends_the_workers() -> None:
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        run_shards(time.sleep, [0.0, LONG, LONG, LONG], workers=2, on_done=interrupt)
    assert time.monotonic() - start < LONG / 2
    assert not multiprocessing.active_children()

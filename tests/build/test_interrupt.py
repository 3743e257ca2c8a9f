"""An interrupt does not wait for shards that have not been done."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
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


def test_ctrl_c_while_workers_start_is_told_by_nobody_else() -> None:
    """It reaches all processes of a terminal, also amid the imports of that which workers are forked from."""
    program = (
        "import signal, time; from agro_data.parallel import run_shards\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler); print(flush=True)\n"
        "try: run_shards(time.sleep, [9.0, 9.0], workers=2, on_done=print)\n"
        "except KeyboardInterrupt: print('stopped')"
    )
    asked = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )
    with asked:
        assert asked.stdout is not None
        asked.stdout.readline()
        time.sleep(0.4)
        os.killpg(asked.pid, signal.SIGINT)
        said, told = asked.communicate(timeout=60)
    assert (said, told) == (b"stopped\n", b"")

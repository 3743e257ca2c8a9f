"""Slots of pools: a run that was killed keeps none for longer than until the next run.

(No postponed annotations here: Dagster reads the type of a context from them.)
"""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import dagster as dg
import pytest

from agro_data.defs.place import Place
from agro_data.defs.pools import DATABASE, free_dead, holding

pytestmark = pytest.mark.ci

HELD = """
import sys, time
import dagster as dg

@dg.op(pool="database")
def hold():
    open(sys.argv[1], "w").close()
    time.sleep(600)

@dg.job(executor_def=dg.in_process_executor)
def holding():
    hold()

holding.execute_in_process(instance=dg.DagsterInstance.get())
"""
HOME = "telemetry: {enabled: false}\nconcurrency: {pools: {granularity: op, default_limit: 1}}\n"


@dg.op(pool=DATABASE)
def query(place: Place) -> None:
    """A step that waits for the pool."""


@dg.job(executor_def=dg.in_process_executor)
def querying() -> None:
    query()


@dg.asset
def asking(context: dg.AssetExecutionContext) -> None:
    """Waits for a pool while it runs, as stages do that ask a model."""
    with holding(context, [DATABASE]):
        pass


def held(instance: dg.DagsterInstance) -> list[str]:
    slots = instance.event_log_storage.get_concurrency_info(DATABASE).claimed_slots
    return [slot.run_id for slot in slots]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path))
    (tmp_path / "dagster.yaml").write_text(HOME)
    return tmp_path


@pytest.fixture
def holder(home: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A program whose run holds the pool."""
    with begun(HELD, home) as program:
        yield program


@contextmanager
def begun(code: str, home: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A program whose run is in its step."""
    program = subprocess.Popen([sys.executable, "-c", code, str(home / "began")], env=dict(os.environ))
    try:
        deadline = time.monotonic() + 120
        while not (home / "began").exists():
            assert program.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.1)
        yield program
    finally:
        program.kill()
        program.wait()


def test_the_slot_of_a_killed_run_is_free_for_the_next(holder: subprocess.Popen[bytes]) -> None:
    with dg.DagsterInstance.get() as instance:
        (run_id,) = held(instance)
        assert free_dead(instance) == []  # it lives
        assert held(instance) == [run_id]
        holder.kill()
        holder.wait()
        done = querying.execute_in_process(instance=instance, resources={"place": Place()})
        assert done.success
        assert not held(instance)
        killed = instance.get_run_by_id(run_id)
        assert killed is not None
        assert killed.status == dg.DagsterRunStatus.FAILURE


def test_a_killed_run_that_held_nothing_is_not_under_way_for_ever(home: Path) -> None:
    with begun(HELD.replace('pool="database"', ""), home) as program, dg.DagsterInstance.get() as instance:
        (run,) = instance.get_runs()
        assert free_dead(instance) == []  # it lives
        program.kill()
        program.wait()
        assert free_dead(instance) == [run.run_id]
        assert instance.get_runs()[0].status == dg.DagsterRunStatus.FAILURE
        assert free_dead(instance) == []


def test_who_waits_for_a_run_that_is_killed_meanwhile_waits_no_longer(holder: subprocess.Popen[bytes]) -> None:
    def end() -> None:
        holder.kill()
        holder.wait()

    with dg.DagsterInstance.get() as instance:
        (run_id,) = held(instance)
        ending = threading.Timer(3, end)
        rescue = threading.Timer(90, instance.event_log_storage.free_concurrency_slots_for_run, [run_id])
        for timer in (ending, rescue):
            timer.start()
        done = dg.materialize([asking], instance=instance)
        assert rescue.is_alive(), "it waited until the slot was freed by hand"
        rescue.cancel()
        assert done.success
        assert not held(instance)

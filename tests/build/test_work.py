"""Shards are finished when renamed; a failing write leaves nothing; a crash costs one shard."""

from __future__ import annotations

import errno
import os
import re
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import psutil
import pytest

from agro_data import parallel
from agro_data.files import atomic_path, write_text
from agro_data.records import REJECTED, rows
from agro_data.stages import tally
from agro_data.work import Work


def test_a_written_shard_reads_back(tmp_path: Path) -> None:
    work = Work(tmp_path)
    frame = pl.DataFrame({"a": [1, 2]})
    refused = rows([dict.fromkeys(REJECTED, "x")], REJECTED)
    work.write("stage", "db.00.000", frame, refused)
    assert work.shards("stage") == ["db.00.000"]
    assert work.read("stage", "db.00.000").equals(frame)
    assert work.read_rejected("stage").height == 1
    assert work.read_rejected("other").is_empty()


def test_a_database_may_be_named_as_what_is_dropped(tmp_path: Path) -> None:
    work = Work(tmp_path)
    refused = rows([dict.fromkeys(REJECTED, "x")], REJECTED)
    for shard in ("shop", "shop.rejected", "rejected"):
        work.write("stage", shard, pl.DataFrame({"a": [1]}), refused)
    assert work.shards("stage") == ["rejected", "shop", "shop.rejected"]
    assert work.read("stage", "shop.rejected").height == 1
    assert work.read_rejected("stage").height == 3


def test_a_query_that_two_shards_refuse_counts_once_among_the_reasons(tmp_path: Path) -> None:
    """As it does in the version: shards of one round do not wait for each other."""
    work = Work(tmp_path)
    for shard, refused in (("a", {"1": "tie", "2": "empty"}), ("b", {"2": "empty", "3": "empty", "4": "timeout"})):
        frame = [{"stage": "verified", "db_id": "shop", "candidate_id": q, "reason": why} for q, why in refused.items()]
        empty = dict.fromkeys(REJECTED)
        work.write("verified", shard, pl.DataFrame({"a": [1]}), rows([empty | row for row in frame], REJECTED))
    assert list(tally.reasons(work, "verified").items()) == [("empty", 2), ("tie", 1), ("timeout", 1)]
    assert tally.once(work.read_rejected()).height == 4


def test_a_failing_write_is_invisible(tmp_path: Path) -> None:
    def write_half() -> None:
        with atomic_path(tmp_path / "x.parquet") as temporary:
            temporary.write_bytes(b"half")
            raise OSError(errno.ENOSPC, "full")

    with pytest.raises(OSError, match="full"):
        write_half()
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_written_is_said_of_the_file_that_was_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(path: Path, *_: object, **__: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system", str(path))

    with pytest.raises(OSError, match="full") as full, atomic_path(tmp_path / "x.parquet"):
        raise OSError(errno.ENOSPC, "full")  # a write names no file
    assert full.value.filename == str(tmp_path / "x.parquet")
    monkeypatch.setattr(Path, "touch", refused)
    monkeypatch.setattr(Path, "unlink", refused)  # of what is not there, too, on such a disk
    with pytest.raises(OSError, match="Read-only") as read_only:
        write_text(tmp_path / "report.html", "page")
    assert read_only.value.filename == str(tmp_path / "report.html")


def test_others_may_read_what_the_umask_lets_them(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_text(tmp_path / "report.html", "page")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "report.html").stat().st_mode) == 0o640


def test_what_is_no_plain_file_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    """`--output /dev/stdout`, or `/dev/null` by the superuser."""
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDWR)
    try:
        write_text(pipe, "text")
        assert os.read(reader, 100) == b"text"
    finally:
        os.close(reader)
    assert pipe.is_fifo()
    link.symlink_to(tmp_path / "file")
    write_text(link, "text")
    assert link.is_symlink()
    assert (tmp_path / "file").read_text() == "text"


def test_what_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "report.html").mkdir()
    for target in (tmp_path / "report.html", Path("/proc/report.html")):
        with pytest.raises(OSError, match=r"report\.html") as refused, atomic_path(target):
            pass
        assert refused.value.filename == str(target)


def test_a_shard_on_a_full_disk_says_so_by_its_errno(tmp_path: Path) -> None:
    script = """
import resource, sys
import polars as pl
from pathlib import Path
from agro_data.work import Work
resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, 1_000))
try:
    Work(Path(sys.argv[1])).write("stage", "db.00.000", pl.DataFrame({"a": [str(n * n) for n in range(10_000)]}))
except OSError as error:
    print(error.errno)
"""
    child = subprocess.run([sys.executable, "-c", script, tmp_path], capture_output=True, text=True, check=True)
    assert int(child.stdout) in parallel.DISK_FULL
    assert list((tmp_path / "stage").iterdir()) == []


def test_brackets_in_a_folder_are_no_pattern(tmp_path: Path) -> None:
    work = Work(tmp_path / "odd [name]")
    work.write("stage", "db.00.000", pl.DataFrame({"a": [1]}))
    assert work.read("stage", "db.00.000").height == 1


def _square(n: int) -> int:
    if n == 3:
        raise ValueError("three is refused")
    if n == 5:
        os._exit(9)
    return n * n


@pytest.mark.parametrize("workers", [1, 2])
def test_a_raising_task_is_reported_and_the_others_go_on(workers: int) -> None:
    seen: list[int] = []
    outcomes = parallel.run_shards(_square, [1, 2, 3, 4], workers, lambda o: seen.append(o.task))
    assert [o.answer for o in outcomes] == [1, 4, None, 16]
    assert "three is refused" in outcomes[2].error
    assert sorted(seen) == [1, 2, 3, 4]


def test_of_what_a_library_raised_the_caller_is_named(tmp_path: Path) -> None:
    (outcome,) = parallel.run_shards(Work(tmp_path).read_json, ["none.json"], 1, lambda o: None)
    assert re.search(r"^FileNotFoundError: .* \(at agro_data/work\.py, line \d+, in read_json\)$", outcome.error)
    assert "pathlib.py" in outcome.trace


def test_a_dying_worker_costs_one_task() -> None:
    outcomes = parallel.run_shards(_square, [1, 2, 5, 4, 6], 2, lambda o: None)
    assert [o.answer for o in outcomes] == [1, 4, None, 16, 36]
    assert "died" in outcomes[2].error
    assert [o.lost for o in outcomes] == [False, False, True, False, False]


class Handed(dict[int, int]):
    """Tasks, of which the second is handed out when the worker that does the first has died."""

    def items(self) -> Any:
        for number, item in enumerate(super().items()):
            if number == 1:
                time.sleep(3)
            yield item


def test_a_worker_that_dies_while_tasks_are_handed_out_ends_no_build() -> None:
    settled: list[int] = []
    lost = parallel._run_pool(_square, Handed({0: 5, 1: 2, 2: 4}), 2, lambda index, _: settled.append(index))
    assert sorted([*lost, *settled]) == [0, 1, 2]
    assert 0 in lost


def test_a_task_that_is_alone_does_not_take_this_process_with_it() -> None:
    (outcome,) = parallel.run_shards(_square, [5], 2, lambda o: None)
    assert outcome.lost


def _hungry(n: int) -> int:
    if n == 2:
        raise MemoryError
    return n


@pytest.mark.parametrize("workers", [1, 2])
def test_a_task_without_memory_is_lost_not_wrong(workers: int) -> None:
    outcomes = parallel.run_shards(_hungry, [1, 2, 3], workers, lambda o: None)
    assert [(o.answer, o.lost) for o in outcomes] == [(1, False), (None, True), (3, False)]


def _full(_: int) -> int:
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("workers", [1, 2])
def test_a_full_disk_stops_the_build(workers: int) -> None:
    with pytest.raises(OSError, match="No space"):
        parallel.run_shards(_full, [1, 2], workers, lambda o: None)


WAITING = """
import os, time
from pathlib import Path

def wait(place):
    Path(place, str(os.getpid())).touch()
    time.sleep(60)
"""
ORPHANS = """
import sys
from agro_data import parallel
from waiting import wait

parallel.run_shards(wait, [sys.argv[1], sys.argv[1]], 2, lambda outcome: None)
"""


def test_workers_end_with_the_process_they_work_for(tmp_path: Path) -> None:
    script, place = tmp_path / "orphans.py", tmp_path / "workers"
    script.write_text(ORPHANS)
    (tmp_path / "waiting.py").write_text(WAITING)  # workers import tasks, never the caller's main module
    place.mkdir()
    parent = subprocess.Popen([sys.executable, script, place], env=os.environ | {"PYTHONPATH": str(tmp_path)})
    _until(lambda: len(list(place.iterdir())) == 2)
    parent.kill()
    parent.wait()
    _until(lambda: not any(_runs(int(path.name)) for path in place.iterdir()))


def _runs(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _until(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)


def test_a_linked_shard_was_not_made_now(tmp_path: Path) -> None:
    work = Work(tmp_path)
    work.write("stage", "old", pl.DataFrame({"a": [1]}))
    moment = time.time_ns() + 10**9
    work.write("stage", "new", pl.DataFrame({"a": [2]}))
    os.utime(work.path("stage", "new.parquet"), ns=(moment, moment))
    os.link(work.path("stage", "old.parquet"), work.path("stage", "linked.parquet"))
    assert work.made_since("stage", moment) == ["new"]
    assert work.made_since("other", moment) == []

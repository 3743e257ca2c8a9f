"""The one place where generated SQL runs: worker processes that can be killed, fed in batches."""

from __future__ import annotations

import marshal
import mmap
import os
import subprocess
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, field
from hashlib import sha256
from multiprocessing import Pipe
from multiprocessing.connection import wait
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import Any, Literal, NamedTuple

from agro_data.databases.children import KILL_FACTOR, KILL_SLACK, OPEN_SECONDS, cause, environment
from agro_data.databases.errors import DatabaseError
from agro_data.databases.hostile.worker import IDLE, OPENING, PAGE_SIZE, RUNNING, STARTING, show, shown
from agro_data.databases.opening import settled, stamp, with_sides
from agro_data.databases.scratch import ScratchFolder
from agro_data.databases.types import Database, Layout, Limits, Result, Trial, TrialResult
from agro_data.faults import NO_SPACE, is_passing

Want = Literal["digest", "few", "rows"]

BATCH = 128  # trials a message
FEW_CELLS = 100_000
KEPT_CELLS: dict[Want, int] = {"digest": 0, "few": FEW_CELLS, "rows": sys.maxsize}  # of a result with its rows
LOOKS = 100  # at what a worker shows, until it is not being written
FRUITLESS_STARTS = 3  # workers that may end in a row without an answer before a batch is given up
COMMAND = "from agro_data.databases.hostile.worker import main; main()"


class SandboxError(Exception):
    """No worker can be started."""


# Statement, places of its databases among the batch's targets, digests accepted on each, whether ordered are meant,
# whether floats are never accepted.
_Task = tuple[str, list[int], list[tuple[str, ...]], bool, bool]
# Layout, path and stamp of a database; or, where it cannot be read, why.
_Target = tuple[Layout, str, tuple[Any, ...]] | str


@dataclass(frozen=True)
class _Batch:
    """Tasks and the databases they name, with the places of their results."""

    targets: list[_Target]
    places: list[int]
    tasks: list[_Task]
    fruitless: int = 0  # workers that ended on it without an answer


class _State(NamedTuple):
    """What a worker shows on its page."""

    since: float
    phase: int
    task: int
    place: int


NEW = _State(0.0, STARTING, 0, 0)


@dataclass
class _Worker:
    """A child process; between messages it has no batch."""

    process: subprocess.Popen[bytes]
    connection: Any
    page: mmap.mmap
    batch: _Batch | None = None
    answered: int = 0  # tasks of the batch whose results have come
    seen: _State = NEW

    def state(self) -> _State:
        """The state that the worker shows, or showed last if it does not finish writing."""
        for _ in range(LOOKS):
            if (found := shown(self.page)) is not None:
                self.seen = _State(*found)
                break
        return self.seen

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        self.connection.close()
        self.page.close()


@dataclass
class Sandbox:
    """Runs untrusted SQL on databases, read-only and within `limits`, in `workers` child processes.

    Use as a context manager; workers start when first needed and end with this process, however it ends.
    A statement that outlives its limit by half, or takes its worker down, has status "timeout" or "crashed"; the
    others of its batch run again elsewhere. Results do not depend on the number of workers. A database with a
    write-ahead log or journal is copied once into a private folder; nothing appears beside a source.
    """

    workers: int = 1
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        self._pool: list[_Worker] = []
        self._lock = threading.Lock()
        self._folder: ScratchFolder | None = None  # made for the first private copy
        self._settled: dict[tuple[Any, ...], Path] = {}
        self._closed = False

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the workers and remove private copies."""
        self._closed = True
        while self._pool:
            self._pool.pop().end()
        if self._folder:
            self._folder.cleanup()

    def run(self, database: Database, statements: Sequence[str], want: Want = "digest") -> list[Result]:
        """One result for each statement, in order. See `run_many`."""
        return self.run_many([(database, sql) for sql in statements], want)

    def run_many(self, pairs: Iterable[tuple[Database, str]], want: Want = "digest") -> list[Result]:
        """One result for each (database, SQL), in order; rows are kept when `want` is "rows"; when it is "few", only
        for results of at most `FEW_CELLS` cells, where long cells count as several.

        Raises `SandboxError` when no worker can be started; nothing a statement or a database does raises.
        """
        found = self.run_until_different([Trial(sql, (database,), ((),)) for database, sql in pairs], want)
        return [outcome.different for outcome in found if outcome.different is not None]

    def run_until_different(self, trials: Sequence[Trial], want: Want = "digest") -> list[TrialResult]:
        """Run each trial's statement on its databases, in order, up to the first that gives something unexpected.

        For verdicts and mutants: a wrong prediction, or a mutant that is told apart, costs the executions up to the
        first database that shows it, and only that result travels; with its rows as `want` says (see `run_many`), so
        that a comparison more lenient than digests can look at them. Trials on the same databases are best asked for in
        one call: they share messages and open files. Raises like `run_many`.
        """
        if self._closed:
            raise SandboxError("this sandbox is closed")
        with self._lock:
            try:
                return self._run(trials, KEPT_CELLS[want])
            except BaseException:  # also Ctrl-C: workers amid a batch cannot be used again
                while self._pool:
                    self._pool.pop().end()
                raise

    def _run(self, trials: Sequence[Trial], kept_cells: int) -> list[TrialResult]:
        results = {place: TrialResult(0) for place, trial in enumerate(trials) if not trial.databases}
        queue = self._batches(trials)
        while queue or any(worker.batch for worker in self._pool):
            self._feed(queue, kept_cells)
            busy = {worker.connection: worker for worker in self._pool if worker.batch}
            for connection in wait(list(busy), timeout=min(0.1, self.limits.seconds)):
                self._receive(busy[connection], queue, results)
            for worker in busy.values():
                if worker.batch and self._overrun(worker):
                    self._bury(worker, queue, results, killed=True)
        return [results[place] for place in range(len(trials))]

    def _batches(self, trials: Sequence[Trial]) -> deque[_Batch]:
        """Trials in batches; those that begin on one database together, so that few are open at a time."""
        by_database: dict[tuple[str, Path], list[int]] = {}
        for place, trial in enumerate(trials):
            if trial.databases:
                first = trial.databases[0]
                by_database.setdefault((first.layout, first.path), []).append(place)
        targets: dict[tuple[str, Path], _Target] = {}
        queue: deque[_Batch] = deque()
        for places in by_database.values():
            size = max(1, min(BATCH, -(-len(places) // self.workers)))
            for start in range(0, len(places), size):
                queue.append(self._batch(trials, places[start : start + size], targets))
        return queue

    def _batch(self, trials: Sequence[Trial], places: list[int], targets: dict[tuple[str, Path], _Target]) -> _Batch:
        """Tasks of the trials at `places`. `targets` remembers what is known of each database in this call."""
        used: dict[tuple[str, Path], int] = {}
        tasks: list[_Task] = []
        for trial in (trials[place] for place in places):
            numbers = []
            for database in trial.databases:
                key = (database.layout, database.path)
                if key not in targets:
                    targets[key] = self._target(database)
                numbers.append(used.setdefault(key, len(used)))
            tasks.append((trial.sql, numbers, list(trial.expected), trial.ordered, trial.exact))
        return _Batch([targets[key] for key in used], places, tasks)

    def _target(self, database: Database) -> _Target:
        try:
            path = self._settle(database)
            return database.layout, str(path), stamp(path, database.layout)
        except (OSError, DatabaseError) as error:
            if is_passing(error) or (isinstance(error, OSError) and error.errno in NO_SPACE):
                raise  # as without room for the private copy: nothing is wrong with the database or its statements
            return f"{database.db_id}: cannot be read: {error}"

    def _settle(self, database: Database) -> Path:
        """A path that can be opened without a trace: the database's own, or a private copy's."""
        path = database.path.absolute()
        key = (database.layout, path, stamp(path, database.layout))
        if key not in self._settled:
            if len(with_sides(path, database.layout)) == 1:
                self._settled[key] = path
            else:
                self._folder = self._folder or ScratchFolder("sandbox")
                name = sha256(repr(key).encode()).hexdigest()[:16]
                self._settled[key] = settled(path, database.layout, Path(self._folder.name) / name)
        return self._settled[key]

    def _feed(self, queue: deque[_Batch], kept_cells: int) -> None:
        """Give every idle worker a batch, and start workers while there is work for them."""
        while queue:
            worker = next((worker for worker in self._pool if worker.batch is None), None)
            if worker is None:
                if len(self._pool) >= self.workers:
                    return
                worker = self._start()
                self._pool.append(worker)
            batch = queue.popleft()
            worker.batch, worker.answered = batch, 0
            message = (kept_cells, batch.targets, batch.tasks)
            phase = STARTING if worker.state().phase == STARTING else IDLE  # counted from now, until it shows its own
            show(worker.page, monotonic(), phase, 0, 0)
            try:
                worker.connection.send_bytes(marshal.dumps(message))
            except (BrokenPipeError, ConnectionResetError):
                continue  # it has ended: found when its answer is waited for

    def _start(self) -> _Worker:
        ours, theirs = Pipe()
        with tempfile.TemporaryFile() as file, theirs:
            file.truncate(PAGE_SIZE)
            page = mmap.mmap(file.fileno(), PAGE_SIZE)
            show(page, monotonic(), STARTING, 0, 0)
            arguments = [str(theirs.fileno()), str(file.fileno()), str(os.getpid())]
            process = subprocess.Popen(
                # -P: a `struct.py` in the folder where a person works must not be taken for the library's.
                [sys.executable, "-P", "-c", COMMAND, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(), file.fileno()),
                start_new_session=True,  # Ctrl-C at the terminal is the parent's to handle
                env=environment(),
            )
        worker = _Worker(process, ours, page)
        worker.connection.send_bytes(marshal.dumps(astuple(self.limits)))
        return worker

    def _receive(self, worker: _Worker, queue: deque[_Batch], results: dict[int, TrialResult]) -> None:
        try:
            self._take(worker, results)
        except (EOFError, OSError):
            self._bury(worker, queue, results, killed=False)

    def _take(self, worker: _Worker, results: dict[int, TrialResult]) -> None:
        """Read one message of results."""
        first, answers, done = marshal.loads(worker.connection.recv_bytes())
        if worker.batch is None:
            raise SandboxError("a worker answered without having been asked")
        for place, answer in zip(worker.batch.places[first:], answers, strict=False):
            agreed, fields = marshal.loads(answer)
            results[place] = TrialResult(agreed, None if fields is None else Result(*fields))
        worker.answered = first + len(answers)
        if done:
            worker.batch = None

    def _overrun(self, worker: _Worker) -> bool:
        state = worker.state()
        allowed = KILL_FACTOR * self.limits.seconds + KILL_SLACK if state.phase == RUNNING else OPEN_SECONDS
        return monotonic() - state.since > allowed

    def _bury(self, worker: _Worker, queue: deque[_Batch], results: dict[int, TrialResult], killed: bool) -> None:
        """Settle what an ended worker leaves: its answers, its victim, and the rest to run again."""
        state = worker.state()
        worker.process.kill()
        code = worker.process.wait()
        try:
            while worker.batch and worker.connection.poll():
                self._take(worker, results)
        except (EOFError, OSError):
            pass  # all that had been sent is read
        batch, answered = worker.batch, worker.answered
        worker.batch = None
        worker.end()
        self._pool.remove(worker)
        if batch is None:
            return
        if state.phase == STARTING and not killed and batch.fruitless + 1 >= FRUITLESS_STARTS:
            raise SandboxError(f"worker processes end at once (exit status {code}); see their messages above")
        fruitless = 0 if answered else batch.fruitless + 1
        rest = range(answered, len(batch.tasks))
        lost = _lost(batch, rest, state, fruitless, killed=killed, code=code, limits=self.limits)
        results.update({batch.places[i]: result for i, result in lost.items()})
        left = [i for i in rest if i not in lost]
        if left:
            places, tasks = [batch.places[i] for i in left], [batch.tasks[i] for i in left]
            queue.appendleft(_Batch(batch.targets, places, tasks, 0 if lost else fruitless))


class _Own(threading.local):
    def __init__(self) -> None:
        self.sandboxes: dict[Limits, Sandbox] = {}


_own = _Own()


def own_sandbox(limits: Limits) -> Sandbox:
    """One sandbox of these limits, with one worker, for each process (or thread) that works on shards.

    It ends with the process, or by `end_own_sandboxes`.
    """
    return _own.sandboxes.get(limits) or _own.sandboxes.setdefault(limits, Sandbox(workers=1, limits=limits))


def end_own_sandboxes() -> None:
    """Close the databases that this thread's sandboxes have open: until then nobody could write to a DuckDB file."""
    while _own.sandboxes:
        _own.sandboxes.popitem()[1].close()


def _lost(
    batch: _Batch, rest: range, state: _State, fruitless: int, *, killed: bool, code: int, limits: Limits
) -> dict[int, TrialResult]:
    """The tasks among `rest` that are not tried again, with their results: what ran when the worker ended."""
    if state.phase == RUNNING and state.task in rest:
        what = _overrun_result(limits) if killed else Result("crashed", error=cause(code))
        return {state.task: TrialResult(state.place, what)}
    if state.phase == OPENING and state.task in rest and (killed or fruitless >= FRUITLESS_STARTS):
        number = batch.tasks[state.task][1][state.place]
        why = f"took over {OPEN_SECONDS:g} s" if killed else cause(code)
        what = Result("crashed", error=f"opening {batch.targets[number][1]}: {why}")
        same = {i: TrialResult(0, what) for i in rest if batch.tasks[i][1][0] == number}
        return same | {state.task: TrialResult(state.place, what)}
    if fruitless >= FRUITLESS_STARTS:
        return {i: TrialResult(0, Result("crashed", error=cause(code))) for i in rest}
    return {}


def _overrun_result(limits: Limits) -> Result:
    why = f"over {limits.seconds:g} s and not to be interrupted: its process was ended"
    return Result("timeout", seconds=KILL_FACTOR * limits.seconds, error=why)

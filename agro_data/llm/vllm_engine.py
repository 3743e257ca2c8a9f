"""vLLM's offline engine as a backend: in a child process, so that its memory is free when it is closed.

An engine that dies is started again, and what it had under way is asked again; where it dies thrice in a row without an
answer, the rest is failed with what it said last.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import IO, Any

from agro_data.llm.types import Completion, Request, failed

DEATHS = 3
STARTING = 1_800.0  # seconds that loading may take
_TAIL = 2_000  # bytes of what the engine said last
COMMAND = (sys.executable, "-m", "agro_data.llm.vllm_child")


class EngineError(RuntimeError):
    """The engine did not start; the message ends with what it said last."""


@dataclass
class VllmEngine:
    """`model` is a folder or a Hub id; `engine` what `vllm.LLM` is given beside it (`max_model_len`, `dtype`, …),
    `template` what the chat template is given (say `{"enable_thinking": False}`).

    `weights` says which ones `model` holds, where that is known: a folder may hold others tomorrow.
    An engine that says nothing for `silence` seconds while it has work is ended.
    """

    model: str
    revision: str = ""
    weights: str = ""
    engine: Mapping[str, Any] = field(default_factory=dict)
    template: Mapping[str, Any] = field(default_factory=dict)
    silence: float = 600.0
    command: Sequence[str] = COMMAND
    _child: _Child | None = field(default=None, init=False, repr=False)
    _calls: int = field(default=0, init=False, repr=False)

    @property
    def identity(self) -> Mapping[str, str]:
        """What decides its answers."""
        named = {"model": self.model, "revision": self.revision, "asked": "vllm", "settings": self._settings}
        return named | ({"weights": self.weights} if self.weights else {})

    @property
    def _settings(self) -> str:
        settings = {"engine": dict(self.engine), "template": dict(self.template)}
        return json.dumps({"model": self.model, "revision": self.revision, **settings}, sort_keys=True)

    def complete(self, requests: Sequence[Request]) -> Generator[tuple[int, Completion], None, None]:
        """Each place in `requests` with its completion, in the order in which they are finished.

        Raises `EngineError` when the engine does not start at first.
        """
        self._calls += 1
        left = dict(enumerate(requests))
        deaths = 0
        while left:
            try:
                if self._child is None:
                    self._child = _Child([*self.command, self._settings])
                for place, completion in self._through(self._child, left):
                    del left[place]
                    deaths = 0
                    yield place, completion
            except _Died as death:
                self.close()
                deaths += 1
                if not death.was_ready and deaths == 1:
                    raise EngineError(f"vLLM's engine for {self.model} did not start: {death}") from death
                if deaths == DEATHS:
                    said = f"the engine ended {DEATHS} times without an answer: {death}"
                    yield from ((place, failed("server_error", said)) for place in left)
                    return

    def close(self) -> None:
        """End the engine and all its processes."""
        if self._child is not None:
            self._child.end()
            self._child = None

    def _through(self, child: _Child, left: Mapping[int, Request]) -> Generator[tuple[int, Completion], None, None]:
        call = f"{self._calls}-{child.pid}-"  # of an earlier call that its caller left, answers may still come
        for place, request in left.items():
            child.say({"id": f"{call}{place}", "request": request.to_dict()})
        waited = len(left)
        while waited:
            said = child.hear(self.silence)
            if str(said.get("id", "")).startswith(call):
                waited -= 1
                yield int(said["id"].removeprefix(call)), Completion.from_dict(said["completion"])


class _Died(Exception):
    """The child is gone. `was_ready`: it had its model."""

    def __init__(self, said: str, was_ready: bool) -> None:
        super().__init__(said)
        self.was_ready = was_ready


class _Child:
    """The process, its lines in and out, and what it said last."""

    def __init__(self, command: Sequence[str]) -> None:
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 (closed by `end`)
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            encoding="utf-8",
            start_new_session=True,
        )
        self.pid = self._process.pid
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._ready = False
        threading.Thread(target=self._listen, daemon=True).start()
        try:
            self.hear(STARTING)
        except _Died:
            self.end()
            raise
        self._ready = True

    def say(self, message: Mapping[str, Any]) -> None:
        """One line in. Raises `_Died`."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(message) + "\n")
            self._process.stdin.flush()
        except OSError as error:
            raise self._death(f"{type(error).__name__}") from error

    def hear(self, patience: float) -> dict[str, Any]:
        """One line out. Raises `_Died` when there is none for so many seconds, or will be none."""
        try:
            line = self._lines.get(timeout=patience)
        except queue.Empty:
            raise self._death(f"it said nothing for {patience:g} s") from None
        if line is None:
            raise self._death(f"it ended with status {self._process.wait()}")
        found: dict[str, Any] = json.loads(line)
        return found

    def end(self) -> None:
        """Kill the whole group."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._errors):
            if stream is not None:
                with suppress(BrokenPipeError):  # what was not yet sent goes with it
                    stream.close()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        try:
            for line in self._process.stdout:
                self._lines.put(line)
        except ValueError:  # closed meanwhile
            return
        finally:
            self._lines.put(None)

    def _death(self, said: str) -> _Died:
        size = self._errors.seek(0, os.SEEK_END)
        self._errors.seek(max(0, size - _TAIL))
        tail = self._errors.read().decode(errors="replace").strip()
        return _Died(f"{said}; it said last: {tail or 'nothing'}", self._ready)

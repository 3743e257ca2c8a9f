"""Answers that models gave, kept on disk: a request that was answered once is never sent again.

One file of lines for each model, only ever appended to. A line is `<key> <checksum> <JSON of the completion>`. Each is
written whole, by one call under a lock on the file, so that a process killed at any moment leaves at most a last line
that is cut short; the next writer ends it, and a reader passes over every line whose checksum is wrong. Several
processes may share a file: who comes second with the same request is given the answer of the first. No queue and no
state beside the lines is kept, and there is nothing to repair.

Only answers are kept. A failure is asked again by the next run.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import threading
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO

from agro_data.llm.types import Completion, Request

SCHEME = 1  # raise it when the same request means something else
KEY_LENGTH = 32
_NAME = re.compile(r"[^A-Za-z0-9.-]+")


def key_of(identity: Mapping[str, str], request: Request) -> str:
    """32 hex digits that name a request to a model: equal exactly when all that decides the answer is."""
    # ASCII: a prompt may hold half of a surrogate pair, which a database's text can and UTF-8 cannot.
    text = json.dumps([SCHEME, dict(identity), request.to_dict()], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:KEY_LENGTH]


class Answers:
    """The answers of the model that `identity` names, below `folder`. Use as a context manager, or `close` it.

    `damaged` counts lines that were passed over.
    """

    def __init__(self, folder: Path, identity: Mapping[str, str]) -> None:
        name = _NAME.sub("-", identity.get("model", "model")).strip("-.")[-60:]
        digest = hashlib.sha256(json.dumps(dict(identity), sort_keys=True).encode("ascii")).hexdigest()[:8]
        self.path = folder / f"{name}-{digest}.answers"
        self.damaged = 0
        folder.mkdir(parents=True, exist_ok=True)
        self._file: IO[bytes] = self.path.open("a+b", buffering=0)
        self._places: dict[str, tuple[int, int]] = {}  # where the JSON of a key stands, and how long it is
        self._read_to = 0
        self._lock = threading.Lock()
        self.refresh()

    def __enter__(self) -> Answers:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __contains__(self, key: str) -> bool:
        return key in self._places

    def __len__(self) -> int:
        return len(self._places)

    def refresh(self) -> None:
        """Take note of what other processes have written since."""
        with self._lock:
            self._catch_up()

    def get(self, key: str) -> Completion | None:
        """The answer, marked as cached; None if there is none."""
        place = self._places.get(key)
        if place is None:
            return None
        start, length = place
        return replace(Completion.from_dict(json.loads(os.pread(self._file.fileno(), length, start))), cached=True)

    def put(self, key: str, completion: Completion) -> Completion:
        """Keep an answer; what is returned is the one that is kept, which may be another process's."""
        if not completion.ok:
            raise ValueError("only answers are kept")
        body = json.dumps(completion.to_dict(), separators=(",", ":")).encode("ascii")
        line = f"{key} {_checksum(key, body)} ".encode("ascii") + body + b"\n"
        with self._lock, self._alone():
            self._catch_up()
            if key not in self._places:
                end = os.fstat(self._file.fileno()).st_size
                torn = end > self._read_to  # somebody's last line, cut short
                self._write(b"\n" + line if torn else line)
                self._catch_up()
                return completion
        return self.get(key) or completion

    def sync(self) -> None:
        """Have the disk hold what was written: a killed process loses nothing without it, a power cut may."""
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Leave the file."""
        self._file.close()

    def _write(self, content: bytes) -> None:
        left = memoryview(content)
        while left:  # a disk that is nearly full takes a part, and then says so
            left = left[self._file.write(left) :]

    @contextmanager
    def _alone(self) -> Iterator[None]:
        fcntl.flock(self._file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(self._file, fcntl.LOCK_UN)

    def _catch_up(self) -> None:
        """Index whole lines from where reading stopped. The first answer of a key stays its answer."""
        if os.fstat(self._file.fileno()).st_size == self._read_to:
            return
        with self.path.open("rb") as stream:
            stream.seek(self._read_to)
            for line in stream:
                if not line.endswith(b"\n"):
                    return
                self._note(line)
                self._read_to += len(line)

    def _note(self, line: bytes) -> None:
        head = KEY_LENGTH + 10  # "<key> <checksum> "
        key, body = line[:KEY_LENGTH].decode("ascii", "replace"), line[head:-1]
        if line[KEY_LENGTH:head] == f" {_checksum(key, body)} ".encode():
            self._places.setdefault(key, (self._read_to + head, len(body)))
        elif line != b"\n":
            self.damaged += 1


def _checksum(key: str, body: bytes) -> str:
    return f"{zlib.crc32(body, zlib.crc32(key.encode())):08x}"

"""How fast a server may be asked, which it tells only by being busy."""

from __future__ import annotations

import math
import random
import threading
import time
from dataclasses import dataclass, field

NEXT = 0.01  # seconds after which who is not the first of the line looks again
FIRST = 0.1  # of a pause: how far apart requests are when a server has been busy once
NEARER = 0.97  # with each answer: some twenty answers take back what one refusal has added


@dataclass
class Pace:
    """Shared by all threads that ask one server: it is busy for all of them.

    While it only says that it is busy, it is asked once after each pause, and the pauses grow from about `pause`
    seconds to at most `longest`. Once it answers, requests are sent some time apart: twice as far whenever it is busy
    again, a little nearer with each answer. Who waits stands in a line: whoever looked last would else lose its place
    to the others, again and again.
    """

    pause: float = 1.0
    longest: float = 60.0
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)
    _line: list[object] = field(default_factory=list, init=False, repr=False)  # who waits, the first first
    _next: float = field(default=0.0, init=False, repr=False)  # when the next request may be sent
    _apart: float = field(default=0.0, init=False, repr=False)
    _refused: int = field(default=0, init=False, repr=False)  # pauses since its last answer
    _told: float = field(default=0.0, init=False, repr=False)  # when it said last what was not known yet
    _since: float = field(default=math.inf, init=False, repr=False)

    def ahead(self, who: object, now: float | None = None) -> float:
        """0 if `who` may send a request now: it has left the line then. Else seconds after which it is to ask again."""
        now = time.monotonic() if now is None else now
        with self._lock:
            if who not in self._line:
                self._line.append(who)
            before = self._line.index(who)
            seconds = max(self._next - now, NEXT if before else 0.0) + before * self._apart
            if not seconds:
                self._line.pop(0)
                self._next = now + (self._pause() if self._refused else self._apart)
            return seconds

    def leave(self, who: object) -> None:
        """`who` waits no longer."""
        with self._lock:
            if who in self._line:
                self._line.remove(who)

    def busy(self, sent: float, after: float = 0.0, now: float | None = None) -> None:
        """It did not take what was `sent` then, and asks to be left alone for `after` seconds."""
        now = time.monotonic() if now is None else now
        with self._lock:
            self._since = min(now, self._since)
            if sent >= self._told:  # what was under way already says nothing new
                if not self._refused:
                    self._apart = min(self.longest, max(2 * self._apart, FIRST * self.pause))
                self._refused += 1
                self._told = now
                self._next = max(self._next, now + self._pause() * random.uniform(0.5, 1.0))
            self._next = max(self._next, now + after)

    def answered(self, sent: float, now: float | None = None) -> None:
        """It took what was `sent` then."""
        now = time.monotonic() if now is None else now
        with self._lock:
            self._apart *= NEARER
            self._since = math.inf
            if self._refused and sent >= self._told:
                self._refused = 0
                self._next = now + self._apart

    def busy_for(self, refused: float = math.inf, now: float | None = None) -> float:
        """Seconds since it has answered nobody and been busy, or since what it `refused` first then; 0 for neither."""
        now = time.monotonic() if now is None else now
        return max(0.0, now - min(refused, self._since))

    def _pause(self) -> float:
        return min(self.longest, self.pause * 2.0 ** min(self._refused - 1, 30))

"""How fast a server may be asked: requests and tokens a minute, and waiting when it says so."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field


@dataclass
class Pace:
    """Shared by all threads that ask one server. None is no limit.

    Slots are handed out evenly, not a minute's worth at once, so that a server that counts over shorter spans is
    not overrun either.
    """

    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)
    _next_request: float = field(default=0.0, init=False, repr=False)
    _next_tokens: float = field(default=0.0, init=False, repr=False)
    _held_until: float = field(default=0.0, init=False, repr=False)

    def __post_init__(self) -> None:
        for name in ("requests_per_minute", "tokens_per_minute"):
            limit = getattr(self, name)
            if limit is not None and limit <= 0:
                raise ValueError(f"{name} is {limit}: give a number above 0, or none for no limit")

    def delay(self, tokens: int, now: float | None = None) -> float:
        """Take the next slot for a request of about so many tokens: seconds from `now` until it may be sent."""
        now = time.monotonic() if now is None else now
        with self._lock:
            start = max(now, self._held_until, self._next_request, self._next_tokens)
            if self.requests_per_minute is not None:
                self._next_request = start + 60.0 / self.requests_per_minute
            if self.tokens_per_minute is not None:
                self._next_tokens = start + 60.0 * tokens / self.tokens_per_minute
            return start - now

    def hold(self, seconds: float, now: float | None = None) -> None:
        """Send nothing for so long: the server has said that it is busy, and it means all of us."""
        now = time.monotonic() if now is None else now
        with self._lock:
            self._held_until = max(self._held_until, now + seconds)

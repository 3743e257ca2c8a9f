"""JSON over HTTP to a server that may be busy, slow, broken or gone: bounded tries, and a reason at the end."""

from __future__ import annotations

import json
import logging
import math
import os
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from agro_data.llm.pace import Pace
from agro_data.llm.parameters import Parameters
from agro_data.llm.types import FailureKind
from agro_data.progress import clock

if TYPE_CHECKING:
    import httpx

log = logging.getLogger(__name__)

KEY = "OPENAI_API_KEY"  # the environment variable of the key: it is in no setting, file or message
LARGEST = 2**24  # bytes of a reply
TOKENS = 1_200  # of an answer that comes within `Patience.timeout`: ten a second
LOOK = 1.0  # seconds after which who waits for a busy server looks whether it has answered another
SAID = 600.0  # seconds between two warnings that a server is busy
_AGAIN = frozenset({408, 409, 425, 429})  # and 500 upwards
_BUSY = frozenset({429, 503})
_DENIED = frozenset({401, 402, 404})  # 403 is also what some servers say of a text that they do not want to read


class NoAnswer(Exception):
    """A request came to nothing. `kind` is its class, `code` of HTTP if there was an answer, `tries` what was sent."""

    def __init__(self, kind: FailureKind, detail: str, tries: int, code: int = 0) -> None:
        super().__init__(detail)
        self.kind = kind
        self.detail = detail
        self.tries = tries
        self.code = code


class Malformed(ValueError):
    """A reply that is not what the API says."""


@dataclass(frozen=True)
class Patience:
    """How long a server is waited for. A request that fails is sent at most `tries` times. The pauses between tries
    grow from about `pause` seconds to at most `longest`; one that is to be tried only after longer (Retry-After) is
    given up. One try may take `timeout` seconds in all, in proportion more where its answer may have more than `TOKENS`
    tokens, and `connect` seconds until there is a connection.

    That a server is busy (429, 503) is no try. It is waited for. A request that it refuses for `minutes` gives up, all
    do where it answers nobody for so long, and at once where it asks to be left alone for longer.
    """

    tries: int = 5
    pause: float = 1.0
    longest: float = 60.0
    timeout: float = 120.0
    connect: float = 10.0
    minutes: float = 30.0

    def __post_init__(self) -> None:
        if self.tries < 1 or min(self.timeout, self.connect) <= 0 or min(self.pause, self.longest, self.minutes) < 0:
            raise ValueError(f"{self}: at least 1 try, timeouts above 0 seconds, pauses and minutes of 0 or more")


PATIENCE = Patience()


@dataclass
class Connection:
    """To the API at `base` (such as `http://localhost:8000/v1`); shared by threads, `at_once` of them at a time.

    `stopped` ends waiting: what would be tried again is not.
    """

    base: str
    at_once: int = 32
    patience: Patience = PATIENCE
    stopped: threading.Event = field(default_factory=threading.Event)
    pace: Pace = field(init=False)
    parameters: Parameters = field(default_factory=Parameters, init=False)
    _client: httpx.Client | None = field(default=None, init=False, repr=False)
    _opening: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)
    _said: float = field(default=-SAID, init=False, repr=False)  # when a person was told that it is busy

    def __post_init__(self) -> None:
        self.pace = Pace(self.patience.pause, self.patience.longest)

    def ask(self, path: str, body: Any = None, read: Callable[[Any], Any] = lambda found: found) -> tuple[Any, int]:
        """What `read` makes of what the server says to `body` (None: a GET), as JSON, and how often it was asked.

        What `read` calls `Malformed` is a try that failed. Raises `NoAnswer`.
        """
        last: NoAnswer | None = None
        sent = faults = 0
        refused, after = math.inf, 0.0  # when it was first too busy for this, and how long it wants to be left alone
        while faults < self.patience.tries and self._may_send():
            asked = time.monotonic()
            sent += 1
            try:
                found = read(self._once(path, body))
            except (_Failed, Malformed) as error:
                fault = error if isinstance(error, _Failed) else _Failed("malformed", str(error))
                last, after = NoAnswer(fault.kind, f"{self.base}/{path}: {fault}", sent, fault.code), fault.after
                if fault.kind == "busy":
                    refused = min(refused, asked)
                    if self.pace.busy_for(refused) + fault.after > 60.0 * self.patience.minutes:
                        break
                    self.pace.busy(asked, fault.after)
                    self._say(fault)
                    continue
                faults += 1
                if fault.code:
                    self.pace.answered(asked)
                if not fault.again or fault.after > self.patience.longest:
                    break
                if faults < self.patience.tries:  # not all threads at the same moment
                    longest = min(self.patience.longest, self.patience.pause * 2 ** (faults - 1))
                    self.stopped.wait(max(fault.after, longest * random.uniform(0.5, 1.0)))
            else:
                self.pace.answered(asked)
                return found, sent
        if last is None:
            kind: FailureKind = "unreachable" if self.stopped.is_set() else "busy"
            last = NoAnswer(kind, f"{self.base}: not asked", 0)
        if last.kind == "busy":
            raise NoAnswer("busy", f"{last}{self._how_long(refused, after)}", sent, last.code)
        raise last

    def _may_send(self) -> bool:
        """Wait until the server can take a request; whether it is worth asking at all."""
        place = object()
        try:
            while not self.stopped.is_set():
                seconds = self.pace.ahead(place)
                if not seconds:
                    return True
                if self.pace.busy_for() > 60.0 * self.patience.minutes:
                    break
                self.stopped.wait(min(seconds, LOOK))
            return False
        finally:  # by Ctrl-C, too: nobody would pass who stands behind
            self.pace.leave(place)

    def _how_long(self, refused: float, after: float) -> str:
        more = f", and asks to be left alone for {clock(after)}" if after else ""
        most = clock(60.0 * self.patience.minutes)
        return f" (it has been busy for {clock(self.pace.busy_for(refused))}{more}; waited for at most {most})"

    def _say(self, fault: _Failed) -> None:
        now = time.monotonic()
        with self._opening:
            if now - self._said < SAID:
                return
            self._said = now
        most = clock(60.0 * self.patience.minutes)
        log.warning(
            "%s is busy (%s): it is asked more slowly, for %s at most without an answer", self.base, fault, most
        )

    def close(self) -> None:
        """Close what is open; who is waiting gives up."""
        self.stopped.set()
        if self._client is not None:
            self._client.close()

    def _once(self, path: str, body: Any) -> Any:
        import httpx  # noqa: PLC0415

        allowed = self.patience.timeout * max(1.0, (body or {}).get("max_tokens", 0) / TOKENS)
        timeout = httpx.Timeout(allowed, connect=self.patience.connect, pool=None)
        deadline = time.monotonic() + allowed
        method = "GET" if body is None else "POST"
        sent = body if body is None else self.parameters.of(body)
        try:
            address = f"{self.base}/{path}"
            with self._open().stream(method, address, json=sent, headers=_headers(), timeout=timeout) as reply:
                content = bytearray()
                for chunk in reply.iter_bytes():
                    content += chunk
                    if time.monotonic() > deadline:  # a server may send a byte now and then, for ever
                        raise _Failed("timeout", f"no whole answer within {allowed:g} s")
                    if len(content) > LARGEST:
                        raise _Failed("malformed", f"an answer of more than {LARGEST} bytes", again=False)
        except httpx.TimeoutException as error:
            raise _Failed("timeout", f"{type(error).__name__} after {allowed:g} s at most") from error
        except httpx.DecodingError as error:
            raise _Failed("malformed", f"{type(error).__name__}: {error}") from error
        except httpx.InvalidURL as error:
            raise _Failed("refused", f"this is no address: {error}", again=False) from error
        except (httpx.RequestError, RuntimeError) as error:  # RuntimeError: closed while it was being asked
            raise _Failed("unreachable", f"{type(error).__name__}: {error}") from error
        except UnicodeEncodeError as error:
            raise _Failed("refused", f"the request is no text that can be sent: {error}", again=False) from error
        if reply.status_code == 400 and sent is not None and self.parameters.learn(sent, bytes(content)):
            return self._once(path, body)  # each time without one parameter more
        if reply.status_code >= 300:
            raise _of_status(reply.status_code, bytes(content), reply.headers.get("Retry-After"))
        if content.lstrip()[:1] == b"<":  # amid the work something in between may have said it: another try may pass
            said = "a web page, and no JSON; does the address end as the API does, in /v1?"
            raise _Failed("malformed", said, again=body is not None)
        try:
            return json.loads(content)
        except (ValueError, RecursionError) as error:  # brackets within brackets, without end
            raise _Failed("malformed", f"no JSON: {bytes(content[:200]).decode(errors='replace')!r}") from error

    def _open(self) -> httpx.Client:
        import httpx  # noqa: PLC0415

        with self._opening:
            if self._client is None:
                limits = httpx.Limits(max_connections=self.at_once, max_keepalive_connections=self.at_once)
                self._client = httpx.Client(limits=limits)
            return self._client


class _Failed(Exception):
    """One try came to nothing. `after`: seconds that the server asked to be left alone."""

    def __init__(self, kind: FailureKind, said: str, *, again: bool = True, after: float = 0.0, code: int = 0) -> None:
        super().__init__(said)
        self.kind, self.again, self.after, self.code = kind, again, after, code


def _headers() -> dict[str, str]:
    key = os.environ.get(KEY, "").strip()  # a file with a key ends its line, on some machines with two characters
    if not (key.isascii() and key.isprintable()):  # who sends it would say it aloud in refusing it
        raise _Failed("refused", f"{KEY} holds a character that no key has: set it again", again=False)
    return {"Authorization": f"Bearer {key}"} if key else {}


def _of_status(status: int, content: bytes, retry_after: str | None) -> _Failed:
    said = f"HTTP {status}: {content[:300].decode(errors='replace')}"
    if status < 500 and status not in _AGAIN:
        return _Failed("denied" if status in _DENIED else "refused", said, again=False, code=status)
    kind: FailureKind = "busy" if status in _BUSY else "timeout" if status in (408, 504) else "server_error"
    return _Failed(kind, said, after=_seconds(retry_after), code=status)


def _seconds(retry_after: str | None, now: datetime | None = None) -> float:
    """Retry-After is a number of seconds or a date (RFC 9110); 0 where it is neither."""
    if not retry_after:
        return 0.0
    if retry_after.strip().isdecimal():
        return float(retry_after)
    try:
        when = parsedate_to_datetime(retry_after)
    except (ValueError, OverflowError):
        return 0.0
    when = when if when.tzinfo else when.replace(tzinfo=UTC)
    return max(0.0, (when - (now or datetime.now(UTC))).total_seconds())

"""JSON over HTTP to a server that may be busy, slow, broken or gone: bounded tries, and a reason at the end."""

from __future__ import annotations

import json
import os
import random
import threading
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from agro_data.llm.pace import Pace
from agro_data.llm.types import FailureKind

if TYPE_CHECKING:
    import httpx

KEY = "OPENAI_API_KEY"  # the environment variable of the key: it is in no setting, file or message
LARGEST = 2**24  # bytes of a reply
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


@dataclass(frozen=True)
class Patience:
    """How long a server is waited for. A request is sent at most `tries` times. The pauses between tries grow from
    about `pause` seconds to at most `longest`. One try may take `timeout` seconds in all, and `connect` seconds until
    there is a connection. A server that asks to be left alone for longer (Retry-After) is not asked again.
    """

    tries: int = 5
    pause: float = 1.0
    longest: float = 60.0
    timeout: float = 120.0
    connect: float = 10.0

    def __post_init__(self) -> None:
        if self.tries < 1 or min(self.timeout, self.connect) <= 0 or min(self.pause, self.longest) < 0:
            raise ValueError(f"{self}: at least 1 try, timeouts above 0 seconds, pauses of 0 or more")


PATIENCE = Patience()


@dataclass
class Connection:
    """To the API at `base` (such as `http://localhost:8000/v1`); shared by threads, `at_once` of them at a time.

    `stopped` ends waiting: what would be tried again is not.
    """

    base: str
    at_once: int = 32
    patience: Patience = PATIENCE
    pace: Pace = field(default_factory=Pace)
    stopped: threading.Event = field(default_factory=threading.Event)
    _client: httpx.Client | None = field(default=None, init=False, repr=False)
    _opening: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)

    def ask(self, path: str, body: Any = None, *, tokens: int = 0) -> tuple[Any, int]:
        """What the server says to `body` (None: a GET), as JSON, and how often it was asked.

        `tokens` is about what the answer will take, for the limit. Raises `NoAnswer`.
        """
        last = NoAnswer("unreachable", f"{self.base}: not asked", 0)
        for attempt in range(1, self.patience.tries + 1):
            if self.stopped.wait(self.pace.delay(tokens)):
                break
            try:
                return self._once(path, body), attempt
            except _Failed as fault:
                last = NoAnswer(fault.kind, f"{self.base}/{path}: {fault}", attempt, fault.code)
                if not fault.again or (fault.after or 0.0) > self.patience.longest:
                    break
                if fault.after is not None:
                    self.pace.hold(fault.after)
                elif attempt < self.patience.tries:
                    longest = min(self.patience.longest, self.patience.pause * 2 ** (attempt - 1))
                    self.stopped.wait(longest * random.uniform(0.5, 1.0))  # not all threads at the same moment
        raise last

    def close(self) -> None:
        """Close what is open; who is waiting gives up."""
        self.stopped.set()
        if self._client is not None:
            self._client.close()

    def _once(self, path: str, body: Any) -> Any:
        import httpx  # noqa: PLC0415

        deadline = time.monotonic() + self.patience.timeout
        method = "GET" if body is None else "POST"
        try:
            with self._open().stream(method, f"{self.base}/{path}", json=body, headers=_headers()) as reply:
                content = bytearray()
                for chunk in reply.iter_bytes():
                    content += chunk
                    if time.monotonic() > deadline:  # a server may send a byte now and then, for ever
                        raise _Failed("timeout", f"no whole answer within {self.patience.timeout:g} s")
                    if len(content) > LARGEST:
                        raise _Failed("malformed", f"an answer of more than {LARGEST} bytes", again=False)
        except httpx.TimeoutException as error:
            raise _Failed("timeout", f"{type(error).__name__} after {self.patience.timeout:g} s at most") from error
        except httpx.DecodingError as error:
            raise _Failed("malformed", f"{type(error).__name__}: {error}") from error
        except httpx.InvalidURL as error:
            raise _Failed("refused", f"this is no address: {error}", again=False) from error
        except (httpx.RequestError, RuntimeError) as error:  # RuntimeError: closed while it was being asked
            raise _Failed("unreachable", f"{type(error).__name__}: {error}") from error
        except UnicodeEncodeError as error:
            raise _Failed("refused", f"the request is no text that can be sent: {error}", again=False) from error
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
                timeout = httpx.Timeout(self.patience.timeout, connect=self.patience.connect, pool=None)
                self._client = httpx.Client(limits=limits, timeout=timeout)
            return self._client


class _Failed(Exception):
    """One try came to nothing. `after`: seconds that the server asked to be left alone."""

    def __init__(
        self, kind: FailureKind, said: str, *, again: bool = True, after: float | None = None, code: int = 0
    ) -> None:
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


def _seconds(retry_after: str | None, now: datetime | None = None) -> float | None:
    """Retry-After is a number of seconds or a date (RFC 9110); None where it is neither."""
    if not retry_after:
        return None
    if retry_after.strip().isdecimal():
        return float(retry_after)
    try:
        when = parsedate_to_datetime(retry_after)
    except (ValueError, OverflowError):
        return None
    when = when if when.tzinfo else when.replace(tzinfo=UTC)
    return max(0.0, (when - (now or datetime.now(UTC))).total_seconds())

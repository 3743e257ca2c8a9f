"""An OpenAI-compatible server on this machine that says what a function says, and fails as servers fail.

For tests of whatever asks a server, and to measure what asking costs: it writes no token. Which requests fail, in
which try and how, is drawn from a seed and the request, so that two runs meet the same faults.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Literal, get_args

from agro_data.hashing import seed_of

Fault = Literal["timeout", "busy", "broken", "dropped", "truncated", "garbled", "nonsense", "empty", "denied"]
PASSING: tuple[Fault, ...] = get_args(Fault)[:6]  # those that a client can see and ask again for
FAULTS: tuple[Fault, ...] = get_args(Fault)[:8]  # those that come and go
_TEXTS: Mapping[Fault, str] = {"nonsense": "lorem ipsum {[ dolor", "empty": ""}


@dataclass(frozen=True)
class Faults:
    """A share of all tries that fails, in one of `kinds`, each as likely as the other.

    `timeout` says nothing for `silence` seconds, `busy` is 429 with Retry-After (`after` seconds), `broken` is 500,
    `dropped` closes the connection, `truncated` cuts the JSON short, `garbled` is no JSON; `nonsense` and `empty` are
    replies in order whose text is that; `denied` is 401, for a key that no longer holds. `lasting`: what fails once
    fails in every try. `rate`: how many requests a second it takes, evenly; for all others it is busy.
    """

    share: float = 0.0
    kinds: tuple[Fault, ...] = FAULTS
    seed: int = 0
    silence: float = 5.0
    after: int = 0
    lasting: bool = False
    rate: float = 0.0

    def of(self, body: Mapping[str, Any], attempt: int) -> Fault | None:
        """The fault that this try of a request meets."""
        told = json.dumps(body, sort_keys=True)
        drawn = seed_of(self.seed, told, 0 if self.lasting else attempt)
        if (drawn % 10_000) / 10_000 >= self.share:
            return None
        return self.kinds[drawn // 10_000 % len(self.kinds)]


class ScriptedServer:
    """Answers chat and plain completions with `reply(body)`. Use as a context manager; `base` is its address.

    `asked` counts the requests, `tries` each of them; `models` is what it says it serves. Parameters of which it
    `takes_no` are refused, as OpenAI's models that reason do.
    """

    def __init__(
        self,
        reply: Callable[[Mapping[str, Any]], str],
        faults: Faults | None = None,
        models: tuple[str, ...] = ("m",),
        takes_no: tuple[str, ...] = (),
    ) -> None:
        self.reply = reply
        self.faults = faults or Faults()
        self.models = models
        self.takes_no = takes_no
        self.tries: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._full = 0.0  # when it takes the next request
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_GET(self) -> None:
                served = {"object": "list", "data": [{"id": name, "object": "model"} for name in server.models]}
                self.send(200, json.dumps(served).encode())

            def do_POST(self) -> None:
                size = int(self.headers.get("Content-Length") or 0)
                body = json.loads(self.rfile.read(size))
                server.answer(self, body, chat=self.path.endswith("/chat/completions"))

            def send(self, status: int, content: bytes, **headers: str) -> None:
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                for name, value in headers.items():
                    self.send_header(name.replace("_", "-"), value)
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, format: str, *args: object) -> None:
                return

        self._http = _Quiet(("127.0.0.1", 0), Handler)
        self.base = f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def __enter__(self) -> ScriptedServer:
        threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.set()
        self._http.shutdown()
        self._http.server_close()

    @property
    def asked(self) -> int:
        """All tries of all requests."""
        with self._lock:
            return self.tries.total()

    def answer(self, handler: Any, body: Mapping[str, Any], *, chat: bool) -> None:
        """Answer one try, or fail it."""
        told = json.dumps(body, sort_keys=True)
        with self._lock:
            self.tries[told] += 1
            attempt = self.tries[told]
            fault = self.faults.of(body, attempt)
            if self.faults.rate:
                now = time.monotonic()
                fault = "busy" if now < self._full else fault
                self._full = self._full if now < self._full else now + 1.0 / self.faults.rate
        refused = next((name for name in self.takes_no if name in body), None)
        if refused is not None:
            handler.send(400, _unsupported(refused))
        elif fault == "timeout":
            self._closing.wait(self.faults.silence)
            handler.close_connection = True
        elif fault == "busy":
            handler.send(429, b'{"error":"too many requests"}', Retry_After=str(self.faults.after))
        elif fault == "broken":
            handler.send(500, b'{"error":"out of memory"}')
        elif fault == "denied":
            handler.send(401, b'{"error":"no such key"}')
        elif fault == "dropped":
            handler.connection.shutdown(socket.SHUT_RDWR)
            handler.close_connection = True
        elif fault == "garbled":
            handler.send(200, b"<html>502 from something in between</html>")
        else:
            text = None if fault is None else _TEXTS.get(fault)
            content = json.dumps(_reply(self.reply(body) if text is None else text, body, chat)).encode()
            handler.send(200, content[: len(content) // 2] if fault == "truncated" else content)


class _Quiet(ThreadingHTTPServer):
    """A connection that the other side has closed is no news here."""

    daemon_threads = True
    request_queue_size = 256

    def handle_error(self, request: Any, client_address: Any) -> None:
        return


def _unsupported(name: str) -> bytes:
    said = f"Unsupported parameter: '{name}' is not supported with this model."
    error = {"message": said, "type": "invalid_request_error", "param": name, "code": "unsupported_parameter"}
    return json.dumps({"error": error}).encode()


def _reply(text: str, body: Mapping[str, Any], chat: bool) -> dict[str, Any]:
    asked = " ".join(one["content"] for one in body["messages"]) if chat else str(body["prompt"])
    words = text.split()
    choice: dict[str, Any] = {"index": 0, "finish_reason": "stop"}
    choice |= {"message": {"role": "assistant", "content": text}} if chat else {"text": text}
    if body.get("logprobs"):
        choice["logprobs"] = (
            {"content": [{"token": word, "logprob": -0.5} for word in words]}
            if chat
            else {"tokens": words, "token_logprobs": [-0.5] * len(words)}
        )
    usage = {"prompt_tokens": len(asked.split()), "completion_tokens": len(words)}
    return {"object": "chat.completion", "created": int(time.time()), "choices": [choice], "usage": usage}

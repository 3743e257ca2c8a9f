"""A server of models on this machine, which says what a test tells it to."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Handle = Callable[[str, dict[str, Any], dict[str, str]], tuple[int, Any]]


class Server:
    """Answers as `handle(path, body, headers)` says, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.handle: Handle = lambda *_: (404, {})
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                size = int(self.headers.get("Content-Length") or 0)
                body = json.loads(self.rfile.read(size) or b"{}")
                outer.asked.append(body)
                status, reply = outer.handle(self.path, body, dict(self.headers))
                content = reply.encode() if isinstance(reply, str) else json.dumps(reply).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_POST

            def log_message(self, *_: object) -> None:
                return

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.base = f"http://127.0.0.1:{self.server.server_address[1]}/v1"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


def completion(text: str, why: str = "stop") -> tuple[int, Any]:
    return 200, {"choices": [{"text": text, "finish_reason": why}]}


def message(text: str | None, why: str = "stop", **more: Any) -> tuple[int, Any]:
    usage = {"prompt_tokens": 70, "completion_tokens": 5}
    return 200, {"choices": [{"message": {"content": text, **more}, "finish_reason": why}], "usage": usage}

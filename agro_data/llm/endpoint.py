"""Any OpenAI-compatible server (`vllm serve`, llama.cpp, Ollama, hosted ones) as a backend.

Requests are under way together, up to `at_once`; answers come as they are finished. After many failed requests in a row
the server counts as gone, and the remaining requests fail without being sent.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from agro_data.config import ConfigError
from agro_data.llm.connection import KEY, PATIENCE, Connection, Malformed, NoAnswer, Patience
from agro_data.llm.parameters import cut_short, until
from agro_data.llm.rendering import as_text
from agro_data.llm.threads import at_once
from agro_data.llm.types import TURNED_AWAY, Completion, Failure, Message, Request, Usage, failed

Structured = Literal["json_schema", "json_object", "none"]  # how far a server holds a reply to a schema
CHARACTERS_A_TOKEN = 4  # for estimates where a server counts nothing
GONE = 24  # requests in a row that came to nothing, after all their tries
NO_CHAT = (404, 405, 501)  # what a server answers that has only plain completions
_REMEDIES = {  # by codes of HTTP
    401: f"; it takes the key that the environment variable {KEY} holds",
    404: "; does the address end as the API does, in /v1, and does it serve that model?",
}
_PROBE = '{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}'


class EndpointError(ConfigError):
    """The server does not answer, or not as an OpenAI-compatible one does."""


@dataclass
class Endpoint:
    """`model` behind a server. `revision` is which weights it serves, as far as its user knows: the API does not tell.

    `chat`: it is sent messages, else their text. `extra` is merged into every request (say
    `{"chat_template_kwargs": {"enable_thinking": False}}`).
    """

    connection: Connection
    model: str
    revision: str = ""
    chat: bool = True
    structured: Structured = "json_schema"
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def identity(self) -> Mapping[str, str]:
        """The facts that decide its answers; the address is not one of them."""
        return {
            "model": self.model,
            "revision": self.revision,
            "asked": "chat" if self.chat else "text",
            "structured": self.structured,
            "extra": json.dumps(dict(self.extra), sort_keys=True),
        }

    def complete(self, requests: Sequence[Request]) -> Generator[tuple[int, Completion], None, None]:
        """Each place in `requests` with its completion, in the order in which they are finished."""
        watch = _Watch()
        yield from at_once(
            lambda request: watch.seen(watch.gone() or self._one(request)), requests, self.connection.at_once
        )

    def close(self) -> None:
        """Close the connection; requests that are under way are given up."""
        self.connection.close()

    def body_of(self, request: Request) -> dict[str, Any]:
        """What is sent."""
        sampling = request.sampling
        body: dict[str, Any] = {
            "model": self.model,
            "max_tokens": sampling.max_tokens,
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "seed": request.seed,
        }
        if self.chat:
            body["messages"] = [{"role": one.role, "content": one.content} for one in request.messages]
        else:
            body["prompt"] = as_text(request.messages)
        if sampling.stop:
            body["stop"] = list(sampling.stop)
        if sampling.logprobs:
            body["logprobs"] = True if self.chat else 1
        if request.schema is not None and self.structured == "json_object":
            body["response_format"] = {"type": "json_object"}
        elif request.schema is not None and self.structured == "json_schema":
            form = {"name": "reply", "schema": json.loads(request.schema), "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": form}
        return body | dict(self.extra)

    def _one(self, request: Request) -> Completion:
        def read(found: Any) -> Completion:
            whole = read_completion(found, request.characters, chat=self.chat)
            text = until(whole.text, request.sampling.stop)
            return whole if text == whole.text else replace(whole, text=text, cut=False)

        try:
            found: tuple[Completion, int] = self.connection.ask(self._path, self.body_of(request), read)
        except NoAnswer as error:
            return failed(error.kind, error.detail, error.tries)
        return replace(found[0], tries=found[1])

    @property
    def _path(self) -> str:
        return "chat/completions" if self.chat else "completions"


class _Watch:
    """Counts requests in a row that came to nothing: a refusal is an answer of a server that is there."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._row = 0
        self._last: Failure | None = None

    def seen(self, completion: Completion) -> Completion:
        with self._lock:
            failure = completion.failure
            lost = failure is not None and failure.kind != "refused"
            self._row = self._row + 1 if lost else 0
            self._last = failure if lost and completion.tries else self._last
        return completion

    def gone(self) -> Completion | None:
        with self._lock:
            if self._row < GONE or self._last is None:
                return None
            said = f"not sent: {GONE} requests before it came to nothing, the last with: {self._last.detail}"
            return failed("unreachable", said, 0)


def open_endpoint(url: str, *, revision: str = "", patience: Patience = PATIENCE) -> Endpoint:
    """The endpoint of `URL#MODEL`, or of `URL` where the server serves one model. The URL ends as the API does, in /v1.

    Asks the server a word or two, to find out whether it has chat and holds replies to a schema. Raises
    `EndpointError`.
    """
    base, _, model = url.partition("#")
    connection = Connection(base.rstrip("/"), patience=patience)
    try:
        return _probed(Endpoint(connection, model or only_model(connection), revision))
    except NoAnswer as error:
        raise in_words(error) from error


def in_words(error: NoAnswer) -> EndpointError:
    """What a person is told when a server cannot be used at all."""
    if error.kind in TURNED_AWAY:
        return EndpointError(f"the server refuses: {error.detail}{_REMEDIES.get(error.code, '')}")
    if error.kind == "malformed":
        return EndpointError(f"this is no answer of an OpenAI-compatible server: {error.detail}")
    tries = "1 try" if error.tries == 1 else f"{error.tries} tries"
    if error.code:  # it said something
        return EndpointError(f"no answer after {tries}: {error.detail}; the server is there: ask again, or see its log")
    return EndpointError(f"no answer after {tries}: {error.detail}; is the server running, and the address right?")


def only_model(connection: Connection) -> str:
    """The model of a server that has one. Raises `EndpointError`, also where it has several."""
    served = models_of(connection)
    if len(served) != 1:
        base = connection.base
        raise EndpointError(f"{base} serves {', '.join(served) or 'no model'}: say which with {base}#MODEL")
    return served[0]


def models_of(connection: Connection) -> list[str]:
    """What a server serves. Raises `EndpointError`."""
    try:
        found, _ = connection.ask("models")
    except NoAnswer as error:
        raise in_words(error) from error
    try:
        return [str(one["id"]) for one in found["data"]]
    except (KeyError, TypeError) as error:
        raise EndpointError(f"{connection.base}/models: expected a list of models, got {_short(found)}") from error


def read_completion(found: Any, asked: int, *, chat: bool = True) -> Completion:
    """The completion in a reply of the API to so many characters. Raises `Malformed`."""
    try:
        choice = found["choices"][0]
        said = written(choice["message"]) if chat else str(choice["text"])
        text = said.encode("utf-8", "replace").decode("utf-8")  # JSON can hold half a surrogate pair, no file can
        cut = choice.get("finish_reason") == "length"
        return Completion(text, cut, usage_of(found, asked, text), _logprobs(choice))
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise Malformed(f"expected a completion, got {_short(found)}") from error


def written(message: Mapping[str, Any]) -> str:
    """The text of a chat reply. Some servers take a thought out of it, tags and all; others leave out the tag that the
    model's template has written. Either is put back."""
    content = _text(message["content"] or "")
    if "<think>" in content:
        return content
    if "</think>" in content:
        return f"<think>{content}"
    thought = message.get("reasoning_content") or message.get("reasoning")
    return f"<think>{thought}</think>\n{content}" if thought else content


def _text(content: Any) -> str:
    """What a message says, which some servers send in parts: text, and thoughts as messages of their own."""
    if isinstance(content, str):
        return content
    return "".join(
        f"<think>{_text(one['thinking'])}</think>\n" if "thinking" in one else one["text"] for one in content
    )


def usage_of(found: Mapping[str, Any], asked: int, text: str) -> Usage:
    """What a reply says that it took; estimated from characters where it says nothing."""
    counted = found.get("usage") or {}
    read, wrote = counted.get("prompt_tokens"), counted.get("completion_tokens")
    if read is None or wrote is None:
        return Usage(_estimate(asked), _estimate(len(text)), estimated=True)
    return Usage(int(read), int(wrote))


def _probed(endpoint: Endpoint) -> Endpoint:
    """`endpoint` as its server can be asked. Raises `NoAnswer`, and `EndpointError` for what is no completion."""
    word = Request((Message("user", "Reply with the word yes."),))
    try:
        _try(endpoint, word)
    except NoAnswer as error:
        if error.code not in NO_CHAT and "template" not in error.detail:
            raise
        endpoint.chat = False
        _try(endpoint, word)
    form = Request(word.messages, schema=_PROBE)
    orders: tuple[Structured, ...] = ("json_schema", "json_object", "none")
    for structured in orders:
        endpoint.structured = structured
        try:
            _try(endpoint, form)
            break
        except NoAnswer as error:
            if error.kind not in (*TURNED_AWAY, "server_error"):
                raise
    return endpoint


def _try(endpoint: Endpoint, request: Request) -> None:
    body = endpoint.body_of(request) | {"max_tokens": 1}
    try:
        found, _ = endpoint.connection.ask(endpoint._path, body)
    except NoAnswer as error:
        if cut_short(error.detail):
            return
        raise
    try:
        read_completion(found, request.characters, chat=endpoint.chat)
    except Malformed as error:
        raise EndpointError(f"{endpoint.connection.base}: {error}") from error


def _logprobs(choice: Mapping[str, Any]) -> tuple[tuple[str, float], ...] | None:
    offered = choice.get("logprobs")
    if not offered:
        return None
    if offered.get("content") is not None:
        return tuple((str(one["token"]), float(one["logprob"])) for one in offered["content"])
    if offered.get("tokens") is None:
        return None
    pairs = zip(offered["tokens"], offered["token_logprobs"], strict=True)
    return tuple((str(token), float(value)) for token, value in pairs if value is not None)


def _estimate(characters: int) -> int:
    return -(-characters // CHARACTERS_A_TOKEN)


def _short(found: object) -> str:
    return json.dumps(found)[:200]

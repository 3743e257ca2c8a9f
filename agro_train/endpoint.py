"""A model behind an OpenAI-compatible server, as a sampler: turns that stop at the tags.

A server that has chat is sent messages: the prompt and each observation as the user's, each turn as the assistant's;
another the same as plain text to be completed. The server keeps its tokenizer to itself: `Characters` stands in for
one, and limits are held in characters. What a turn cost is what the server counts (`usage`); where it counts nothing,
and for the budget of a schema, tokens are estimated (`serialise.estimate_tokens`). Log-probabilities are not asked for:
what is sampled here is read, graded and learnt from as text, never as tokens.
"""

from __future__ import annotations

import json
import os
import re
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

from agro_data.config import ConfigError
from agro_data.profiling.serialise import estimate_tokens
from agro_data.protocol import STOPS
from agro_train.agents import Agent, Unit
from agro_train.decoding import LIMITS
from agro_train.questions import Reading
from agro_train.sampling import Sampled, Usage

PER_TOKEN = 4  # characters that a token may have, for limits
KEY = "OPENAI_API_KEY"
_END = "\x1d"  # ends a prompt; `protocol.inert` lets no such character into one
_OBSERVED = re.compile(r"\n(<observation>\n.*?\n</observation>)\n", re.DOTALL)
_NO_CHAT = (404, 405, 501)
_OPENED = re.compile(r"<(sql|solution)>(?!.*</\1>)", re.DOTALL)


class EndpointError(ConfigError):
    """The server does not answer, or not as an OpenAI-compatible one does."""


class EndpointRefused(EndpointError):
    """The server does not do what it is asked; asking again would not help. `code` is of HTTP."""

    def __init__(self, said: str, code: int) -> None:
        super().__init__(said)
        self.code = code


class Characters:
    """A tokenizer whose tokens are characters, and one more that ends a prompt."""

    chat_template = "the prompt and its end"
    bos_token_id = None
    eos_token_id = 0x110000  # one more than any character
    pad_token_id = eos_token_id
    end_of_prompt = 0x110001

    def apply_chat_template(
        self, messages: Sequence[Mapping[str, str]], add_generation_prompt: bool = True, tokenize: bool = False
    ) -> str:
        return "".join(one["content"] for one in messages) + _END

    def __call__(self, text: str, add_special_tokens: bool = False) -> dict[str, list[int]]:
        return {"input_ids": [self.end_of_prompt if letter == _END else ord(letter) for letter in text]}

    def decode(self, ids: Sequence[int], skip_special_tokens: bool = False) -> str:
        return "".join(chr(number) for number in ids if number < self.eos_token_id)


@dataclass
class EndpointSampler:
    """Turns from a server. A request is tried `tries` times, with growing pauses, before the error is raised.

    `chat`: it is sent messages, not text. `at_once` requests are under way together; `timeout` is of one, in seconds.
    """

    base: str
    model: str
    chat: bool = True
    tries: int = 4
    pause: float = 1.0
    at_once: int = 8
    timeout: float = 120.0

    def __call__(
        self, prefixes: Sequence[Sequence[int]], *, temperature: float, max_tokens: int, seeds: Sequence[int]
    ) -> list[Sampled]:
        asked = [
            {
                "model": self.model,
                **self._said(prefix),
                "max_tokens": max(1, max_tokens // PER_TOKEN),
                "temperature": temperature,
                "seed": seed % 2**31,
                "stop": list(STOPS),
            }
            for prefix, seed in zip(prefixes, seeds, strict=True)
        ]
        with ThreadPoolExecutor(self.at_once) as pool:
            return list(pool.map(self._turn, asked))

    def models(self) -> list[str]:
        """What the server serves."""
        found = self._ask("models", None)
        try:
            return [str(one["id"]) for one in found["data"]]
        except (KeyError, TypeError) as error:
            raise EndpointError(f"{self.base}/models: expected a list of models, got {_short(found)}") from error

    def probed(self) -> tuple[EndpointSampler, bool]:
        """This sampler as the server can be asked, and whether it counts tokens; found out with a word or two.

        Raises `EndpointError`.
        """
        try:
            return self, bool(self._probe().get("usage"))
        except EndpointRefused as error:
            if error.code not in _NO_CHAT and "template" not in str(error):
                raise
        plain = replace(self, chat=False)
        return plain, bool(plain._probe().get("usage"))

    def _probe(self) -> dict[str, Any]:
        found = self._ask(self._path, {"model": self.model, **self._said([ord("1")]), "max_tokens": 1})
        self._read(found)
        return dict(found)

    @property
    def _path(self) -> str:
        return "chat/completions" if self.chat else "completions"

    def _said(self, prefix: Sequence[int]) -> dict[str, Any]:
        return {"messages": messages_of(prefix)} if self.chat else {"prompt": Characters().decode(prefix)}

    def _read(self, found: Any) -> tuple[str, str]:
        """The text of a reply and why it ended."""
        try:
            choice = found["choices"][0]
            text = _written(choice["message"]) if self.chat else str(choice["text"])
            return text, str(choice["finish_reason"])
        except (KeyError, IndexError, TypeError) as error:
            raise EndpointError(f"{self.base}/{self._path}: expected a completion, got {_short(found)}") from error

    def _turn(self, body: dict[str, Any]) -> Sampled:
        found = self._ask(self._path, body)
        text, why = self._read(found)
        usage = _usage(found, body, text)
        if why == "stop" and (opened := _OPENED.search(text)):  # the stop itself is not part of the text
            text += f"</{opened[1]}>"
        ids = Characters()(text)["input_ids"]
        return Sampled(ids, [0.0] * len(ids), why == "length", usage)

    def _ask(self, path: str, body: dict[str, Any] | None) -> Any:
        headers = {"Content-Type": "application/json"}
        if key := os.environ.get(KEY):
            headers["Authorization"] = f"Bearer {key}"
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.base}/{path}", data, headers)
        said = ""
        for attempt in range(self.tries):
            if attempt:
                time.sleep(self.pause * 2 ** (attempt - 1))
            try:
                with urllib.request.urlopen(request, timeout=self.timeout) as reply:
                    return json.loads(reply.read())
            except urllib.error.HTTPError as error:
                said = f"HTTP {error.code}: {error.read(300).decode(errors='replace')}"
                if error.code not in (408, 409, 425, 429) and error.code < 500:
                    raise EndpointRefused(f"{self.base}/{path} refuses: {said}", error.code) from error
            except (OSError, ValueError) as error:  # no connection, cut short, or no JSON
                said = f"{type(error).__name__}: {error}"
        raise EndpointError(
            f"{self.base}/{path} does not answer after {self.tries} tries ({said}); is the server running?"
        )


def open_endpoint(url: str, reading: Reading) -> Agent:
    """The agent of `URL#MODEL`, or of `URL` where the server serves one model. The URL ends as the API does, in /v1.

    Raises `EndpointError`.
    """
    base, _, model = url.partition("#")
    sampler = EndpointSampler(base.rstrip("/"), model)
    if not model:
        there = sampler.models()
        if len(there) != 1:
            raise EndpointError(f"{base} serves {', '.join(there) or 'no model'}: say which with {base}#MODEL")
        sampler = replace(sampler, model=there[0])
    sampler, counts = sampler.probed()
    limits = replace(LIMITS, turn=PER_TOKEN * LIMITS.turn, rollout=PER_TOKEN * LIMITS.rollout)
    own = replace(reading, count_tokens=estimate_tokens, turns=limits.turns)
    unit: Unit = "tokens" if counts else "estimated tokens"
    return Agent(sampler.model, sampler, Characters(), own, f"{base}#{sampler.model}", limits, unit=unit)


def messages_of(prefix: Sequence[int]) -> list[dict[str, str]]:
    """A prefix in `Characters` as messages: the prompt, then turns and observations by turns."""
    whole = list(prefix)
    end = whole.index(Characters.end_of_prompt) if Characters.end_of_prompt in whole else len(whole)
    prompt, rest = (Characters().decode(part) for part in (whole[:end], whole[end:]))
    pieces = [
        {"role": "user" if number % 2 else "assistant", "content": piece}
        for number, piece in enumerate(_OBSERVED.split(rest))
    ]
    return [{"role": "user", "content": prompt}, *(piece for piece in pieces if piece["content"])]


def _written(message: Mapping[str, Any]) -> str:
    """The text of a chat reply. Some servers take a thought out of it, tags and all: it is put back."""
    content = str(message["content"] or "")
    thought = message.get("reasoning_content") or message.get("reasoning")
    return f"<think>{thought}</think>\n{content}" if thought and "<think>" not in content else content


def _usage(found: Mapping[str, Any], body: Mapping[str, Any], text: str) -> Usage:
    counted = found.get("usage") or {}
    asked = "".join(one["content"] for one in body["messages"]) if "messages" in body else body["prompt"]
    return Usage(
        int(counted.get("prompt_tokens") or estimate_tokens(asked)),
        int(counted.get("completion_tokens") or estimate_tokens(text)),
    )


def _short(found: object) -> str:
    return json.dumps(found)[:200]

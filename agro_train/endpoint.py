"""A model behind an OpenAI-compatible server, as a sampler: text completions that stop at the tags.

The server keeps its tokenizer to itself, so that here a token is a character: `Characters` stands in for a tokenizer,
and limits are counted in characters. Log-probabilities are not asked for: what is sampled here can be read, not
trained on.
"""

from __future__ import annotations

import json
import os
import re
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

from agro_data.config import ConfigError
from agro_data.protocol import STOPS
from agro_train.agents import Agent
from agro_train.decoding import LIMITS
from agro_train.questions import Reading
from agro_train.sampling import Sampled

PER_TOKEN = 4  # characters that a token is taken for
KEY = "OPENAI_API_KEY"
_OPENED = re.compile(r"<(sql|solution)>(?!.*</\1>)", re.DOTALL)


class EndpointError(ConfigError):
    """The server does not answer, or not as an OpenAI-compatible one does."""


class Characters:
    """A tokenizer whose tokens are characters; its prompts are plain text."""

    chat_template = None
    bos_token_id = None
    eos_token_id = 0x110000  # one more than any character
    pad_token_id = eos_token_id

    def __call__(self, text: str, add_special_tokens: bool = False) -> dict[str, list[int]]:
        return {"input_ids": list(map(ord, text))}

    def decode(self, ids: Sequence[int], skip_special_tokens: bool = False) -> str:
        return "".join(chr(number) for number in ids if number < self.eos_token_id)


@dataclass
class EndpointSampler:
    """Turns from a server. A request is tried `tries` times, with growing pauses, before the error is raised.

    `at_once` requests are under way together; `timeout` is of one, in seconds.
    """

    base: str
    model: str
    tries: int = 4
    pause: float = 1.0
    at_once: int = 8
    timeout: float = 120.0

    def __call__(
        self, prefixes: Sequence[Sequence[int]], *, temperature: float, max_tokens: int, seeds: Sequence[int]
    ) -> list[Sampled]:
        text = Characters().decode
        asked = [
            {
                "model": self.model,
                "prompt": text(prefix),
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

    def _turn(self, body: dict[str, Any]) -> Sampled:
        found = self._ask("completions", body)
        try:
            choice = found["choices"][0]
            text, why = str(choice["text"]), choice["finish_reason"]
        except (KeyError, IndexError, TypeError) as error:
            raise EndpointError(f"{self.base}/completions: expected a completion, got {_short(found)}") from error
        if why == "stop" and (opened := _OPENED.search(text)):  # the stop itself is not part of the text
            text += f"</{opened[1]}>"
        ids = Characters()(text)["input_ids"]
        return Sampled(ids, [0.0] * len(ids), why == "length")

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
                    raise EndpointError(f"{self.base}/{path} refuses: {said}") from error
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
    limits = replace(LIMITS, turn=PER_TOKEN * LIMITS.turn, rollout=PER_TOKEN * LIMITS.rollout)
    own = replace(reading, turns=limits.turns)
    return Agent(sampler.model, sampler, Characters(), own, f"{base}#{sampler.model}", limits, unit="characters")


def _short(found: object) -> str:
    return json.dumps(found)[:200]

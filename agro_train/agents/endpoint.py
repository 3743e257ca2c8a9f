"""A model behind an OpenAI-compatible server, as a sampler: turns that stop at the tags.

A server that has chat is sent messages: the prompt and each observation as the user's, each turn as the assistant's;
another the same as plain text to be completed. The server keeps its tokenizer to itself: `Characters` stands in for
one, and limits are held in characters. The server counts what a turn costs (`usage`). If it counts nothing, and for the
budget of a schema, tokens are estimated from characters. Log-probabilities are not asked for: what is sampled here is
read, graded and learnt from as text, never as tokens.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

from agro_data.llm.connection import Connection, NoAnswer, Patience
from agro_data.llm.endpoint import NO_CHAT, EndpointError, in_words, only_model, read_completion
from agro_data.llm.parameters import cut_short, until
from agro_data.llm.threads import at_once
from agro_data.llm.types import Completion
from agro_data.profiling.serialising.serialise import estimate_tokens
from agro_data.protocol import STOPS, with_end
from agro_train.agents.agent import Agent, Unit
from agro_train.agents.replies import as_turn
from agro_train.rollouts import Limits
from agro_train.sampling.types import Sampled, Usage
from agro_train.tasks import PromptFormat

PER_TOKEN = 4  # characters that a token may have, for limits
PATIENCE = Patience(tries=4)
AT_ONCE = 8  # requests under way together
_END = "\x1d"  # ends a prompt; `protocol.inert` lets no such character into one
_OBSERVED = re.compile(r"\n(<observation>\n.*?\n</observation>)\n", re.DOTALL)


class Characters:
    """A tokenizer whose tokens are characters, and one more that ends a prompt."""

    chat_template = "the prompt and its end"
    bos_token_id = None
    eos_token_id = 0x110000  # one more than any character
    pad_token_id = eos_token_id
    end_of_prompt = 0x110001
    added_tokens_decoder: Mapping[int, Any] = {}

    def apply_chat_template(self, messages: Sequence[Mapping[str, str]], **_: Any) -> str:
        return "".join(one["content"] for one in messages) + _END

    def __call__(self, text: str, add_special_tokens: bool = False) -> dict[str, list[int]]:
        return {"input_ids": [self.end_of_prompt if letter == _END else ord(letter) for letter in text]}

    def decode(self, ids: Sequence[int]) -> str:
        return "".join(chr(number) for number in ids if number < self.eos_token_id)


@dataclass
class EndpointSampler:
    """Turns from a server. `chat`: it is sent messages, not text. Raises `EndpointError` when none comes.

    If the server refuses a request, or answers with no completion, only this rollout ends, as if the turn was cut. So
    it does where a server fails at this request, or is too slow for it, and is there for others.
    """

    connection: Connection
    model: str
    chat: bool = True
    _failed: int = field(default=0, init=False, repr=False)  # requests in a row that it failed at

    def __call__(
        self, prefixes: Sequence[Sequence[int]], *, temperature: float, max_tokens: int, seeds: Sequence[int | None]
    ) -> list[Sampled]:
        asked = [
            {
                "model": self.model,
                **self._said(prefix),
                "max_tokens": max(1, max_tokens // PER_TOKEN),
                "temperature": 0.0 if seed is None else temperature,
                "seed": (seed or 0) % 2**31,
                "stop": list(STOPS),
            }
            for prefix, seed in zip(prefixes, seeds, strict=True)
        ]
        try:
            turns = dict(at_once(self._turn, asked, self.connection.at_once))
        except BaseException:  # Ctrl-C, too: who waits for the server gives up
            self.connection.close()
            raise
        return [turns[place] for place in range(len(asked))]

    def probed(self) -> tuple[EndpointSampler, bool]:
        """This sampler as the server can be asked, and whether it counts tokens; found out with a word or two.

        Raises `EndpointError`.
        """
        body = {"model": self.model, **self._said([ord("1")]), "max_tokens": 1}
        try:
            return self, not self._complete(body).usage.estimated
        except NoAnswer as error:
            if cut_short(error.detail):
                return self, True
            if not self.chat or (error.code not in NO_CHAT and "template" not in error.detail):
                raise in_words(error) from error
        return replace(self, chat=False).probed()

    def _only_this(self, error: NoAnswer) -> bool:
        """Whether a server that fails at a request, or is too slow for it, still answers a word: not more often in a
        row than there are requests under way, since it may do so and answer no question."""
        if error.kind not in ("server_error", "timeout"):
            return False
        self._failed += 1
        if self._failed > self.connection.at_once:
            return False
        once = replace(self.connection.patience, tries=1, minutes=0.0)
        with closing(Connection(self.connection.base, 1, once)) as connection, suppress(EndpointError):
            replace(self, connection=connection).probed()
            return not self.connection.stopped.is_set()
        return False

    def _said(self, prefix: Sequence[int]) -> dict[str, Any]:
        return {"messages": messages_of(prefix)} if self.chat else {"prompt": Characters().decode(prefix)}

    def _complete(self, body: Mapping[str, Any]) -> Completion:
        path = "chat/completions" if self.chat else "completions"
        said = "".join(one["content"] for one in body["messages"]) if self.chat else body["prompt"]
        found: Completion
        found, _tries = self.connection.ask(path, body, lambda reply: read_completion(reply, len(said), chat=self.chat))
        return found

    def _turn(self, body: Mapping[str, Any]) -> Sampled:
        began = perf_counter()
        try:
            found = self._complete(body)
        except NoAnswer as error:
            if error.kind not in ("refused", "malformed") and not self._only_this(error):
                raise in_words(error) from error
            return Sampled([], [], cut=True, usage=Usage(0, 0), refusal=error.detail)
        took, self._failed = perf_counter() - began, 0
        whole = as_turn(found.text)
        turn = until(whole, STOPS)
        cut = found.cut and turn == whole
        text = found.text if cut else with_end(turn)
        ids = Characters()(text)["input_ids"]
        return Sampled(ids, [0.0] * len(ids), cut, Usage(found.usage.read, found.usage.written, took))


@dataclass(frozen=True)
class Server:
    """A model of the server at `base` that has answered, and whether it `counts` tokens."""

    base: str
    sampler: EndpointSampler
    counts: bool

    @property
    def name(self) -> str:
        return self.sampler.model

    def agent(self, prompt_format: PromptFormat, limits: Limits) -> Agent:
        """The agent that reads and writes so much."""
        limits = replace(limits, turn=PER_TOKEN * limits.turn, rollout=PER_TOKEN * limits.rollout)
        own = replace(prompt_format, count_tokens=estimate_tokens, turns=limits.turns)
        unit: Unit = "tokens" if self.counts else "estimated tokens"
        return Agent(self.name, self.sampler, Characters(), own, f"{self.base}#{self.name}", limits, unit=unit)


def find_server(url: str) -> Server:
    """The model at `URL#MODEL`, or at `URL` where the server serves one. The URL ends as the API does, in /v1.

    Raises `EndpointError`.
    """
    base, _, model = url.partition("#")
    connection = Connection(base.rstrip("/"), AT_ONCE, PATIENCE)
    return Server(base, *EndpointSampler(connection, model or only_model(connection)).probed())


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

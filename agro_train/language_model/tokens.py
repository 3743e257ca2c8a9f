"""A transcript as tokens: which of them the agent wrote, and in which turn.

Text is tokenised piece by piece, as a rollout sees it: the prompt, each turn, each observation. So training and
generation see the same tokens, and nothing is tokenised twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from jinja2 import TemplateError

from agro_data.config import ConfigError
from agro_data.llm.rendering import chat_text
from agro_data.llm.types import Message
from agro_data.protocol import Step, is_tag, render_turn, wrap_observation

OUTSIDE = -1  # the turn of a token that the agent did not write
IGNORED = -100  # the label of a token that no loss is taken of


@dataclass(frozen=True)
class Example:
    """Tokens of one trajectory with its prompt, and 1 for each that the agent wrote.

    Examples with the same `opening` (any text that tells it) begin alike; one without it shares with none.
    """

    ids: list[int]
    mask: list[int]
    opening: str = ""

    @property
    def labels(self) -> list[int]:
        """What is learnt at each place."""
        return [token if own else IGNORED for token, own in zip(self.ids, self.mask, strict=True)]

    @property
    def first_learnt(self) -> int:
        """The place of the first token that is learnt, or the number of tokens."""
        return self.mask.index(1) if 1 in self.mask else len(self.mask)


@dataclass
class Tokens:
    """`ids` and, for each, the number of the turn that wrote it from 0, or `OUTSIDE`; `logprobs` where sampled.

    `turned` are the places of those that the agent was turned to, as another one was refused.
    """

    prompt: list[int]
    ids: list[int] = field(default_factory=list)  # after the prompt
    turns: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    turned: set[int] = field(default_factory=set)

    @property
    def mask(self) -> list[int]:
        """1 for the agent's tokens: those that a loss is taken of."""
        return [int(turn != OUTSIDE) for turn in self.turns]

    @property
    def likelihood(self) -> float:
        """The mean log-probability of the agent's tokens."""
        own = [logprob for logprob, turn in zip(self.logprobs, self.turns, strict=True) if turn != OUTSIDE]
        return sum(own) / max(1, len(own))

    @property
    def said(self) -> int:
        """Tokens after the prompt up to the agent's last."""
        return max((place + 1 for place, turn in enumerate(self.turns) if turn != OUTSIDE), default=0)

    @property
    def so_far(self) -> list[int]:
        """What the agent reads before its next turn."""
        return self.prompt + self.ids

    def first(self, count: int) -> Tokens:
        """A copy with so many tokens after the prompt."""
        turned = {place for place in self.turned if place < count}
        return Tokens(self.prompt, self.ids[:count], self.turns[:count], self.logprobs[:count], turned)

    def wrote(
        self,
        ids: Sequence[int],
        turn: int,
        logprobs: Sequence[float] | None = None,
        turned: Iterable[int] = (),
    ) -> None:
        """Append the agent's turn; `turned` are places in it."""
        self.turned |= {len(self.ids) + place for place in turned}
        self._add(ids, turn, logprobs)

    def saw(self, ids: Sequence[int]) -> None:
        """Append an observation."""
        self._add(ids, OUTSIDE, None)

    def _add(self, ids: Sequence[int], turn: int, logprobs: Sequence[float] | None) -> None:
        self.ids += ids
        self.turns += [turn] * len(ids)
        self.logprobs += [0.0] * len(ids) if logprobs is None else logprobs


def encode(text: str, tokenizer: Any) -> list[int]:
    """Tokens of a piece of text, without any that the tokenizer would add."""
    ids: list[int] = tokenizer(text, add_special_tokens=False)["input_ids"]
    return ids


def token_counter(tokenizer: Any) -> Callable[[str], int]:
    """Counts the tokens of a text."""
    return lambda text: len(encode(text, tokenizer))


def text_of(ids: Sequence[int], tokenizer: Any) -> str:
    """The text of tokens without what is special to the tokenizer, but with tags: to some, <think> is special."""
    silent = unsaid(tokenizer)
    text: str = tokenizer.decode([number for number in ids if number not in silent])
    return text


@lru_cache(maxsize=4)
def unsaid(tokenizer: Any) -> frozenset[int]:
    """What is no text: found once, since some tokenizers have thousands of added tokens and each turn asks."""
    added = tokenizer.added_tokens_decoder.items()
    return frozenset(number for number, one in added if one.special and not is_tag(one.content))


def encode_prompt(prompt: str, tokenizer: Any) -> list[int]:
    """The prompt as a user's message where the tokenizer has a template, on the same day always, else as plain text.

    A template that begins the thought (R1's, Qwen3.5's) leaves that to the agent, whose turn it belongs to. Raises
    `ConfigError` for one that takes no user's message without another before it.
    """
    if not tokenizer.chat_template:
        start = [tokenizer.bos_token_id] if tokenizer.bos_token_id is not None else []
        return start + encode(prompt, tokenizer)
    try:
        text = chat_text([Message("user", prompt)], tokenizer)
    except TemplateError as error:
        name = tokenizer.name_or_path
        raise ConfigError(f"{name}: its chat template refuses a user's message alone: {error}") from error
    return encode(text, tokenizer)


def encode_steps(prompt: str, steps: Sequence[Step], tokenizer: Any) -> Tokens:
    """A finished transcript, as an agent that writes it token by token leaves it; the end token is the agent's, too."""
    tokens = Tokens(encode_prompt(prompt, tokenizer))
    for place, step in enumerate(steps):
        end = [] if step.observation is not None else [tokenizer.eos_token_id]
        tokens.wrote(encode(render_turn(step.turn), tokenizer) + end, place)
        if step.observation is not None:
            tokens.saw(encode(wrap_observation(step.observation), tokenizer))
    return tokens

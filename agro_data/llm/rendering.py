"""A conversation as the tokens that a model on this machine reads."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from jinja2 import TemplateError

from agro_data.llm.types import Message

_BEGUN = re.compile(r"<think>\s*\Z")
DAY = datetime(2024, 7, 26)  # which Llama 3.1's template names; 3.2's and others name today


def chat_text(messages: Sequence[Message], tokenizer: Any, template: Mapping[str, Any] | None = None) -> str:
    """A prompt by the tokenizer's chat template, up to where the model's words begin: on the same day always, and
    without a thought that it begins, which is the model's. `template` is given to it. Raises jinja2's `TemplateError`.
    """
    said = [{"role": message.role, "content": message.content} for message in messages]
    given = {"strftime_now": _that_day, **(template or {})}
    return _without_thought(tokenizer.apply_chat_template(said, add_generation_prompt=True, tokenize=False, **given))


def _that_day(form: str) -> str:
    """`DAY` for templates that ask which day it is (`strftime_now`): with today the same prompt would be another one
    tomorrow, and with it all that is sampled."""
    return DAY.strftime(form)


def _without_thought(prompt: str) -> str:
    """A prompt without the thought that some templates begin (R1's, Qwen3.5's): the model does, tag and all."""
    return _BEGUN.sub("", prompt)


def as_text(messages: Sequence[Message]) -> str:
    """A conversation for a model without chat: the contents below each other."""
    return "\n\n".join(message.content for message in messages) + "\n"


def prompt_ids(messages: Sequence[Message], tokenizer: Any, template: Mapping[str, Any] | None = None) -> list[int]:
    """The tokens of a prompt, by the tokenizer's chat template where it has one; `template` is given to it.

    A template that has no system's role is given the system's words at the head of the user's. Raises
    `UnicodeEncodeError` for text that no tokenizer takes: half of a character.
    """
    for message in messages:
        message.content.encode()
    if not tokenizer.chat_template:
        return list(tokenizer(as_text(messages))["input_ids"])
    try:
        text = chat_text(messages, tokenizer, template)
    except TemplateError:
        text = chat_text(without_system(messages), tokenizer, template)
    return list(tokenizer(text, add_special_tokens=False)["input_ids"])


def without_system(messages: Sequence[Message]) -> list[Message]:
    """The same conversation without the system's role."""
    said = [message.content for message in messages if message.role == "system"]
    rest = [message for message in messages if message.role != "system"]
    if not said or not rest:
        return [Message("user", one.content) for one in messages]
    return [Message(rest[0].role, "\n\n".join([*said, rest[0].content])), *rest[1:]]

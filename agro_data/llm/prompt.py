"""What a prompt is: a file of text, the type of what fills it, and a parser that is total.

The file has first-level headings: `# system` and `# user` are the messages, any other (`# style formal`) a passage
that they may take in with `passage(name)`. Texts are Jinja templates; a name that is not filled is an error. What fills
them is never read as a template.

A parser returns the answer or `Unparsed`, whatever the text, and raises nothing.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from jinja2 import Environment, StrictUndefined

from agro_data.hashing import stable_hash
from agro_data.llm.client import Client
from agro_data.llm.types import SAMPLING, Completion, Message, Request, Role, Sampling
from agro_data.progress import Reporter, silent

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Inputs = TypeVar("Inputs", bound="DataclassInstance")
Answer = TypeVar("Answer")

_HEADING = re.compile(r"^# (.+?) *$", re.MULTILINE)
_MESSAGES: tuple[Role, ...] = ("system", "user")
# A prompt may have begun it; of a reply that was cut off it may be all.
_THOUGHT = re.compile(r"\A(?:.*?</think>|\s*<think>.*)", re.DOTALL)
_DECODER = json.JSONDecoder()
_HALF = re.compile("[\ud800-\udfff]")  # of a surrogate pair: JSON can say it, UTF-8 and so Parquet cannot
_FENCED = re.compile(r"```[a-zA-Z]*[ \t]*\n(.*?)\n?[ \t]*```", re.DOTALL)


@dataclass(frozen=True)
class Unparsed:
    """A reply that gives no answer: its class (`empty`, `cut`, `no_json`, …), and a sentence for a person."""

    kind: str
    detail: str


UNWRITABLE = Unparsed("unwritable", "the reply holds half of a character, which no file can hold")


@dataclass(frozen=True)
class Asked(Generic[Answer]):
    """The outcome of one request: the raw completion, and its answer, or why there is none.

    `place` is the place of its input, `sample` the number of the try. A failed request is `Unparsed`.
    """

    place: int
    sample: int
    completion: Completion
    answer: Answer | Unparsed

    @property
    def ok(self) -> bool:
        """Whether there is an answer."""
        return not isinstance(self.answer, Unparsed)


@dataclass(frozen=True)
class Prompt(Generic[Inputs, Answer]):
    """`file` filled with `inputs`. The reply is held to `schema`, if the backend can do so, and read by `parse`."""

    file: Path
    inputs: type[Inputs]
    parse: Callable[[str], Answer | Unparsed]
    schema: Mapping[str, Any] | None = None

    @property
    def name(self) -> str:
        """The name of its file."""
        return self.file.stem

    @cached_property
    def passages(self) -> dict[str, str]:
        """The texts of the file by heading."""
        parts = _HEADING.split(self.file.read_text(encoding="utf-8"))
        found = {name: text.strip() for name, text in zip(parts[1::2], parts[2::2], strict=True)}
        if "user" not in found or parts[0].strip():
            raise ValueError(f"{self.file}: expected text below headings, one of them '# user'")
        return found

    @cached_property
    def version(self) -> str:
        """16 hex of all that the prompt says and asks for: stored with what it made."""
        return stable_hash([self.passages, dict(self.schema) if self.schema else None])[:16]

    def messages(self, inputs: Inputs) -> tuple[Message, ...]:
        """The messages for one input."""
        values = {field.name: getattr(inputs, field.name) for field in fields(inputs)}

        def fill(name: str) -> str:
            return self._templates.from_string(self.passages[name]).render(values, passage=fill).strip()

        return tuple(Message(role, fill(role)) for role in _MESSAGES if role in self.passages)

    def request(self, inputs: Inputs, sampling: Sampling = SAMPLING) -> Request:
        """What is asked of the model for one input."""
        schema = json.dumps(dict(self.schema), sort_keys=True) if self.schema is not None else None
        return Request(self.messages(inputs), sampling, schema)

    @cached_property
    def _templates(self) -> Environment:
        return Environment(undefined=StrictUndefined, autoescape=False)  # text, not a page


def ask(
    client: Client,
    prompt: Prompt[Inputs, Answer],
    inputs: Sequence[Inputs],
    sampling: Sampling = SAMPLING,
    *,
    samples: int = 1,
    apart: bool = False,
    stage: str = "",
    progress: Reporter = silent,
) -> list[Asked[Answer]]:
    """`samples` answers to the prompt for each input, in order of the inputs and then of the samples.

    Equal inputs are one request, and have one answer; `apart`, each has an answer of its own. `stage` is what it is
    counted under; the prompt's name unless given.
    """
    requests: list[Request] = []
    before: Counter[Request] = Counter()
    for one in inputs:
        request = prompt.request(one, sampling)
        requests += request.samples(samples, start=before[request])
        if apart:
            before[request] += samples
    completions = client.generate(requests, stage=stage or prompt.name, progress=progress)
    return [
        Asked(number // samples, number % samples, completion, read(prompt.parse, completion))
        for number, completion in enumerate(completions)
    ]


def read(parse: Callable[[str], Answer | Unparsed], completion: Completion) -> Answer | Unparsed:
    """The answer in a completion. One that was cut off has none: half a query can be a query, too."""
    if completion.failure is not None:
        return Unparsed(completion.failure.kind, completion.failure.detail)
    if completion.cut:
        return Unparsed("cut", "the reply ends where its tokens were used up (max_tokens)")
    return UNWRITABLE if _HALF.search(completion.text) else parse(completion.text)


# --- what parsers have in common ---------------------------------------------------------------------------------


def without_thought(text: str) -> str:
    """A reply without the thought that some models write before it."""
    return _THOUGHT.sub("", text, count=1).strip()


def fenced(text: str) -> str | None:
    """What stands in the last block of three backticks: the first ones may be drafts. None if there is no block."""
    return next(reversed(blocks(text)), None)


def blocks(text: str) -> list[str]:
    """What stands in each block of three backticks."""
    return [str(block).strip() for block in _FENCED.findall(text)]


def json_object(text: str) -> dict[str, Any] | Unparsed:
    """The JSON object of a reply: all of it, in a block of backticks, or from its first brace on.

    Classes: `empty`, `no_json`, `unwritable`.
    """
    bare = without_thought(text)
    if not bare:
        return Unparsed("empty", "the reply is empty")
    start = bare.find("{")
    for candidate in (bare, fenced(bare), bare[start:] if start >= 0 else None):
        try:
            found, _ = _DECODER.raw_decode(candidate or "")
            again = json.dumps(found, ensure_ascii=False)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict):
            return UNWRITABLE if _HALF.search(again) else found
    return Unparsed("no_json", f"expected a JSON object, got {bare[:100]!r}")

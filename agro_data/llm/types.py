"""What is asked of a language model, and what comes back: plain values that can be hashed, stored and compared."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, Protocol

from agro_data.hashing import seed_of

Role = Literal["system", "user", "assistant"]

# Why a request has no answer: too slow; asked to come back later; an error of the server's; no connection, or one that
# broke; the key does not hold, nothing is left to spend, or the model is not there (any request would be denied); the
# request itself is not accepted (an answer of who is there, and another run has no other); what came is no reply of
# the API.
FailureKind = Literal["timeout", "busy", "server_error", "unreachable", "denied", "refused", "malformed"]
TURNED_AWAY: tuple[FailureKind, ...] = ("denied", "refused")  # by a server that is there


@dataclass(frozen=True)
class Message:
    """One message of a conversation."""

    role: Role
    content: str


@dataclass(frozen=True)
class Sampling:
    """How tokens are drawn. `temperature` 0 takes the likeliest; `stop` texts end a reply and are not part of it.

    With `logprobs` the log-probability of each token written is asked for.
    """

    temperature: float = 0.7
    top_p: float = 1.0
    max_tokens: int = 512
    stop: tuple[str, ...] = ()
    seed: int = 0
    logprobs: bool = False

    def __post_init__(self) -> None:
        if self.temperature < 0.0:
            raise ValueError(f"temperature is {self.temperature}: 0 takes the likeliest token, more is more random")
        if not 0.0 < self.top_p <= 1.0:
            raise ValueError(f"top_p is {self.top_p}: a share of probability is above 0 and at most 1")
        if "" in self.stop:
            raise ValueError("a stop is an empty text, which every reply begins with: leave it out")
        if self.max_tokens < 1:
            raise ValueError(f"max_tokens is {self.max_tokens}: a reply has at least 1 token")


SAMPLING = Sampling()


@dataclass(frozen=True)
class Request:
    """One completion asked for. `sample` numbers those that are otherwise alike; each has a seed of its own.

    `schema` is a JSON schema as text that the reply must fit, where the backend can hold it to one.
    """

    messages: tuple[Message, ...]
    sampling: Sampling = SAMPLING
    schema: str | None = None
    sample: int = 0

    @property
    def seed(self) -> int:
        """What the backend is given: 31 bits, since servers take no more."""
        return seed_of(self.sampling.seed, self.sample) % 2**31

    @property
    def characters(self) -> int:
        """Length of all messages, for estimates."""
        return sum(len(message.content) for message in self.messages)

    def samples(self, count: int, start: int = 0) -> list[Request]:
        """This request `count` times, numbered from `start`."""
        return [replace(self, sample=number) for number in range(start, start + count)]

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready: all that decides the answer of a given model."""
        return asdict(self)


def request_of(stored: Mapping[str, Any]) -> Request:
    """What `Request.to_dict` gave, also after it was JSON."""
    sampling = stored["sampling"]
    return Request(
        messages=tuple(Message(**message) for message in stored["messages"]),
        sampling=Sampling(**sampling | {"stop": tuple(sampling["stop"])}),
        schema=stored["schema"],
        sample=stored["sample"],
    )


@dataclass(frozen=True)
class Usage:
    """Tokens read and written, as the backend counts them; `estimated` where it counts none."""

    read: int = 0
    written: int = 0
    estimated: bool = False

    def __add__(self, other: Usage) -> Usage:
        return Usage(self.read + other.read, self.written + other.written, self.estimated or other.estimated)


NOTHING = Usage()


@dataclass(frozen=True)
class Failure:
    """Why there is no answer: a class, and a sentence for a person."""

    kind: FailureKind
    detail: str


@dataclass(frozen=True)
class Completion:
    """An answer, or the failure in its place. `cut`: it ends because `max_tokens` were written.

    `logprobs` pairs each token with its log-probability, None where they were not asked for or are not offered.
    `tries` counts what was sent for it; `cached`: nothing, because it was known.
    """

    text: str = ""
    cut: bool = False
    usage: Usage = NOTHING
    logprobs: tuple[tuple[str, float], ...] | None = None
    failure: Failure | None = None
    tries: int = 1
    cached: bool = False

    @property
    def ok(self) -> bool:
        """Whether there is an answer."""
        return self.failure is None

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready; `from_dict` reads it."""
        return {key: value for key, value in asdict(self).items() if key != "cached"}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Completion:
        """What `to_dict` wrote. Raises `KeyError` or `TypeError` for anything else."""
        logprobs, failure = stored["logprobs"], stored["failure"]
        return cls(
            text=stored["text"],
            cut=stored["cut"],
            usage=Usage(**stored["usage"]),
            logprobs=None if logprobs is None else tuple((token, value) for token, value in logprobs),
            failure=None if failure is None else Failure(**failure),
            tries=stored["tries"],
        )


def failed(kind: FailureKind, detail: str, tries: int = 1) -> Completion:
    """The completion of a request that has no answer."""
    return Completion(failure=Failure(kind, detail), tries=tries)


class Backend(Protocol):
    """Whatever completes requests: a server, an engine, a module, a script.

    `identity` is what, beside a request, decides its answer (model, revision, how it is asked): JSON-ready, and never
    where a server happens to listen. `complete` yields each place in `requests` with its completion, as they come and
    in any order, each place once. It raises for what no request is to blame for, such as a model that is not there;
    a request that cannot be answered is a completion with its failure.
    """

    @property
    def identity(self) -> Mapping[str, str]: ...

    def complete(self, requests: Sequence[Request]) -> Generator[tuple[int, Completion], None, None]: ...

    def close(self) -> None: ...

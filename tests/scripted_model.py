"""A model that says what a function says: no server, no chance, every failure at will."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field

from agro_data.llm.types import Completion, Failure, Request, Usage

Reply = Callable[[Request], str | Completion | Failure]


@dataclass
class Scripted:
    """Answers each request with what `reply` gives for it: a text, a whole completion, or a failure.

    A word counts as a token. `asked` holds what it was asked, in order.
    """

    reply: Reply
    model: str = "scripted"
    revision: str = ""
    asked: list[Request] = field(default_factory=list)

    @property
    def identity(self) -> Mapping[str, str]:
        """Its names: two scripts that differ need different ones."""
        return {"model": self.model, "revision": self.revision}

    def complete(self, requests: Sequence[Request]) -> Generator[tuple[int, Completion], None, None]:
        """One after the other."""
        for place, request in enumerate(requests):
            self.asked.append(request)
            said = self.reply(request)
            if isinstance(said, Failure):
                yield place, Completion(failure=said)
            elif isinstance(said, Completion):
                yield place, said
            else:
                read = sum(len(message.content.split()) for message in request.messages)
                yield place, Completion(said, usage=Usage(read, len(said.split())))

    def close(self) -> None:
        """Nothing is open."""

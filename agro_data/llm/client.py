"""One way to ask a language model: `generate(requests) -> completions`, whatever answers.

An answered request is not sent again, in this run or in any other with the same cache. A request without an answer is a
completion with its failure, in its place: nothing is lost, nothing comes twice, and nothing stops the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType

from agro_data.llm.accounting import FREE, Prices, Spending, spent_on
from agro_data.llm.answers import Answers, key_of
from agro_data.llm.types import Backend, Completion, Request
from agro_data.progress import Reporter, counting, silent


@dataclass
class Client:
    """A backend, with its answers kept below `cache` (None: nowhere) and what was spent on it by stage.

    Use as a context manager: it closes the backend.
    """

    backend: Backend
    cache: Path | None = None
    prices: Prices = FREE
    spent: dict[str, Spending] = field(default_factory=dict)

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.backend.close()

    def generate(
        self, requests: Sequence[Request], *, stage: str = "llm", progress: Reporter = silent
    ) -> list[Completion]:
        """A completion for each request, in their order. Each is kept as soon as it is there.

        Requests that are equal are sent once. Raises what the backend raises: faults that no request is to blame for.
        """
        identity = self.backend.identity
        keys = [key_of(identity, request) for request in requests]
        if self.cache is None:
            found = self._ask(keys, requests, None, stage, progress)
        else:
            with Answers(self.cache / "llm", identity) as answers:
                found = self._ask(keys, requests, answers, stage, progress)
        completions = _in_order(keys, found)
        self.spent[stage] = self.spent.get(stage, Spending()) + spent_on(completions)
        return completions

    def _ask(
        self,
        keys: Sequence[str],
        requests: Sequence[Request],
        answers: Answers | None,
        stage: str,
        progress: Reporter,
    ) -> dict[str, Completion]:
        wanted = dict(zip(keys, requests, strict=True))
        found: dict[str, Completion] = {}
        if answers is not None:
            known = ((key, answers.get(key)) for key in wanted)
            found = {key: completion for key, completion in known if completion is not None}
        left = [key for key in wanted if key not in found]
        add = counting(progress, stage, len(wanted), "requests")
        if found:
            add(len(found))
        with closing(self.backend.complete([wanted[key] for key in left])) as coming:
            for place, completion in coming:
                key = left[place]
                found[key] = answers.put(key, completion) if answers is not None and completion.ok else completion
                add(1)
        if answers is not None and left:
            answers.sync()
        return found


def _in_order(keys: Sequence[str], found: dict[str, Completion]) -> list[Completion]:
    """The completion of each key; of equal requests the first has taken something, the others nothing."""
    seen: set[str] = set()
    completions: list[Completion] = []
    for key in keys:
        one = found[key]
        again = replace(one, cached=True) if one.ok else replace(one, tries=0)
        completions.append(again if key in seen else one)
        seen.add(key)
    return completions

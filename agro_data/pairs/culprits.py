"""Work on many items together and, where that raises, find those that make it raise: each costs only itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from agro_data.faults import is_passing
from agro_data.parallel import fault_line

Item = TypeVar("Item")
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Piece(Generic[Answer]):
    """Items that were worked on together, by their places; without an answer it is one item and `fault` says why."""

    places: range
    answer: Answer | None
    fault: str = ""


def by_halves(function: Callable[[Sequence[Item]], Answer], items: Sequence[Item]) -> Iterator[Piece[Answer]]:
    """All items together where that raises nothing; else each half in the same way, in order.

    k culprits among n items cost about k log2(n) calls more. What the machine is to blame for (no file can be read or
    written, memory is out) is raised: it would blame them all.
    """
    waiting = [range(len(items))]
    while waiting:
        places = waiting.pop()
        try:
            yield Piece(places, function([items[place] for place in places]))
        except Exception as error:
            if isinstance(error, OSError) or is_passing(error):
                raise
            if len(places) <= 1:
                yield Piece(places, None, fault_line(error))
            else:
                half = len(places) // 2
                waiting += [places[half:], places[:half]]

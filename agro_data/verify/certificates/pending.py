"""Golds on their way to a certificate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice

from agro_data.databases.errors import discreet_line
from agro_data.verify.certificates.answers import Answer, Gold
from agro_data.verify.certificates.kills import Suspect


@dataclass
class PendingGold:
    """A gold on its way. `full` are the answers that hold and say something, by number of the instance, in the order
    they are to be used; `nothing` those that say nothing, of which one stays.
    """

    place: int
    gold: Gold
    homes: list[int] = field(default_factory=list)
    full: dict[int, Answer] = field(default_factory=dict)
    nothing: dict[int, Answer] = field(default_factory=dict)
    refused: Counter[str] = field(default_factory=Counter)
    suspects: list[Suspect] = field(default_factory=list)
    fault: str = ""  # of this code, not of the gold

    @property
    def valid(self) -> int:
        """The number of instances on which the gold can be graded; of the instances where its answer is empty, one
        counts.
        """
        return len(self.full) + bool(self.nothing)

    @property
    def survivors(self) -> list[Suspect]:
        """The mutants that nothing has told apart so far, nor proved equivalent."""
        return [suspect for suspect in self.suspects if suspect.open]

    @property
    def killed(self) -> float:
        """Told apart, of those that are told apart or survive, from 0 to 1."""
        killed = sum(suspect.killer is not None for suspect in self.suspects)
        return killed / max(killed + len(self.survivors), 1)

    def forget(self, number: int) -> None:
        """The instance of this number is no more."""
        for answers in (self.full, self.nothing):
            answers.pop(number, None)
        if number in self.homes:
            self.homes.remove(number)

    @property
    def answers(self) -> dict[int, Answer]:
        """The answers on which the gold is graded, in order; none if all its answers are empty."""
        first = dict(islice(self.full.items(), 2))
        return {**first, **self.nothing, **self.full} if self.full else {}


@contextmanager
def charged_to(case: PendingGold) -> Iterator[None]:
    """A fault that one gold brings out costs that gold, not its batch; the certificate says which."""
    try:
        yield
    except OSError:
        raise  # no room, or no right to write: nothing is wrong with the gold
    except Exception as error:
        case.fault = f"{type(error).__name__}: {discreet_line(error)}"

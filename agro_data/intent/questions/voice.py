"""A voice: the seeded choices of wording for one question, and the definitions it turns out to need."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Mapping, Sequence
from typing import TypeVar

from agro_data.intent.questions.habits import ENDS, MONTH_BY_NAME, QUOTE_DOUBLE

T = TypeVar("T")


class Voice:
    """Draws wordings. Equal (db_id, style, seeds) give equal draws, on every machine."""

    def __init__(self, style: str, *parts: str | int) -> None:
        key = "\x1f".join((style, *map(str, parts)))
        self.style = style
        self._random = random.Random(int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "big"))
        self._evidence: dict[str, None] = {}
        self.quote = '"' if self.chance(QUOTE_DOUBLE) else "'"
        self.lower_id = self.chance(0.85)
        self.oxford = self.chance(0.5)
        # One question speaks of ends of a scale in one pair of words.
        self.scale = self.weigh(ENDS)
        self._months: bool | None = None

    def pick(self, *options: str) -> str:
        """One of the options, all equally likely; repeat one to make it likelier."""
        return options[int(self._random.random() * len(options))]

    def weigh(self, options: Mapping[T, float]) -> T:
        """One of the options, each as likely as its weight."""
        point = self._random.random() * sum(options.values())
        for option, weight in options.items():
            point -= weight
            if point < 0:
                return option
        return next(reversed(list(options)))  # rounding may leave the point at the very end

    def index(self, options: Sequence[object]) -> int:
        return int(self._random.random() * len(options))

    def chance(self, probability: float) -> bool:
        return self._random.random() < probability

    def listed(self, items: Sequence[str], conjunction: str = "and") -> str:
        """ "a", "a and b", "a, b and c", in some voices "a, b, and c"."""
        if len(items) < 2:
            return "".join(items)
        comma = "," if self.oxford and len(items) > 2 else ""
        return f"{', '.join(items[:-1])}{comma} {conjunction} {items[-1]}"

    def note(self, definition: str) -> None:
        """Record a definition that the question relies on without saying it."""
        self._evidence[definition] = None

    def twin(self) -> Voice:
        """A voice that will make the same choices from here on and shares the definitions."""
        other = Voice.__new__(Voice)
        other.style, other._evidence, other._random = self.style, self._evidence, random.Random()
        other._random.setstate(self._random.getstate())
        other.scale, other.quote, other._months = self.scale, self.quote, self._months
        other.lower_id, other.oxford = self.lower_id, self.oxford
        return other

    @property
    def months(self) -> bool:
        """Whether the dates of the question have their months by name."""
        if self._months is None:
            self._months = self.chance(MONTH_BY_NAME)
        return self._months

    @property
    def evidence(self) -> str | None:
        return "; ".join(self._evidence) or None

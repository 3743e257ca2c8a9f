"""What a question says, before it is decided how it is asked."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Content:
    """The answer as a noun phrase, with what goes around it.

    `np`: "the names of singers older than 56". `lead`: "for each country", said first.
    `tail`: "sorted by age in ascending order", said last. `ask`: a full direct question instead of "what is NP"
    ("how many singers are older than 56"). `then`: what a direct question leaves to be named ("give their names").
    """

    np: str
    lead: str = ""
    tail: str = ""
    ask: str = ""
    then: str = ""

"""Findings that are demonstrated: the statement that each offers in the place of the pair's gives another answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.databases.types import Database
from agro_data.pairs.finding import Finding
from agro_data.pairs.values.sizes import same_answer
from agro_data.verify.difference import first_difference
from agro_data.verify.execution import execute


@dataclass(frozen=True)
class Offer:
    """A finding that holds if `other` gives another answer than the statement `as_it_is`, and than `apart` where that
    is given. `ordered`: the order of rows is a part of the answer.
    """

    finding: Finding
    as_it_is: str
    other: str
    ordered: bool = False
    apart: str = ""

    @property
    def statements(self) -> tuple[str, ...]:
        """What is run: the other one, and those whose answers it is held against."""
        return (self.other, self.as_it_is, *([self.apart] if self.apart else ()))


def demonstrated(database: Database, offers: Sequence[Sequence[Offer]], sandbox: Sandbox) -> list[list[Finding]]:
    """Of what is offered for each pair, in order, the findings that hold, with the first difference as witness: none
    where the answers are the same, or one of the statements does not run.
    """
    statements = list(dict.fromkeys(text for some in offers for one in some for text in one.statements))
    results = dict(zip(statements, execute([(database, text) for text in statements], sandbox, "rows"), strict=True))

    def shown(one: Offer) -> Iterator[Finding]:
        other, *against = (results[text] for text in one.statements)
        if other.ok and all(result.ok and not same_answer(result.rows, other.rows, one.ordered) for result in against):
            parts = first_difference(other.rows, against[0].rows, ordered=one.ordered)
            yield replace(one.finding, witness=f"{one.other}: {parts}")

    return [[finding for one in some for finding in shown(one)] for some in offers]

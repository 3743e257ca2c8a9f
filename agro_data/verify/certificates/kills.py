"""Mutants run against their golds, instance by instance, until an instance tells the two apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.databases.types import Result, Trial
from agro_data.verify.certificates.answers import Gold
from agro_data.verify.certificates.pool import Instance
from agro_data.verify.difference import first_difference
from agro_data.verify.equivalence import strict
from agro_data.verify.execution import execute
from agro_data.verify.mutants import Mutant

SLOW = 2  # instances on which a mutant may meet its limit before it is given up


@dataclass
class Suspect:
    """A mutant that is to be told from its gold. `waiting`: instances, and the gold's digest there, to be tried."""

    owner: int  # place of the gold
    gold: Gold
    mutant: Mutant
    waiting: list[tuple[Instance, str]] = field(default_factory=list)
    killer: Instance | None = None
    rule: str = ""  # that proves it equivalent
    stillborn: bool = False  # it says nothing: it does not run at all, or what it answers is left to chance
    ran: bool = False
    slow: int = 0

    @property
    def open(self) -> bool:
        return self.killer is None and not self.rule and not self.stillborn and self.slow < SLOW


def pursue(suspects: Sequence[Suspect], sandbox: Sandbox, most: int) -> None:
    """Try each open mutant on up to `most` of its instances, in order, until one kills it.

    Killed is what gives another answer under `strict`, more rows than a result may have, or an error where it has run
    before. A mutant that fails where it is first tried is stillborn; one that meets its time limit is not killed by it.
    """
    left = {id(suspect): most for suspect in suspects}
    while turn := [s for s in suspects if s.open and s.waiting and left[id(s)] > 0]:
        tried = [s.waiting[: left[id(s)]] for s in turn]
        trials = [
            Trial(s.mutant.sql, tuple(i.database for i, _ in at), tuple((digest,) for _, digest in at), s.gold.ordered)
            for s, at in zip(turn, tried, strict=True)
        ]
        doubted: list[tuple[Suspect, Instance]] = []
        for suspect, at, found in zip(turn, tried, sandbox.run_until_different(trials), strict=True):
            used = found.agreed + (found.different is not None)
            left[id(suspect)] -= used
            del suspect.waiting[:used]
            suspect.ran = suspect.ran or found.agreed > 0
            if found.different is not None and _differs(suspect, at[found.agreed][0], found.different):
                doubted.append((suspect, at[found.agreed][0]))
        for (suspect, instance), (gold, other) in zip(doubted, both(doubted, sandbox), strict=True):
            if not (gold.ok and other.ok and strict(gold.rows, other.rows, ordered=suspect.gold.ordered).equal):
                suspect.killer = instance


def _differs(suspect: Suspect, instance: Instance, result: Result) -> bool:
    """Note an unexpected result. True when it may differ in the last digits of a sum only, or in how it says nothing:
    rows have to be compared.
    """
    if result.status in ("timeout", "crashed"):
        suspect.slow += 1
    elif result.status == "error" and not suspect.ran:
        suspect.stillborn = True
    elif result.ok and (suspect.gold.adds or result.all_null or not result.row_count):
        suspect.ran = True
        return True
    else:
        suspect.killer = instance
    return False


def both(pairs: Sequence[tuple[Suspect, Instance]], sandbox: Sandbox) -> list[tuple[Result, Result]]:
    """What gold and mutant answer on an instance, with rows."""
    statements = [(i.database, sql) for suspect, i in pairs for sql in (suspect.gold.sql, suspect.mutant.sql)]
    results = iter(execute(statements, sandbox, "rows"))
    return [(next(results), next(results)) for _ in pairs]


def difference(gold: Result, other: Result, ordered: bool) -> str:
    """The first row in which a mutant's answer differs, in words."""
    if not other.ok:
        return f"no answer: {other.error or other.status}"
    return first_difference(gold.rows, other.rows, ordered=ordered)

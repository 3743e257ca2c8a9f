"""Instances on which golds have an answer: of their own, shared with others, lent, or made where none would do."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import islice
from math import ceil

from agro_data.hashing import seed_of
from agro_data.verify.certificates.batch import Batch
from agro_data.verify.certificates.pending import PendingGold

SPARSE = (0.6, 0.3, 0.0)  # tables with a row, in the files on which most golds say nothing
RESCUES = 3  # instances of its own that are tried for a gold that has none among shared ones
TOGETHER = 16  # golds whose own instances are made and asked in one turn


def find_instances(batch: Batch, cases: list[PendingGold]) -> list[int]:
    """Make instances and ask the golds on them. Returns those without children, which may go if they tell nothing."""
    if batch.budget.own:
        sparse = _sparse(batch, SPARSE)
        for start in range(0, len(cases), TOGETHER):
            _find_own(batch, cases[start : start + TOGETHER])
        batch.ask([(case, sparse) for case in cases if not case.nothing])
        _lend(batch, [case for case in cases if len(case.full) < batch.budget.enough])
    else:
        _find_shared(batch, cases)
        batch.ask([(case, range(len(batch.files.made))) for case in cases])
    _rescue(batch, [case for case in cases if not case.full], cases)
    if batch.budget.own:
        return []
    # Last: an instance of next to nothing alone would certify little.
    single, childless = _sparse(batch, (1.0,)), batch.files.childless() or _sparse(batch, (0.3,))
    batch.ask([(case, [*single, *childless]) for case in cases])
    return list(childless)


def _find_own(batch: Batch, cases: Sequence[PendingGold]) -> None:
    """Instances for each gold alone, a few at a time, until enough are valid or enough have been tried."""
    proposed = {case.place: islice(batch.proposed(case), batch.budget.own * batch.budget.tries) for case in cases}
    waiting = list(cases)
    while waiting:
        lacks = [(case, batch.budget.own - case.valid) for case in waiting]
        asked = [(case, batch.alone(case, proposed[case.place], lack + 1)) for case, lack in lacks]
        batch.ask(asked)
        waiting = [case for case, made in asked if made and not case.fault and case.valid < batch.budget.own]


def _lend(batch: Batch, cases: Sequence[PendingGold]) -> None:
    """Instances of other golds, for golds that lack their own."""
    every = range(len(batch.files.made))
    for case in cases:
        others = [number for number in every if number not in case.homes]
        chance = random.Random(seed_of(batch.seed, "lend", case.gold.sql))
        batch.ask([(case, chance.sample(others, min(len(others), batch.budget.candidates)))])


def _rescue(batch: Batch, lost: Sequence[PendingGold], cases: list[PendingGold]) -> None:
    """Further files for golds that have no valid instance: rows of other golds may have been in the way."""
    if not batch.budget.own:
        proposed = {case.place: batch.proposed(case) for case in lost}
        for _ in range(RESCUES):
            room = batch.room * 2 // 3
            batch.ask([(case, batch.alone(case, proposed[case.place], 1)) for case in lost[:room]])
            lost = [case for case in lost if len(case.full) < 2]
        lost = [case for case in lost if not case.full]
    added = batch.extend({case.place: batch.witnesses(case, -1) for case in lost}, cases)
    batch.ask([(case, added) for case in lost])


def _find_shared(batch: Batch, cases: list[PendingGold]) -> None:
    """The first files: each gold's witness rows stand in `homes` of them, each time beside those of others."""
    files = max(batch.budget.homes, batch.budget.files // 2)
    size = min(max(batch.budget.group, ceil(len(cases) * batch.budget.homes / files)), batch.budget.crowd)
    for home in range(batch.budget.homes):
        order = list(cases)
        random.Random(seed_of(batch.seed, "homes", home)).shuffle(order)
        for start in range(0, len(order), size):
            if len(batch.files.made) >= files:
                return  # many golds: those left are asked where others have their rows
            group = order[start : start + size]
            batch.write(group, [proposal for case in group for proposal in batch.witnesses(case, home)])


def _sparse(batch: Batch, shares: Sequence[float]) -> list[int]:
    return [number for share in shares if (number := batch.files.sparse(share)) is not None]

"""Mutants pursued: told apart from their gold on an instance, proved to mean the same, or met with rows directed at the
difference, until the budget ends."""

from __future__ import annotations

from collections.abc import Sequence

from agro_data.databases.quoting import folded
from agro_data.hashing import seed_of
from agro_data.populate.instances import Proposal, instances, witnesses
from agro_data.populate.instances.directed.orders import ordered_parts
from agro_data.verify.certificates.answers import Answer
from agro_data.verify.certificates.batch import Batch
from agro_data.verify.certificates.kills import Suspect, pursue
from agro_data.verify.certificates.pending import PendingGold, charged_to
from agro_data.verify.mutants import mutants_of
from agro_data.verify.ordering import order_is_open
from agro_data.verify.proofs import proved_equivalent

APART = 2  # survivors of a gold that a round makes an instance against


def pursue_mutants(batch: Batch, cases: list[PendingGold], childless: Sequence[int]) -> None:
    """Tell the golds from their mutants, prove these equivalent, or direct rows at the difference. Instances
    without children go if they tell none apart, but the first, on which a gold is seen to say nothing.
    """
    parts = ordered_parts(batch.schema, batch.profile)
    for case in cases:
        with charged_to(case):
            schema, nulls = batch.profile.schema, batch.profile.loose_nulls(case.gold.names.columns)
            made = mutants_of(case.gold.names, batch.database.dialect, schema, nulls, parts)
            case.suspects = [Suspect(case.place, case.gold, mutant) for mutant in made]
            _queue(batch, case, case.answers)
    suspects = [suspect for case in cases for suspect in case.suspects]
    pursue(suspects, batch.sandbox, batch.budget.homes)
    for case in cases:
        with charged_to(case):
            _prove(batch, case)
    pursue(suspects, batch.sandbox, len(batch.files.made))
    _withdraw_idle(batch, [(case, childless[1:]) for case in cases])
    for number in range(batch.budget.rounds):
        _search(batch, cases, number)
    for number in batch.budget.apart:
        _search_apart(batch, cases, number)


def _queue(batch: Batch, case: PendingGold, numbers: Sequence[int] | dict[int, Answer]) -> None:
    answers = case.answers
    waiting = [(batch.files.made[n], answers[n].digest) for n in numbers if n in answers]
    for suspect in case.suspects:
        if suspect.open:
            suspect.waiting += waiting


def _prove(batch: Batch, case: PendingGold) -> None:
    dialect = batch.database.dialect
    for suspect in case.suspects:
        if suspect.open and case.gold.ordered and order_is_open(suspect.mutant.sql, dialect):
            suspect.stillborn = True  # that its rows came in order here says nothing
        elif suspect.open:
            gold, mutant = suspect.gold.sql, suspect.mutant.sql
            if any(folded(view.spec.name) in folded(gold + mutant) for view in batch.views):
                gold, mutant = (names.tree.sql(dialect) for names in (case.gold.asked, batch.over_tables(mutant)))
            suspect.rule = proved_equivalent(gold, mutant, dialect, batch.schema) or ""


def _search(batch: Batch, cases: list[PendingGold], number: int) -> None:
    """One round of rows directed at the difference between a gold and each mutant that survives."""
    proposals: dict[int, list[Proposal]] = {}
    for case in cases:
        with charged_to(case):
            for suspect in _turn(case.survivors, number, batch.budget.searched):
                against = batch.over_tables(suspect.mutant.sql)
                own = seed_of(batch.seed, "search", number, suspect.mutant.sql)
                proposals.setdefault(case.place, []).extend(
                    witnesses(case.gold.asked, batch.schema, batch.profile, own, against=against)
                )
    searched = [case for case in cases if case.place in proposals]
    if not searched:
        return
    added = batch.extend(proposals, cases)
    _pursue_on(batch, [(c, [n for n in added if n in c.homes] if batch.budget.own else added) for c in searched])


def _search_apart(batch: Batch, cases: list[PendingGold], number: int) -> None:
    """One round of instances for a gold alone, each against one survivor: what shows only where there are few rows,
    or where a column is mostly NULL, does not show among rows of others.
    """
    waiting = [case for case in cases if case.survivors]
    if batch.budget.own:
        _apart(batch, waiting, number)
        return
    waiting.sort(key=lambda case: case.killed)  # files are few: what may be lost comes first
    while waiting and not batch.files.full:
        size = max(batch.room // APART, 1)
        _apart(batch, waiting[:size], number)
        del waiting[:size]


def _apart(batch: Batch, cases: Sequence[PendingGold], number: int) -> None:
    made: list[tuple[PendingGold, list[int]]] = []
    for case in cases:
        numbers: list[int] = []
        for suspect in _turn(case.survivors, number, APART):
            with charged_to(case):
                own = seed_of(batch.seed, "apart", suspect.mutant.sql)
                against = batch.over_tables(suspect.mutant.sql)
                proposed = instances(case.gold.asked, batch.schema, batch.profile, own, against, (number,))
                numbers += batch.alone(case, proposed, 1)
        if numbers:
            made.append((case, numbers))
    _pursue_on(batch, made)


def _pursue_on(batch: Batch, where: Sequence[tuple[PendingGold, Sequence[int]]]) -> None:
    """Try the survivors of each gold on these instances, too. Where files are few, idle ones go."""
    batch.ask(where)
    for case, numbers in where:
        _queue(batch, case, batch.ordered(case, numbers))
    most = max((len(numbers) for _, numbers in where), default=0)
    pursue([suspect for case, _ in where for suspect in case.suspects], batch.sandbox, most)
    if not batch.budget.own:
        _withdraw_idle(batch, where)


def _withdraw_idle(batch: Batch, where: Sequence[tuple[PendingGold, Sequence[int]]]) -> None:
    """Make room: remove those of the instances that told no mutant apart, unless a gold has few others."""
    asked: dict[int, list[PendingGold]] = {}
    for case, numbers in where:
        for number in numbers:
            asked.setdefault(number, []).append(case)
    for number, cases in asked.items():
        instance = batch.files.made[number]
        needed = any(
            any(suspect.killer is instance for suspect in case.suspects)
            or (number in case.full and len(case.full) <= batch.budget.enough)
            for case in cases
        )
        if not needed:
            batch.files.withdraw(number)
            for case in cases:
                case.forget(number)


def _turn(suspects: Sequence[Suspect], number: int, most: int) -> list[Suspect]:
    """Up to `most` of the survivors, others in each round as far as there are others."""
    start = number * most % len(suspects) if len(suspects) > most else 0
    return [*suspects[start:], *suspects[:start]][:most]

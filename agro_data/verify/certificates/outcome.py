"""What came of certifying: the instances that each gold is graded on, and its certificate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.databases.types import Database
from agro_data.verify.certificates.batch import Batch
from agro_data.verify.certificates.kills import Suspect, both, difference, pursue
from agro_data.verify.certificates.making import Files
from agro_data.verify.certificates.pending import PendingGold
from agro_data.verify.certificates.pool import Certificate, MutantFate, choose

SHOWN = 3  # killed mutants of a gold whose difference is kept


def choose_instances(batch: Batch, case: PendingGold) -> None:
    """The instances of a gold; a mutant that was killed only on one left out is tried on these."""
    names = {number: batch.files.made[number].name for number in case.answers}
    digests = {names[number]: answer.digest for number, answer in case.answers.items()}
    kills: dict[str, set[int]] = {}
    for number, suspect in enumerate(case.suspects):
        if suspect.killer is not None:
            kills.setdefault(suspect.killer.name, set()).add(number)
    nothing = sorted((names[number] for number in case.nothing), key=lambda name: -len(kills.get(name, set())))
    own = {names[number] for number in case.homes if number in names}
    order = [name for name in digests if name not in nothing[1:]]
    chosen = choose(order, kills, digests, kept=nothing[:1], own=own)
    again = [s for s in case.suspects if s.killer is not None and s.killer.name not in chosen]
    for suspect in again:
        suspect.killer = None
        suspect.waiting = [(i, digests[i.name]) for i in batch.files.made if i.name in chosen]
    pursue(again, batch.sandbox, len(chosen))
    case.full = {n: a for n, a in case.full.items() if names[n] in chosen}
    case.nothing = {n: a for n, a in case.nothing.items() if names[n] in chosen}


def differences(cases: Sequence[PendingGold], sandbox: Sandbox) -> dict[int, str]:
    """For a few killed mutants of each gold, of different kinds, the first row that differs; by `id`."""
    shown = [(s, s.killer) for case in cases for s in _of_each_kind(case.suspects) if s.killer is not None]
    rows = both(shown, sandbox)
    return {id(s): difference(*pair, ordered=s.gold.ordered) for (s, _), pair in zip(shown, rows, strict=True)}


def certificate(files: Files, case: PendingGold, shown: dict[int, str], min_kill_rate: float) -> Certificate:
    """The certificate of a gold, or why it has none; `shown` is what `differences` gives."""
    sql = case.gold.sql
    if case.fault:
        return Certificate(sql, "unexamined", f"it could not be examined: {case.fault}")
    if not case.answers:
        seen = ", ".join(f"{reason} on {count}" for reason, count in case.refused.most_common())
        detail = f"its answer is ambiguous or empty on every instance ({seen or 'none could be made'})"
        return Certificate(sql, "uncertifiable", detail)
    made = Certificate(
        sql,
        instances=tuple(files.made[number].name for number in case.answers),
        digests=tuple(answer.digest for answer in case.answers.values()),
        mutants=tuple(_fate(s, shown.get(id(s), "")) for s in case.suspects if not s.stillborn),
    )
    if made.kill_rate >= min_kill_rate:
        return made
    survivors = "; ".join(fate.what for fate in made.survivors[:SHOWN])
    decided = made.total - made.count("equivalent")
    detail = f"{made.count('killed')} of {decided} mutants are told apart from it; not, for instance: {survivors}"
    return replace(made, reason="weak", detail=detail)


def keep_used(files: Files, certificates: Mapping[int, Certificate]) -> dict[str, Database]:
    """The files that some gold is graded on; the others are removed."""
    used = {name for certificate in certificates.values() for name in certificate.instances}
    for number in files.kept:
        if files.made[number].name not in used:
            files.withdraw(number)
    return {i.name: i.database for i in files.made if i.name in used}


def _of_each_kind(suspects: Sequence[Suspect]) -> list[Suspect]:
    """The first killed mutant of each of the first `SHOWN` kinds."""
    first: dict[str, Suspect] = {}
    for suspect in suspects:
        if suspect.killer is not None:
            first.setdefault(suspect.mutant.kind, suspect)
    return list(first.values())[:SHOWN]


def _fate(suspect: Suspect, shown: str) -> MutantFate:
    mutant = suspect.mutant
    if suspect.killer is not None:
        return MutantFate(mutant.kind, mutant.what, mutant.sql, "killed", suspect.killer.name, shown)
    return MutantFate(mutant.kind, mutant.what, mutant.sql, "equivalent" if suspect.rule else "undecided", suspect.rule)

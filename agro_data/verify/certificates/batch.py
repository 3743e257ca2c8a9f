"""Golds that are certified together: instances are made and asked, mutants pursued, until each has a certificate."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from math import ceil

from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.databases.quoting import folded
from agro_data.databases.types import Database
from agro_data.hashing import seed_of
from agro_data.populate.instances import Proposal, instances, witnesses
from agro_data.populate.instances.directed.orders import ordered_parts
from agro_data.populate.schema import Rows, Schema
from agro_data.profiling.profile import DatabaseProfile
from agro_data.sql.parse import parse_select
from agro_data.sql.resolution import Resolution
from agro_data.sql.scope import resolve
from agro_data.verify.certificates.answers import Answer, ask, doubt
from agro_data.verify.certificates.budget import Budget
from agro_data.verify.certificates.formulas import without_computed
from agro_data.verify.certificates.kills import Suspect, both, difference, pursue
from agro_data.verify.certificates.making import Files
from agro_data.verify.certificates.pending import PendingGold, charged_to
from agro_data.verify.certificates.pool import Certificate, MutantFate, choose
from agro_data.verify.certificates.views import View, without_views
from agro_data.verify.mutants import mutants_of
from agro_data.verify.ordering import order_is_open
from agro_data.verify.proofs import proved_equivalent

SPARSE = (0.6, 0.3, 0.0)  # tables with a row, in the files on which most golds say nothing
RESCUES = 3  # instances of its own that are tried for a gold that has none among shared ones
APART = 2  # survivors of a gold that a round makes an instance against
TOGETHER = 16  # golds whose own instances are made and asked in one turn
EMPTY = 2  # instances where a gold says nothing that are looked at closely in one turn
SHOWN = 3  # killed mutants of a gold whose difference is kept


@dataclass
class Batch:
    """Golds of one database, the instances made for them so far (`files`), and how far to go (`budget`)."""

    database: Database
    profile: DatabaseProfile
    schema: Schema
    views: tuple[View, ...]
    sandbox: Sandbox
    files: Files
    seed: int
    budget: Budget

    def certify(self, cases: list[PendingGold], min_kill_rate: float) -> dict[int, Certificate]:
        """The certificate of each case, by its place."""
        if self.budget.own:
            sparse = self._sparse(SPARSE)
            for start in range(0, len(cases), TOGETHER):
                self._found_own(cases[start : start + TOGETHER])
            self._answer([(case, sparse) for case in cases if not case.nothing])
            self._lend([case for case in cases if len(case.full) < self.budget.enough])
            childless: list[int] = []
        else:
            self._found_shared(cases)
            self._answer([(case, range(len(self.files.made))) for case in cases])
        self._rescue([case for case in cases if not case.full], cases)
        if not self.budget.own:  # afterwards: an instance of next to nothing alone would certify little
            single, childless = self._sparse((1.0,)), self.files.childless() or self._sparse((0.3,))
            self._answer([(case, [*single, *childless]) for case in cases])
        answered = [case for case in cases if case.full]
        self._kill(answered, childless)
        for case in answered:
            self._choose(case)
        shown = self._differences(cases)
        return {case.place: self._certificate(case, shown, min_kill_rate) for case in cases}

    def kept(self, certificates: Mapping[int, Certificate]) -> dict[str, Database]:
        """The files that some gold is graded on; the others are removed."""
        used = {name for certificate in certificates.values() for name in certificate.instances}
        for number in self.files.kept:
            if self.files.made[number].name not in used:
                self.files.withdraw(number)
        return {i.name: i.database for i in self.files.made if i.name in used}

    # --- instances ---

    @property
    def _room(self) -> int:
        """Files that may still be made, where golds share them."""
        return self.budget.files - len(self.files.kept)

    def _sparse(self, shares: Sequence[float]) -> list[int]:
        return [number for share in shares if (number := self.files.sparse(share)) is not None]

    def _found_own(self, cases: Sequence[PendingGold]) -> None:
        """Instances for each gold alone, a few at a time, until enough are valid or enough have been tried."""
        proposed = {case.place: islice(self._proposed(case), self.budget.own * self.budget.tries) for case in cases}
        waiting = list(cases)
        while waiting:
            lacks = [(case, self.budget.own - case.valid) for case in waiting]
            asked = [(case, self._alone(case, proposed[case.place], lack + 1)) for case, lack in lacks]
            self._answer(asked)
            waiting = [case for case, made in asked if made and not case.fault and case.valid < self.budget.own]

    def _proposed(self, case: PendingGold) -> Iterator[Rows]:
        own = seed_of(self.seed, "own", case.gold.sql)
        return instances(case.gold.asked, self.schema, self.profile, own)

    def _alone(self, case: PendingGold, proposed: Iterator[Rows], most: int) -> list[int]:
        """The numbers of up to `most` of the proposed instances, written for this gold alone."""
        made: list[int] = []
        with charged_to(case):
            for rows in islice(proposed, most):
                number = self.files.own(case.gold, rows)
                made += [number] if number is not None else []
        case.homes += made
        return made

    def _lend(self, cases: Sequence[PendingGold]) -> None:
        """Instances of other golds, for golds that lack their own."""
        every = range(len(self.files.made))
        for case in cases:
            others = [number for number in every if number not in case.homes]
            chance = random.Random(seed_of(self.seed, "lend", case.gold.sql))
            self._answer([(case, chance.sample(others, min(len(others), self.budget.candidates)))])

    def _rescue(self, lost: Sequence[PendingGold], cases: list[PendingGold]) -> None:
        """Further files for golds that have no valid instance: rows of other golds may have been in the way."""
        if not self.budget.own:
            proposed = {case.place: self._proposed(case) for case in lost}
            for _ in range(RESCUES):
                room = self._room * 2 // 3
                self._answer([(case, self._alone(case, proposed[case.place], 1)) for case in lost[:room]])
                lost = [case for case in lost if len(case.full) < 2]
            lost = [case for case in lost if not case.full]
        added = self._extend({case.place: self._own(case, -1) for case in lost}, cases)
        self._answer([(case, added) for case in lost])

    def _found_shared(self, cases: list[PendingGold]) -> None:
        """The first files: each gold's witness rows stand in `homes` of them, each time beside those of others."""
        files = max(self.budget.homes, self.budget.files // 2)
        size = min(max(self.budget.group, ceil(len(cases) * self.budget.homes / files)), self.budget.crowd)
        for home in range(self.budget.homes):
            order = list(cases)
            random.Random(seed_of(self.seed, "homes", home)).shuffle(order)
            for start in range(0, len(order), size):
                if len(self.files.made) >= files:
                    return  # many golds: those left are asked where others have their rows
                group = order[start : start + size]
                self._write(group, [proposal for case in group for proposal in self._own(case, home)])

    def _own(self, case: PendingGold, home: int) -> list[Proposal]:
        made: list[Proposal] = []
        with charged_to(case):
            made += witnesses(case.gold.asked, self.schema, self.profile, seed_of(self.seed, home, case.gold.sql))
        return made

    def _extend(self, proposals: dict[int, list[Proposal]], cases: list[PendingGold]) -> range:
        """Further files for the golds named, a few golds each; their numbers."""
        first = len(self.files.made)
        wanted = [case for case in cases if proposals.get(case.place)]
        room = max(self._room // 2, 1)
        size = 1 if self.budget.own else max(self.budget.few, ceil(len(wanted) / room))
        for start in range(0, len(wanted), size):
            group = wanted[start : start + size]
            self._write(group, [p for case in group for p in proposals[case.place]])
        return range(first, len(self.files.made))

    def _write(self, group: Sequence[PendingGold], proposals: list[Proposal]) -> None:
        number = self.files.shared([case.gold for case in group], proposals, self.budget.noise)
        if number is not None:
            for case in group:
                case.homes.append(number)

    # --- answers ---

    def _answer(self, asked: Sequence[tuple[PendingGold, Sequence[int]]]) -> None:
        """Ask each gold on the instances of these numbers; look closely at some of those where it says something."""
        every = [(case, number) for case, numbers in asked for number in self._ordered(case, numbers)]
        said = ask([(case.gold, self.files.made[number]) for case, number in every], self.sandbox)
        close: list[tuple[PendingGold, int, Answer]] = []
        rest: list[tuple[PendingGold, int, Answer]] = []
        seen: Counter[tuple[int, bool]] = Counter()
        for (case, number), answer in zip(every, said, strict=True):
            if answer.reason or answer.empty:
                case.refused[answer.reason or "empty"] += 1
            if answer.reason:
                continue
            seen[case.place, answer.empty] += 1
            if answer.empty:
                if len(case.nothing) < EMPTY and seen[case.place, True] <= EMPTY:
                    close.append((case, number, answer))
            elif seen[case.place, False] <= self.budget.candidates:
                close.append((case, number, answer))
            else:
                rest.append((case, number, answer))
        self._examine(close)
        self._examine([one for one in rest if not one[0].full])

    def _examine(self, asked: Sequence[tuple[PendingGold, int, Answer]]) -> None:
        pairs = [(case.gold, self.files.made[number]) for case, number, _ in asked]
        judged = doubt(pairs, [answer for _, _, answer in asked], self.sandbox)
        for (case, number, given), answer in zip(asked, judged, strict=True):
            if answer.reason:
                case.refused[answer.reason] += 1
            elif not given.empty:
                case.full[number] = answer
            elif len(case.nothing) < EMPTY:
                case.nothing[number] = answer

    def _ordered(self, case: PendingGold, numbers: Sequence[int]) -> list[int]:
        """Instances with the gold's own witness rows first, the small ones before the large; its own as proposed."""
        if self.budget.own:
            return sorted(numbers)
        return sorted(numbers, key=lambda n: (n not in case.homes, self.files.made[n].size, n))

    # --- mutants ---

    def _kill(self, cases: list[PendingGold], childless: Sequence[int]) -> None:
        """Tell the golds from their mutants, prove these equivalent, or direct rows at the difference. Instances
        without children go if they tell none apart, but the first, on which a gold is seen to say nothing.
        """
        parts = ordered_parts(self.schema, self.profile)
        for case in cases:
            with charged_to(case):
                schema, nulls = self.profile.schema, self.profile.loose_nulls(case.gold.names.columns)
                made = mutants_of(case.gold.names, self.database.dialect, schema, nulls, parts)
                case.suspects = [Suspect(case.place, case.gold, mutant) for mutant in made]
                self._queue(case, case.answers)
        suspects = [suspect for case in cases for suspect in case.suspects]
        pursue(suspects, self.sandbox, self.budget.homes)
        for case in cases:
            with charged_to(case):
                self._prove(case)
        pursue(suspects, self.sandbox, len(self.files.made))
        self._withdraw_idle([(case, childless[1:]) for case in cases])
        for number in range(self.budget.rounds):
            self._search(cases, number)
        for number in self.budget.apart:
            self._search_apart(cases, number)

    def _queue(self, case: PendingGold, numbers: Sequence[int] | dict[int, Answer]) -> None:
        answers = case.answers
        waiting = [(self.files.made[n], answers[n].digest) for n in numbers if n in answers]
        for suspect in case.suspects:
            if suspect.open:
                suspect.waiting += waiting

    def _prove(self, case: PendingGold) -> None:
        dialect = self.database.dialect
        for suspect in case.suspects:
            if suspect.open and case.gold.ordered and order_is_open(suspect.mutant.sql, dialect):
                suspect.stillborn = True  # that its rows came in order here says nothing
            elif suspect.open:
                gold, mutant = suspect.gold.sql, suspect.mutant.sql
                if any(folded(view.spec.name) in folded(gold + mutant) for view in self.views):
                    gold, mutant = (names.tree.sql(dialect) for names in (case.gold.asked, self._over_tables(mutant)))
                suspect.rule = proved_equivalent(gold, mutant, dialect, self.schema) or ""

    def _over_tables(self, sql: str) -> Resolution:
        names = resolve(parse_select(sql, self.database.dialect), self.database.dialect, self.profile.schema)
        return over_tables(names, self.views, self.schema, self.profile)

    def _search(self, cases: list[PendingGold], number: int) -> None:
        """One round of rows directed at the difference between a gold and each mutant that survives."""
        proposals: dict[int, list[Proposal]] = {}
        for case in cases:
            with charged_to(case):
                for suspect in _turn(case.survivors, number, self.budget.searched):
                    against = self._over_tables(suspect.mutant.sql)
                    own = seed_of(self.seed, "search", number, suspect.mutant.sql)
                    proposals.setdefault(case.place, []).extend(
                        witnesses(case.gold.asked, self.schema, self.profile, own, against=against)
                    )
        searched = [case for case in cases if case.place in proposals]
        if not searched:
            return
        added = self._extend(proposals, cases)
        self._pursue_on([(c, [n for n in added if n in c.homes] if self.budget.own else added) for c in searched])

    def _search_apart(self, cases: list[PendingGold], number: int) -> None:
        """One round of instances for a gold alone, each against one survivor: what shows only where there are few rows,
        or where a column is mostly NULL, does not show among rows of others.
        """
        waiting = [case for case in cases if case.survivors]
        if self.budget.own:
            self._apart(waiting, number)
            return
        waiting.sort(key=lambda case: case.killed)  # files are few: what may be lost comes first
        while waiting and not self.files.full:
            size = max(self._room // APART, 1)
            self._apart(waiting[:size], number)
            del waiting[:size]

    def _apart(self, cases: Sequence[PendingGold], number: int) -> None:
        made: list[tuple[PendingGold, list[int]]] = []
        for case in cases:
            numbers: list[int] = []
            for suspect in _turn(case.survivors, number, APART):
                with charged_to(case):
                    own = seed_of(self.seed, "apart", suspect.mutant.sql)
                    against = self._over_tables(suspect.mutant.sql)
                    proposed = instances(case.gold.asked, self.schema, self.profile, own, against, (number,))
                    numbers += self._alone(case, proposed, 1)
            if numbers:
                made.append((case, numbers))
        self._pursue_on(made)

    def _pursue_on(self, where: Sequence[tuple[PendingGold, Sequence[int]]]) -> None:
        """Try the survivors of each gold on these instances, too. Where files are few, idle ones go."""
        self._answer(where)
        for case, numbers in where:
            self._queue(case, self._ordered(case, numbers))
        most = max((len(numbers) for _, numbers in where), default=0)
        pursue([suspect for case, _ in where for suspect in case.suspects], self.sandbox, most)
        if not self.budget.own:
            self._withdraw_idle(where)

    def _withdraw_idle(self, where: Sequence[tuple[PendingGold, Sequence[int]]]) -> None:
        """Make room: remove those of the instances that told no mutant apart, unless a gold has few others."""
        asked: dict[int, list[PendingGold]] = {}
        for case, numbers in where:
            for number in numbers:
                asked.setdefault(number, []).append(case)
        for number, cases in asked.items():
            instance = self.files.made[number]
            needed = any(
                any(suspect.killer is instance for suspect in case.suspects)
                or (number in case.full and len(case.full) <= self.budget.enough)
                for case in cases
            )
            if not needed:
                self.files.withdraw(number)
                for case in cases:
                    case.forget(number)

    # --- outcome ---

    def _choose(self, case: PendingGold) -> None:
        """The instances of a gold; a mutant that was killed only on one left out is tried on these."""
        names = {number: self.files.made[number].name for number in case.answers}
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
            suspect.waiting = [(i, digests[i.name]) for i in self.files.made if i.name in chosen]
        pursue(again, self.sandbox, len(chosen))
        case.full = {n: a for n, a in case.full.items() if names[n] in chosen}
        case.nothing = {n: a for n, a in case.nothing.items() if names[n] in chosen}

    def _differences(self, cases: Sequence[PendingGold]) -> dict[int, str]:
        """For a few killed mutants of each gold, of different kinds, the first row that differs; by `id`."""
        shown = [(s, s.killer) for case in cases for s in _of_each_kind(case.suspects) if s.killer is not None]
        rows = both(shown, self.sandbox)
        return {id(s): difference(*pair, ordered=s.gold.ordered) for (s, _), pair in zip(shown, rows, strict=True)}

    def _certificate(self, case: PendingGold, shown: dict[int, str], min_kill_rate: float) -> Certificate:
        sql = case.gold.sql
        if case.fault:
            return Certificate(sql, "unexamined", f"it could not be examined: {case.fault}")
        if not case.answers:
            seen = ", ".join(f"{reason} on {count}" for reason, count in case.refused.most_common())
            detail = f"its answer is ambiguous or empty on every instance ({seen or 'none could be made'})"
            return Certificate(sql, "uncertifiable", detail)
        made = Certificate(
            sql,
            instances=tuple(self.files.made[number].name for number in case.answers),
            digests=tuple(answer.digest for answer in case.answers.values()),
            mutants=tuple(_fate(s, shown.get(id(s), "")) for s in case.suspects if not s.stillborn),
        )
        if made.kill_rate >= min_kill_rate:
            return made
        survivors = "; ".join(fate.what for fate in made.survivors[:SHOWN])
        decided = made.total - made.count("equivalent")
        detail = f"{made.count('killed')} of {decided} mutants are told apart from it; not, for instance: {survivors}"
        return replace(made, reason="weak", detail=detail)


def over_tables(names: Resolution, views: Sequence[View], schema: Schema, profile: DatabaseProfile) -> Resolution:
    """A query as one of the columns that rows are made of: without views, and without what an engine computes."""
    return without_computed(without_views(names, views, profile), schema, profile.dialect, profile.schema)


def _turn(suspects: Sequence[Suspect], number: int, most: int) -> list[Suspect]:
    """Up to `most` of the survivors, others in each round as far as there are others."""
    start = number * most % len(suspects) if len(suspects) > most else 0
    return [*suspects[start:], *suspects[:start]][:most]


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

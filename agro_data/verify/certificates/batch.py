"""Golds that are certified together: the instances made for them so far, and what the golds answer on these."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from math import ceil

from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.databases.types import Database
from agro_data.hashing import seed_of
from agro_data.populate.instances import Proposal, instances, witnesses
from agro_data.populate.schema import Rows, Schema
from agro_data.profiling.profile import DatabaseProfile
from agro_data.sql.names.resolution import Resolution
from agro_data.sql.names.scope import resolve
from agro_data.sql.parse import parse_select
from agro_data.verify.certificates.answers import Answer, ask, doubt
from agro_data.verify.certificates.budget import Budget
from agro_data.verify.certificates.formulas import without_computed
from agro_data.verify.certificates.making import Files
from agro_data.verify.certificates.pending import PendingGold, charged_to
from agro_data.verify.certificates.views import View, without_views

EMPTY = 2  # instances where a gold says nothing that are looked at closely in one turn


@dataclass(frozen=True)
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

    @property
    def room(self) -> int:
        """Files that may still be made, where golds share them."""
        return self.budget.files - len(self.files.kept)

    def witnesses(self, case: PendingGold, home: int) -> list[Proposal]:
        """Rows that the gold directs, others for each `home`."""
        made: list[Proposal] = []
        with charged_to(case):
            made += witnesses(case.gold.asked, self.schema, self.profile, seed_of(self.seed, home, case.gold.sql))
        return made

    def proposed(self, case: PendingGold) -> Iterator[Rows]:
        """Instances for this gold alone, the most telling first."""
        own = seed_of(self.seed, "own", case.gold.sql)
        return instances(case.gold.asked, self.schema, self.profile, own)

    def alone(self, case: PendingGold, proposed: Iterator[Rows], most: int) -> list[int]:
        """The numbers of up to `most` of the proposed instances, written for this gold alone."""
        made: list[int] = []
        with charged_to(case):
            for rows in islice(proposed, most):
                number = self.files.own(case.gold, rows)
                made += [number] if number is not None else []
        case.homes += made
        return made

    def write(self, group: Sequence[PendingGold], proposals: list[Proposal]) -> None:
        """One file with the proposals of a group of golds, unless there is no room."""
        number = self.files.shared([case.gold for case in group], proposals, self.budget.noise)
        if number is not None:
            for case in group:
                case.homes.append(number)

    def extend(self, proposals: dict[int, list[Proposal]], cases: list[PendingGold]) -> range:
        """Further files for the golds named, a few golds each; their numbers."""
        first = len(self.files.made)
        wanted = [case for case in cases if proposals.get(case.place)]
        room = max(self.room // 2, 1)
        size = 1 if self.budget.own else max(self.budget.few, ceil(len(wanted) / room))
        for start in range(0, len(wanted), size):
            group = wanted[start : start + size]
            self.write(group, [p for case in group for p in proposals[case.place]])
        return range(first, len(self.files.made))

    def ask(self, asked: Sequence[tuple[PendingGold, Sequence[int]]]) -> None:
        """Ask each gold on the instances of these numbers; look closely at some of those where it says something."""
        every = [(case, number) for case, numbers in asked for number in self.ordered(case, numbers)]
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

    def ordered(self, case: PendingGold, numbers: Sequence[int]) -> list[int]:
        """Instances with the gold's own witness rows first, the small ones before the large; its own as proposed."""
        if self.budget.own:
            return sorted(numbers)
        return sorted(numbers, key=lambda n: (n not in case.homes, self.files.made[n].size, n))

    def over_tables(self, sql: str) -> Resolution:
        """A query as one of the columns that rows are made of."""
        names = resolve(parse_select(sql, self.database.dialect), self.database.dialect, self.profile.schema)
        return over_tables(names, self.views, self.schema, self.profile)


def over_tables(names: Resolution, views: Sequence[View], schema: Schema, profile: DatabaseProfile) -> Resolution:
    """A query as one of the columns that rows are made of: without views, and without what an engine computes."""
    return without_computed(without_views(names, views, profile), schema, profile.dialect, profile.schema)

"""Certificates: every mutant of a gold is killed on some instance, proved equivalent, or named as a survivor.

A batch of golds of one database shares its instance files. Each file carries the witness rows of several golds; each
gold is graded where its answer is unambiguous. What survives there directs further rows, until the mutants are told
apart or the budget ends. Mutation analysis as the measure of a test suite: Zhong et al. (arXiv 2010.02840) distil
test suites for SQL the same way; witness rows and proofs are ours (METHODS 1.1).
"""

from __future__ import annotations

import random
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from math import ceil
from pathlib import Path

from agro_data.databases.sandbox import Sandbox
from agro_data.databases.types import Cell, Database
from agro_data.fingerprint import seed_of
from agro_data.populate.instances import Focus, PartialRow, Proposal, compose, focus_of, instance_schema, witnesses
from agro_data.populate.instances.proposal import Place
from agro_data.populate.schema import Schema
from agro_data.profiling.profile import DatabaseProfile
from agro_data.sql.parse import parse_select
from agro_data.sql.scope import resolve
from agro_data.verify.answers import Answer, Gold, Unreadable, ask, doubt, read_gold
from agro_data.verify.kills import Suspect, both, difference, pursue
from agro_data.verify.mutants import mutants_of
from agro_data.verify.pool import BYTES, FILES, Certificate, Fate, Instance, Pool, choose, write_instance
from agro_data.verify.proofs import proved_equivalent

MIN_KILL_RATE = 0.95
SHOWN = 3  # killed mutants of a gold whose difference is kept


@dataclass(frozen=True)
class Budget:
    """How far a batch of golds may go. Counts, not seconds: the same golds get the same certificates everywhere."""

    files: int = FILES
    bytes: int = BYTES
    homes: int = 4  # files that carry a gold's witness rows from the start
    group: int = 24  # golds whose witness rows share a file
    crowd: int = 150  # the same, at most, where golds are many: each file has a row for each of them in many tables
    few: int = 6  # the same for golds that a directed search is for
    rounds: int = 2  # of directed search
    searched: int = 6  # survivors of a gold that a round directs rows at
    noise: int = 4  # rows a table of which no gold says anything
    candidates: int = 16  # instances on which a gold is looked at closely


def certify(
    database: Database,
    profile: DatabaseProfile,
    golds: Sequence[str],
    sandbox: Sandbox,
    folder: Path,
    seed: int = 0,
    budget: Budget = Budget(),
    *,
    prefix: str = "",
    min_kill_rate: float = MIN_KILL_RATE,
) -> Pool:
    """A certificate for each gold of one database, and the instances they name, written in `folder`.

    Files are named `<prefix><number>.<dialect>`. `sandbox` should bound the steps of a statement: its limits are what
    a mutant may take. Golds that cannot be certified have a reason; nothing about a gold raises.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for stale in folder.glob(f"{prefix}[0-9][0-9].{database.dialect}"):
        stale.unlink()
    with tempfile.TemporaryDirectory(prefix="agro-reordered-") as scratch:
        batch = _Batch(database, profile, sandbox, folder, Path(scratch), seed, budget, prefix)
        return batch.certify(golds, min_kill_rate)


@dataclass
class _Case:
    """A gold on its way. `answers` are those that hold, by number of the instance, in the order they are to be used."""

    place: int
    gold: Gold
    homes: list[int] = field(default_factory=list)
    answers: dict[int, Answer] = field(default_factory=dict)
    refused: Counter[str] = field(default_factory=Counter)
    suspects: list[Suspect] = field(default_factory=list)
    fault: str = ""  # of this code, not of the gold


@contextmanager
def _charged_to(case: _Case) -> Iterator[None]:
    """A fault that one gold brings out costs that gold, not its batch; the certificate says which."""
    try:
        yield
    except Exception as error:
        case.fault = f"{type(error).__name__}: {error}"


@dataclass
class _Batch:
    database: Database
    profile: DatabaseProfile
    sandbox: Sandbox
    folder: Path
    scratch: Path
    seed: int
    budget: Budget
    prefix: str
    instances: list[Instance] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def certify(self, golds: Sequence[str], min_kill_rate: float) -> Pool:
        certificates: dict[int, Certificate] = {}
        cases: list[_Case] = []
        for place, sql in enumerate(golds):
            try:
                cases.append(_Case(place, read_gold(sql, self.database.dialect, self.profile.schema)))
            except Unreadable as error:
                certificates[place] = Certificate(sql, "uncertifiable", str(error))
        if cases:
            self._certify(cases)
        for case in cases:
            self._choose(case)
        shown = self._differences(cases)
        for case in cases:
            certificates[case.place] = self._certificate(case, shown, min_kill_rate)
        return self._pool([certificates[place] for place in range(len(golds))])

    def _certify(self, cases: list[_Case]) -> None:
        schema = instance_schema(self.profile)
        self._found(cases, schema)
        self._answer(cases, range(len(self.instances)))
        lost = [case for case in cases if not case.answers]
        if lost:  # rows of other golds may have been in the way
            self._answer(lost, self._extend({case.place: self._own(case, schema, -1) for case in lost}, cases, schema))
        for case in [case for case in cases if case.answers]:
            with _charged_to(case):
                made = mutants_of(case.gold.names, self.database.dialect, self.profile.schema)
                case.suspects = [Suspect(case.place, case.gold, mutant) for mutant in made]
                self._queue(case, case.answers)
        suspects = [suspect for case in cases for suspect in case.suspects]
        pursue(suspects, self.sandbox, self.budget.homes)
        for case in cases:
            with _charged_to(case):
                self._prove(case, schema)
        pursue(suspects, self.sandbox, len(self.instances))
        for number in range(self.budget.rounds):
            self._search(cases, schema, number)

    # --- instances ---

    def _found(self, cases: list[_Case], schema: Schema) -> None:
        """The first files: each gold's witness rows stand in `homes` of them, each time beside those of others."""
        files = max(self.budget.homes, self.budget.files * 2 // 3)
        size = min(max(self.budget.group, ceil(len(cases) * self.budget.homes / files)), self.budget.crowd)
        for home in range(self.budget.homes):
            order = list(cases)
            random.Random(seed_of(self.seed, "homes", home)).shuffle(order)
            for start in range(0, len(order), size):
                if len(self.instances) >= files:
                    return  # many golds: those left are asked where others have their rows
                group = order[start : start + size]
                proposals = [proposal for case in group for proposal in self._own(case, schema, home)]
                number = self._write(schema, proposals, group)
                if number is not None:
                    for case in group:
                        case.homes.append(number)

    def _own(self, case: _Case, schema: Schema, home: int) -> list[Proposal]:
        made: list[Proposal] = []
        with _charged_to(case):
            made = witnesses(case.gold.names, schema, self.profile, seed_of(self.seed, home, case.gold.sql))
        return made

    def _extend(self, proposals: dict[int, list[Proposal]], cases: list[_Case], schema: Schema) -> range:
        """Further files for the golds named, a few golds each; their numbers."""
        first = len(self.instances)
        wanted = [case for case in cases if proposals.get(case.place)]
        room = max((self.budget.files - first) // 2, 1)
        size = max(self.budget.few, ceil(len(wanted) / room))
        for start in range(0, len(wanted), size):
            group = wanted[start : start + size]
            number = self._write(schema, [p for case in group for p in proposals[case.place]], group)
            if number is not None:
                for case in group:
                    case.homes.append(number)
        return range(first, len(self.instances))

    def _write(self, schema: Schema, proposals: list[Proposal], group: Sequence[_Case]) -> int | None:
        """One more instance, or None when the budget is spent or the rows cannot be written."""
        number = len(self.instances)
        if number >= self.budget.files or sum(i.size for i in self.instances) >= self.budget.bytes:
            return None
        own = seed_of(self.seed, "instance", self.prefix, number)
        noise = [PartialRow(table.name, {}) for table in schema.tables for _ in range(self.budget.noise)]
        try:
            focus = _focus([focus_of(case.gold.names, schema) for case in group])
            rows = compose(schema, self.profile, {}, [*proposals, Proposal("noise", "", tuple(noise))], own, focus)
            name = f"{self.prefix}{number:02d}"
            made = write_instance(self.database, schema, rows, name, folder=self.folder, scratch=self.scratch)
        except OSError:
            raise  # no room, or no right to write: nothing is wrong with the golds
        except Exception as error:  # what cannot be made of these golds costs one instance
            what = f"{type(error).__name__}: {error}"
            self.problems.append(f"{self.database.db_id}: an instance for {len(group)} golds could not be made: {what}")
            return None
        self.instances.append(made)
        return number

    # --- answers ---

    def _answer(self, cases: Sequence[_Case], numbers: Sequence[int]) -> None:
        """Ask each gold on the instances of these numbers; look closely at some of those where it says something."""
        every = [(case, number) for case in cases for number in numbers]
        said = ask([(case.gold, self.instances[number]) for case, number in every], self.sandbox)
        close: list[tuple[_Case, int, Answer]] = []
        rest: list[tuple[_Case, int, Answer]] = []
        found = {(case.place, number): answer for (case, number), answer in zip(every, said, strict=True)}
        for case in cases:
            spoken = []
            for number in self._ordered(case, numbers):
                answer = found[case.place, number]
                if answer.reason:
                    case.refused[answer.reason] += 1
                else:
                    spoken.append((case, number, answer))
            close += spoken[: self.budget.candidates]
            rest += spoken[self.budget.candidates :]
        self._examine(close)
        self._examine([one for one in rest if not one[0].answers])

    def _examine(self, asked: Sequence[tuple[_Case, int, Answer]]) -> None:
        pairs = [(case.gold, self.instances[number]) for case, number, _ in asked]
        judged = doubt(pairs, [answer for _, _, answer in asked], self.sandbox)
        for (case, number, _), answer in zip(asked, judged, strict=True):
            if answer.reason:
                case.refused[answer.reason] += 1
            else:
                case.answers[number] = answer

    def _ordered(self, case: _Case, numbers: Sequence[int]) -> list[int]:
        """Instances with the gold's own witness rows first, the small ones before the large."""
        return sorted(numbers, key=lambda n: (n not in case.homes, self.instances[n].size, n))

    # --- mutants ---

    def _queue(self, case: _Case, numbers: Sequence[int] | dict[int, Answer]) -> None:
        waiting = [(self.instances[n], case.answers[n].digest) for n in numbers if n in case.answers]
        for suspect in case.suspects:
            if suspect.open:
                suspect.waiting += waiting

    def _prove(self, case: _Case, schema: Schema) -> None:
        for suspect in case.suspects:
            if suspect.open:
                dialect = self.database.dialect
                suspect.rule = proved_equivalent(suspect.gold.sql, suspect.mutant.sql, dialect, schema) or ""

    def _search(self, cases: list[_Case], schema: Schema, number: int) -> None:
        """One round of rows directed at the difference between a gold and each mutant that survives."""
        proposals: dict[int, list[Proposal]] = {}
        for case in cases:
            with _charged_to(case):
                for suspect in [s for s in case.suspects if s.open][: self.budget.searched]:
                    tree = parse_select(suspect.mutant.sql, self.database.dialect)
                    against = resolve(tree, self.database.dialect, self.profile.schema)
                    own = seed_of(self.seed, "search", number, suspect.mutant.sql)
                    proposals.setdefault(case.place, []).extend(
                        witnesses(case.gold.names, schema, self.profile, own, against=against)
                    )
        searched = [case for case in cases if case.place in proposals]
        added = self._extend(proposals, cases, schema)
        self._answer(searched, added)
        for case in searched:
            self._queue(case, self._ordered(case, added))
        pursue([s for case in searched for s in case.suspects], self.sandbox, len(added))

    # --- outcome ---

    def _choose(self, case: _Case) -> None:
        """The instances of a gold; a mutant that was killed only on one left out is tried on these."""
        digests = {self.instances[number].name: answer.digest for number, answer in case.answers.items()}
        kills: dict[str, set[int]] = {}
        for number, suspect in enumerate(case.suspects):
            if suspect.killer is not None:
                kills.setdefault(suspect.killer.name, set()).add(number)
        chosen = choose(list(digests), kills, digests)
        again = [s for s in case.suspects if s.killer is not None and s.killer.name not in chosen]
        for suspect in again:
            suspect.killer = None
            suspect.waiting = [(i, digests[i.name]) for i in self.instances if i.name in chosen]
        pursue(again, self.sandbox, len(chosen))
        case.answers = {n: a for n, a in case.answers.items() if self.instances[n].name in chosen}

    def _differences(self, cases: Sequence[_Case]) -> dict[int, str]:
        """For a few killed mutants of each gold, of different kinds, the first row that differs; by `id`."""
        shown = [(s, s.killer) for case in cases for s in _of_each_kind(case.suspects) if s.killer is not None]
        rows = both(shown, self.sandbox)
        return {id(s): difference(*pair, ordered=s.gold.ordered) for (s, _), pair in zip(shown, rows, strict=True)}

    def _certificate(self, case: _Case, shown: dict[int, str], min_kill_rate: float) -> Certificate:
        sql = case.gold.sql
        if case.fault:
            return Certificate(sql, "uncertifiable", f"it could not be examined: {case.fault}")
        if not case.answers:
            seen = ", ".join(f"{reason} on {count}" for reason, count in case.refused.most_common())
            detail = f"its answer is ambiguous or empty on every instance ({seen or 'none could be made'})"
            return Certificate(sql, "uncertifiable", detail)
        made = Certificate(
            sql,
            instances=tuple(self.instances[number].name for number in case.answers),
            digests=tuple(answer.digest for answer in case.answers.values()),
            mutants=tuple(_fate(s, shown.get(id(s), "")) for s in case.suspects if not s.stillborn),
        )
        if made.kill_rate >= min_kill_rate:
            return made
        survivors = "; ".join(fate.what for fate in made.survivors[:SHOWN])
        decided = made.total - made.count("equivalent")
        detail = f"{made.count('killed')} of {decided} mutants are told apart from it; not, for instance: {survivors}"
        return replace(made, reason="weak", detail=detail)

    def _pool(self, certificates: list[Certificate]) -> Pool:
        """Only files that some gold is graded on are kept."""
        used = {name for certificate in certificates for name in certificate.instances}
        for instance in self.instances:
            if instance.name not in used:
                instance.database.path.unlink()
        kept = {i.name: i.database for i in self.instances if i.name in used}
        return Pool(tuple(certificates), kept, tuple(self.problems))


def _focus(parts: Sequence[Focus]) -> Focus:
    """What several queries look at."""
    literals: dict[Place, tuple[Cell, ...]] = {}
    for part in parts:
        for place, values in part.literals.items():
            literals[place] = tuple(dict.fromkeys((*literals.get(place, ()), *values)))
    return Focus(literals, frozenset(place for part in parts for place in part.ordered))


def _of_each_kind(suspects: Sequence[Suspect]) -> list[Suspect]:
    """The first killed mutant of each of the first `SHOWN` kinds."""
    first: dict[str, Suspect] = {}
    for suspect in suspects:
        if suspect.killer is not None:
            first.setdefault(suspect.mutant.kind, suspect)
    return list(first.values())[:SHOWN]


def _fate(suspect: Suspect, shown: str) -> Fate:
    mutant = suspect.mutant
    if suspect.killer is not None:
        return Fate(mutant.kind, mutant.what, mutant.sql, "killed", suspect.killer.name, shown)
    return Fate(mutant.kind, mutant.what, mutant.sql, "equivalent" if suspect.rule else "undecided", suspect.rule)

"""Faults planted in good rows, and solvers of a known accuracy: what `bench.alignment` measures the loop with.

Three faults. The gold becomes a mutant of itself that looks all right: it passes every check that golds pass before
their certificate, and where there is such a one it gives the gold's own answer on the source database, so that only
instances tell. One condition of the question becomes another (`parts.altering`). Evidence is added that has a value of
the question mean another one. A fault that no instance tells from the gold is not planted: execution could not find it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Literal

from agro_data.alignment.agreement import Ballot, vote
from agro_data.alignment.example import Example
from agro_data.alignment.grouping import Group, group
from agro_data.alignment.solvers import Solver
from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.hashing import seed_of
from agro_data.profiling.profile import DatabaseProfile
from agro_data.sql.names.scope import resolve
from agro_data.sql.parse import parse_select
from agro_data.verify.check import verify_statements
from agro_data.verify.golds import GoldResults
from agro_data.verify.mutants import mutants_of
from bench.parts.altering import Altered, altered_questions, wrong_evidence
from bench.parts.expected import Expected, expected

Fault = Literal["", "gold", "question", "evidence"]
SHARES: tuple[tuple[Fault, float], ...] = (("evidence", 0.05), ("question", 0.10), ("gold", 0.10))  # rarest first
TRIED = 7  # mutants of a row that are looked at
OTHERS = 1  # golds of other rows, likewise
SPARE = 6.0  # rows whose question or evidence is altered for each that is wanted: not all alterations change an answer
WRONG = 5  # answers that solvers give instead of the right one


@dataclass(frozen=True)
class Planted:
    """A row as it is shown. `truth` is what its question and evidence mean; `wrong` are answers with other results.

    `gold` is the place of its SQL in (truth, *wrong), None where no solver gives it. `alike`: on the source database it
    gives the answer of the truth.
    """

    example: Example
    truth: str
    wrong: tuple[str, ...]
    gold: int | None = 0
    fault: Fault = ""
    what: str = ""
    alike: bool = False

    def expected(self, accuracy: float, asked: int, need: int, cycles: int) -> Expected:
        """What becomes of it where each answer is the truth with chance `accuracy`, else any of the wrong ones."""
        chances = [accuracy, *[(1 - accuracy) / len(self.wrong)] * len(self.wrong)]
        return expected(chances, self.gold, asked=asked, need=need, cycles=cycles)


def simulated(rows: Sequence[Planted], accuracy: float, asked: int, seed: int) -> Solver:
    """`asked` solvers in one, each of whom gives the truth with chance `accuracy`, else one of the wrong answers."""
    known = {row.example.example_id: row for row in rows}

    def one(row: Planted, cycle: int, number: int) -> str:
        chance = Random(seed_of(seed, accuracy, cycle, number, row.example.example_id))
        return row.truth if chance.random() < accuracy else chance.choice(row.wrong)

    def attempts(examples: Sequence[Example], cycle: int) -> list[list[str]]:
        return [[one(known[e.example_id], cycle, number) for number in range(asked)] for e in examples]

    return Solver(f"simulated {accuracy:g}", attempts)


def plant(able: Sequence[Mapping[Fault, Planted]], sandbox: Sandbox, seed: int) -> list[Planted]:
    """A share of each fault, the rest of the rows as they were, in order. `able` are those of `variants`."""
    order = sorted(range(len(able)), key=lambda place: seed_of(seed, "order", able[place][""].example.example_id))
    golds = GoldResults()
    chosen: dict[int, Planted] = {}

    def take(fault: Fault, count: int) -> None:
        left = [place for place in order if place not in chosen and fault in able[place]]
        while left and count > 0:
            some, left = left[:count], left[count:]
            found = _checked([able[place][fault] for place in some], sandbox, golds)
            kept = {place: row for place, row in zip(some, found, strict=True) if row is not None}
            chosen.update(kept)
            count -= len(kept)

    for fault, share in SHARES:
        take(fault, round(share * len(able)))
    take("", len(able) - len(chosen))
    return [chosen[place] for place in sorted(chosen)]


# --- what a row may become -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Draft:
    """An example with what could be made of it: mutants, golds of other rows, altered questions and evidence."""

    example: Example
    mutants: tuple[str, ...]
    others: tuple[str, ...]
    altered: tuple[tuple[Fault, Altered], ...]

    @property
    def statements(self) -> list[str]:
        """Its own SQL first."""
        own = (self.example.sql, *self.mutants, *self.others, *(alteration.sql for _, alteration in self.altered))
        return list(dict.fromkeys(own))


def variants(
    examples: Sequence[Example], profile: DatabaseProfile, sandbox: Sandbox, seed: int
) -> list[dict[Fault, Planted]]:
    """For each example of one database the good row and every fault that can be planted in it, by fault.

    An example of which no wrong answer is told apart is left out: no simulated solver could err on it.
    """
    drafts = [_draft(one, examples, profile, seed) for one in examples]
    statements = list(dict.fromkeys(sql for draft in drafts for sql in draft.statements))
    verdicts = verify_statements(examples[0].database, profile.schema, statements, sandbox)
    sound = {sql for sql, verdict in zip(statements, verdicts, strict=True) if verdict.ok}
    entries = [(draft.example, [sql for sql in draft.statements if sql in sound]) for draft in drafts]
    rows: list[dict[Fault, Planted]] = []
    for draft, (_, candidates), found in zip(drafts, entries, group(entries, sandbox), strict=True):
        groups = {candidates[place]: own for own in found.groups for place in own.members}
        if draft.example.sql not in groups:
            continue
        own: dict[Fault, Planted] = {}
        for row in _of_row(draft, groups, Random(seed_of(seed, draft.example.example_id))):
            own.setdefault(row.fault, row)
        rows += [own] if own else []
    return rows


def _draft(one: Example, examples: Sequence[Example], profile: DatabaseProfile, seed: int) -> _Draft:
    chance = Random(seed_of(seed, "draft", one.example_id))
    found = resolve(parse_select(one.sql, profile.dialect), profile.dialect, profile.schema)
    mutants = [mutant.sql for mutant in mutants_of(found, profile.dialect, profile.schema)]
    others = sorted({other.sql for other in examples} - {one.sql})
    wanted = {fault: chance.random() < SPARE * share for fault, share in SHARES}
    questions = altered_questions(one.question, one.sql, profile, chance)[:2] if wanted["question"] else []
    evidence = wrong_evidence(one.question, one.sql, profile, chance)[:1] if wanted["evidence"] else []
    return _Draft(
        one,
        tuple(chance.sample(mutants, min(TRIED, len(mutants)))),
        tuple(chance.sample(others, min(OTHERS, len(others)))),
        (*(("question", a) for a in questions), *(("evidence", a) for a in evidence)),
    )


def _of_row(draft: _Draft, groups: Mapping[str, Group], chance: Random) -> Iterator[Planted]:
    """The good row, and its faults. `groups` holds the sound statements by text."""
    one = draft.example
    own = groups[one.sql]
    rest = sorted({found.sql for found in groups.values() if found is not own})
    wrong = tuple(chance.sample(rest, min(WRONG, len(rest))))
    if not wrong:
        return
    yield Planted(one, one.sql, wrong)
    swaps = [sql for sql in draft.mutants if sql in groups and groups[sql] is not own]
    if swaps:
        swap = min(swaps, key=lambda sql: groups[sql].signature[0] != own.signature[0])
        said = groups[swap].sql
        yield Planted(
            replace(one, sql=swap, ordered=None, alternatives=(), meaning=""),
            one.sql,
            wrong,
            wrong.index(said) + 1 if said in wrong else None,
            "gold",
            f"{one.sql} -> {swap}",
            alike=groups[swap].signature[0] == own.signature[0],
        )
    for fault, altered in draft.altered:
        if altered.sql not in groups or groups[altered.sql] is own:
            continue
        left = [sql for sql in rest if sql != groups[altered.sql].sql]
        errors = (
            one.sql,
            *chance.sample(left, min(WRONG - 1, len(left))),
        )  # whoever overlooks the change gives the gold
        shown = replace(one, question=altered.question, evidence=altered.evidence)
        alike = groups[altered.sql].signature[0] == own.signature[0]
        yield Planted(shown, altered.sql, errors, 1, fault, altered.what, alike)


def _checked(rows: Sequence[Planted], sandbox: Sandbox, golds: GoldResults) -> list[Planted | None]:
    """The rows, each without wrong answers that count as its gold's or as the truth; None where the truth itself does,
    or nothing wrong is left.
    """
    answers = [(row.truth, *row.wrong) for row in rows]
    as_shown = vote([row.example for row in rows], answers, sandbox, golds)
    faulty = [place for place, row in enumerate(rows) if row.fault]
    true = [replace(rows[p].example, sql=rows[p].truth, ordered=None, alternatives=()) for p in faulty]
    voted = vote(true, [answers[place] for place in faulty], sandbox, golds)
    as_meant = dict(enumerate(as_shown)) | dict(zip(faulty, voted, strict=True))
    return [_without_doubles(row, as_shown[place], as_meant[place]) for place, row in enumerate(rows)]


def _without_doubles(row: Planted, shown: Ballot, meant: Ballot) -> Planted | None:
    if row.fault and shown.grades[0].right:
        return None
    kept = [
        place
        for place in range(1, len(row.wrong) + 1)
        if not meant.grades[place].right and (place == row.gold or not shown.grades[place].right)
    ]
    places = {place: number for number, place in enumerate((0, *kept))}
    gold = None if row.gold is None else places.get(row.gold)
    return replace(row, wrong=tuple(row.wrong[place - 1] for place in kept), gold=gold) if kept else None

"""K-cycle Gen-as-Check: solvers answer, the gold's result decides, a judge says whose fault a divergence is, and the
faulty part is made anew; until solvers agree, or K cycles are over.

(AGRO-SQL, 2512.23366: predictions against the gold by execution, a judge on divergence, regeneration, up to K cycles.
Votes, verdicts and what becomes of each are ours.)

An example ends `verified` (`need` answers agree), `judged` (the judge says of it as it came that the predictors are
wrong: a hard example, kept) or `rejected` with the last fault as its reason: `gold_wrong`, …, or `unsettled` without
one. A part that was made anew is kept only if answers agree with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import polars as pl

from agro_data.alignment.agreement import Ballot, vote
from agro_data.alignment.example import Example
from agro_data.alignment.judge import Dispute, Judge, Judgement, outvoted
from agro_data.alignment.regenerate import PARTS, Regenerate, Regenerator
from agro_data.alignment.solvers import Solver
from agro_data.config import ConfigError
from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.prompts.judge import Ruling
from agro_data.sql.difficulty import HARDNESS
from agro_data.verify.golds import GoldResults

CYCLES = 3
UNSETTLED = "unsettled"
Fate = Literal["verified", "judged", "rejected"]

CYCLE = pl.Schema(
    {
        "example_id": pl.String,
        "cycle": pl.Int64,  # from 1
        "hardness": pl.String,
        "votes": pl.Int64,
        "asked": pl.Int64,
        "question": pl.String,  # as checked in this cycle
        "evidence": pl.String,
        "sql": pl.String,
        "verdict": pl.String,  # "agreed", one of the six, or "" where the judge came to none
        "why": pl.String,
        "transcript": pl.String,  # the judge's
        "made_anew": pl.String,  # sql, question, evidence, or ""
    }
)
ACCEPTANCE = pl.Schema(
    {
        "hardness": pl.String,
        "examples": pl.Int64,
        "verified_at_once": pl.Int64,
        "verified_later": pl.Int64,  # unchanged, in a later cycle
        "mended": pl.Int64,  # verified with a part made anew
        "judged": pl.Int64,  # kept as hard examples
        "rejected": pl.Int64,
        "kept": pl.Float64,  # share
    }
)


@dataclass(frozen=True)
class Cycle:
    """One example in one cycle: as it was checked, its ballot, the judgement if it diverged, what was made anew."""

    example: Example
    ballot: Ballot
    judgement: Judgement | None = None
    made_anew: str = ""


@dataclass(frozen=True)
class Aligned:
    """The outcome for an example; `example` is its last form. `history` has a cycle or more."""

    fate: Fate
    example: Example
    history: tuple[Cycle, ...]

    @property
    def changed(self) -> bool:
        """Whether it ended as another pair than it began: what became of a part for a cycle is no change."""
        return _differ(self.example, self.history[0].example)

    @property
    def score(self) -> float:
        """The k of n of the last cycle."""
        return self.history[-1].ballot.score

    @property
    def reason(self) -> str:
        """Why it was rejected: the last fault that a verdict names, or `unsettled`; "" where it was not."""
        if self.fate != "rejected":
            return ""
        verdicts = [one.judgement.verdict for one in self.history if one.judgement]
        faults = [verdict for verdict in verdicts if verdict not in ("", "predictor_wrong")]
        return faults[-1] if faults else UNSETTLED

    @property
    def detail(self) -> str:
        """The same in a sentence, with the votes."""
        last = self.history[-1]
        why = f": {last.judgement.evidence}" if last.judgement else ""
        return f"{last.ballot.votes} of {last.ballot.asked} answers agree after {len(self.history)} cycles{why}"


def _differ(one: Example, other: Example) -> bool:
    """Whether they are two pairs."""
    return (one.question, one.evidence, one.sql) != (other.question, other.evidence, other.sql)


@dataclass(frozen=True)
class Rule:
    """`need` of the answers asked for must agree; `cycles` is K."""

    need: int
    cycles: int = CYCLES

    def __post_init__(self) -> None:
        if self.need < 1 or self.cycles < 1:
            raise ConfigError(f"need is {self.need} and cycles {self.cycles}: both are at least 1")


@dataclass
class _Course:
    """An example on its way."""

    example: Example
    history: list[Cycle] = field(default_factory=list)
    fate: Fate | None = None


def check(
    examples: Sequence[Example],
    solvers: Sequence[Solver],
    rule: Rule,
    sandbox: Sandbox,
    *,
    judge: Judge | None = None,
    regenerate: Regenerate | None = None,
    golds: GoldResults | None = None,
) -> list[Aligned]:
    """The outcome for each example, in order. Without a `judge` the solvers outvote a gold; without `regenerate` its
    SQL is made anew of their answers, and nothing else.

    A part is made anew only where a cycle is left to confirm it. Raises `ConfigError` without a solver.
    """
    if not solvers:
        raise ConfigError("no solver: give at least one, else nothing is independent of the SQL")
    judge = judge or outvoted(rule.need)
    regenerate = regenerate or Regenerator(sandbox)
    golds = golds or GoldResults()
    courses = [_Course(example) for example in examples]
    for cycle in range(1, rule.cycles + 1):
        going = [course for course in courses if course.fate is None]
        if not going:
            break
        ballots = _ballots([course.example for course in going], solvers, sandbox, golds, cycle)
        open_: list[tuple[_Course, Ballot]] = []
        for course, ballot in zip(going, ballots, strict=True):
            if ballot.votes >= rule.need:
                course.history.append(Cycle(course.example, ballot))
                course.fate = "verified"
            else:
                open_.append((course, ballot))
        _settle(open_, judge, regenerate if cycle < rule.cycles else None, cycle)
    return [Aligned(course.fate or "rejected", course.example, tuple(course.history)) for course in courses]


def _ballots(
    examples: Sequence[Example], solvers: Sequence[Solver], sandbox: Sandbox, golds: GoldResults, cycle: int
) -> list[Ballot]:
    """All solvers' answers to each example as one ballot."""
    given = [solver.attempts(examples, cycle) for solver in solvers]
    return vote(
        examples, [[sql for some in answers for sql in some] for answers in zip(*given, strict=True)], sandbox, golds
    )


def _settle(open_: Sequence[tuple[_Course, Ballot]], judge: Judge, regenerate: Regenerate | None, cycle: int) -> None:
    """Judge what diverges; keep what the predictors are to blame for, and make faulty parts anew."""
    disputes = [Dispute(course.example, ballot) for course, ballot in open_]
    judged = judge(disputes, cycle) if disputes else []
    faulty: list[tuple[_Course, Dispute, Ruling]] = []
    for (course, ballot), dispute, judgement in zip(open_, disputes, judged, strict=True):
        course.history.append(Cycle(course.example, ballot, judgement))
        ruling = judgement.ruling
        if isinstance(ruling, Ruling) and ruling.verdict == "predictor_wrong":
            if not _differ(course.example, course.history[0].example):
                course.fate = "judged"
        elif isinstance(ruling, Ruling) and ruling.verdict == "database_insufficient":
            course.fate = "rejected"  # no part of the pair could be said otherwise
        elif isinstance(ruling, Ruling):
            faulty.append((course, dispute, ruling))
    if regenerate is None or not faulty:
        return
    made = regenerate([(dispute, ruling) for _, dispute, ruling in faulty], cycle)
    for (course, _, ruling), example in zip(faulty, made, strict=True):
        if example is not None and example != course.example:
            course.example = example
            course.history[-1] = replace(course.history[-1], made_anew=PARTS[ruling.verdict])


# --- the log -------------------------------------------------------------------------------------------------------


def log_of(outcomes: Sequence[Aligned]) -> pl.DataFrame:
    """A row of `CYCLE` for each cycle of each example."""
    rows = [
        {
            "example_id": one.example.example_id,
            "cycle": number,
            "hardness": outcome.history[0].example.hardness,
            "votes": one.ballot.votes,
            "asked": one.ballot.asked,
            "question": one.example.question,
            "evidence": one.example.evidence,
            "sql": one.example.sql,
            "verdict": one.judgement.verdict if one.judgement else "agreed",
            "why": one.judgement.evidence if one.judgement else "",
            "transcript": one.judgement.transcript if one.judgement else "",
            "made_anew": one.made_anew,
        }
        for outcome in outcomes
        for number, one in enumerate(outcome.history, 1)
    ]
    return pl.DataFrame(rows, schema=CYCLE, orient="row")


def acceptance(outcomes: Sequence[Aligned]) -> pl.DataFrame:
    """`ACCEPTANCE` by the hardness with which examples came in: a loop that throws the hard ones away is seen to."""
    found: dict[str, dict[str, int]] = {}
    for one in outcomes:
        level = found.setdefault(one.history[0].example.hardness, dict.fromkeys(list(ACCEPTANCE)[1:-1], 0))
        level["examples"] += 1
        if one.fate != "verified":
            level[one.fate] += 1
        elif one.changed:
            level["mended"] += 1
        else:
            level["verified_at_once" if len(one.history) == 1 else "verified_later"] += 1
    rows = [{"hardness": name, **counts, "kept": 0.0} for name, counts in found.items()]
    return summed([pl.DataFrame(rows, schema=ACCEPTANCE, orient="row")])


def summed(parts: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """`ACCEPTANCE` of all parts together, from easy to extra."""
    counts = pl.concat([pl.DataFrame(schema=ACCEPTANCE), *parts]).group_by("hardness").agg(pl.exclude("kept").sum())
    level = pl.col("hardness").replace_strict(HARDNESS, range(len(HARDNESS)), default=len(HARDNESS))
    return counts.with_columns(kept=1 - pl.col("rejected") / pl.col("examples")).sort(level, "hardness")

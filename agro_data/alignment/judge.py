"""Whose fault it is that solvers and gold diverge: one of six verdicts, with what shows it.

The verdicts are ours for the audit that AGRO-SQL (2512.23366) puts after a divergence: `gold_wrong`,
`question_wrong`, `evidence_wrong`, `ambiguous`, `database_insufficient`, and `predictor_wrong`, whose examples are
kept: they are the hard ones. A judge that comes to none says so, and nothing is changed on its word.

Two judges. `outvoted` needs no model: many independent solvers with one answer outvote a gold. `Referee` is a model
that may look at the data itself, in a bounded number of turns of the project's own protocol.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from agro_data.alignment.agreement import Ballot
from agro_data.alignment.example import Example
from agro_data.alignment.showing import as_shown
from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.llm.client import Client
from agro_data.llm.prompt import Unparsed
from agro_data.llm.types import Completion, Message, Request, Sampling
from agro_data.prompts.judge import JUDGE, Divergence, OtherAnswer, Ruling, parse_ruling
from agro_data.protocol import (
    STOPS,
    Malformed,
    Step,
    parse_turn,
    render_observation,
    render_transcript,
    with_end,
    wrap_observation,
)
from agro_data.verify.execution import execute
from agro_data.verify.gate import check_statement

TURNS = 4
SHOWN = 3  # other answers that a judge is shown
SAMPLING = Sampling(temperature=0.0, max_tokens=1_024, stop=STOPS)


@dataclass(frozen=True)
class Dispute:
    """An example whose solvers do not agree enough, and their ballot."""

    example: Example
    ballot: Ballot


@dataclass(frozen=True)
class Undecided:
    """No verdict: a class and a sentence. The class is `no_majority`, `turns`, or the class of an unreadable turn or
    reply.
    """

    kind: str
    detail: str


@dataclass(frozen=True)
class Judgement:
    """A ruling, or why there is none; `transcript` is what the judge did and saw on the way."""

    ruling: Ruling | Undecided
    transcript: str = ""

    @property
    def verdict(self) -> str:
        """One of the six, or "" where there is none."""
        return self.ruling.verdict if isinstance(self.ruling, Ruling) else ""

    @property
    def evidence(self) -> str:
        """The evidence for the verdict, or why there is none."""
        if isinstance(self.ruling, Ruling):
            return self.ruling.evidence
        return f"{self.ruling.kind}: {self.ruling.detail}"


Judge = Callable[[Sequence[Dispute], int], Sequence[Judgement]]  # (disputes, cycle)


def outvoted(need: int) -> Judge:
    """The judge without a model: where `need` answers are one and the same, and more than are the gold's, the gold is
    wrong. Anything else it cannot tell.
    """

    def judge(disputes: Sequence[Dispute], cycle: int) -> list[Judgement]:
        return [_count(dispute.ballot, need) for dispute in disputes]

    return judge


def _count(ballot: Ballot, need: int) -> Judgement:
    most = ballot.others[0] if ballot.others else None
    if most is None or len(most.members) < max(need, ballot.votes + 1):
        return Judgement(Undecided("no_majority", f"no other result has {need} of {ballot.asked} answers"))
    said = f"{len(most.members)} of {ballot.asked} answers give one other result, {ballot.votes} the gold's"
    why = next((grade.reason for grade in ballot.grades if grade.error_class == "wrong_rows"), "")
    return Judgement(Ruling("gold_wrong", f"{said}{f' ({why})' if why else ''}", most.sql))


# --- a model as the judge -----------------------------------------------------------------------------------------


@dataclass
class _Hearing:
    """One dispute before the referee."""

    dispute: Dispute
    messages: tuple[Message, ...]
    steps: list[Step] = field(default_factory=list)
    judgement: Judgement | None = None

    def end(self, ruling: Ruling | Undecided, last: str = "") -> None:
        self.judgement = Judgement(ruling, render_transcript(self.steps) + last)


@dataclass(frozen=True)
class Referee:
    """A model that judges: it may run queries of its own in `sandbox`, and rules within `turns` turns.

    Its queries pass the gate first, and run on the example's database. A turn that cannot be read ends its hearing.
    """

    client: Client
    sandbox: Sandbox
    turns: int = TURNS

    def __call__(self, disputes: Sequence[Dispute], cycle: int) -> list[Judgement]:
        """A judgement for each dispute, in order; all hearings go on together, turn by turn."""
        sampling = replace(SAMPLING, seed=cycle)
        asked = _divergences(disputes, self.turns, self.sandbox)
        hearings = [_Hearing(one, JUDGE.messages(said)) for one, said in zip(disputes, asked, strict=True)]
        for turn in range(1, self.turns + 1):
            going = [one for one in hearings if one.judgement is None]
            if not going:
                break
            replies = self.client.generate([Request(one.messages, sampling) for one in going], stage="judge")
            for hearing, reply in zip(going, replies, strict=True):
                _hear(hearing, reply)
            self._answer([one for one in going if one.judgement is None], self.turns - turn)
        return [
            one.judgement
            or Judgement(Undecided("turns", f"no verdict in {self.turns} turns"), render_transcript(one.steps))
            for one in hearings
        ]

    def _answer(self, hearings: Sequence[_Hearing], left: int) -> None:
        """Run the query that each asked for, and tell its result."""
        if not left:
            return
        gates = [
            check_statement(one.steps[-1].turn.text, one.dispute.example.database.dialect, one.dispute.example.schema)
            for one in hearings
        ]
        runs = [one for one, gate in zip(hearings, gates, strict=True) if gate.ok]
        results = iter(
            execute([(o.dispute.example.database, o.steps[-1].turn.text) for o in runs], self.sandbox, "rows")
        )
        for one, gate in zip(hearings, gates, strict=True):
            body = render_observation(next(results), left) if gate.ok else f"Error: {gate.detail}\n({left} turns left)"
            one.steps[-1] = replace(one.steps[-1], observation=body)
            one.messages = (*one.messages, Message("user", wrap_observation(body).strip()))


def _hear(hearing: _Hearing, reply: Completion) -> None:
    """Take one reply: a query is noted, a verdict ends the hearing, and so does what is neither."""
    if reply.failure is not None:
        hearing.end(Undecided(reply.failure.kind, reply.failure.detail))
        return
    text = reply.text if reply.cut else with_end(reply.text)
    turn = parse_turn(text)
    if isinstance(turn, Malformed):
        hearing.end(Undecided("cut" if reply.cut else turn.kind, turn.detail), text)
    elif turn.action == "sql":
        hearing.steps.append(Step(turn))
        hearing.messages = (*hearing.messages, Message("assistant", text))
    else:
        ruling = parse_ruling(turn.text)
        hearing.end(Undecided(ruling.kind, ruling.detail) if isinstance(ruling, Unparsed) else ruling, text)


def _divergences(disputes: Sequence[Dispute], turns: int, sandbox: Sandbox) -> list[Divergence]:
    """The text for the judge about each example: the reference and the largest other groups, with their results."""
    shown = [[one.example.sql, *(group.sql for group in one.ballot.others[:SHOWN])] for one in disputes]
    pairs = [(one.example.database, sql) for one, some in zip(disputes, shown, strict=True) for sql in some]
    results = iter(as_shown(pairs, sandbox))
    return [
        Divergence(
            schema=one.example.shown,
            question=one.example.question,
            sql=one.example.sql,
            result=next(results),
            agreed=one.ballot.votes,
            asked=one.ballot.asked,
            answers=tuple(OtherAnswer(g.sql, next(results), len(g.members)) for g in one.ballot.others[:SHOWN]),
            turns=turns,
            evidence=one.example.evidence,
            dialect=one.example.engine,
        )
        for one in disputes
    ]

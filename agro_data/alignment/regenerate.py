"""The faulty part of a pair made anew: its SQL by candidates, its question or its evidence by a model.

What is made is a proposal. It counts when fresh attempts of the solvers agree with it, in the next cycle.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import cast, get_args

from agro_data.alignment.example import Example
from agro_data.alignment.judge import Dispute
from agro_data.alignment.tournament import Prefer, Tournament, play
from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.llm.client import Client
from agro_data.llm.prompt import Unparsed, ask
from agro_data.llm.types import SAMPLING, Sampling
from agro_data.prompts.judge import Ruling
from agro_data.prompts.write_evidence import WRITE_EVIDENCE, EvidenceWanted
from agro_data.prompts.write_question import WRITE_QUESTION, QuestionStyle, QuestionWanted
from agro_data.verify.check import verify_statements

Asked = Sequence[tuple[Dispute, Ruling]]
Regenerate = Callable[[Asked, int], Sequence[Example | None]]  # (faulty examples, cycle); None: nothing could be made

PARTS = {"gold_wrong": "sql", "question_wrong": "question", "ambiguous": "question", "evidence_wrong": "evidence"}
_PLAIN: QuestionStyle = "interrogative"  # for a style that the prompt does not know


@dataclass
class Regenerator:
    """New SQL is chosen among the judge's and the solvers', in a tournament where there is a `prefer`, else it is what
    the judge holds for right; new questions and evidence are written by `writer`, and not at all without one.

    SQL must pass the checks that every gold passes before its certificate, but for that on reordered rows, which the
    certificate repeats. `tournaments` keeps all that were played.
    """

    sandbox: Sandbox
    prefer: Prefer | None = None
    writer: Client | None = None
    sampling: Sampling = SAMPLING
    tournaments: list[Tournament] = field(default_factory=list)

    def __call__(self, asked: Asked, cycle: int) -> list[Example | None]:
        """Each example with its faulty part made anew, in order."""
        ways = {"sql": self._queries, "question": self._questions, "evidence": self._evidence}
        found: list[Example | None] = [None] * len(asked)
        for part, way in ways.items():
            places = [place for place, (_, ruling) in enumerate(asked) if PARTS.get(ruling.verdict) == part]
            if places:
                for place, made in zip(places, way([asked[place] for place in places], cycle), strict=True):
                    found[place] = made
        return found

    # --- SQL ----------------------------------------------------------------------------------------------------

    def _queries(self, asked: Asked, cycle: int) -> list[Example | None]:
        entries = [(dispute.example, _candidates(dispute, ruling)) for dispute, ruling in asked]
        sound = self._sound(entries)
        kept = [(example, [sql for sql in some if sql in sound[example.example_id]]) for example, some in entries]
        if self.prefer is None:
            chosen = [_first(some, ruling.sql) for (_, some), (_, ruling) in zip(kept, asked, strict=True)]
        else:
            played = play(kept, self.prefer, self.sandbox)
            self.tournaments += played
            chosen = [one.winner for one in played]
        return [
            replace(example, sql=sql, ordered=None, alternatives=(), meaning="") if sql else None
            for (example, _), sql in zip(kept, chosen, strict=True)
        ]

    def _sound(self, entries: Sequence[tuple[Example, Sequence[str]]]) -> dict[str, set[str]]:
        """For each example the candidates that run, are not empty, and do not depend on chance."""
        homes: dict[str, list[tuple[Example, Sequence[str]]]] = defaultdict(list)
        for example, some in entries:
            homes[example.database.content_hash].append((example, some))
        found: dict[str, set[str]] = {example.example_id: set() for example, _ in entries}
        for own in homes.values():
            first = own[0][0]
            statements = list(dict.fromkeys(sql for _, some in own for sql in some))
            verdicts = verify_statements(first.database, first.schema, statements, self.sandbox)
            sound = {sql for sql, verdict in zip(statements, verdicts, strict=True) if verdict.ok}
            for example, some in own:
                found[example.example_id] = sound & set(some)
        return found

    # --- question and evidence ----------------------------------------------------------------------------------

    def _questions(self, asked: Asked, cycle: int) -> list[Example | None]:
        if self.writer is None:
            return [None] * len(asked)
        wanted = [
            QuestionWanted(one.shown, one.sql, one.meaning or one.sql, _style(one.style), "", one.evidence, one.engine)
            for one in (dispute.example for dispute, _ in asked)
        ]
        found = ask(self.writer, WRITE_QUESTION, wanted, self._sampling(cycle), stage="question anew")
        return [
            None
            if isinstance(said.answer, Unparsed)
            else replace(dispute.example, question=said.answer.question, evidence=said.answer.evidence or "")
            for (dispute, _), said in zip(asked, found, strict=True)
        ]

    def _evidence(self, asked: Asked, cycle: int) -> list[Example | None]:
        if self.writer is None:
            return [None] * len(asked)
        wanted = [
            EvidenceWanted(one.shown, one.question, one.sql, one.evidence, ruling.evidence, one.engine)
            for one, ruling in ((dispute.example, ruling) for dispute, ruling in asked)
        ]
        found = ask(self.writer, WRITE_EVIDENCE, wanted, self._sampling(cycle), stage="evidence anew")
        return [
            None if isinstance(said.answer, Unparsed) else replace(dispute.example, evidence=said.answer.evidence)
            for (dispute, _), said in zip(asked, found, strict=True)
        ]

    def _sampling(self, cycle: int) -> Sampling:
        return replace(self.sampling, seed=self.sampling.seed + cycle)


def _candidates(dispute: Dispute, ruling: Ruling) -> list[str]:
    """The SQL that the judge holds for right, then the solvers' other answers, the most frequent first."""
    return list(dict.fromkeys(sql for sql in (ruling.sql, *(one.sql for one in dispute.ballot.others)) if sql))


def _first(sound: Sequence[str], held: str) -> str:
    """The SQL that the judge holds for right, if it is sound; if he names none, the most frequent answer."""
    return held if held in sound else "" if held or not sound else sound[0]


def _style(style: str) -> QuestionStyle:
    return cast(QuestionStyle, style) if style in get_args(QuestionStyle) else _PLAIN

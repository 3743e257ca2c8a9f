"""The prompt that has a referee say whose fault a divergence is: gold, question, evidence, database or predictor."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast, get_args

from agro_data.llm.prompt import Prompt, Unparsed, json_object

Blame = Literal[
    "gold_wrong", "question_wrong", "evidence_wrong", "ambiguous", "predictor_wrong", "database_insufficient"
]
BLAMES: tuple[Blame, ...] = get_args(Blame)
LONGEST = 20_000  # characters of a query, and of the evidence


@dataclass(frozen=True)
class OtherAnswer:
    """A query that gave another result, what it gave, and how many answers gave just that."""

    sql: str
    result: str
    count: int


@dataclass(frozen=True)
class Divergence:
    """`sql` and `result` are the reference's; `agreed` of `asked` answers gave its result, `answers` gave others."""

    schema: str
    question: str
    sql: str
    result: str
    agreed: int
    asked: int
    answers: tuple[OtherAnswer, ...]
    turns: int
    evidence: str = ""
    dialect: str = "SQLite"


@dataclass(frozen=True)
class Ruling:
    """The verdict, its evidence, and the SQL that the referee holds for right, or ""."""

    verdict: Blame
    evidence: str
    sql: str = ""


def parse_ruling(text: str) -> Ruling | Unparsed:
    """The verdict of a solution. Never raises.

    Classes: `empty`, `no_json`, `unwritable`, `not_schema` (no such verdict, or a field of another type),
    `no_evidence`, `too_long`.
    """
    found = json_object(text)
    if isinstance(found, Unparsed):
        return found
    verdict, evidence, sql = found.get("verdict"), found.get("evidence"), found.get("sql")
    if verdict not in BLAMES or not isinstance(evidence, str) or not (sql is None or isinstance(sql, str)):
        said = json.dumps(found)[:100]
        return Unparsed("not_schema", f"expected a verdict ({', '.join(BLAMES)}) and its evidence, got {said}")
    evidence, sql = " ".join(evidence.split()), (sql or "").strip().rstrip(";").rstrip()
    if not any(character.isalnum() for character in evidence):
        return Unparsed("no_evidence", f"{verdict} without a word of evidence")
    if max(len(evidence), len(sql)) > LONGEST:
        return Unparsed("too_long", f"evidence or query has more than {LONGEST} characters")
    return Ruling(cast(Blame, verdict), evidence, sql)


JUDGE = Prompt(Path(__file__).with_name("judge.md"), Divergence, parse_ruling)

"""The prompt that has a question written for a query: said anew in a style, or from the query's meaning alone."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from agro_data.llm.prompt import Prompt, Unparsed, json_object

QuestionStyle = Literal[
    "interrogative",
    "imperative",
    "formal",
    "colloquial",
    "concise",
    "descriptive",
    "vague",
    "metaphorical",
    "multi-turn",
]  # the nine of OmniSQL (2503.02240); `vague` and `metaphorical` carry evidence
QUESTION_STYLES: tuple[QuestionStyle, ...] = get_args(QuestionStyle)
Manner = Literal["polite", "brisk", "manager", "analyst", "newcomer", "chatty"]
MANNERS: tuple[Manner, ...] = get_args(Manner)  # who asks, and how courteously; any style can be asked in any of them
LONGEST = 1_000  # characters of a question, and of its evidence

SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"question": {"type": "string"}, "evidence": {"type": ["string", "null"]}},
    "required": ["question", "evidence"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class QuestionWanted:
    """`schema` is text of `profiling.serialising.serialise`, `meaning` the steps of the query or its intent in words.

    `question` is the grammar's, to be said in other words; empty where there is none, or where it is not to be seen.
    `manner`, if any, is the voice it is asked in.
    """

    schema: str
    sql: str
    meaning: str
    style: QuestionStyle
    question: str = ""
    evidence: str = ""
    dialect: str = "SQLite"
    manner: Manner | Literal[""] = ""


@dataclass(frozen=True)
class WrittenQuestion:
    """A question, and what one must know beside it."""

    question: str
    evidence: str | None


def parse_question(text: str) -> WrittenQuestion | Unparsed:
    """The question of a reply. Never raises.

    Classes: `empty`, `no_json`, `unwritable`, `not_schema` (a field is missing or of another type), `no_question` (it
    is blank or the example's dots), `too_long`.
    """
    found = json_object(text)
    if isinstance(found, Unparsed):
        return found
    question, evidence = found.get("question"), found.get("evidence")
    if not isinstance(question, str) or not (evidence is None or isinstance(evidence, str)):
        return Unparsed("not_schema", f"expected a question and its evidence as texts, got {json.dumps(found)[:100]}")
    question, evidence = " ".join(question.split()), " ".join((evidence or "").split())
    if not any(character.isalnum() for character in question):
        return Unparsed("no_question", f"the question is {question!r}")
    if max(len(question), len(evidence)) > LONGEST:
        return Unparsed("too_long", f"question or evidence has more than {LONGEST} characters")
    return WrittenQuestion(question, evidence or None)


WRITE_QUESTION = Prompt(Path(__file__).with_name("write_question.md"), QuestionWanted, parse_question, SCHEMA)

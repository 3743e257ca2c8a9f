"""Questions: each verified intent said in English, one style each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import polars as pl

from agro_data.diversity.styles import assign_styles
from agro_data.fingerprint import seed_of
from agro_data.intent.questions import STYLES, render_question
from agro_data.intent.tree import from_json
from agro_data.llm.prompts.prompt import Asked, Unparsed
from agro_data.llm.prompts.write_question import QuestionWanted, WrittenQuestion
from agro_data.profiling.profile import DatabaseProfile
from agro_data.profiling.serialise import fit_schema
from agro_data.records import QUESTION, REJECTED, rows
from agro_data.synthesis.writing import BUDGET, DIALECTS

ALIGNMENT = "construction"  # a claim, not a proof, until an independent solver agrees (DESIGN section 3)


WRITTEN = "written"  # by a model that saw the SQL: not even a claim

Write = Callable[[Sequence[QuestionWanted]], Sequence[Asked[WrittenQuestion]]]


def questions(
    verified: pl.DataFrame, profile: DatabaseProfile, seed: int, write: Write | None = None
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """QUESTION rows of one shard, one style per intent, and the intents that could not be said.

    Of SQL that no intent says the question is written by the model behind `write`.
    """
    said: list[dict[str, Any]] = []
    refused: list[dict[str, Any]] = []
    records = assign_styles(verified, STYLES, seed).to_dicts()
    unsaid = [record for record in records if not record["intent"]]
    wanted = [question_wanted(record, profile) for record in unsaid]
    for record, asked in zip(unsaid, write(wanted) if write is not None else (), strict=False):
        if isinstance(asked.answer, Unparsed):
            refused.append(_refused(record, f"unwritten_{asked.answer.kind}", asked.answer.detail))
        else:
            said.append(record | written_columns(asked.answer, record["style"]))
    for record in records:
        if not record["intent"]:
            continue
        own = seed_of(seed, record["candidate_id"])
        try:
            said.append(record | in_style(record, profile, record["style"], own))
        except Exception as error:  # a renderer's fault costs one question, and is listed
            refused.append(_refusal(record, error))
    return rows(said, QUESTION), rows(refused, REJECTED)


def question_wanted(record: dict[str, Any], profile: DatabaseProfile) -> QuestionWanted:
    """What a model is asked for: the tables of the SQL, the SQL, and its steps in words."""
    return QuestionWanted(
        schema=fit_schema(profile, budget=BUDGET, tables=record["tables"]).text,
        sql=record["sql"],
        meaning="\n".join(step["intent"] for step in record["steps"]),
        style=record["style"],
        dialect=DIALECTS[profile.dialect],
    )


def written_columns(written: WrittenQuestion, style: str) -> dict[str, Any]:
    """The question's columns of what a model wrote."""
    return {
        "question": written.question,
        "style": style,
        "evidence": written.evidence,
        "alignment_method": WRITTEN,
        "alignment_score": 0.0,
    }


def in_style(record: dict[str, Any], profile: DatabaseProfile, style: str, seed: int) -> dict[str, Any]:
    """The question's columns for one record and style."""
    question = render_question(from_json(record["intent"]), profile, style, seed)
    return {
        "question": question.text,
        "style": question.style,
        "evidence": question.evidence,
        "alignment_method": ALIGNMENT,
        "alignment_score": 1.0,
    }


def _refusal(record: dict[str, Any], error: Exception) -> dict[str, Any]:
    return _refused(record, "not_said", f"{type(error).__name__}: {error}")


def _refused(record: dict[str, Any], reason: str, detail: str) -> dict[str, Any]:
    return {
        "candidate_id": record["candidate_id"],
        "db_id": record["db_id"],
        "stage": "questions",
        "reason": reason,
        "detail": detail,
        "sql": record["sql"],
        "question": None,
        "shape": record["shape"],
    }

"""Questions: each verified intent said in English, one style each."""

from __future__ import annotations

from typing import Any

import polars as pl

from agro_data.diversity.styles import assign_styles
from agro_data.focus import NO_FOCUS, Focus
from agro_data.hashing import seed_of
from agro_data.intent.questions import STYLES, render_question
from agro_data.intent.questions.naming.other_words import in_other_words
from agro_data.intent.tree import from_json
from agro_data.profiling.profile import DatabaseProfile
from agro_data.records import QUESTION, REJECTED, rejection, rows

ALIGNMENT = "construction"  # a claim, not a proof, until an independent solver agrees (DESIGN section 3)


def questions(
    verified: pl.DataFrame, profile: DatabaseProfile, seed: int, focus: Focus = NO_FOCUS
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """QUESTION rows of one shard, one style per intent, and the intents that could not be said."""
    said: list[dict[str, Any]] = []
    lost: list[dict[str, Any]] = []
    weights = [focus.weight("styles", style) for style in STYLES]
    for record in assign_styles(verified, STYLES, seed, weights).to_dicts():
        own = seed_of(seed, record["candidate_id"])
        try:
            said.append(record | in_style(record, profile, record["style"], own))
        except Exception as error:  # a renderer's fault costs one question, and is listed
            lost.append(not_said(record, error))
    return rows(said, QUESTION), rows(lost, REJECTED)


def in_style(record: dict[str, Any], profile: DatabaseProfile, style: str, seed: int) -> dict[str, Any]:
    """The question's columns for one record and style."""
    intent = from_json(record["intent"])
    question = render_question(intent, in_other_words(profile, intent, seed), style, seed)
    return {
        "question": question.text,
        "style": question.style,
        "evidence": question.evidence,
        "alignment_method": ALIGNMENT,
        "alignment_score": 1.0,
    }


def not_said(record: dict[str, Any], error: Exception) -> dict[str, Any]:
    """The row of `records.REJECTED` for an intent that the grammar could not say."""
    return refused(record, "not_said", f"{type(error).__name__}: {error}")


def refused(record: dict[str, Any], reason: str, detail: str) -> dict[str, Any]:
    """The row of `records.REJECTED` for a query that has no question, or not this one."""
    return rejection(record | {"question": None}, "questions", reason, detail)

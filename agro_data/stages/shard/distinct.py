"""Distinct pairs of one database: cheap duplicates go before anything costly is done."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from agro_data.config import BuildConfig
from agro_data.diversity.decontamination import decontaminate, exclusion
from agro_data.diversity.duplicates import cap_skeletons, drop_exact, drop_same_questions
from agro_data.records import REJECTED

LEAST_CAP = 4  # SQL of one skeleton that a database may always keep


def skeleton_cap(rows_per_database: int) -> int:
    """SQL of one skeleton that a database may keep: more where more is asked, so that a single one can deliver."""
    return max(LEAST_CAP, rows_per_database // 50)


def distinct(frame: pl.DataFrame, config: BuildConfig, cap: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Rows that say something no other row says, at most `cap` of one skeleton, and the others with the reason."""
    exact = drop_exact(frame)
    questions = drop_same_questions(exact.kept)
    capped = cap_skeletons(questions.kept, cap, config.seed)
    steps = [exact, questions, capped]
    kept = capped.kept
    if config.exclude:
        clean = decontaminate(kept, exclusion([Path(path) for path in config.exclude]))
        steps.append(clean)
        kept = clean.kept
    rejected = pl.concat([pl.DataFrame(schema=REJECTED), *(step.rejected for step in steps)])
    return kept, rejected.with_columns(pl.lit("distinct").alias("stage"))

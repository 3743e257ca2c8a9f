"""Distinct pairs of one database: cheap duplicates go before anything costly is done."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from agro_data.config import BuildConfig
from agro_data.diversity.decontamination import decontaminate
from agro_data.diversity.duplicates import cap_skeletons, drop_exact, drop_same_questions
from agro_data.records import REJECTED

LEAST_CAP = 4  # SQL of one skeleton that a database may always keep


def distinct(frame: pl.DataFrame, config: BuildConfig, rows_per_database: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Rows that say something no other row says, and the others with the reason.

    The cap on one skeleton grows with what is asked of a database, so that a single large one can still deliver.
    """
    exact = drop_exact(frame)
    questions = drop_same_questions(exact.kept)
    capped = cap_skeletons(questions.kept, max(LEAST_CAP, rows_per_database // 50), config.seed)
    steps = [exact, questions, capped]
    kept = capped.kept
    if config.exclude:
        clean = decontaminate(kept, [Path(path) for path in config.exclude])
        steps.append(clean)
        kept = clean.kept
    rejected = pl.concat([pl.DataFrame(schema=REJECTED), *(step.rejected for step in steps)])
    return kept, rejected.with_columns(pl.lit("distinct").alias("stage"))

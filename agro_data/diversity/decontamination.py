"""No example that equals, or nearly equals, one that is kept for evaluation."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from pathlib import Path

import polars as pl

from agro_data.diversity.excluded import Excluded, read_excluded
from agro_data.diversity.normal_forms import normal_question, normal_sql
from agro_data.diversity.rejection import Sifted, in_order, sift

GRAM = 8  # tokens; shorter texts are compared whole
QUESTION_SHARE = 0.6  # of a question's 8-grams found in one excluded question
SQL_SHARE = 0.9  # SQL of different meaning shares far more of its wording


def decontaminate(
    frame: pl.DataFrame,
    exclude: Sequence[Path] | Sequence[Excluded],
    *,
    question_share: float = QUESTION_SHARE,
    sql_share: float = SQL_SHARE,
) -> Sifted:
    """Drop rows whose question or SQL is that of a row to exclude, or shares most of its 8-grams.

    `exclude` are files, folders, or rows already read. Reasons are "excluded_question" and "excluded_sql";
    the detail names file and row. SQL is compared without case, quotes and aliases, on whatever database.
    Raises `UnreadableExclusion` for a file that holds neither questions nor SQL. Needs candidate_id, db_id,
    sql and question; a frame without questions is compared by SQL alone.
    """
    rows = [one for one in exclude if isinstance(one, Excluded)]
    rows += read_excluded([one for one in exclude if isinstance(one, Path)])
    questions = _Known([(row, tuple(normal_question(row.question).split())) for row in rows])
    statements = _Known([(row, normal_sql(row.sql)) for row in rows])
    frame = in_order(frame)
    asked = frame["question"].fill_null("").to_list() if "question" in frame.columns else [""] * frame.height
    reasons: list[str | None] = []
    details: list[str | None] = []
    for question, sql in zip(asked, frame["sql"].to_list(), strict=True):
        reason, match = "excluded_question", questions.match(tuple(normal_question(question).split()), question_share)
        if match is None:
            reason, match = "excluded_sql", statements.match(normal_sql(sql), sql_share)
        reasons.append(reason if match else None)
        details.append(match)
    return sift(frame, reasons, details)


class _Known:
    """Token sequences to exclude, found whole or by their n-grams."""

    def __init__(self, sequences: Sequence[tuple[Excluded, tuple[str, ...]]]) -> None:
        self._whole: dict[tuple[str, ...], Excluded] = {}
        self._grams: dict[Hashable, list[int]] = defaultdict(list)
        self._rows: list[Excluded] = []
        for row, words in sequences:
            if words and words not in self._whole:
                self._whole[words] = row
                for gram in _grams(words):
                    self._grams[gram].append(len(self._rows))
                self._rows.append(row)

    def match(self, words: tuple[str, ...], share: float) -> str | None:
        """What `words` equals or nearly equals, in words, or None."""
        same = self._whole.get(words)
        if same is not None:
            return f"equals row {same.row} of {same.source}"
        grams = _grams(words)
        shared = Counter(number for gram in grams for number in self._grams.get(gram, ()))
        if not shared:
            return None
        number, count = min(shared.items(), key=lambda found: (-found[1], found[0]))
        if count < share * len(grams):
            return None
        row = self._rows[number]
        return f"shares {count} of its {len(grams)} {GRAM}-grams with row {row.row} of {row.source}"


def _grams(words: tuple[str, ...]) -> list[tuple[str, ...]]:
    return sorted({words[start : start + GRAM] for start in range(len(words) - GRAM + 1)})

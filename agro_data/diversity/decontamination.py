"""No example that equals, or nearly equals, one that is kept for evaluation."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from functools import lru_cache
from pathlib import Path

import polars as pl

from agro_data.diversity.excluded import Excluded, read_excluded
from agro_data.diversity.normal_forms import normal_question, normal_sql
from agro_data.diversity.rejection import Sifted, in_order, sift

GRAM = 8  # tokens; shorter texts are compared whole
QUESTION_SHARE = 0.6  # of a question's 8-grams found in one excluded question
SQL_SHARE = 0.9  # SQL of different meaning shares far more of its wording


class Exclusion:
    """What a corpus must not hold, in the form in which questions and SQL are compared with it."""

    def __init__(self, rows: Sequence[Excluded]) -> None:
        self._questions = _Known([(row, tuple(normal_question(row.question).split())) for row in rows])
        self._statements = _Known([(row, normal_sql(row.sql)) for row in rows])

    def match(self, question: str, sql: str) -> tuple[str, str] | None:
        """The reason why a pair is excluded, with what it equals or nearly equals; None where it is not."""
        if same := self._questions.match(tuple(normal_question(question).split()), QUESTION_SHARE):
            return "excluded_question", same
        same = self._statements.match(normal_sql(sql), SQL_SHARE)
        return ("excluded_sql", same) if same else None


def exclusion(paths: Sequence[Path]) -> Exclusion:
    """What stands in these files and folders. It is read once, and again where they have changed: each shard asks.

    Raises `UnreadableExclusion` for a file that holds neither questions nor SQL.
    """
    return _exclusion(tuple(paths), tuple(stamp for path in paths for stamp in _stamps(path)))


@lru_cache(maxsize=1)
def _exclusion(paths: tuple[Path, ...], stamps: tuple[tuple[str, int, int], ...]) -> Exclusion:
    return Exclusion(read_excluded(paths))


def _stamps(path: Path) -> list[tuple[str, int, int]]:
    """Name, time of change and size of a file, or of the files in a folder."""
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    found = [(str(file), file.stat()) for file in files if file.exists()]
    return [(name, seen.st_mtime_ns, seen.st_size) for name, seen in found]


def decontaminate(frame: pl.DataFrame, excluded: Exclusion) -> Sifted:
    """Drop rows whose question or SQL is one that is `excluded`, or shares most of its 8-grams.

    Reasons are "excluded_question" and "excluded_sql"; the detail names file and row. SQL is compared without case,
    quotes and aliases, on whatever database. Needs candidate_id, db_id, sql and question; a frame without questions is
    compared by SQL alone.
    """
    frame = in_order(frame)
    asked = frame["question"].fill_null("").to_list() if "question" in frame.columns else [""] * frame.height
    found = [excluded.match(question, sql) or (None, None) for question, sql in zip(asked, frame["sql"], strict=True)]
    return sift(frame, [reason for reason, _ in found], [match for _, match in found])


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

"""Duplicates that text alone shows, dropped before anything costly is done with them.

Frames have at least the columns candidate_id, db_id, sql, skeleton and plausibility of `records.CANDIDATE`.
"""

from __future__ import annotations

from collections import defaultdict

import polars as pl

from agro_data.diversity.normal_forms import literals, normal_question
from agro_data.diversity.rejection import Sifted, in_order, seeded_order, sift


def drop_exact(frame: pl.DataFrame) -> Sifted:
    """Keep the most plausible of the rows with the same canonical SQL in one database (and one style).

    Two statements are the same when their skeletons (canonical text, literals masked) and their literals are.
    """
    frame = in_order(frame)
    styles = frame["style"].to_list() if "style" in frame.columns else [""] * frame.height
    keys = [
        (db_id, skeleton, literals(sql), style)
        for db_id, skeleton, sql, style in zip(frame["db_id"], frame["skeleton"], frame["sql"], styles, strict=True)
    ]
    first: dict[tuple[object, ...], int] = {}
    for row in _by_plausibility(frame):
        first.setdefault(keys[row], row)
    ids = frame["candidate_id"].to_list()
    kept = [first[key] for key in keys]
    return sift(
        frame,
        [None if best == row else "duplicate_sql" for row, best in enumerate(kept)],
        [None if best == row else f"the same SQL as candidate {ids[best]}" for row, best in enumerate(kept)],
    )


def drop_same_questions(frame: pl.DataFrame) -> Sifted:
    """No two rows of one database share a question.

    If all their SQL returns the same result, the most plausible one stays. If results differ, the question has two
    readings, and none stays.
    """
    frame = in_order(frame)
    groups: dict[tuple[str, str], list[int]] = defaultdict(list)
    questions = [normal_question(question) for question in frame["question"]]
    for row in _by_plausibility(frame):
        groups[frame["db_id"][row], questions[row]].append(row)
    digests = frame["result_digest"].to_list() if "result_digest" in frame.columns else frame["sql"].to_list()
    ids = frame["candidate_id"].to_list()
    reasons: list[str | None] = [None] * frame.height
    details: list[str | None] = [None] * frame.height
    for rows in groups.values():
        if len(rows) == 1:
            continue
        agree = len({digests[row] for row in rows}) == 1
        for row in rows[1:] if agree else rows:
            other = rows[0] if row != rows[0] else rows[1]
            reasons[row] = "same_question" if agree else "ambiguous_question"
            differs = "" if agree else " and its result differs"
            details[row] = f"candidate {ids[other]} asks the same{differs}"
    return sift(frame, reasons, details)


def cap_skeletons(frame: pl.DataFrame, at_most: int, seed: int) -> Sifted:
    """Keep at most `at_most` SQL statements of each skeleton in each database, the most plausible first.

    Equal plausibility is decided by `seed`. The styles of one statement stay or go together.
    """
    if at_most < 1:
        raise ValueError(f"at most {at_most} examples a skeleton: expected 1 or more")
    frame = in_order(frame)
    order = seeded_order(frame.select("candidate_id"), seed)
    claim = pl.struct(-pl.col("plausibility"), "seeded_order", "candidate_id")
    ranked = frame.with_columns(order).select(claim.rank("dense").over("db_id", "skeleton"))
    over = (ranked.to_series() > at_most).to_list()
    detail = f"more than {at_most} examples of this skeleton in this database"
    return sift(frame, ["skeleton_cap" if o else None for o in over], [detail if o else None for o in over])


def _by_plausibility(frame: pl.DataFrame) -> list[int]:
    plausibility = frame["plausibility"].to_list()
    return sorted(range(frame.height), key=lambda row: -plausibility[row])

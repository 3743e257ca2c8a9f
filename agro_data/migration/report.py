"""What became of the examples of a version, as rows for programs and as figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from agro_data.migration.drift import Drift
from agro_data.migration.migrate import ExampleFate


def lines(drift: Drift) -> Iterator[dict[str, Any]]:
    """One line for each example: its class, why, and what distinguishes it; `score` is 0 where it is broken, else 1."""
    for fate in drift.fates:
        yield _line(fate)


def _line(fate: ExampleFate) -> dict[str, Any]:
    row, new = fate.row, fate.new
    return {
        "example_id": row["example_id"],
        "db_id": row["db_id"],
        "class": fate.outcome,
        "score": 0.0 if new is None else 1.0,
        "reason": fate.reason,
        "says": fate.says,
        "question": row["question"],
        "sql": row["sql"],
        "now": None if new is None else {name: new[name] for name in ("example_id", "db_id", "question", "sql")},
        "answer": fate.answer,
        "changes": [asdict(change) for change in fate.changes],
    }


def summary(drift: Drift) -> dict[str, Any]:
    """Figures of the whole: examples by class, what broke them, and each database with what changed in it."""
    by_database = Counter((fate.row["db_id"], fate.outcome) for fate in drift.fates)
    reasons = Counter(fate.reason for fate in drift.fates if fate.reason)
    first = {fate.reason: f"{fate.row['example_id']}: {fate.says}" for fate in reversed(drift.fates) if fate.reason}
    counts = drift.counts
    return {
        "version": drift.version.name,
        "examples": len(drift.fates),
        "kept": counts["kept"],
        "repaired": counts["repaired"],
        "broken": counts["broken"],
        "sound": round(drift.sound, 6),
        "other_answers": sum(bool(fate.answer) and fate.new is not None for fate in drift.fates),
        "reasons": [{"reason": name, "examples": n, "first": first[name]} for name, n in reasons.most_common()],
        "databases": [
            {
                "db_id": one.db_id,
                "state": one.state,
                "kept": by_database[one.db_id, "kept"],
                "repaired": by_database[one.db_id, "repaired"],
                "broken": by_database[one.db_id, "broken"],
                "changes": [asdict(change) for change in one.changes],
            }
            for one in drift.databases
        ],
        "problems": list(drift.problems),
    }

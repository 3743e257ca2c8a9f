"""The reward of an export: an answer is right when it is right on the database and on every instance that came along.

The same verifier as the factory's. No model library is needed.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agro_data.config import ConfigError
from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.databases.types import STEPS, Database, Limits
from agro_data.protocol import Malformed, parse_turn
from agro_data.verify.equivalence import Mode
from agro_data.verify.golds import Case, GoldResults, Grade
from agro_data.verify.grade import grade_many


class Grader:
    """Grades answers to the rows of an export in `folder`; gold results are computed once and kept."""

    def __init__(self, folder: Path | str, *, workers: int = 1, limits: Limits | None = None) -> None:
        self.folder = Path(folder)
        place = self.folder / "databases.json"
        if not place.is_file():
            raise ConfigError(f"{place}: not there; give the folder that `agro export` wrote (grpo, verl, verifiers)")
        self._facts: dict[str, dict[str, Any]] = json.loads(place.read_text(encoding="utf-8"))
        self._sandbox = Sandbox(workers, limits or Limits(steps=STEPS))
        self._golds = GoldResults()
        self._lock = threading.Lock()  # `verifiers` grades from many threads, and `GoldResults` is for one

    def grades(self, answers: Sequence[str], rows: Sequence[Mapping[str, Any]], mode: Mode = "strict") -> list[Grade]:
        """One grade for each answer (a turn of the protocol, or SQL alone) to a row of the export."""
        cases = [self._case(solution(text), row) for text, row in zip(answers, rows, strict=True)]
        with self._lock:
            return grade_many(cases, self._sandbox, self._golds, mode, guarded=True)

    def score(self, answer: str, row: Mapping[str, Any]) -> float:
        """1.0 when `answer` is right, else 0.0."""
        return self.grades([answer], [row])[0].score

    def reward(self, completions: Sequence[Any], **columns: Any) -> list[float]:
        """A reward function for TRL's GRPOTrainer on the form `grpo`."""
        rows = [
            dict(zip(columns, values, strict=True)) for values in zip(*_lists(columns, len(completions)), strict=True)
        ]
        texts = [one if isinstance(one, str) else str(one[-1]["content"]) for one in completions]
        return [grade.score for grade in self.grades(texts, rows)]

    def close(self) -> None:
        """End the sandbox's workers."""
        self._sandbox.close()

    def _case(self, sql: str, row: Mapping[str, Any]) -> Case:
        facts = self._facts[row["db_id"]]
        instances = tuple(self._instance(name, row["db_id"], facts) for name in row["instances"])
        source = (self._source(row["db_id"], facts),) if facts["path"] else ()
        return Case(
            row["sql"], sql, (*source, *instances), row["order_matters"], tuple(row["alternatives"]), facts["schema"]
        )

    def _source(self, db_id: str, facts: Mapping[str, Any]) -> Database:
        path = self.folder / facts["path"]
        return Database(db_id, facts["dialect"], facts["layout"], path, facts["content_hash"], facts["path"])

    def _instance(self, name: str, db_id: str, facts: Mapping[str, Any]) -> Database:
        path = self.folder / "instances" / name
        return Database(db_id, facts["dialect"], facts["dialect"], path, f"{self.folder}/{name}", name)


def solution(text: str) -> str:
    """The SQL of an answer: what the last turn's `<solution>` holds, or the text itself where it has no tag at all."""
    turn = parse_turn(text)
    if not isinstance(turn, Malformed):
        return turn.text if turn.action == "solution" else ""
    return text.strip() if turn.kind == "no_tag" else ""


def _lists(columns: Mapping[str, Any], count: int) -> list[Sequence[Any]]:
    """Each column with one value for each row: the trainer also passes arguments that are no columns."""
    return [
        values if isinstance(values, list | tuple) and len(values) == count else [values] * count
        for values in columns.values()
    ]

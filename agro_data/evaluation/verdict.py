"""One verdict for each prediction: the line of the verdict file, and all that the report shows of it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import KW_ONLY, asdict, dataclass
from typing import Any

from agro_data.files import json_lines


@dataclass(frozen=True)
class Verdict:
    """`score` is the first attempt's. `error_class` is "" when it is right, else one of `ERROR_CLASSES`.

    `instance` is the file that told the prediction from the gold, `instances` the number of files tried. With several
    attempts `scores` has the score of each, `voted` the number of the one that the vote by results chose, and `votes`
    what each weighed there, if not all the same.
    """

    place: str
    db_id: str
    question: str
    _: KW_ONLY
    gold: str
    pred: str
    score: float
    reason: str = ""
    error_class: str = ""
    instance: str = ""
    instances: int = 0
    hardness: str = ""
    constructs: tuple[str, ...] = ()
    scores: tuple[float, ...] = ()
    voted: int | None = None
    votes: tuple[int, ...] = ()

    @property
    def voted_score(self) -> float:
        """The score of the attempt with which most attempts agree."""
        return self.scores[self.voted] if self.voted is not None else self.score

    def as_dict(self) -> dict[str, Any]:
        found = asdict(self)
        if len(self.scores) <= 1:
            del found["scores"], found["voted"]
        if not self.votes:
            del found["votes"]
        return found


def lines(verdicts: Iterable[Verdict]) -> str:
    """JSONL, a verdict a line, in the order given."""
    return json_lines(verdict.as_dict() for verdict in verdicts)


def read_lines(text: str) -> tuple[Verdict, ...]:
    """The verdicts that `lines` wrote. Raises `ValueError` that names the line."""
    found: list[Verdict] = []
    # Not splitlines: a JSON text may hold U+2028 and its like, which are no ends of lines there.
    for number, line in enumerate(text.split("\n"), 1):
        if not line:
            continue
        try:
            found.append(_read(json.loads(line)))
        except (ValueError, TypeError, RecursionError) as error:
            raise ValueError(f"line {number}: {error}") from error
    return tuple(found)


def _read(one: Any) -> Verdict:
    if not isinstance(one, dict) or not isinstance(one.get("score"), int | float):
        raise ValueError("expected an object with the fields of a verdict, its score a number")
    listed = {"constructs", "scores", "votes"}
    fields: dict[str, Any] = {name: tuple(value) if name in listed else value for name, value in one.items()}
    return Verdict(**fields)

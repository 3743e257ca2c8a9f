"""How often a model asks back, where it should and where it should not.

A model that never answers wrongly because it seldom answers is of little use: false abstention is what that costs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from agro_data.protocol import Malformed, parse_transcript
from agro_data.publish.summary import UNANSWERABLE_KIND
from agro_data.records import EXAMPLE
from agro_train.answers import Answer
from agro_train.clarifying import points_at, points_of
from agro_train.questions import Questions

_NEEDED = ("answerable", "hidden", "readings")


def abstention(questions: Questions, answers: Sequence[Answer]) -> dict[str, Any]:
    """Counts, and shares between 0 and 1 of the chosen attempts, in the order of the questions.

    `false_abstention` counts answerable questions that were asked back. Over the others, `abstention` counts questions
    asked back, and `named` those whose clarification names what is missing or meant; both also by kind. A share of
    nothing is None.
    """
    frame = pl.DataFrame(
        [{name: row[name] for name in _NEEDED} for row in questions.rows],
        schema={name: EXAMPLE[name] for name in _NEEDED},
    )
    kinds = frame.select(kind=UNANSWERABLE_KIND)["kind"].to_list()
    back = [answer.outcomes[0] == "clarified" for answer in answers]
    named = [
        asked and points_at(_said(answer), row["question"], _points(questions, row))
        for asked, answer, row in zip(back, answers, questions.rows, strict=True)
    ]
    others = [place for place, kind in enumerate(kinds) if kind is not None]
    plain = [place for place, kind in enumerate(kinds) if kind is None]

    def of(places: Sequence[int]) -> dict[str, Any]:
        return {"abstention": _share(back, places), "named": _share(named, places)}

    by_kind = {kind: [place for place in others if kinds[place] == kind] for kind in sorted(set(filter(None, kinds)))}
    return {
        "answerable": len(plain),
        "false_abstention": _share(back, plain),
        "unanswerable": len(others),
        **of(others),
        "kinds": {kind: {"count": len(places), **of(places)} for kind, places in by_kind.items()},
    }


def _points(questions: Questions, row: Mapping[str, Any]) -> tuple[tuple[str, ...], ...]:
    return points_of(row, questions.sources[row["db_id"]].profile)


def _said(answer: Answer) -> str:
    steps = parse_transcript(answer.transcripts[0], most=max(1, answer.turns[0]))
    return "" if isinstance(steps, Malformed) else steps[-1].turn.text


def _share(counted: Sequence[bool], places: Sequence[int]) -> float | None:
    return sum(counted[place] for place in places) / len(places) if places else None

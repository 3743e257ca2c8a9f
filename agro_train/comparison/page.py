"""An evaluation of models as one HTML page: figures side by side, and every question with what each model did."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from agro_data.pages import packed, templates

if TYPE_CHECKING:
    from agro_train.comparison.figures import Compared
    from agro_train.comparison.scoring import Scored


def render_page(compared: Sequence[Compared], title: str) -> str:
    """The page as HTML text; it opens from a disk without a network."""
    return (
        templates("agro_train")
        .get_template("comparison.html.j2")
        .render(
            title=title,
            sets=[{**one.figures, "groups": _groups(one)} for one in compared],
            data=packed([row for one in compared for row in _rows(one)]),
        )
    )


def _groups(one: Compared) -> list[dict[str, Any]]:
    """Scores by hardness and by database, under `strict`; none where no question has an answer."""
    if not one.models[0].by_metric:
        return []
    found = []
    for heading, key in (("hardness", "hardness"), ("database", "databases")):
        by_model = [{group["name"]: group for group in model.by_metric["strict"].summary[key]} for model in one.models]
        names = [group["name"] for group in one.models[0].by_metric["strict"].summary[key]]
        lines = [
            {
                "name": name,
                "count": by_model[0][name]["predictions"],
                "scores": [groups[name]["mean"] for groups in by_model],
            }
            for name in names
        ]
        found.append({"heading": heading, "lines": lines})
    return found


def _rows(one: Compared) -> list[dict[str, Any]]:
    """What the page's script lists: a question with the attempts of each model."""
    return [
        {
            "set": one.questions.name,
            "place": row["place"],
            "db": row["db_id"],
            "question": row["question"],
            "gold": row["sql"],
            "hardness": one.models[0].verdicts("strict")[place].hardness,
            "models": [_did(model, place) for model in one.models],
        }
        for place, row in enumerate(one.questions.rows)
    ]


def _did(model: Scored, place: int) -> dict[str, Any]:
    answer, verdict = model.answers[place], model.verdicts("strict")[place]
    return {
        "model": model.model,
        "scores": {metric: model.verdicts(metric)[place].score for metric in model.by_metric},
        "class": verdict.error_class,
        "reason": verdict.reason,
        "outcome": answer.outcomes[0],
        "pred": answer.predictions[0],
        "transcript": answer.transcripts[0],
        "attempts": len(answer.predictions),
        "against": [one.says for one in model.findings[place]] if model.findings else [],
    }

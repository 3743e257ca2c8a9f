"""An evaluation as one HTML page that opens from a disk without a network."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agro_data.evaluation.evaluate import Evaluation
from agro_data.evaluation.metrics import METRICS
from agro_data.pages import packed, templates
from agro_data.verify.failures import ERROR_CLASSES


def render_report(found: Evaluation, name: str) -> str:
    """The page: averages with intervals, scores by group, and every verdict, to be filtered and searched."""
    return (
        templates("agro_data.evaluation")
        .get_template("evaluation.html.j2")
        .render(
            title=f"{found.metric} of {name}",
            metric=METRICS[found.metric],
            figures=found.summary,
            averages=list(_averages(found.summary)),
            groups=[(heading, found.summary[heading]) for heading in ("hardness", "databases", "constructs")],
            classes=[one for one in ERROR_CLASSES if one in found.summary["error_classes"]],
            problems=found.problems,
            notes=found.notes,
            data=packed([verdict.as_dict() for verdict in found.verdicts]),
        )
    )


def _averages(figures: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    yield "over predictions", figures["score"]
    yield "the same, interval from drawing databases", figures["interval_drawing_databases"]
    yield "the same, interval from drawing golds", figures["interval_drawing_golds"]
    yield "mean of the databases' scores", figures["score_by_database"]
    yield "mean of the distinct golds' scores", figures["score_by_gold"]
    if "attempts" in figures:
        for k, one in figures["attempts"]["pass_at"].items():
            yield f"pass@{k}", one
        yield "majority vote by result", figures["attempts"]["majority"]

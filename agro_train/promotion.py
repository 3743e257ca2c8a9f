"""Which model answers: a new one takes the place of the incumbent only when it is shown not to be worse.

The conservative gate of StepMix (2306.06265), carried over to models: the lower confidence bound of the paired gain
must not be below zero.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from agro_data.evaluation.statistics import LEVEL, paired
from agro_data.evaluation.verdict import Verdict, read_lines
from agro_data.files import write_json
from agro_train.agents.choosing import slug
from agro_train.runs.store import PROMOTED, ModelRun, NoRun, find_run, promote

RECORD = "promotion.json"


@dataclass(frozen=True, kw_only=True)
class Decision:
    """`gain` is the challenger's mean score less the other's, on the same rows; `low` and `high` bound it (95 %).

    The widest of three intervals counts: from drawing databases, from drawing rows, and the exact one. With a single
    database the first does not exist, and if few answers differ the second is too narrow. `against` names the model
    that it was compared with.
    """

    promoted: bool
    challenger: str
    against: str
    metric: str
    rows: int
    databases: int
    gain: float
    low: float
    high: float
    reason: str

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def decide(
    challenger: Sequence[Verdict],
    other: Sequence[Verdict],
    *,
    names: tuple[str, str] = ("challenger", "incumbent"),
    metric: str = "strict",
    first: bool = False,
) -> Decision:
    """Whether the challenger takes the other's place, by verdicts on the same rows in the same order.

    `first`: there is no incumbent, and the other is the challenger's base, which it has to beat: the gain must be
    above zero, and its lower bound not below, by drawing alone, unless nothing was lost. It takes nobody's place, so
    that a few right answers of one whose base has none are enough. Raises `ValueError` when there are no rows, or not
    the same.
    """
    if not challenger:
        raise ValueError("no verdicts: a model is promoted by what it scores on questions")
    found = paired(challenger, other)
    by_row = found["gain_drawing_rows"]
    told = [one for one in (found["gain"], by_row) if one["low"] is not None]
    low = min((one["low"] for one in told), default=-1.0)
    high = max((one["high"] for one in told), default=1.0)
    if not first:
        least, most = exact_bounds(found["won"], found["lost"], len(challenger))
        low, high = min(low, least), max(high, most)
    gain = by_row["mean"]
    promoted = gain > 0 and (low >= 0 or (first and not found["lost"]))
    differ = found["won"] + found["lost"]
    bound = (
        f"gain {gain:+.1%}, between {low:+.1%} and {high:+.1%} at 95 %, {differ} of {len(challenger)} answers differ"
    )
    if promoted and low < 0:
        reason = f"{names[0]} is the first, and has lost nothing to {names[1]}, which it was trained from: {bound}"
    elif promoted:
        reason = f"{names[0]} takes the place of {names[1]}: {bound}"
    elif first and gain <= 0:
        reason = f"{names[0]} does not beat {names[1]}, which it was trained from: {bound}"
    else:
        reason = f"{names[0]} is not shown to be better than {names[1]}: {bound}; the lower bound is below zero"
    return Decision(
        promoted=promoted,
        challenger=names[0],
        against=names[1],
        metric=metric,
        rows=len(challenger),
        databases=len({verdict.db_id for verdict in challenger}),
        gain=gain,
        low=low,
        high=high,
        reason=reason,
    )


def exact_bounds(won: int, lost: int, rows: int) -> tuple[float, float]:
    """Bounds of a paired gain, 95 %, that hold however few rows differ: drawing rows again cannot show a loss that no
    row happens to have.

    The share won among the rows that differ has Clopper and Pearson's bounds. If no row differs, the bound is the share
    of differing rows that would stay unseen once in forty.
    """
    if not won + lost:
        unseen = 1 - ((1 - LEVEL) / 2) ** (1 / rows)
        return -unseen, unseen
    from scipy.stats import binomtest  # noqa: PLC0415 (takes a second, and only a verdict needs it)

    share = binomtest(won, won + lost).proportion_ci(LEVEL, "exact")
    low, high = ((2 * float(end) - 1) * (won + lost) / rows for end in (share.low, share.high))
    return low, high


def carry_out(decision: Decision, run: ModelRun, models: Path) -> None:
    """Write the decision beside the models and, where it says so, make `run` the promoted one."""
    write_json(models / RECORD, {**decision.as_dict(), "run": run.name})
    if decision.promoted:
        promote(models, run)


def metric_of(metrics: Sequence[str]) -> str:
    """What counts of the metrics of a set of questions: being right on all instances, where it has them."""
    return "strict-ts" if "strict-ts" in metrics else "strict"


def consider(evaluation: Path, challengers: Sequence[ModelRun], models: Path) -> list[Decision]:
    """Let each run in turn challenge the promoted model, or its base while there is none, by a folder of `evaluate`.

    What counts is the first set of questions, and of its metrics `metric_of`. An incumbent that was not evaluated
    cannot be beaten, and stays. Decisions are carried out in `models`.
    """
    figured = json.loads((evaluation / "summary.json").read_text(encoding="utf-8"))["sets"][0]
    names = [one["model"] for one in figured["models"]]
    metric = metric_of(figured["metrics"])

    def verdicts(name: str) -> tuple[Verdict, ...]:
        file = evaluation / slug(figured["questions"]) / slug(name) / f"{metric}.jsonl"
        return read_lines(file.read_text(encoding="utf-8"))

    decisions: list[Decision] = []
    for run in challengers:
        incumbent = now.name if (now := promoted(models)) else None
        if run.name not in names or run.name == incumbent:
            continue
        other = incumbent or _base_of(run, names)
        if other not in names:
            which = f"{other} stays: it" if incumbent else f"{other}, which {run.name} was trained from,"
            reason = f"{which} was not evaluated on {figured['questions']}, so {run.name} cannot beat it"
            decisions.append(_unasked(run.name, other, metric, reason))
            continue
        decision = decide(
            verdicts(run.name), verdicts(other), names=(run.name, other), metric=metric, first=incumbent is None
        )
        carry_out(decision, run, models)
        decisions.append(decision)
    return decisions


def _unasked(challenger: str, against: str, metric: str, reason: str) -> Decision:
    """The decision where there are no rows to compare on."""
    return Decision(
        promoted=False,
        challenger=challenger,
        against=against,
        metric=metric,
        rows=0,
        databases=0,
        gain=0.0,
        low=0.0,
        high=0.0,
        reason=reason,
    )


def _base_of(run: ModelRun, names: Sequence[str]) -> str:
    """What a run was trained from in the end, as it was evaluated (a folder by its own name), else its parent; the
    base's name where neither was."""
    base, parent = run.base_model, run.manifest["parent"]
    return next((name for name in (base, Path(base).name, parent) if name in names), base)


def promoted(models: Path) -> ModelRun | None:
    """The promoted run, if there is one."""
    try:
        return find_run(models, PROMOTED)
    except NoRun:
        return None

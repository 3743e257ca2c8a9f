"""The next build's focus, of an evaluation and the version whose model was evaluated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from agro_data.config import ConfigError
from agro_data.evaluation.metrics import METRICS
from agro_data.focus import ARMS, FACETS, FORMAT
from agro_data.publish.read import Version
from agro_data.rounds.evidence import occurrences, verdicts_of
from agro_data.rounds.shifting import arm_shares, failure_weights
from agro_data.sql.difficulty import COMPLEXITY

TEST = "test "  # so begins the place of a question of the test split

Row = dict[str, Any]


@dataclass(frozen=True)
class Round:
    """What the next build is given. `weights` and `shares` are rows for people, with the counts behind each number:
    {facet, value, asked, failed, weight} and {arm, name, requests, certified, share}.
    """

    of: Row
    weights: tuple[Row, ...]
    shares: tuple[Row, ...]
    notes: tuple[str, ...]

    def to_dict(self) -> Row:
        """As `focus.read_focus` reads it."""
        weights = _nested(self.weights, "facet", "value", "weight", FACETS)
        arms = _nested(self.shares, "arm", "name", "share", ARMS)
        return {"format": FORMAT, "of": self.of, "weights": weights, "arms": arms}


def next_round(evaluation: Path | str, version: Version, metric: str = "") -> Round:
    """Weights by where the questions of `evaluation` failed, shares by what the version's requests to a model gave.

    `evaluation` is a file of verdicts or a folder with one. Raises `ConfigError` when there are none to go by, or none
    is of a question of `version`.
    """
    path, verdicts = verdicts_of(Path(evaluation), metric)
    counted, own = occurrences(verdicts, version)
    if not own:
        raise ConfigError(
            f"{path}: none of its {len(verdicts):,} questions is of {version.corpus} {version.name}; give an "
            "evaluation on that version's questions, or the version that they are of"
        )
    failed = sum(1 - one.score for one in verdicts)
    of = {
        "corpus": version.corpus,
        "version": version.name,
        "metric": path.stem if path.stem in METRICS else "",
        "questions": len(verdicts),
        "failed": round(failed, 6),
    }
    notes = []
    if own < len(verdicts):
        notes.append(
            f"{len(verdicts) - own:,} of {len(verdicts):,} questions are not of {version.name}: of these neither style "
            "nor columns are known"
        )
    if any(one.place.startswith(TEST) for one in verdicts):
        notes.append(
            "these are questions of the test split: what is steered by them is no longer measured by them; evaluate "
            "with --split validation to keep them"
        )
    shares = tuple(shares_of(version.manifest.get("yields", [])))
    if not shares:
        notes.append("no model was asked for SQL or questions of this version: there are no arms to share among")
    return Round(of, tuple(weights_of(counted)), shares, tuple(notes))


def weights_of(counted: pl.DataFrame) -> Iterable[Row]:
    """A row for each value of each facet. `counted` has rows of `evidence.OCCURRENCES`."""
    for (facet,), rows in counted.group_by("facet", maintain_order=True):
        asked = dict(rows.select("value", "asked").iter_rows())
        failed = dict(rows.select("value", "failed").iter_rows())
        for value, weight in failure_weights(asked, failed).items():
            yield {
                "facet": str(facet),
                "value": value,
                "asked": round(asked[value]),
                "failed": round(failed[value], 2),
                "weight": round(weight, 4),
            }


def shares_of(yields: Sequence[Mapping[str, Any]]) -> Iterable[Row]:
    """A row for each arm that had a choice. `yields` come from a manifest (`stages.yields`)."""
    for kind in ARMS:
        asked: Counter[str] = Counter()
        kept: Counter[str] = Counter()
        for one in yields:
            name = _arms_of(one).get(kind)
            if name:
                asked[name] += one["requests"]
                kept[name] += one["certified"]
        found = arm_shares(asked, kept)
        for name, share in found.items() if len(found) > 1 else ():
            yield {
                "arm": kind,
                "name": name,
                "requests": asked[name],
                "certified": kept[name],
                "share": round(share, 4),
            }


def _arms_of(one: Mapping[str, Any]) -> dict[str, str]:
    """The arms that a row of yields counts for, by kind: `llm:simple` for the model, its prompt, the complexity."""
    if one["stage"] == "questions":
        return {"style": one["arm"]}
    maker, _, told = str(one["arm"]).partition(":")
    if not told:
        return {"model": maker}
    fresh = told in COMPLEXITY
    asked = {"prompt": "write_query", "complexity": told} if fresh else {"prompt": "vary_query", "variation": told}
    return {"model": maker, "domain": one["db_id"], **asked}


def _nested(rows: Iterable[Row], outer: str, inner: str, number: str, order: Sequence[str]) -> dict[str, Any]:
    found: dict[str, dict[str, float]] = {}
    for row in rows:
        found.setdefault(row[outer], {})[row[inner]] = row[number]
    return {name: found[name] for name in order if name in found}

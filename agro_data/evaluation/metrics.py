"""The metrics by name: which comparison each uses, and what it is compared on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from agro_data.verify.equivalence import Mode

Kind = Literal["execution", "exact", "soft-f1", "r-ves"]


@dataclass(frozen=True)
class Metric:
    """`suite`: graded on all instances of the database, else on the database alone. `best` is the highest score."""

    name: str
    kind: Kind
    mode: Mode
    suite: bool
    what: str
    best: float = 1.0


METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric("strict", "execution", "strict", False, "rows as a multiset, in order iff the gold orders"),
        Metric("strict-ts", "execution", "strict", True, "strict, on every instance"),
        Metric("intent-ts", "execution", "intent", True, "what the question asks; further columns allowed; instances"),
        Metric("spider-ex", "execution", "spider", False, "Spider's official execution match"),
        Metric("spider-ts", "execution", "spider", True, "Spider's official test-suite match"),
        Metric("spider-em", "exact", "spider", False, "Spider's official exact set match, by components"),
        Metric("bird-ex", "execution", "bird", False, "BIRD's official execution accuracy"),
        Metric("soft-f1", "soft-f1", "bird", False, "BIRD mini-dev's soft F1"),
        Metric("r-ves", "r-ves", "bird", False, "BIRD's reward-based efficiency; up to 1.12", 1.25**0.5),
    )
}
DEFAULT = "strict"

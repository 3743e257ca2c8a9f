"""What asking models took, stage by stage: requests, failures, tokens, and money by given prices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import polars as pl

from agro_data.llm.types import NOTHING, Completion, Usage

SPENDING = pl.Schema(
    {
        "stage": pl.String,
        "requests": pl.Int64,
        "answered": pl.Int64,
        "failed": pl.Int64,
        "cached": pl.Int64,
        "sent": pl.Int64,
        "tokens_read": pl.Int64,
        "tokens_written": pl.Int64,
        "tokens_paid_read": pl.Int64,
        "tokens_paid_written": pl.Int64,
        "tokens_estimated": pl.Boolean,
        "cost": pl.Float64,
        "cost_paid": pl.Float64,
    }
)


@dataclass(frozen=True)
class Prices:
    """Per million tokens, in any one currency: read, and written. A model of one's own costs nothing a token."""

    read: float = 0.0
    written: float = 0.0

    def __post_init__(self) -> None:
        if self.read < 0 or self.written < 0:
            raise ValueError(f"prices per million tokens are {self.read} and {self.written}: none is below 0")

    def of(self, usage: Usage) -> float:
        """The price of so many tokens."""
        return (usage.read * self.read + usage.written * self.written) / 1_000_000


FREE = Prices()


@dataclass(frozen=True)
class Spending:
    """Sums over completions; `+` adds the sums of shards and runs.

    `used` are the tokens of all answers, whoever paid for them and when: the same however often a run was interrupted.
    `paid` counts only answers that were made now. What a server wrote into a reply that was lost is not known to us.
    `sent` counts tries, and with `requests - cached` tells how often something was asked again.
    """

    requests: int = 0
    cached: int = 0
    sent: int = 0
    used: Usage = NOTHING
    paid: Usage = NOTHING
    failures: Mapping[str, int] = field(default_factory=dict)

    @property
    def failed(self) -> int:
        """Requests without an answer."""
        return sum(self.failures.values())

    @property
    def unanswered(self) -> int:
        """Requests that another run may have an answer to: those that failed and were not refused."""
        return self.failed - self.failures.get("refused", 0)

    @property
    def taken_over(self) -> Spending:
        """The same of one who has been given the answers: nothing was sent, and nothing is paid."""
        return replace(self, cached=self.requests - self.failed, sent=0, paid=NOTHING)

    def __add__(self, other: Spending) -> Spending:
        return Spending(
            self.requests + other.requests,
            self.cached + other.cached,
            self.sent + other.sent,
            self.used + other.used,
            self.paid + other.paid,
            dict(sorted((Counter(self.failures) + Counter(other.failures)).items())),
        )

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Spending:
        """From its fields as JSON has them."""
        return cls(**{**stored, "used": Usage(**stored["used"]), "paid": Usage(**stored["paid"])})

    def to_dict(self, prices: Prices) -> dict[str, Any]:
        """JSON-ready, for manifests."""
        return asdict(self) | {"failed": self.failed, "cost": prices.of(self.used), "cost_paid": prices.of(self.paid)}


def spent_on(completions: Iterable[Completion]) -> Spending:
    """What these took together."""
    found = list(completions)
    fresh = [one for one in found if not one.cached]
    return Spending(
        requests=len(found),
        cached=len(found) - len(fresh),
        sent=sum(one.tries for one in fresh),
        used=sum((one.usage for one in found), NOTHING),
        paid=sum((one.usage for one in fresh), NOTHING),
        failures=dict(sorted(Counter(one.failure.kind for one in found if one.failure).items())),
    )


def spending_table(stages: Mapping[str, Spending], prices: Prices) -> pl.DataFrame:
    """One row of `SPENDING` a stage, for the UI and the report."""
    rows = [
        {
            "stage": stage,
            "requests": one.requests,
            "answered": one.requests - one.failed,
            "failed": one.failed,
            "cached": one.cached,
            "sent": one.sent,
            "tokens_read": one.used.read,
            "tokens_written": one.used.written,
            "tokens_paid_read": one.paid.read,
            "tokens_paid_written": one.paid.written,
            "tokens_estimated": one.used.estimated,
            "cost": prices.of(one.used),
            "cost_paid": prices.of(one.paid),
        }
        for stage, one in stages.items()
    ]
    return pl.DataFrame(rows, schema=SPENDING, orient="row")

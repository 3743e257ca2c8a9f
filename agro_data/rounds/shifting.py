"""Counts into weights and shares: the posterior mean of a rate, shrunk towards the overall rate, above a floor.

A round allots a whole build at once and learns nothing while it is spent. Thompson sampling draws at random so that it
goes on trying; here the floor does that, and the same evidence gives the same build. Deciding by verified yield comes
from portfolio ensembling (2406.03652); requests are shared in proportion to it and do not all go to the best arm, since
each brings what the others do not.
"""

from __future__ import annotations

from collections.abc import Mapping

from agro_data.config import ConfigError

STRENGTH = 20.0  # questions, or requests, that the rate of all counts for beside a value's own
FLOOR = 0.25  # of the weight that a value has without a round before, and of the shares, that nothing takes away


def posterior_means(tried: Mapping[str, float], hits: Mapping[str, float], strength: float) -> dict[str, float]:
    """The rate of hits of each value, as if `strength` further trials of it had gone as all did on average."""
    known = {name: number for name, number in tried.items() if number > 0}
    rate = sum(hits.get(name, 0.0) for name in known) / max(sum(known.values()), 1e-12)
    return {name: (hits.get(name, 0.0) + strength * rate) / (number + strength) for name, number in known.items()}


def failure_weights(asked: Mapping[str, float], failed: Mapping[str, float]) -> dict[str, float]:
    """A weight for each value: more where more of what was asked of it failed.

    Their mean over all that was asked is 1, so that what one value wins others lose; none is below `FLOOR`. Where
    nothing failed, all are 1.
    """
    checked(asked, failed, "failures", "questions")
    means = posterior_means(asked, failed, STRENGTH)
    whole = sum(asked[name] * mean for name, mean in means.items())
    if whole <= 0:
        return dict.fromkeys(means, 1.0)
    scale = sum(asked[name] for name in means) / whole
    return {name: FLOOR + (1 - FLOOR) * mean * scale for name, mean in means.items()}


def arm_shares(
    asked: Mapping[str, float], kept: Mapping[str, float], *, strength: float = STRENGTH
) -> dict[str, float]:
    """A share of the requests for each arm, in proportion to the rows kept of a request; they sum to 1.

    `FLOOR` of all is shared evenly whatever came of it. Where nothing was kept, all is. `strength` is in requests.
    """
    checked(asked, kept, "kept rows", "requests", at_most=False)
    means = posterior_means(asked, kept, strength)
    whole = sum(means.values())
    even = 1 / max(len(means), 1)
    return {name: FLOOR * even + (1 - FLOOR) * (mean / whole if whole > 0 else even) for name, mean in means.items()}


def checked(tried: Mapping[str, float], hits: Mapping[str, float], what: str, of: str, *, at_most: bool = True) -> None:
    """Raises `ConfigError` for counts that cannot be."""
    for name, number in hits.items():
        if number < 0 or tried.get(name, 0.0) <= 0 < number or (at_most and number > tried.get(name, 0.0) + 1e-9):
            raise ConfigError(f"{name}: {number:g} {what} of {tried.get(name, 0.0):g} {of} cannot be")

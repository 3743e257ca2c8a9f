"""Which of several attempts at one question most of them agree with, by what their SQL gives."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from math import inf

Given = tuple[str, str]  # digests of a result: of its rows in any order, and in the order in which they came
SOME, OTHER = ("some", ""), ("other", "")  # results that no attempt has given


def elected(results: Sequence[Given | None], votes: Iterable[int], likelihoods: Sequence[float] = ()) -> int | None:
    """The place of the chosen attempt; None if all fail. Failed attempts vote for nothing.

    The rows with the most votes win. Among the orders in which these rows came, the one with the most votes wins: a
    question may ask for an order, and attempts without it should not count against it. Between equals the one whose
    likeliest attempt is likelier wins (`likelihoods` of the attempts), then the earlier. (2502.06233 uses confidence as
    a weight; used only to break ties, it keeps votes whole numbers.)
    """
    rows, orders = Counter[str](), Counter[Given]()
    best: dict[str | Given, float] = defaultdict(lambda: -inf)
    for given, weight, likelihood in zip(results, votes, likelihoods or [0.0] * len(results), strict=True):
        if given is not None:
            rows[given[0]] += weight
            orders[given] += weight
            best[given[0]] = max(best[given[0]], likelihood)
            best[given] = max(best[given], likelihood)
    if not rows:
        return None
    winner = max(rows, key=lambda one: (rows[one], best[one]))
    ordered = [one for one in orders if one[0] == winner]
    return results.index(max(ordered, key=lambda one: (orders[one], best[one])))


def leads(results: Sequence[Given | None], votes: Iterable[int]) -> bool:
    """Whether some rows, in whatever order they came, have more votes than any others."""
    rows = Counter[str]()
    for given, weight in zip(results, votes, strict=True):
        if given is not None:
            rows[given[0]] += weight
    most, next_most = [*sorted(rows.values(), reverse=True), 0, 0][:2]
    return most > next_most


def undecided(results: Sequence[Given | None], left: int, likelihoods: Sequence[float] = ()) -> int:
    """The least number of further attempts after which the winner of the full vote can be known; 0 if it is known
    already. `left` attempts, with a vote each, have not been asked yet.

    Asking so many, and then calling this again, elects the same answer as asking all (early-stopping self-consistency,
    2401.10480, stops when a window agrees, which may elect another).
    """
    likely = likelihoods or [0.0] * len(results)
    place = elected(results, [1] * len(results), likely)
    leader = SOME if place is None else results[place]
    return next(
        more for more in range(left + 1) if _known([*results, *[leader] * more], [*likely, *[-inf] * more], left - more)
    )


def _known(results: Sequence[Given | None], likelihoods: Sequence[float], left: int) -> bool:
    """Whether all the votes that are left, for whichever rival and however likely, would change nothing."""
    votes = [1] * len(results)
    place = elected(results, votes, likelihoods)
    rivals = {OTHER, *(given for given in results if given is not None)}
    return not left or (
        place is not None
        and all(elected([*results, rival], [*votes, left], [*likelihoods, inf]) == place for rival in rivals)
    )

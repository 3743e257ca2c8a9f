"""Which of several attempts at one question most of them agree with, by what their SQL gives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

Given = tuple[str, str]  # digests of a result: of its rows in any order, and in the order in which they came
SOME, OTHER = ("some", ""), ("other", "")  # results that no attempt has given


def elected(results: Sequence[Given | None], votes: Iterable[int]) -> int | None:
    """The place of the chosen attempt; None where all fail, which vote for nothing.

    The rows with the most votes win, then of the orders in which they came the one with the most: a question may ask
    for an order, and attempts that leave it out are no reason to. Of equals the earlier wins.
    """
    rows, orders = Counter[str](), Counter[Given]()
    for given, weight in zip(results, votes, strict=True):
        if given is not None:
            rows[given[0]] += weight
            orders[given] += weight
    if not rows:
        return None
    [(winner, _)] = rows.most_common(1)
    return results.index(max((one for one in orders if one[0] == winner), key=orders.__getitem__))


def undecided(results: Sequence[Given | None], left: int) -> int:
    """Of `left` attempts that have yet to be asked, a vote each: how many it takes at the least to know whom all of
    them would elect. 0 when it is known.

    Asking so many, and so on, elects who is elected by all (early-stopping self-consistency, 2401.10480, stops where a
    window agrees, which may elect another).
    """
    place = elected(results, [1] * len(results))
    leader = SOME if place is None else results[place]
    return next(more for more in range(left + 1) if _known([*results, *[leader] * more], left - more))


def _known(results: Sequence[Given | None], left: int) -> bool:
    """Whether all the votes that are left, for whichever rival, would change nothing."""
    votes = [1] * len(results)
    place = elected(results, votes)
    rivals = {OTHER, *(given for given in results if given is not None)}
    return not left or (
        place is not None and all(elected([*results, rival], [*votes, left]) == place for rival in rivals)
    )

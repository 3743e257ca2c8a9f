"""Which of several attempts at one question most of them agree with, by what their SQL gives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

Given = tuple[str, str]  # digests of a result: of its rows in any order, and in the order in which they came


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

"""The expected effect of a k-of-n loop: the share of faults that it finds, and the share of good rows that it loses.

In a cycle `asked` = n independent answers are given. Each is answer j with chance q_j; different j give different
results, and with the remaining chance an answer gives nothing. `need` = k of the answers must be the same, with 2k > n,
so that at most one answer wins a cycle:

    w_j = P(Binomial(n, q_j) >= k)

The loop with the judge `outvoted` is then a Markov chain over what the gold answers. While it answers g, a cycle

    accepts it             with chance w_g (0 where no solver ever answers g),
    makes j the new gold   with chance w_j, for each j other than g,
    leaves all as it is    with what remains, 1 - sum of w.

So after K cycles, with p_1(g) = 1 for the gold that it began with and the answers that a cycle ends with

    accepted(j) = sum over cycles c of p_c(j) w_j
    p_{c+1}(j)  = p_c(j) (1 - W) + w_j (sum over i of p_c(i) - p_c(j)),   W = sum of w

and what is not accepted is rejected. A fault is missed when its own gold is accepted, mended when the right answer is;
a good row is lost when anything but its own gold becomes of it. With K = 1 that leaves the familiar sums: a good row is
lost with P(Binomial(n, q_right) < k), a fault missed with P(Binomial(n, q_fault) >= k).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb


@dataclass(frozen=True)
class Expected:
    """Chances that a row ends accepted with each of the answers. A gold that no solver gives is never accepted."""

    accepted: tuple[float, ...]

    @property
    def rejected(self) -> float:
        """Chance that no gold is accepted."""
        return max(0.0, 1.0 - sum(self.accepted))


def at_least(need: int, asked: int, chance: float) -> float:
    """P(Binomial(asked, chance) >= need)."""
    return sum(comb(asked, k) * chance**k * (1.0 - chance) ** (asked - k) for k in range(need, asked + 1))


def expected(chances: Sequence[float], gold: int | None, *, asked: int, need: int, cycles: int) -> Expected:
    """The expected outcome for a row whose gold gives answer number `gold`; None: an answer that no solver gives.

    `chances` are the q_j. Raises `ValueError` unless 2 need > asked: two answers could win, and which one is made the
    gold would depend on more than their chances.
    """
    if not asked // 2 < need <= asked:
        raise ValueError(f"need is {need} of {asked}: the calculation holds for more than half of them, up to all")
    if min(chances, default=0.0) < 0.0 or sum(chances) > 1.0 + 1e-9:
        raise ValueError(f"chances {list(chances)} are no shares of one whole")
    wins = [at_least(need, asked, chance) for chance in chances]
    standing = [float(place == gold) for place in range(len(chances))]
    outside = float(gold is None)
    accepted = [0.0] * len(chances)
    none = 1.0 - sum(wins)
    for _ in range(cycles):
        whole = sum(standing) + outside
        accepted = [sum_ + here * win for sum_, here, win in zip(accepted, standing, wins, strict=True)]
        standing = [here * none + win * (whole - here) for here, win in zip(standing, wins, strict=True)]
        outside *= none
    return Expected(tuple(accepted))

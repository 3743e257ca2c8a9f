"""Summaries of verdicts: averages with confidence intervals, also by group.

Predictions on one database, or for one gold, stand or fall together: 30 % of what a single database lets pass may come
from ten golds. So the average is also taken by database and by distinct gold, and its interval comes from drawing
databases, or golds, instead of rows (cluster bootstrap, percentiles, widened for few clusters). If rows are drawn and
scores are only right or wrong, the interval is Wilson's.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from math import comb, pi, sqrt, tan
from statistics import NormalDist
from typing import Any

import numpy as np

from agro_data.evaluation.verdict import Verdict
from agro_data.sql.difficulty import HARDNESS

DRAWS = 2_000
LEVEL = 0.95
Z = NormalDist().inv_cdf((1 + LEVEL) / 2)
UNTRIED = ("missing", "no_database", "no_gold")  # classes of a verdict behind which may be no attempt
UNKNOWN = "unknown"  # the hardness of a gold that cannot be read


def summary(metric: str, verdicts: Sequence[Verdict], seed: int = 0) -> dict[str, Any]:
    """Figures of an evaluation as JSON values. Scores are between 0 and 1, intervals of 95 %."""
    found: dict[str, Any] = {
        "metric": metric,
        "predictions": len(verdicts),
        "right": sum(_is_right(metric, verdict.score) for verdict in verdicts),
        "score": interval([[v.score] for v in verdicts], seed),
        "score_by_database": interval(_scores(verdicts, lambda v: v.db_id), seed),
        "score_by_gold": interval(_scores(verdicts, lambda v: (v.db_id, v.gold)), seed),
        "interval_drawing_databases": _pooled(_scores(verdicts, lambda v: v.db_id), seed),
        "interval_drawing_golds": _pooled(_scores(verdicts, lambda v: (v.db_id, v.gold)), seed),
        "hardness": _groups(verdicts, lambda v: [v.hardness or UNKNOWN], seed, (*HARDNESS, UNKNOWN)),
        "databases": _groups(verdicts, lambda v: [v.db_id], seed),
        "constructs": _groups(verdicts, lambda v: v.constructs, seed),
        "error_classes": dict(Counter(v.error_class for v in verdicts if v.error_class).most_common()),
    }
    if attempts := _attempts(metric, verdicts, seed):
        found["attempts"] = attempts
    return found


def interval(clusters: Sequence[Sequence[float]], seed: int = 0, *, signed: bool = False) -> dict[str, Any]:
    """The mean of the clusters' means, with the interval from drawing clusters. `signed`: scores are from -1 to 1.

    `low` and `high` are None where nothing tells them: of fewer than two clusters of several rows.
    """
    alike = Counter((sum(cluster) / len(cluster), 1) for cluster in clusters)
    return _estimate(clusters, alike, [1 / len(clusters) / len(cluster) for cluster in clusters], seed, signed)


def paired(challenger: Sequence[Verdict], other: Sequence[Verdict], seed: int = 0) -> dict[str, Any]:
    """What the challenger gains over the other on the same rows: mean difference of scores, with intervals.

    `gain` draws databases (rows of one database stand or fall together), `gain_drawing_rows` rows, which is too sure
    of itself, and `gain_by_database` weighs each database the same. `won` and `lost` count rows. Raises `ValueError`
    when the rows are not the same.
    """
    if [(v.db_id, v.question, v.gold) for v in challenger] != [(v.db_id, v.question, v.gold) for v in other]:
        raise ValueError("paired verdicts must be of the same questions, in the same order")
    clusters: dict[str, list[float]] = defaultdict(list)
    for mine, theirs in zip(challenger, other, strict=True):
        clusters[mine.db_id].append(mine.score - theirs.score)
    differences = [value for values in clusters.values() for value in values]
    return {
        "gain": _pooled(list(clusters.values()), seed, signed=True),
        "gain_drawing_rows": interval([[value] for value in differences], seed, signed=True),
        "gain_by_database": interval(list(clusters.values()), seed, signed=True),
        "won": sum(value > 0 for value in differences),
        "lost": sum(value < 0 for value in differences),
    }


def _pooled(clusters: Sequence[Sequence[float]], seed: int, *, signed: bool = False) -> dict[str, Any]:
    """The mean over all rows, with the interval from drawing clusters of rows."""
    alike = Counter((sum(cluster), len(cluster)) for cluster in clusters)
    return _estimate(clusters, alike, [1 / max(1, sum(map(len, clusters)))] * len(clusters), seed, signed)


def _estimate(
    clusters: Sequence[Sequence[float]],
    alike: Counter[tuple[float, int]],
    weights: Sequence[float],
    seed: int,
    signed: bool,
) -> dict[str, Any]:
    """A mean with its interval: `alike` counts clusters by the sum and the count that they give to it, `weights` is
    what each row of a cluster weighs in it.

    Clusters that agree by chance make no interval narrower than their rows would be by themselves.
    """
    if not clusters:
        return {"mean": None, "low": None, "high": None, "groups": 0}
    sums, sizes = (np.array(column, dtype=float) for column in zip(*alike, strict=True))
    often = list(alike.values())
    mean = float(sums @ often) / float(sizes @ often)
    single = all(len(cluster) == 1 for cluster in clusters)
    ends = _of_rows(clusters, weights, signed)
    if len(clusters) > 1 and not (single and ends):
        drawn = _draws(alike, seed)
        ends += _widened(mean, (drawn @ sums) / (drawn @ sizes), len(clusters))
    elif not single:
        ends = []
    scores = [score for cluster in clusters for score in cluster]  # r-ves gives more than 1
    low = max(min(-1.0 if signed else 0.0, *scores), min(ends, default=mean))
    high = min(max(1.0, *scores), max(ends, default=mean))
    told = low < high
    return {
        "mean": round(mean, 6),
        "low": round(low, 6) if told else None,
        "high": round(high, 6) if told else None,
        "groups": len(clusters),
    }


def _of_rows(clusters: Sequence[Sequence[float]], weights: Sequence[float], signed: bool) -> list[float]:
    """Bounds if each row is drawn by itself, also where all rows are alike; none unless scores are 0 and 1, or -1, 0
    and 1.

    For a share they are Wilson's (1927), for a gain Bonett and Price's (Adjusted Wald intervals for a difference of
    binomial proportions based on paired data, 2012). Rows of unequal weight count as fewer (Kish, 1965).
    """
    rows = [(score, weight) for cluster, weight in zip(clusters, weights, strict=True) for score in cluster]
    if not {score for score, _ in rows} <= ({-1.0, 0.0, 1.0} if signed else {0.0, 1.0}):
        return []
    count = 1 / sum(weight**2 for _, weight in rows)
    won, lost = (sum(weight for score, weight in rows if score == sign) for sign in (1, -1))
    if signed:
        won, lost = ((count * share + 1) / (count + 2) for share in (won, lost))
        centre, half = won - lost, Z * sqrt((won + lost - (won - lost) ** 2) / (count + 2))
    else:
        scale = 1 + Z**2 / count
        centre = (won + Z**2 / (2 * count)) / scale
        half = Z * sqrt(won * (1 - won) / count + (Z / (2 * count)) ** 2) / scale
    return [centre - half, centre + half]


def _widened(mean: float, drawn: Any, clusters: int) -> list[float]:
    """Percentiles of the draws, moved away from the mean to correct for few clusters: a draw varies too little, by the
    root of (n - 1) / n, and percentiles follow the normal distribution where Student's is right (Hesterberg, What
    Teachers Should Know about the Bootstrap, arXiv 1411.5279, on the narrowness of percentile intervals). With nine
    databases the interval holds the true mean 93 or 94 times of a hundred; the percentiles alone hold it 88 times,
    Student's interval 92.
    """
    factor = sqrt(clusters / (clusters - 1)) * _student(clusters - 1) / Z
    low, high = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return [mean - factor * (mean - float(low)), mean + factor * (float(high) - mean)]


def _student(freedom: int) -> float:
    """The quantile of Student's distribution that bounds `LEVEL` on both sides: exact for one and two degrees of
    freedom, else the expansion 26.7.5 of Abramowitz and Stegun (1964), within 0.3 %."""
    if freedom == 1:
        return tan(pi * LEVEL / 2)
    if freedom == 2:
        return LEVEL * sqrt(2 / (1 - LEVEL**2))
    terms = (
        (Z**3 + Z) / 4,
        (5 * Z**5 + 16 * Z**3 + 3 * Z) / 96,
        (3 * Z**7 + 19 * Z**5 + 17 * Z**3 - 15 * Z) / 384,
        (79 * Z**9 + 776 * Z**7 + 1482 * Z**5 - 1920 * Z**3 - 945 * Z) / 92160,
    )
    return float(Z + sum(term / freedom**power for power, term in enumerate(terms, 1)))


def _draws(kinds: Counter[Any], seed: int) -> Any:
    """How often each kind of cluster is among as many clusters as there are, drawn with replacement: `DRAWS` rows.

    Clusters of one kind are alike, so that drawing counts of kinds is drawing clusters, in a fraction of the time.
    """
    counts = np.array(list(kinds.values()))
    return np.random.default_rng(seed).multinomial(counts.sum(), counts / counts.sum(), size=DRAWS)


def _scores(verdicts: Iterable[Verdict], key: Callable[[Verdict], Hashable]) -> list[list[float]]:
    found: dict[Hashable, list[float]] = defaultdict(list)
    for verdict in verdicts:
        found[key(verdict)].append(verdict.score)
    return list(found.values())


def _groups(
    verdicts: Sequence[Verdict], names: Callable[[Verdict], Iterable[str]], seed: int, order: Sequence[str] = ()
) -> list[dict[str, Any]]:
    found: dict[str, list[float]] = defaultdict(list)
    for verdict in verdicts:
        for name in names(verdict):
            found[name].append(verdict.score)
    ranked = sorted(found, key=lambda name: (order.index(name) if name in order else len(order), name))
    return [
        {"name": name, "predictions": len(found[name]), **_without_groups(interval([[s] for s in found[name]], seed))}
        for name in ranked
    ]


def spelled(found: Mapping[str, Any], template: str) -> str:
    """The bounds of a mean, low and high, in `template`; "-" where there are none."""
    return "-" if found["low"] is None else template.format(found["low"], found["high"])


def _without_groups(figures: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in figures.items() if key != "groups"}


# --- several attempts --------------------------------------------------------------------------------------------


def _attempts(metric: str, verdicts: Sequence[Verdict], seed: int) -> dict[str, Any]:
    """pass@k for k = 1, 2, 4, ... up to the least number of attempts, and the vote by results.

    A question that was not tried is not solved by any number of attempts, and bounds `k` for no other. Attempts with
    votes of their own are leaves of a tree. They are no equal draws, so pass@k cannot be computed from them.
    """
    most = max((len(verdict.scores) for verdict in verdicts), default=0)
    if most < 2:
        return {}
    least = min(len(v.scores) for v in verdicts if len(v.scores) > 1 or (v.scores and v.error_class not in UNTRIED))
    sizes = [k for k in (2**power for power in range(12)) if k < least] + [least]
    sizes = [] if any(verdict.votes for verdict in verdicts) else sizes
    tries = [[_is_right(metric, score) for score in verdict.scores] for verdict in verdicts]
    return {
        "most": most,
        "least": least,
        "pass_at": {str(k): interval([[pass_at(right, k)] for right in tries], seed) for k in dict.fromkeys(sizes)},
        "majority": interval([[verdict.voted_score] for verdict in verdicts], seed),
    }


def pass_at(attempts: Sequence[bool], k: int) -> float:
    """Chance that one of `k` attempts drawn from these is right (arXiv 2107.03374, equation 1)."""
    right = sum(attempts)
    if len(attempts) < k:
        return float(right > 0)
    return 1.0 - comb(len(attempts) - right, k) / comb(len(attempts), k)


def _is_right(metric: str, score: float) -> bool:
    """Whether an answer with such a score is right: r-ves gives what is right, and slow, less than 1."""
    return score > 0 if metric == "r-ves" else score >= 1

"""Can a classifier tell two sets of questions apart, and by what? The core of `bench.human_likeness`."""

from __future__ import annotations

import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, hstack
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GroupKFold

MAX_PAIRS = 4_000
T = TypeVar("T")
Encode = Callable[[Sequence[str]], NDArray[np.float32]]


@dataclass(frozen=True)
class Pair:
    """One question and its SQL."""

    db_id: str
    question: str
    sql: str


def typographic(question: str) -> str:
    """`question` without what only a typist or a renderer decides: case, quotes, spaces, the closing mark.

    Spider's questions come tokenised in part ("older than 56 ?"); that is no human trait and must not count as one.
    """
    text = re.sub(r"[“”\"'‘’`]+", "'", question.lower())
    text = re.sub(r"\s+([?.,;:!]|'s\b)", r"\1", " ".join(text.split()))
    return text.rstrip("?.! ")


def masked(question: str) -> str:
    """`typographic` with quoted values and numbers as one token each, so that values do not pass for wording."""
    text = re.sub(r"(?<!\w)'[^']*'", " _value ", typographic(question))
    return " ".join(re.sub(r"\b\d[\d.,:/-]*", " _number ", text).split())


def matched(left: Sequence[Pair], right: Sequence[Pair], *, seed: int) -> tuple[list[Pair], list[Pair]]:
    """Equally many of both sides, paired within a database by length (words, at most 15 % or 1 apart).

    Each question is used once; the order of pairing is random but seeded, and at most `MAX_PAIRS` are kept.
    """
    pool: dict[str, dict[int, list[Pair]]] = defaultdict(lambda: defaultdict(list))
    for pair in shuffled(right, f"{seed}/right"):
        pool[pair.db_id][len(pair.question.split())].append(pair)
    found: list[tuple[Pair, Pair]] = []
    for pair in shuffled(left, f"{seed}/left"):
        length = len(pair.question.split())
        slack = max(1, round(0.15 * length))
        for other in sorted(range(length - slack, length + slack + 1), key=lambda n: (abs(n - length), n)):
            if pool[pair.db_id].get(other):
                found.append((pair, pool[pair.db_id][other].pop()))
                break
        if len(found) == MAX_PAIRS:
            break
    return [one for one, _ in found], [two for _, two in found]


def telling_apart(left: Sequence[Pair], right: Sequence[Pair], encode: Encode, *, seed: int) -> dict[str, Any]:
    """AUC of classifiers that tell `left` from `right` (each of n pairs), tried on databases they never saw.

    `auc` averages the scores of the embedding and n-gram classifiers; `interval` is a 95 % bootstrap over
    databases. Raises `ValueError` with fewer than five databases: then nothing can be held out.
    """
    pairs = [*left, *right]
    groups = np.array([pair.db_id for pair in pairs])
    if len(set(groups)) < 5:
        raise ValueError(f"only {len(set(groups))} databases have questions on both sides; at least 5 are needed")
    truth = np.array([1] * len(left) + [0] * len(right))
    texts = [typographic(pair.question) for pair in pairs]
    vectors = encode(texts)
    raw = [pair.question for pair in pairs]
    scores = {name: np.zeros(len(pairs)) for name in ("embedding", "ngrams", "ngrams_raw")}
    for train, test in GroupKFold(n_splits=5, shuffle=True, random_state=seed).split(texts, truth, groups):
        scores["embedding"][test] = _fit(vectors[train], truth[train], 1.0).decision_function(vectors[test])
        for name, source in (("ngrams", texts), ("ngrams_raw", raw)):
            seen, unseen = _ngrams([source[i] for i in train], [source[i] for i in test])
            scores[name][test] = _fit(seen, truth[train], 4.0).decision_function(unseen)
    both = _standard(scores["embedding"]) + _standard(scores["ngrams"])
    low, high = _bootstrap(truth, both, groups, seed)
    return {
        "pairs": len(left),
        "databases": len(set(groups)),
        "auc": _auc(truth, both),
        "interval": [low, high],
        "auc_embedding": _auc(truth, scores["embedding"]),
        "auc_ngrams": _auc(truth, scores["ngrams"]),
        "auc_ngrams_with_typography": _auc(truth, scores["ngrams_raw"]),
    }


def giveaways(left: Sequence[Pair], right: Sequence[Pair], *, limit: int = 25) -> dict[str, list[dict[str, Any]]]:
    """Word n-grams (1 to 4) that mark each side: z-scores of log-odds with an informative prior.

    The statistic of Monroe, Colaresi and Quinn, "Fightin' Words" (2008), on the number of questions that hold the
    n-gram; values are masked, and an n-gram must stand in questions of at least three databases to be a habit.
    """
    pairs = [*left, *right]
    counter = CountVectorizer(ngram_range=(1, 4), token_pattern=r"[\w']+|[^\w\s]", binary=True, min_df=5)
    table = csr_matrix(counter.fit_transform([masked(pair.question) for pair in pairs]))
    names = counter.get_feature_names_out()
    first = np.asarray(table[: len(left)].sum(axis=0)).ravel()
    second = np.asarray(table[len(left) :].sum(axis=0)).ravel()
    prior = (first + second) / (first + second).sum() * 500
    odds = [
        np.log((side + prior) / (total + 500 - side - prior))
        for side, total in ((first, first.sum()), (second, second.sum()))
    ]
    z = (odds[0] - odds[1]) / np.sqrt(1 / (first + prior) + 1 / (second + prior))
    databases = np.array([pair.db_id for pair in pairs])
    order = np.argsort(-z, kind="stable")

    def top(places: Iterable[int]) -> list[dict[str, Any]]:
        chosen: list[dict[str, Any]] = []
        for i in places:
            rows = table[:, [i]].nonzero()[0]
            if len(set(databases[rows])) >= 3:
                shares = (first[i] / len(left), second[i] / len(right))
                chosen.append(
                    {
                        "ngram": str(names[i]),
                        "z": round(float(z[i]), 1),
                        "left": rounded(shares[0]),
                        "right": rounded(shares[1]),
                    }
                )
            if len(chosen) == limit:
                break
        return chosen

    return {"left": top(order), "right": top(order[::-1])}


def distinct_ngrams(pairs: Sequence[Pair]) -> float:
    """Distinct runs of four words over all such runs of the questions, values masked. 0 for none."""
    grams: Counter[tuple[str, ...]] = Counter()
    for pair in pairs:
        words = masked(pair.question).split()
        grams.update(zip(*(words[k:] for k in range(4)), strict=False))
    return len(grams) / max(1, grams.total())


def wordings(human: Sequence[Pair]) -> tuple[list[Pair], list[Pair]]:
    """First and second wording of the SQL that has exactly two, in file order: two people saying one thing."""
    same: dict[tuple[str, str], list[Pair]] = defaultdict(list)
    for pair in human:
        same[pair.db_id, pair.sql].append(pair)
    twice = [group for group in same.values() if len(group) == 2]
    return [group[0] for group in twice], [group[1] for group in twice]


def _ngrams(train: list[str], test: list[str]) -> tuple[Any, Any]:
    words = TfidfVectorizer(ngram_range=(1, 3), min_df=3, sublinear_tf=True, token_pattern=r"[\w']+|[^\w\s]")
    characters = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4), min_df=5, sublinear_tf=True, lowercase=False)
    both = (words, characters)
    return hstack([v.fit_transform(train) for v in both]).tocsr(), hstack([v.transform(test) for v in both]).tocsr()


def _fit(features: Any, truth: NDArray[np.int64], strength: float) -> LogisticRegression:
    return LogisticRegression(C=strength, max_iter=500, solver="liblinear", random_state=0).fit(features, truth)


def _standard(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    standard: NDArray[np.float64] = (scores - scores.mean()) / (scores.std() or 1.0)
    return standard


def _auc(truth: NDArray[np.int64], scores: NDArray[np.float64]) -> float:
    return rounded(float(roc_auc_score(truth, scores)))


def _bootstrap(
    truth: NDArray[np.int64], scores: NDArray[np.float64], groups: NDArray[Any], seed: int
) -> tuple[float, float]:
    names = sorted(set(groups))
    members = {name: np.flatnonzero(groups == name) for name in names}
    draws = np.random.default_rng(seed)
    values = []
    for _ in range(200):
        rows = np.concatenate([members[names[k]] for k in draws.integers(0, len(names), len(names))])
        values.append(roc_auc_score(truth[rows], scores[rows]))
    low, high = np.quantile(values, [0.025, 0.975])
    return rounded(float(low)), rounded(float(high))


def shuffled(items: Sequence[T], seed: str) -> list[T]:
    """`items` in an order that `seed` alone decides."""
    order = list(items)
    random.Random(int(sha256(seed.encode()).hexdigest(), 16)).shuffle(order)
    return order


def rounded(value: float) -> float:
    """Four decimals."""
    return round(value, 4)

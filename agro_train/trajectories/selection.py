"""Which trajectories the cold start learns from: diverse in what is done and in what is thought (2512.23366).

e = [sqrt(w) * emb(SQL actions, literals masked) ; sqrt(1 - w) * emb(thoughts)] with w = 0.5, and greedy k-center
(Gonzalez 1985) inside strata of hardness, number of turns, and whether a mistake is recovered from. What the paper
leaves open (the strata, w, k-center) is our decision (METHODS 1.2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from agro_data.diversity.coverage import Radius, coverage_radius
from agro_data.diversity.embeddings import Embeddings, Vectors, quantise
from agro_data.diversity.quotas import water_fill
from agro_data.diversity.structure import text_vectors
from agro_data.hashing import seed_of
from agro_data.sql.forms.canonical import skeleton_of

WEIGHT = 0.5
RECOVERIES = frozenset({"wrong_table", "wrong_column", "wrong_query", "recovered"})
_SAMPLE = 4_000  # rows that the radius is measured on


class TextEncoder(Protocol):
    """Gives unit vectors (n, d), as `diversity.embeddings.Encoder` does."""

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]: ...


@dataclass(frozen=True)
class Chosen:
    """`rows` of the candidates, ascending. The radius stands beside the radius of a random sample of the same size."""

    rows: list[int]
    radius: Radius
    random: Radius
    strata: dict[str, int]


def hybrid_vectors(trajectories: pl.DataFrame, encoder: TextEncoder | None) -> Vectors:
    """Vectors (rows, 2d) of `TRAJECTORY` rows, in order; `encoder` None hashes words, which needs no model."""
    turns = trajectories["turns"].to_list()
    actions = ["; ".join(skeleton_of(turn["text"]) for turn in each) for each in turns]
    thoughts = [" ".join(turn["thought"] for turn in each) for each in turns]
    done, thought = (quantise(_encode(texts, encoder)) for texts in (actions, thoughts))
    return Embeddings(structure=thought, question=done, weight=WEIGHT).joined()


def choose(trajectories: pl.DataFrame, vectors: Vectors, size: int, seed: int, *, diverse: bool = True) -> Chosen:
    """`size` of the trajectories (all, if there are no more): diverse, or drawn at random.

    Every stratum gets its share, and at least one. If there are more strata than that, the choice is among all alike.
    """
    strata = _strata(trajectories)
    chance = np.random.default_rng(seed_of(seed, "cold start"))
    size = min(size, trajectories.height)
    at_random = np.sort(chance.permutation(trajectories.height)[:size])
    rows = at_random
    if diverse:
        every = np.arange(trajectories.height)
        among = [strata[name] for name in sorted(strata)] if len(strata) <= size else [every]
        capacity = [len(places) for places in among]
        shares = water_fill(size, capacity, weight=capacity, floor=[1] * len(among))
        parts = [_k_center(vectors, places, int(share)) for places, share in zip(among, shares, strict=True)]
        rows = np.sort(np.concatenate([*parts, np.empty(0, dtype=np.int64)]))
    sample = vectors[np.sort(chance.permutation(len(vectors))[:_SAMPLE])]
    taken = set(rows.tolist())
    return Chosen(
        rows.tolist(),
        coverage_radius(sample, vectors[rows]),
        coverage_radius(sample, vectors[at_random]),
        {name: sum(int(row) in taken for row in places) for name, places in sorted(strata.items())},
    )


def _encode(texts: Sequence[str], encoder: TextEncoder | None) -> NDArray[np.float32]:
    unique = sorted(set(texts), key=lambda text: (len(text), text))
    vectors = text_vectors(unique) if encoder is None else encoder.encode(unique)
    place = {text: row for row, text in enumerate(unique)}
    return vectors[[place[text] for text in texts]]


def _strata(trajectories: pl.DataFrame) -> dict[str, NDArray[np.int64]]:
    found: dict[str, list[int]] = {}
    columns = trajectories.select("hardness", pl.col("turns").list.len(), "features")
    for row, (hardness, turns, features) in enumerate(columns.iter_rows()):
        recovered = ", recovers" if RECOVERIES & set(features) else ""
        found.setdefault(f"{hardness}, {min(turns, 4)} turns{recovered}", []).append(row)
    return {name: np.asarray(rows, dtype=np.int64) for name, rows in found.items()}


def _k_center(vectors: Vectors, rows: NDArray[np.int64], k: int) -> NDArray[np.int64]:
    """`k` of `rows`, each the farthest from all taken before; the first is the one nearest to the middle."""
    points = vectors[rows].astype(np.float32)
    chosen = [int((points @ points.mean(axis=0)).argmax())] if k else []
    nearest = np.full(len(rows), -np.inf, dtype=np.float32)  # similarity to the nearest taken; whole numbers, exact
    while len(chosen) < k:
        nearest = np.maximum(nearest, points @ points[chosen[-1]])
        nearest[chosen[-1]] = np.inf
        chosen.append(int(nearest.argmin()))
    return rows[np.sort(np.asarray(chosen, dtype=np.int64))]

"""Two coordinates for many texts or vectors, so that a diversity map can be drawn."""

from __future__ import annotations

import random
import re
import zlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from agro_data.diversity.projection import project_2d

WORDS = 512  # hashed vocabulary; collisions only blur the picture

Points = NDArray[np.float32]


def sample_indices(count: int, limit: int) -> list[int]:
    """At most `limit` of `range(count)`, ascending; the same for the same arguments."""
    if count <= limit:
        return list(range(count))
    return sorted(random.Random("layout/0").sample(range(count), limit))


def flatten(vectors: Points) -> Points:
    """Project `vectors` (n, d) on their first two principal components: (n, 2), each scaled to -1..1."""
    projected: NDArray[np.float64] = project_2d(vectors)
    extent = np.abs(projected).max(axis=0, initial=0.0)
    scaled: Points = (projected / np.where(extent > 0, extent, 1.0)).astype(np.float32)
    return scaled


def word_map(texts: Sequence[str]) -> Points:
    """Coordinates (n, 2) of `texts` by the words they use: hashed TF-IDF, then `flatten`. Needs no model.

    Meant for at most a few thousand texts: the intermediate matrix is (n, 512) of 4-byte floats.
    """
    counts = np.zeros((len(texts), WORDS), dtype=np.float32)
    for row, text in enumerate(texts):
        for word in re.findall(r"\w+", text.lower()):
            counts[row, zlib.crc32(word.encode()) % WORDS] += 1
    document_share = (counts > 0).mean(axis=0)
    weighted = np.log1p(counts) * -np.log(np.clip(document_share, 1 / max(1, len(texts)), 1.0))
    norms = np.linalg.norm(weighted, axis=1, keepdims=True)
    return flatten((weighted / np.where(norms > 0, norms, 1.0)).astype(np.float32))

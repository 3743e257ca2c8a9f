"""Among several ways to say a thing, the one that is most like the others."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def most_central(vectors: NDArray[np.float32]) -> int:
    """The row of `vectors` (texts, dimensions), unit vectors, with the largest sum of cosines to all rows: the medoid.

    Between equals the first. A paraphrase that drifts from what is meant drifts alone, so the centre is the safer
    choice. Sums are compared in single steps of a millionth, so that rounding decides nothing.
    """
    if not len(vectors):
        raise ValueError("there is no text to choose from")
    exact = vectors.astype(np.float64)
    return int(np.round((exact @ exact.T).sum(axis=1), 6).argmax())

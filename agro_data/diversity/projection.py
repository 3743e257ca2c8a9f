"""The diversity map: vectors seen in two dimensions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def project_2d(vectors: NDArray[np.generic]) -> NDArray[np.float64]:
    """First two principal components of `vectors`, (n, d) to (n, 2), in the vectors' unit.

    The largest loading of each component is positive, so that equal input gives the same picture. Data without a second
    direction (one row, one dimension) get 0 there.
    """
    if vectors.ndim != 2:
        raise ValueError(f"vectors of shape {vectors.shape}: expected two dimensions, (rows, features)")
    plane = np.zeros((len(vectors), 2))
    if vectors.size == 0:
        return plane
    centred = vectors.astype(np.float64) - vectors.mean(axis=0, dtype=np.float64)
    _, axes = np.linalg.eigh(centred.T @ centred)
    components = axes[:, ::-1][:, :2].T
    for axis, component in enumerate(components):
        largest = component[np.argmax(np.abs(component))]
        plane[:, axis] = centred @ (component if largest > 0 else -component)
    return plane

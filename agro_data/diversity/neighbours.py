"""Near duplicates: questions of one database that say almost the same about almost the same SQL.

Inside a database every pair is compared where there are few rows. Above `EXACT_ROWS` an inverted file (faiss) compares
a row with the rows of the nearest cells only, so that time grows as n * sqrt(n). Its cells are seeded rows of the block
itself, not trained, and all products are whole numbers: the same pairs are found on every machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import faiss
import numpy as np
import polars as pl
from numpy.typing import NDArray

from agro_data.diversity.embeddings import LENGTH, Embeddings, Vectors
from agro_data.diversity.rejection import Sifted, in_order, sift
from agro_data.hashing import seed_of

SAME_SKELETON = 0.97  # cosine of questions whose SQL differs in literals only
ANY_SKELETON = 0.99  # cosine of questions of any two SQL, which must also be alike:
SAME_STRUCTURE = 0.97  # cosine of their structural embeddings
EXACT_ROWS = 5_000
_PROBES = 8
_QUERIES = 1_024


def drop_near_duplicates(frame: pl.DataFrame, embeddings: Embeddings, *, exact_rows: int = EXACT_ROWS) -> Sifted:
    """If two rows of one database are near duplicates, the less plausible one is dropped; if both are as plausible, the
    later identity.

    `embeddings` has one row for each row of `frame`, in its order. Without question vectors (structural
    mode) nothing is known of how alike questions are, and nothing is dropped here. Different styles of one
    SQL are no duplicates.
    """
    if len(embeddings) != frame.height:
        raise ValueError(f"{len(embeddings)} embeddings for {frame.height} rows: give one for each row")
    numbered = in_order(frame.with_row_index("_row"))
    embeddings = embeddings.take(numbered["_row"].to_numpy().astype(np.int64))
    ordered = numbered.drop("_row")
    reasons: list[str | None] = [None] * ordered.height
    details: list[str | None] = [None] * ordered.height
    if embeddings.question is None:
        return sift(ordered, reasons, details)
    ids, skeletons = ordered["candidate_id"].to_list(), ordered["skeleton"].to_list()
    plausibility = ordered["plausibility"].to_list()
    blocks = ordered.select("db_id").with_row_index("row").group_by("db_id", maintain_order=True).agg("row")
    for db_id, members in sorted(blocks.iter_rows()):
        rows = sorted(members, key=lambda row: (-plausibility[row], row))
        question, structure = embeddings.question[rows], embeddings.structure[rows]
        least = min(SAME_SKELETON, ANY_SKELETON)
        for later, earlier, alike in _pairs(question, least, exact_rows, seed_of(db_id)):
            row, better = rows[later], rows[earlier]
            if reasons[better] is not None or reasons[row] is not None or ids[row] == ids[better]:
                continue
            near = skeletons[row] == skeletons[better] and alike >= SAME_SKELETON
            if not near and alike >= ANY_SKELETON:
                near = _cosine(structure[later], structure[earlier]) >= SAME_STRUCTURE
            if near:
                reasons[row] = "near_duplicate"
                details[row] = f"asks almost the same as candidate {ids[better]} (cosine {alike:.3f})"
    return sift(ordered, reasons, details)


def _pairs(vectors: Vectors, least: float, exact_rows: int, seed: int) -> Iterator[tuple[int, int, float]]:
    """(later, earlier, cosine) of rows at least so alike, by later row, then earlier row."""
    whole = vectors.astype(np.float32)
    index = _index(whole, exact_rows, seed)
    lengths = np.sqrt(np.einsum("ij,ij->i", whole, whole, dtype=np.float64))
    # Quantised lengths vary a little about LENGTH: search wider, then decide on the exact cosine.
    radius = float(least * min(lengths.min(initial=LENGTH), LENGTH) ** 2 * 0.999)
    for start in range(0, len(whole), _QUERIES):
        limits, products, found = index.range_search(whole[start : start + _QUERIES], radius)
        later = np.repeat(np.arange(start, start + len(limits) - 1), np.diff(limits).astype(np.int64))
        cosine = products / (lengths[later] * lengths[found])
        chosen = np.flatnonzero((found < later) & (cosine >= least))
        for pair in chosen[np.lexsort((found[chosen], later[chosen]))]:
            yield int(later[pair]), int(found[pair]), float(cosine[pair])


def _index(whole: NDArray[np.float32], exact_rows: int, seed: int) -> Any:
    rows, dimensions = whole.shape
    index: Any = faiss.IndexFlatIP(dimensions)
    if rows > exact_rows:
        cells = int(3 * np.sqrt(rows))
        index.add(whole[np.sort(np.random.default_rng(seed).choice(rows, size=cells, replace=False))])
        centres, index = index, faiss.IndexIVFFlat(index, dimensions, cells, faiss.METRIC_INNER_PRODUCT)
        index.is_trained = True
        index.nprobe = min(_PROBES, cells)
        index.referenced_objects = [centres]  # faiss keeps the address of its centres only
    index.add(whole)
    return index


def _cosine(left: Vectors, right: Vectors) -> float:
    a, b = left.astype(np.int64), right.astype(np.int64)
    length = float(np.sqrt(float(a @ a) * float(b @ b)))
    return float(a @ b) / length if length > 0 else 0.0

"""Embeddings as stored shards: int8 vectors beside the identity of the row they belong to."""

from __future__ import annotations

import numpy as np
import polars as pl

from agro_data.diversity.embeddings import Embeddings
from agro_data.records import DISTINCT
from agro_data.work import Work

KEY = ("candidate_id", "style")
NONE = {name: DISTINCT[name] for name in KEY} | {"structure": pl.Array(pl.Int8, 1)}  # where no shard has a vector


def stored(frame: pl.DataFrame, embeddings: Embeddings) -> pl.DataFrame:
    """`candidate_id`, `style`, `structure` and, where there is one, `question`: fixed-size arrays of int8."""
    columns = [_series("structure", embeddings.structure)]
    if embeddings.question is not None:
        columns.append(_series("question", embeddings.question))
    return frame.select(KEY).with_columns(columns)


def read(work: Work) -> tuple[pl.DataFrame, Embeddings]:
    """The DISTINCT rows that have vectors, and the vectors in the same order."""
    found = [work.read("embeddings", shard) for shard in work.shards("embeddings")]
    vectors = pl.concat(found or [pl.DataFrame(schema=NONE)])
    kept = [work.read("certified", shard, list(DISTINCT)) for shard in work.shards("certified")]
    rows = pl.concat([pl.DataFrame(schema=DISTINCT), *kept])
    joined = rows.join(vectors.select(KEY).with_row_index("_row"), on=KEY, how="inner", maintain_order="left")
    order = joined["_row"].to_numpy().astype(np.int64)
    question = vectors["question"].to_numpy() if "question" in vectors.columns else None
    embeddings = Embeddings(vectors["structure"].to_numpy(), question)
    return joined.drop("_row"), embeddings.take(order)


def aligned(embeddings: Embeddings, frame: pl.DataFrame, rows: pl.DataFrame) -> Embeddings:
    """The embeddings of `rows`, a part of `frame` in any order; `embeddings` are in the order of `frame`."""
    numbered = frame.select(KEY).with_row_index("_row")
    order = rows.select(KEY).join(numbered, on=KEY, how="left", maintain_order="left")["_row"]
    return embeddings.take(order.to_numpy().astype(np.int64))


def _series(name: str, vectors: np.ndarray) -> pl.Series:
    return pl.Series(name, vectors, dtype=pl.Array(pl.Int8, vectors.shape[1]))

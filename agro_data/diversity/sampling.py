"""Selection and splits together: which comes first depends on how splits are made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from agro_data.config import SplitBy
from agro_data.diversity.embeddings import Embeddings
from agro_data.diversity.rejection import in_order
from agro_data.diversity.selection import Quotas, SelectionReport, select
from agro_data.diversity.splits import Sketch, SplitReport, assign_splits, split_method


class Sampled(NamedTuple):
    """`kept` is the sample with a column `split`; `rejected` are rows that would have joined two splits."""

    kept: pl.DataFrame
    rejected: pl.DataFrame
    selection: SelectionReport
    splits: SplitReport


def sample(
    frame: pl.DataFrame,
    embeddings: Embeddings,
    databases: Sequence[Sketch],
    size: int,
    seed: int,
    *,
    split_by: SplitBy = "auto",
    quotas: Quotas | None = None,
) -> Sampled:
    """A diverse sample of min(`size`, what can be had) rows, in splits of 80/10/10 that do not leak.

    By database the sample is drawn first and its databases are dealt out whole. By skeleton all candidates
    are dealt out first and the sample is drawn from what does not leak, so that the size asked for is still
    met.
    """
    if split_method(frame, databases, split_by) == "database":
        chosen, selection = select(frame, embeddings, size, seed, quotas)
        splits = assign_splits(chosen, databases, seed, split_by)
        return Sampled(splits.kept, splits.rejected, selection, splits.report)
    numbered = in_order(frame.with_row_index("_row"))
    splits = assign_splits(numbered, databases, seed, split_by)
    rows = splits.kept["_row"].to_numpy().astype(np.int64)
    chosen, selection = select(splits.kept.drop("_row"), embeddings.take(rows), size, seed, quotas)
    return Sampled(chosen, splits.rejected, selection, splits.report.of(chosen))

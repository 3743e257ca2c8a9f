"""One style for each intent, in equal shares."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from agro_data.diversity.rejection import seeded_number, seeded_order


def assign_styles(frame: pl.DataFrame, styles: Sequence[str], seed: int) -> pl.DataFrame:
    """`frame` with a `style` column, balanced within each database and, inside it, within each shape.

    Within a database rows stand by shape, shuffled by `seed`, and take the styles in turn: no style is
    ahead of another by more than one, neither in a database nor in a shape of it. Needs candidate_id, db_id
    and shape.
    """
    if not styles:
        raise ValueError("no style given: name at least one")
    bare = frame.drop("style", strict=False)
    ordered = bare.with_columns(seeded_order(bare, seed)).sort("db_id", "shape", "seeded_order", "candidate_id")
    position = ordered.select(pl.int_range(pl.len()).over("db_id").alias("position"))["position"].to_list()
    starts = {db_id: seeded_number(seed, "style", db_id) for db_id in ordered["db_id"].unique().to_list()}
    chosen = [
        styles[(starts[db_id] + place) % len(styles)] for db_id, place in zip(ordered["db_id"], position, strict=True)
    ]
    return ordered.with_columns(pl.Series("style", chosen, dtype=pl.String)).drop("seeded_order").sort("candidate_id")

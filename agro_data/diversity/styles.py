"""One style for each intent, in equal shares, or in those that are asked for."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from agro_data.diversity.rejection import seeded_order
from agro_data.focus import turns
from agro_data.hashing import seed_of


def assign_styles(frame: pl.DataFrame, styles: Sequence[str], seed: int, weights: Sequence[float] = ()) -> pl.DataFrame:
    """`frame` with a `style` column, balanced within each database and, inside it, within each shape.

    Within a database rows stand by shape, shuffled by `seed`, and take the styles in turn: no style is
    ahead of another by more than one, neither in a database nor in a shape of it. With `weights` a style has as
    many turns as its weight says. Needs candidate_id, db_id and shape.
    """
    if not styles:
        raise ValueError("no style given: name at least one")
    bare = frame.drop("style", strict=False)
    ordered = bare.with_columns(seeded_order(bare, seed)).sort("db_id", "shape", "seeded_order", "candidate_id")
    chosen: list[str] = []
    for (db_id,), rows in ordered.group_by("db_id", maintain_order=True):
        start = seed_of(seed, "style", str(db_id)) % len(styles)
        turned = [(place + start) % len(styles) for place in range(len(styles))]
        order = turns([weights[place] if weights else 1.0 for place in turned], rows.height)
        chosen += [styles[turned[place]] for place in order]
    return ordered.with_columns(pl.Series("style", chosen, dtype=pl.String)).drop("seeded_order").sort("candidate_id")

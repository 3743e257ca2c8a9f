"""What every step here returns: the rows that stay, and the rows that go with their reason."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from agro_data.hashing import seed_of
from agro_data.records import REJECTED

STAGE = "diversity"


class Sifted(NamedTuple):
    """`kept` has the columns of the input, sorted by identity; `rejected` those of `records.REJECTED`."""

    kept: pl.DataFrame
    rejected: pl.DataFrame


def identity(frame: pl.DataFrame) -> list[str]:
    """The columns that name a row: a SQL may be asked in several styles."""
    return [name for name in ("candidate_id", "style") if name in frame.columns]


def in_order(frame: pl.DataFrame) -> pl.DataFrame:
    """`frame` sorted by identity, so that no decision depends on the order rows came in.

    Raises `ValueError` when two rows have the same identity.
    """
    keys = identity(frame)
    ordered = frame.sort(keys)
    repeated = ordered.filter(pl.struct(keys).is_duplicated())
    if repeated.height:
        first = repeated.row(0, named=True)
        raise ValueError(
            f"{repeated.height} rows share their {' and '.join(keys)}, the first {first['candidate_id']!r}"
            f" of database {first['db_id']!r}: drop the copies, or give each row its own"
        )
    return ordered


def seeded_order(frame: pl.DataFrame, seed: int) -> pl.Series:
    """One number for each row, from `seed` and the row's identity: sort by it to shuffle."""
    rows = zip(*(frame[name].to_list() for name in identity(frame)), strict=True)
    return pl.Series("seeded_order", [seed_of(seed, *row) for row in rows], dtype=pl.UInt64)


def sift(frame: pl.DataFrame, reasons: Sequence[str | None], details: Sequence[str | None]) -> Sifted:
    """Part `frame` by `reasons`: None keeps the row, a text rejects it for that reason with its detail."""
    noted = frame.with_columns(
        pl.Series("_reason", list(reasons), dtype=pl.String),
        pl.Series("_detail", list(details), dtype=pl.String),
    )
    kept = noted.filter(pl.col("_reason").is_null()).drop("_reason", "_detail")
    gone = noted.filter(pl.col("_reason").is_not_null())
    given = {"stage": pl.lit(STAGE), "reason": pl.col("_reason"), "detail": pl.col("_detail")}
    rejected = gone.select(
        given.get(name, pl.col(name) if name in gone.columns else pl.lit("")).cast(kind).alias(name)
        for name, kind in REJECTED.items()
    )
    return Sifted(kept, rejected)

"""Frames as Parquet files that any reader takes: plain types, zstd, the same bytes every time."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

ROW_GROUP = 5_000  # rows; a reader that wants one example decompresses at most this many
SHARD = 100_000  # rows of one file


def arrow_type(kind: pl.DataType) -> pa.DataType:
    """Arrow counterpart of a Polars type, without the "large" and "view" variants that some readers lack.

    Raises `TypeError` for a type that no stage row has.
    """
    plain = {
        pl.String(): pa.string(),
        pl.Int64(): pa.int64(),
        pl.Float64(): pa.float64(),
        pl.Boolean(): pa.bool_(),
    }
    if isinstance(kind, pl.List):
        return pa.list_(arrow_type(_instance(kind.inner)))
    if isinstance(kind, pl.Struct):
        return pa.struct([(field.name, arrow_type(_instance(field.dtype))) for field in kind.fields])
    if kind in plain:
        return plain[kind]
    raise TypeError(f"no Parquet type is agreed for {kind}")


def _instance(kind: pl.DataType | pl.datatypes.DataTypeClass) -> pl.DataType:
    return kind() if isinstance(kind, type) else kind


def write_parquet(frame: pl.DataFrame, path: Path) -> None:
    """Write `frame` to one new file. A full disk is an `OSError` with its errno: the file is Python's."""
    schema = pa.schema([(name, arrow_type(kind)) for name, kind in frame.schema.items()])
    table = frame.to_arrow(compat_level=pl.CompatLevel.oldest()).cast(schema)
    with path.open("xb") as sink:
        pq.write_table(table, sink, compression="zstd", row_group_size=ROW_GROUP)


def write_shards(frame: pl.DataFrame, folder: Path, stem: str, *, shard: int = SHARD) -> None:
    """Write `frame` as `folder/<stem>-00000-of-0000N.parquet`, at most `shard` rows in each, at least one."""
    folder.mkdir(parents=True, exist_ok=True)
    total = max(1, -(-frame.height // shard))
    for number in range(total):
        part = frame.slice(number * shard, shard)
        write_parquet(part, folder / f"{stem}-{number:05d}-of-{total:05d}.parquet")

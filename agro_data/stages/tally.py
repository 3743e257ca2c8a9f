"""What the finished shards of a stage hold, read from their names and from single columns.

A shard is named `<db_id>.<round>.<number>`, or `<db_id>` where a database is one shard.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import polars as pl

from agro_data.work import Work, written


def database_of(shard: str) -> str:
    """The database of `<db_id>.<round>.<number>`, whose id may hold dots itself."""
    return shard.rsplit(".", 2)[0]


def round_of(shard: str) -> int:
    """The round of `<db_id>.<round>.<number>`, from 0."""
    return int(shard.rsplit(".", 2)[1])


def by_database(work: Work, stage: str) -> dict[str, list[str]]:
    """Finished shards of each database, in order. One look at the folder, however many databases there are."""
    found: dict[str, list[str]] = {}
    for shard in work.shards(stage):
        found.setdefault(database_of(shard), []).append(shard)
    return found


def ids(work: Work, stage: str, shards: Iterable[str]) -> set[str]:
    """Candidate ids of finished shards."""
    paths = [work.path(stage, f"{shard}.parquet") for shard in shards]
    return set().union(*(_ids(path, written(path)) for path in paths))


def different(work: Work, stage: str) -> int:
    """Queries that the finished shards of a stage hold, each of a database once: further rounds meet earlier ones."""
    return sum(len(ids(work, stage, shards)) for shards in by_database(work, stage).values())


def rows(work: Work, stage: str, shards: Iterable[str] | None = None) -> int:
    """Rows of finished shards; of all shards when none are named."""
    chosen = work.shards(stage) if shards is None else shards
    paths = [work.path(stage, f"{shard}.parquet") for shard in chosen]
    return sum(_height(path, written(path)) for path in paths)


def reasons(work: Work, stage: str) -> dict[str, int]:
    """How often each reason was given, most frequent first; like the rows of `once`."""
    counts = Counter(once(work.read_rejected(stage, ["stage", "db_id", "candidate_id", "reason"]))["reason"])
    return dict(sorted(counts.items(), key=lambda counted: (-counted[1], counted[0])))


def once(rejected: pl.DataFrame) -> pl.DataFrame:
    """Without repeats of `verified`: shards of one round do not wait for each other, and may refuse the same query."""
    first = pl.struct("stage", "db_id", "candidate_id").is_first_distinct()
    return rejected.filter(first | (pl.col("stage") != "verified"))


@cache
def _ids(path: Path, _written: tuple[int, int]) -> frozenset[str]:
    """Like `_height`."""
    return frozenset(pl.read_parquet(path, columns=["candidate_id"], glob=False)["candidate_id"].to_list())


@cache
def _height(path: Path, _written: tuple[int, int]) -> int:
    """A finished shard never changes, so that it is asked once, until it is removed and made anew."""
    return int(pl.scan_parquet(path, glob=False).select(pl.len()).collect().item())

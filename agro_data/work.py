"""The work folder of one build: what is finished, shard by shard, so that an interrupted build goes on.

`<cache>/work/<fingerprint 16>/<stage>/<shard>.parquet` holds a finished shard, `<stage>/rejected/<shard>.parquet` what
it dropped. A shard is finished when its file has been renamed into place; there is no other marker to disagree with.
"""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from agro_data.files import atomic_path, write_json
from agro_data.records import REJECTED, conform

REJECTED_FOLDER = "rejected"  # below a stage; a suffix could be the end of a database's name
_ORDER = ("db_id", "stage", "candidate_id", "reason", "detail", "sql")  # of what was dropped


@dataclass(frozen=True)
class Work:
    """One build's folder. All names of shards are `<db_id>` or `<db_id>.<number>`."""

    root: Path

    def path(self, stage: str, name: str) -> Path:
        return self.root / stage / name

    def finished(self, stage: str, shard: str) -> bool:
        return self.path(stage, f"{shard}.parquet").exists()

    def write(self, stage: str, shard: str, frame: pl.DataFrame, rejected: pl.DataFrame | None = None) -> None:
        """Store a shard; what it rejected goes first, so that a finished shard is complete."""
        if rejected is not None and rejected.height:
            _write_parquet(conform(rejected, REJECTED), self.path(stage, f"{REJECTED_FOLDER}/{shard}.parquet"))
        _write_parquet(frame, self.path(stage, f"{shard}.parquet"))

    def read(self, stage: str, shard: str, columns: list[str] | None = None) -> pl.DataFrame:
        """A finished shard, or `columns` of it."""
        return pl.read_parquet(self.path(stage, f"{shard}.parquet"), columns=columns, glob=False)

    def shards(self, stage: str) -> list[str]:
        """Finished shards of a stage, sorted."""
        names = (path.name for path in (self.root / stage).glob("*.parquet"))
        return sorted(name.removesuffix(".parquet") for name in names if not name.startswith("."))

    def made_since(self, stage: str, moment: int) -> list[str]:
        """Finished shards written at `moment` (nanoseconds since 1970) or later; a linked one keeps its time."""
        shards = self.shards(stage)
        return [shard for shard in shards if self.path(stage, f"{shard}.parquet").stat().st_mtime_ns >= moment]

    def rejected_files(self, stage: str) -> list[Path]:
        """Where the shards of a stage, or of any, list what they dropped, sorted."""
        files = sorted(self.root.glob(f"{stage}/{REJECTED_FOLDER}/*.parquet"))
        return [path for path in files if not path.name.startswith(".")]

    def read_rejected(self, stage: str = "*", columns: Sequence[str] = tuple(REJECTED)) -> pl.DataFrame:
        """Everything that a stage, or any, dropped, or `columns` of it, in a stable order."""
        frames = [pl.read_parquet(path, columns=list(columns), glob=False) for path in self.rejected_files(stage)]
        frame = pl.concat(frames) if frames else pl.DataFrame(schema={name: REJECTED[name] for name in columns})
        return frame.sort([name for name in _ORDER if name in columns], nulls_last=True)

    def write_json(self, name: str, value: Any) -> None:
        write_json(self.root / name, value)

    def read_json(self, name: str) -> Any:
        return json.loads((self.root / name).read_text(encoding="utf-8"))


def written(path: Path) -> tuple[int, int]:
    """The facts that distinguish a file from another one renamed into its place: the time when it was written, and its
    inode.
    """
    status = path.stat()
    return status.st_mtime_ns, status.st_ino


def _write_parquet(frame: pl.DataFrame, target: Path) -> None:
    """Python does the writing: polars would tell of a full disk without its errno, like of any other fault."""
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="zstd")
    with atomic_path(target) as temporary:
        temporary.write_bytes(buffer.getbuffer())

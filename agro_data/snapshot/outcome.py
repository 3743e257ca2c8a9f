"""The report on a snapshot: what was copied, and what was not."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Copied:
    """A table that is in the file, with its number of rows and columns."""

    name: str
    rows: int
    columns: int


@dataclass
class Snapshot:
    """What was copied. `lost`: why each table is missing that should have been; `notes`: what else is not there."""

    path: Path
    tables: list[Copied] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    semantics: Path | None = None

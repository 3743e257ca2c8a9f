"""Which corpus version Dagster made last: what the asset `corpus` stands for, and all to its right is about."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import dagster as dg


class Built(NamedTuple):
    """The folder of a version, and when it was made or found to be there already, in seconds since 1970."""

    path: Path
    at: float


def built_last(instance: dg.DagsterInstance, out: Path) -> Built | None:
    """The version that the asset `corpus` made last, if it still lies below `out`."""
    event = instance.get_latest_materialization_event(dg.AssetKey("corpus"))
    made = event.asset_materialization if event else None
    if event is None or made is None or "dagster/uri" not in made.metadata:
        return None
    path = out.joinpath(*Path(str(made.metadata["dagster/uri"].value)).parts[-2:])
    return Built(path, event.timestamp) if (path / "manifest.json").is_file() else None

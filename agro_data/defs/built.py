"""Which corpus version Dagster made last: what the asset `corpus` stands for, and all to its right is about."""

from __future__ import annotations

from pathlib import Path

import dagster as dg


def built_last(instance: dg.DagsterInstance, out: Path) -> Path | None:
    """The folder of the version that the asset `corpus` made last, if it still lies below `out`."""
    event = instance.get_latest_materialization_event(dg.AssetKey("corpus"))
    made = event.asset_materialization if event else None
    if made is None or "dagster/uri" not in made.metadata:
        return None
    path = out.joinpath(*Path(str(made.metadata["dagster/uri"].value)).parts[-2:])
    return path if (path / "manifest.json").is_file() else None

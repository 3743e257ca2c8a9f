"""What a build would take, from a small probe: for deciding before a long run."""

from __future__ import annotations

import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from agro_data.config import STRUCTURAL, BuildConfig, RunConfig
from agro_data.databases.catalog import find_databases
from agro_data.pipeline import prepare, run_stage
from agro_data.stages.shards import usable

PROBE = 150  # examples
PROBED = 6  # databases
EMBEDDED_PER_SECOND = 800.0  # two cores, bfloat16; `make bench` prints this machine's own figure
BYTES_PER_EXAMPLE = 1_500  # in the version; the work folder holds about five times as much


def estimate(config: BuildConfig, run: RunConfig) -> dict[str, Any]:
    """Time, disk, and what limits the size, extrapolated from building a few examples on a few databases."""
    catalog = find_databases(Path(config.databases))
    ids = [d.db_id for d in catalog.databases if not config.only or d.db_id in config.only]
    probed = tuple(ids[:: max(len(ids) // PROBED, 1)][:PROBED])
    with tempfile.TemporaryDirectory(prefix="agro-dry-run-") as folder:
        place = Path(folder)
        small = replace(config, size=min(PROBE, config.size), only=probed, embedding_model=STRUCTURAL)
        context = prepare(small, RunConfig(out=place / "out", cache=place / "cache", workers=1))
        start = time.monotonic()
        reports = {name: run_stage(name, context, 1) for name in ("profiles", "candidates", "verified", "questions")}
        seconds = time.monotonic() - start
        profiled = [context.profile(db_id) for db_id in usable(context)]
    asked = config.size / config.styles_per_sql * config.oversample
    said = max(reports["questions"].rows_out, 1)
    profile_seconds = reports["profiles"].seconds * len(ids) / max(len(probed), 1)
    making = asked * (seconds - reports["profiles"].seconds) / said / run.workers
    embedding = 0.0 if config.embedding_model == STRUCTURAL else asked / EMBEDDED_PER_SECOND
    scarce = [p.db_id for p in profiled if sum(t.rows for t in p.tables) < 50]
    return {
        "databases": len(ids),
        "left_out": len(catalog.problems),
        "examples_asked": config.size,
        "seconds": round(profile_seconds + making + embedding),
        "disk_megabytes": round(config.size * BYTES_PER_EXAMPLE * 6 / 1e6, 1),
        "acceptance": round(reports["verified"].rows_out / max(reports["verified"].rows_in, 1), 3),
        "limits": f"{len(scarce)} of {len(profiled)} probed databases have under 50 rows: they give less than their "
        "share, and the others make up for it"
        if scarce
        else "none of the probed databases is too small for its share",
    }

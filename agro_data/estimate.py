"""The time and disk that a build would take, estimated by a small probe before a long run.

The same few databases are asked twice, once all that is imported has been. The first time pays for what a database
costs once (its profile, its shuffled copy), the second time for examples alone; both are then scaled to the build.
What is scaled is the processor time, which is much the same in each run; how much longer the clock ran says how busy
the machine is with other work, and so what the build would take if that went on.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from agro_data.config import STRUCTURAL, BuildConfig, RunConfig
from agro_data.databases.scratch import ScratchFolder
from agro_data.pipeline import prepare, run_stage, sources
from agro_data.profiling.profile import DatabaseProfile
from agro_data.progress import Reporter, counting, silent
from agro_data.stages.certifying import FOLDER
from agro_data.stages.shares import usable
from agro_data.verify.certificates.pool import room

PROBE = 150  # examples, or a fourth of what is asked for: deciding takes less than doing
FIRST = 24  # examples of the first probe
WARMING = 4  # examples of a trial before it, whose time does not count
PROBED = 6  # databases
START_SECONDS = 4.0  # imports and the starts of workers
MODEL_SECONDS = 6.0  # to load an embedding model
EMBEDDED_PER_SECOND = 800.0  # two cores, bfloat16; `make bench` prints this machine's own figure
SELECTED_PER_SECOND = 1_500.0
BYTES_PER_EXAMPLE = 350  # of the version, compressed
WORK_BYTES = 4_000  # of the work folder, for each candidate example
FEW_ROWS = 50  # a database with fewer gives less than its share
STAGES = ("profiles", "candidates", "verified", "questions", "distinct", "certified")


@dataclass(frozen=True)
class Probe:
    """One probe: seconds by the clock and of processors, examples that came of it, the bytes of their instances, the
    share of candidates that held."""

    seconds: float
    processor: float
    examples: int
    instances: int
    acceptance: float
    profiles: tuple[DatabaseProfile, ...]


def estimate(config: BuildConfig, run: RunConfig, progress: Reporter = silent) -> dict[str, Any]:
    """Time, disk, and what limits the size, extrapolated from building a few examples on a few databases.

    `seconds` are for processors that do nothing else, `seconds_as_busy` for a machine that stays as busy as it is now.
    Raises `ConfigError` like `pipeline.sources`.
    """
    catalog = sources(config)
    ids = [database.db_id for database in catalog.databases]
    probed = tuple(ids[:: max(len(ids) // PROBED, 1)][:PROBED])
    small = replace(config, only=probed, embedding_model=STRUCTURAL, size=FIRST)
    probes = (
        replace(small, only=probed[:1], size=WARMING),  # pays for imports and engines
        small,
        replace(small, size=min(PROBE, max(FIRST, config.size // 4))),
    )
    done = counting(progress, "probes", len(probes), "probes")
    with ScratchFolder("dry-run") as folder:
        made: list[Probe] = []
        for probe in probes:
            made.append(_probe(probe, Path(folder), progress if made else silent))
            done(1)
        _, first, second = made
        once = sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file()) / len(probed)
    each = second.processor / max(second.examples, 1)
    once_seconds = max(first.processor - each * first.examples, 0.0) / max(len(probed) - 1, 1)
    busy = max((first.seconds + second.seconds) / max(first.processor + second.processor, 1e-9), 1.0)
    asked = config.size / config.styles_per_sql * config.oversample
    # More examples have more instances, up to the bytes that a database's may take.
    grown = second.instances / len(probed) * max(asked / len(ids) / max(second.examples / len(probed), 1), 1)
    widest = max((len(profile.tables) for profile in second.profiles), default=0)
    kept = config.size * BYTES_PER_EXAMPLE + len(ids) * min(grown, room(widest))
    making = (once_seconds * len(ids) + each * asked) / min(run.workers, len(ids))
    embedding = 0.0 if config.embedding_model == STRUCTURAL else MODEL_SECONDS + asked / EMBEDDED_PER_SECOND
    finishing = START_SECONDS + embedding + asked / SELECTED_PER_SECOND
    return {
        "databases": len(ids),
        "left_out": sum(problem.left_out for problem in catalog.problems),
        "examples_asked": config.size,
        "seconds": round(finishing + making),
        "seconds_as_busy": round((finishing + making) * busy),
        "disk_megabytes": round((once * len(ids) + asked * WORK_BYTES + kept) / 1e6, 1),
        "kept_megabytes": round(kept / 1e6, 1),
        "acceptance": round(second.acceptance, 3),
        "limits": _limits(second.profiles),
    }


def _probe(config: BuildConfig, folder: Path, progress: Reporter) -> Probe:
    """Build a few examples up to their certificates; profiles and copies of an earlier probe are used again."""
    start, before = time.monotonic(), _processor_seconds()
    context = prepare(config, RunConfig(out=folder / "out", cache=folder / "cache", workers=1))
    reports = {name: run_stage(name, context, 1, progress) for name in STAGES}
    seconds, processor = time.monotonic() - start, _processor_seconds() - before
    verified = reports["verified"]
    profiles = tuple(context.profile(db_id) for db_id in usable(context))
    instances = sum(file.stat().st_size for file in (context.work.root / FOLDER).rglob("*") if file.is_file())
    acceptance = verified.rows_out / max(verified.rows_in, 1)
    return Probe(seconds, processor, reports["certified"].rows_out, instances, acceptance, profiles)


def _processor_seconds() -> float:
    """What processors have done for this process and for the children that have ended, as sandboxes do with a stage."""
    return sum(os.times()[:4])


def _limits(profiles: tuple[DatabaseProfile, ...]) -> str:
    scarce = [p.db_id for p in profiles if sum(t.rows for t in p.tables) < FEW_ROWS]
    if not scarce:
        return "none of the probed databases is too small for its share"
    named = ", ".join(scarce[:3]) + (", ..." if len(scarce) > 3 else "")
    return (
        f"{len(scarce)} of {len(profiles)} probed databases have under {FEW_ROWS} rows ({named}): they give less than "
        "their share, and the others make up for it"
    )

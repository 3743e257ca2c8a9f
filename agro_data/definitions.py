"""What Dagster loads of the factory. Imports no torch and no model library."""

from __future__ import annotations

import dagster as dg

from agro_data.defs.assets import ASSETS, published_corpus
from agro_data.defs.checks import CHECKS
from agro_data.defs.handing_on import handing_on
from agro_data.defs.jobs import JOBS, OP_JOBS, SCHEDULES
from agro_data.defs.migrating import changed_schemas, migrate_corpus, migrated_corpus
from agro_data.defs.place import Place
from agro_data.defs.sensors import SENSORS


def definitions() -> dg.Definitions:
    """Assets, checks, jobs, what starts them, and the place they work in."""
    return dg.Definitions(
        assets=[*ASSETS, published_corpus, migrated_corpus],  # no job but their own runs the last two
        asset_checks=CHECKS,
        jobs=[*JOBS, *OP_JOBS, migrate_corpus],
        schedules=SCHEDULES,
        sensors=[*SENSORS, changed_schemas],
        resources={"place": Place(), "io_manager": handing_on},
        # What the UI starts by "Materialize" runs as the job does: a process per step would only cost time.
        executor=dg.in_process_executor,
    )

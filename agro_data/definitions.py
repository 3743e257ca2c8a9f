"""What Dagster loads of the factory. Imports no torch and no model library."""

from __future__ import annotations

import dagster as dg

from agro_data.defs.assets import ASSETS, published_corpus
from agro_data.defs.checks import CHECKS
from agro_data.defs.jobs import JOBS
from agro_data.defs.place import Place


def definitions() -> dg.Definitions:
    """Assets, checks, the job and the place they work in."""
    return dg.Definitions(
        assets=[*ASSETS, published_corpus],  # the last one by its own job alone
        asset_checks=CHECKS,
        jobs=JOBS,
        resources={"place": Place()},
        # What the UI starts with "Materialize all" runs as the job does: a process per step would only cost time.
        executor=dg.in_process_executor,
    )

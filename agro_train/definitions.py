"""The whole code location: the factory's definitions and training's. Imports no torch and no model library."""

from __future__ import annotations

import dagster as dg

from agro_data import definitions as factory
from agro_train.defs.aligning import align_corpus, aligned_corpus
from agro_train.defs.assets import ASSETS
from agro_train.defs.automation import SCHEDULES, SENSORS
from agro_train.defs.checks import CHECKS
from agro_train.defs.child import TERMINATION
from agro_train.defs.jobs import JOBS
from agro_train.defs.training import Training

defs: dg.Definitions = dg.Definitions.merge(
    factory.definitions(),
    dg.Definitions(
        assets=[*ASSETS, aligned_corpus],  # no job but its own runs the last
        asset_checks=CHECKS,
        jobs=[*JOBS, align_corpus],
        schedules=SCHEDULES,
        sensors=SENSORS,
        resources={
            "training": Training(),
            "pipes": dg.PipesSubprocessClient(termination_timeout_seconds=TERMINATION),
        },
    ),
)

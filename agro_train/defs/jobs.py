"""Jobs of training. None rebuilds a corpus: they learn from the version last built."""

from __future__ import annotations

import dagster as dg

from agro_data.defs.jobs import job_in_process
from agro_train.defs.assets import (
    ASSETS,
    cold_start_model,
    cold_start_trajectories,
    model_evaluation,
)

train_cold_start = job_in_process(
    "train_cold_start",
    dg.AssetSelection.assets(cold_start_trajectories, cold_start_model),
    "Trajectories of the corpus version last built, and a model fine-tuned on them.",
)

train_grpo = job_in_process(
    "train_grpo",
    dg.AssetSelection.assets(*ASSETS),
    "The whole chain: trajectories, cold start, GRPO, evaluation on unseen databases, promotion.",
)

evaluate_model = job_in_process(
    "evaluate_model",
    dg.AssetSelection.assets(model_evaluation),
    "Models side by side on databases that they have not seen.",
)

JOBS = [train_cold_start, train_grpo, evaluate_model]

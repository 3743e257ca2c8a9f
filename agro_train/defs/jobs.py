"""Jobs of training. None rebuilds a corpus: they learn from the newest version of it."""

from __future__ import annotations

import dagster as dg

from agro_data.defs.jobs import LOG
from agro_train.defs.assets import (
    ASSETS,
    cold_start_model,
    cold_start_trajectories,
    model_evaluation,
)

train_cold_start = dg.define_asset_job(
    "train_cold_start",
    selection=dg.AssetSelection.assets(cold_start_trajectories, cold_start_model),
    description="Trajectories of the newest corpus version, and a model fine-tuned on them.",
    executor_def=dg.in_process_executor,
    config=LOG,
)

train_grpo = dg.define_asset_job(
    "train_grpo",
    selection=dg.AssetSelection.assets(*ASSETS),
    description="The whole chain: trajectories, cold start, GRPO, evaluation on unseen databases, promotion.",
    executor_def=dg.in_process_executor,  # a failing check stops what is to its right; children do the work
    config=LOG,
)

evaluate_model = dg.define_asset_job(
    "evaluate_model",
    selection=dg.AssetSelection.assets(model_evaluation),
    description="Models side by side on databases that they have not seen.",
    executor_def=dg.in_process_executor,
    config=LOG,
)

JOBS = [train_cold_start, train_grpo, evaluate_model]

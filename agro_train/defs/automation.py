"""From a new corpus to an evaluated model without anybody: off until someone starts the sensor or the schedule."""

import dagster as dg

from agro_train.defs.assets import ASSETS
from agro_train.defs.jobs import evaluate_model

train_after_corpus = dg.AutomationConditionSensorDefinition(
    "train_after_corpus",
    target=dg.AssetSelection.assets(*ASSETS),
    description="Trains on a new corpus version whose checks passed: trajectories, cold start, GRPO, evaluation on "
    "unseen databases, promotion, in one run, with the launchpad's defaults.",
    run_tags={"agro/because": "a parent is new, and its checks passed"},
    minimum_interval_seconds=60,
)

weekly_evaluation = dg.ScheduleDefinition(
    name="weekly_evaluation",
    job=evaluate_model,
    cron_schedule="0 5 * * 0",
    description="Every Sunday: the models side by side again, on the newest corpus' unseen databases.",
)

SENSORS = [train_after_corpus]
SCHEDULES = [weekly_evaluation]

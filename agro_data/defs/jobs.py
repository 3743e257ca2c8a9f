"""`build_corpus`: all stages in one process, each of which starts its own workers."""

from __future__ import annotations

import dagster as dg

from agro_data.defs.assets import ASSETS, published_corpus

build_corpus = dg.define_asset_job(
    "build_corpus",
    selection=dg.AssetSelection.assets(*ASSETS),
    description="Databases in, a verified, diverse, versioned corpus out.",
    # Stages are sequential and start worker processes themselves: a process per step would only cost time.
    executor_def=dg.in_process_executor,
    config={"loggers": {"console": {"config": {"log_level": "INFO"}}}},
)

publish_corpus = dg.define_asset_job(
    "publish_corpus",
    selection=dg.AssetSelection.assets(published_corpus),
    description="The newest corpus version on the Hugging Face Hub; builds nothing.",
    executor_def=dg.in_process_executor,
    config={"loggers": {"console": {"config": {"log_level": "INFO"}}}},
)

JOBS = [build_corpus, publish_corpus]

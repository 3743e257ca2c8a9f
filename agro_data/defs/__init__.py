"""Dagster: assets, checks and jobs; thin, over `agro_data.pipeline`."""

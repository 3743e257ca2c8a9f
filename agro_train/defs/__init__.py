"""Dagster of training: assets, checks and jobs; thin, over programs that run as child processes."""

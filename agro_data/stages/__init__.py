"""Stages: what each one does to a shard or to the whole, as functions over frames."""

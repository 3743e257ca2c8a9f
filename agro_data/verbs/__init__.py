"""Verbs of `agro` that have a module of their own; `agro_data.cli` mounts them."""

"""Verbs of `agro` that train and ask models; `agro_train.cli` mounts them."""

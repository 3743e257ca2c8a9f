"""Turns of a model: many prefixes at once, each up to the tag that ends a turn."""

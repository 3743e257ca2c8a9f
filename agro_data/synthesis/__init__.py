"""Candidates that the grammar does not draw: from a log of queries, by variation, and by a language model."""

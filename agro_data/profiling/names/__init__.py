"""Identifiers as people say them: words, their order, units, and what they denote."""

"""Queries that people keep, and what they say about what is asked."""

"""Rows that a query directs: witnesses of its parts, groups, extremes, ties."""

"""Data files as tables: which files are one table, how a CSV is written."""

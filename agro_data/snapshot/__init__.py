"""A PostgreSQL server's tables as a DuckDB file, which corpora are built on: nothing generated runs on the server."""

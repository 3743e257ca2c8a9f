"""DuckDB files that we write, attached to one engine of the thread: starting one costs as much as twenty small files.

For files of our own and copies only. What a person or a model wrote is asked in an engine that is locked and has
nothing else in it (`opening.open_duckdb`).
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import duckdb

from agro_data.databases.duckdb_settings import DUCKDB_SETTINGS, UTC
from agro_data.databases.quoting import literal

READ_ONLY = "(READ_ONLY)"

_NAMES = count()
_engines = threading.local()  # two threads may have the same file attached, one engine may not


@contextmanager
def attached(path: Path, options: str = "") -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection with the file as its current database, made if it is not there, and closed at the end.

    `options` are those of ATTACH. Raises `duckdb.Error`.
    """
    if not hasattr(_engines, "own"):
        _engines.own = duckdb.connect(":memory:", config=DUCKDB_SETTINGS)
    with _engines.own.cursor() as connection, attaching(connection, path, options) as name:
        connection.execute(f"USE {name}")
        connection.execute(UTC)
        yield connection


@contextmanager
def attaching(connection: duckdb.DuckDBPyConnection, path: Path | str, options: str = "") -> Iterator[str]:
    """The name by which a connection of `attached` has one more file, or ":memory:", as long as this lasts."""
    name = f"agro_{next(_NAMES)}"
    connection.execute(f"ATTACH {literal(path)} AS {name} {options}")
    try:
        yield name
    finally:
        try:
            connection.execute("USE memory")
            connection.execute(f"DETACH {name}")
        except duckdb.Error:  # as after a full disk: an engine that cannot let go of a file is used no more
            _engines.__dict__.pop("own", None)

"""How every engine of DuckDB is set that we start, whatever it is asked. Imports the standard library only."""

from __future__ import annotations

DUCKDB_SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    "autoload_known_extensions": "false",
    "autoinstall_known_extensions": "false",
    "allow_community_extensions": "false",
    "python_enable_replacements": "false",  # else `FROM x` could read a Python variable x
    "temp_directory": "",  # no spilling: nothing is written anywhere
    "threads": "1",
    "async_threads": "0",  # else eight for each engine, with 8 MiB each of the address space that a worker may take
}
UTC = "SET TimeZone = 'UTC'"  # else a TIMESTAMPTZ would read otherwise on a machine in another time zone

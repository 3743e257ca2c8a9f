"""Content hashes: the identity of what a database holds.

A SQLite file and a folder of data files are hashed by their bytes. DuckDB lays the same rows out differently at every
write, so a DuckDB file is hashed by what can be asked of it: the definitions of its tables, views, macros and types,
and for each table its number of rows and the sum of the rows' MD5, which no order of rows changes. The sums are
computed inside DuckDB, streamed, at a few hundred thousand rows a second and core.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from agro_data.databases.discovery.rows_hash import hash_in
from agro_data.databases.errors import DatabaseError
from agro_data.databases.files.data_files import data_files
from agro_data.databases.opening import stamp, with_sides
from agro_data.databases.scratch import ScratchFolder
from agro_data.databases.trusted.apart import hash_apart
from agro_data.databases.types import Database, Dialect, Layout, Stamp


def content_hash(path: Path, layout: Layout) -> str:
    """The SHA-256 (hex) of a database's content.

    For SQLite it hashes the file's bytes, followed by the bytes of its log or journal, if there is one. For a folder it
    hashes each data file's path in it, a zero byte and the SHA-256 of its bytes, in the order of paths. For DuckDB see
    `duckdb_hash`. Raises `OSError` or `DatabaseError` when something cannot be read.
    """
    if layout == "duckdb":
        return duckdb_hash(path)
    digest = hashlib.sha256()
    if layout == "files":
        files = {file.relative_to(path).as_posix(): file for file in data_files(path)}
        for name, file in sorted(files.items()):
            with file.open("rb") as stream:
                digest.update(os.fsencode(name) + b"\0" + hashlib.file_digest(stream, "sha256").digest())
        return digest.hexdigest()
    for file in with_sides(path, layout):
        with file.open("rb") as stream:
            while block := stream.read(2**20):
                digest.update(block)
    return digest.hexdigest()


def still_holds(database: Database) -> bool:
    """Whether its files have the same content as when it was found; a new time stamp alone does not matter.

    Raises like `content_hash`.
    """
    now = stamp(database.path, database.layout)
    return now == database.seen or _holds(database, now)


def is_as_found(database: Database) -> bool:
    """Whether it can be read and `still_holds`."""
    try:
        return still_holds(database)
    except (OSError, DatabaseError):
        return False


@lru_cache(maxsize=256)
def _holds(database: Database, now: Stamp) -> bool:
    """Whether the database's content is unchanged; `now` is the state of its files, and the key of the cache."""
    return content_hash(database.path, database.layout) == database.content_hash


def instance_at(source: Database, path: Path, content: str = "") -> Database:
    """The augmented database of `source` in a file `<name>.sqlite` or `<name>.duckdb`: its id, none of its side files.

    `content`: its content hash, where it is known. Raises like `content_hash`.
    """
    dialect: Dialect = "duckdb" if path.suffix == ".duckdb" else "sqlite"
    seen = stamp(path, dialect)
    return replace(
        source,
        dialect=dialect,
        layout=dialect,
        path=path,
        content_hash=content or content_hash(path, dialect),
        relative_path=f"{source.db_id}/{path.name}",
        spider_tables=None,
        descriptions=None,
        semantics=None,
        dbt_manifest=None,
        seen=seen,
    )


def duckdb_hash(path: Path) -> str:
    """SHA-256 (hex) over the definitions and, per table, row count and sum of row hashes, as JSON.

    A row is the text of its cells, each with its length before it, so that no two rows share a text. Indexes, comments
    and the order of rows are no content: no answer may depend on them. Raises `DatabaseError`.
    """
    try:
        with ScratchFolder("hash") as folder:
            return hash_apart(path.absolute(), Path(folder))
    except DatabaseError as error:
        raise DatabaseError(f"{path.name}: its content cannot be read: {error}") from error


def written_hash(path: Path) -> str:
    """`duckdb_hash` of a file that we have just written, in a tenth of the time: it has no macros, and DuckDB lists its
    own three thousand before it says so. Raises `duckdb.Error`.
    """
    from agro_data.databases.engine import READ_ONLY, attached  # noqa: PLC0415

    with attached(path, READ_ONLY) as connection:
        ((name,),) = connection.execute("SELECT current_database()").fetchall()
        return hash_in(connection, name, [])

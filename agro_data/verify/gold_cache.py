"""Results of golds that outlive a process: one SQLite file in the cache folder.

An entry is found by database content, SQL text, limits, engine version and the code that runs statements; so an entry
never has to be thrown away, and one that is found says what running the statement again would say. Kept are digests and
counts of statements that succeeded, no SQL and no rows. Several processes may use the file at once.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import astuple
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

from agro_data.databases.types import Database, Dialect, Limits, Result

FILE = "golds.sqlite"
AT_ONCE = 500  # entries asked for in one statement
WAIT = 30.0  # seconds for another process to finish writing
_TABLE = """CREATE TABLE IF NOT EXISTS result (
    key BLOB PRIMARY KEY, row_count INTEGER, column_count INTEGER, digest BLOB, ordered_digest BLOB, all_null INTEGER,
    floats INTEGER, seconds REAL
) WITHOUT ROWID"""

Pair = tuple[Database, str]


class GoldCache:
    """What `golds.GoldResults` remembers in `folder`. A file that is no cache of ours is replaced."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE
        folder.mkdir(parents=True, exist_ok=True)
        try:
            self._prepare()
        except sqlite3.OperationalError:  # cannot be opened or written: to be told, not to be mended
            raise
        except sqlite3.DatabaseError:  # half-written or something else
            self.path.unlink()
            self._prepare()

    def _prepare(self) -> None:
        with closing(self._open()) as connection, connection:
            connection.execute(_TABLE)

    def _open(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, timeout=WAIT)
        connection.execute("PRAGMA synchronous=OFF")  # a cache: what a power cut damages is made anew
        return connection

    def recall(self, pairs: Sequence[Pair], limits: Limits) -> dict[Pair, Result]:
        """Those of the results that are known."""
        keys = {_key(pair, limits): pair for pair in pairs}
        asked = list(keys)
        found: dict[Pair, Result] = {}
        with closing(self._open()) as connection:
            for start in range(0, len(asked), AT_ONCE):
                some = asked[start : start + AT_ONCE]
                for key, rows, columns, digest, ordered, all_null, floats, seconds in connection.execute(
                    f"SELECT * FROM result WHERE key IN ({', '.join('?' * len(some))})", some
                ):
                    found[keys[key]] = Result(
                        "ok",
                        row_count=rows,
                        column_count=columns,
                        digest=digest.hex(),
                        ordered_digest=ordered.hex(),
                        all_null=bool(all_null),
                        floats=bool(floats),
                        seconds=seconds,
                    )
        return found

    def keep(self, found: Iterable[tuple[Pair, Result]], limits: Limits) -> None:
        """Remember those that succeeded; a failure may be the machine's and is tried again."""
        entries = [
            (
                _key(pair, limits),
                result.row_count,
                result.column_count,
                bytes.fromhex(result.digest),
                bytes.fromhex(result.ordered_digest),
                result.all_null,
                result.floats,
                result.seconds,
            )
            for pair, result in found
            if result.ok
        ]
        if entries:
            with closing(self._open()) as connection, connection:
                connection.executemany("INSERT OR IGNORE INTO result VALUES (?, ?, ?, ?, ?, ?, ?, ?)", entries)


def _key(pair: Pair, limits: Limits) -> bytes:
    database, sql = pair
    prefix = _prefix(database.dialect, limits).copy()
    prefix.update(f"{database.layout}\0{database.content_hash}\0{sql}".encode("utf-8", "surrogatepass"))
    return prefix.digest()


# Modules of `agro_data.databases` that run a statement and make its digest, and folders of such.
_RESULTS_BY = ("cells", "digest", "errors", "files", "hostile/engine_state", "hostile/guards", "opening", "quoting")


@cache
def _prefix(dialect: Dialect, limits: Limits) -> hashlib._Hash:
    engine = sqlite3.sqlite_version if dialect == "sqlite" else version("duckdb")
    return hashlib.sha256(json.dumps([dialect, engine, astuple(limits), _code()]).encode() + b"\0")


@cache
def _code() -> str:
    """SHA-256 (hex) of the sources of `_RESULTS_BY`."""
    digest = hashlib.sha256()
    for source in _sources():
        digest.update(source.read_bytes() + b"\0")
    return digest.hexdigest()


def _sources() -> list[Path]:
    root = Path(str(files("agro_data.databases")))
    return [one for name in _RESULTS_BY for one in sorted((root / name).glob("*.py")) or [root / f"{name}.py"]]

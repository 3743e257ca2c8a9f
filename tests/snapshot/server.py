"""A PostgreSQL server of one's own, on a socket in a folder: nothing else can reach it."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import duckdb

from agro_data.databases.opening import look_in_all_schemas

OWNER = "postgres"  # the server does not run as root


def binaries() -> Path | None:
    """The folder of the server's programs, or None where there are none or nobody to run them."""
    found = [
        *sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb")),
        *map(Path, filter(None, [shutil.which("initdb")])),
    ]
    if not found or (os.geteuid() == 0 and subprocess.run(["id", OWNER], check=False, capture_output=True).returncode):
        return None
    return found[0].resolve().parent


@contextmanager
def running() -> Iterator[str]:
    """The address of a server that holds an empty database."""
    programs = binaries()
    assert programs is not None
    user = OWNER if os.geteuid() == 0 else None
    folder = Path(tempfile.mkdtemp(prefix="agro-pg-", dir="/tmp"))  # a socket's path must be short
    if user:
        shutil.chown(folder, user)

    def call(program: str, *arguments: str) -> None:
        subprocess.run(
            [programs / program, "-D", folder / "data", *arguments], check=True, user=user, capture_output=True
        )

    try:
        call("initdb", "-A", "trust", "-U", OWNER, "-E", "UTF8", "--locale=C", "--no-sync")
        call("pg_ctl", "-o", f"-k {folder} -c listen_addresses= -c fsync=off", "-l", str(folder / "log"), "-w", "start")
        try:
            yield f"host={folder} user={OWNER} dbname=postgres"
        finally:
            call("pg_ctl", "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(folder)


@contextmanager
def further(url: str, sql: str) -> Iterator[None]:
    """A schema `further` with what `sql` makes, and a role `reader` that may read it, as long as this lasts."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE ROLE reader LOGIN; CREATE SCHEMA further; SET search_path = further, public")
        try:
            connection.execute(sql)
            connection.execute(
                "GRANT USAGE ON SCHEMA further TO reader; GRANT SELECT ON ALL TABLES IN SCHEMA further TO reader"
            )
            yield
        finally:
            connection.execute("DROP SCHEMA further CASCADE; DROP OWNED BY reader; DROP ROLE reader")


def rows(path: Path, sql: str) -> list[Any]:
    with closing(duckdb.connect(path, read_only=True)) as file:
        look_in_all_schemas(file, path.stem, own_first=True)
        return file.execute(sql).fetchall()

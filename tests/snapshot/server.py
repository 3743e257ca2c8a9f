"""A PostgreSQL server of one's own, on a socket in a folder: nothing else can reach it."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

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

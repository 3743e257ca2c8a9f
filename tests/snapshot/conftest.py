from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from snapshot.server import binaries, running


@pytest.fixture(scope="session")
def url() -> Iterator[str]:
    """The address of a server that holds what `shop.sql` makes."""
    psycopg = pytest.importorskip("psycopg", reason="needs psycopg (agro-sql[postgres])")
    if binaries() is None:
        pytest.skip("needs PostgreSQL's server (initdb), and a user to run it")
    with running() as address:
        with psycopg.connect(address) as connection:
            connection.execute(Path(__file__).with_name("shop.sql").read_text(encoding="utf-8"))
        yield address

"""Addresses of servers: what is wrong with one is said without repeating it."""

from __future__ import annotations

import socket
from pathlib import Path
from threading import Thread
from traceback import format_exception

import pytest

from agro_data.databases.errors import DatabaseError
from agro_data.snapshot.address import refuse_unclear
from agro_data.snapshot.copying import take_snapshot

pytest.importorskip("psycopg", reason="needs psycopg (agro-sql[postgres])")


def test_a_server_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DatabaseError, match="PostgreSQL: "):
        take_snapshot("postgresql://me:secret@127.0.0.1:1/shop", tmp_path / "shop.duckdb")
    with pytest.raises(DatabaseError, match=r"shop\.duckdb"):
        take_snapshot("", tmp_path / "shop.db")


def test_a_server_that_asks_for_a_password(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PGPASSWORD", raising=False)
    monkeypatch.setenv("PGPASSFILE", str(tmp_path / "none"))
    with socket.create_server(("127.0.0.1", 0)) as server:

        def ask() -> None:
            with server.accept()[0] as client:
                client.recv(1024)
                client.sendall(b"R\0\0\0\x08\0\0\0\x03")  # a password in clear text
                client.recv(1024)

        asking = Thread(target=ask)
        asking.start()
        url = f"host=127.0.0.1 port={server.getsockname()[1]} user=me dbname=shop sslmode=disable gssencmode=disable"
        with pytest.raises(DatabaseError, match=r"no password supplied; PGPASSWORD or ~/\.pgpass gives"):
            take_snapshot(url, tmp_path / "shop.duckdb")
        asking.join()


@pytest.mark.parametrize(
    "url",
    [
        "postgresql+psycopg2://bob:s3cret@localhost/t1",
        "postgres//bob:s3cret@localhost/t1",
        "mysql://bob:s3cret@localhost/t1",
        "postgresql://bob:s3cret%zz@localhost/t1",
        "postgresql://bob:a@s3cret@localhost/t1",
        "postgresql://bob:a@s3cret/x@localhost/t1",
        "postgresql://bob:a/s3cret@localhost/t1",
        "postgresql://bob:s3cret/t1",
        "host=localhost user=bob password=my s3cret",
        "host=localhost user=bob password=my s3cret=x",
    ],
)
def test_a_mistyped_address_is_not_repeated(tmp_path: Path, url: str) -> None:
    with pytest.raises(DatabaseError, match="PostgreSQL: the ") as refused:
        take_snapshot(url, tmp_path / "shop.duckdb")
    assert "s3cret" not in "".join(format_exception(refused.value, chain=True)).replace(url, "")


@pytest.mark.parametrize(
    "url",
    [
        "",
        "service=shop",
        "host=a,b port=1,2",
        "postgres://me%40corp:a%40b:c@[::1]:5432/shop?application_name=x@y",
        "postgresql://me@/shop?host=/tmp",
        "postgresql:///shop",
        "postgresql://",
        "postgresql://localhost?user=me",
    ],
)
def test_addresses_that_libpq_takes(url: str) -> None:
    refuse_unclear(url)

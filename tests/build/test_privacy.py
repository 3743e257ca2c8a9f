"""`values=synthetic`: nothing of the source's values is in any byte that is written."""

from __future__ import annotations

import random
import sqlite3
from pathlib import Path

import agro_data
from agro_data.config import STRUCTURAL

TEXTS, NUMBERS, REALS, DATES, BLOBS = 400, 250, 150, 150, 50


def plant(path: Path) -> list[bytes]:
    """A database full of values that occur nowhere else, and those values as they would be written."""
    draw = random.Random(20)
    texts = [f"Zq{draw.getrandbits(60):015x}" for _ in range(TEXTS)]
    numbers = [draw.randrange(10**12, 10**13) for _ in range(NUMBERS)]
    reals = [draw.randrange(10**9, 10**10) + 0.37 for _ in range(REALS)]
    dates = [
        f"{draw.randrange(2301, 2399)}-{draw.randrange(1, 13):02d}-{draw.randrange(1, 28):02d}" for _ in range(DATES)
    ]
    blobs = [draw.randbytes(12) for _ in range(BLOBS)]
    connection = sqlite3.connect(path)
    connection.executescript(
        """
        CREATE TABLE client (id INTEGER PRIMARY KEY, full_name TEXT NOT NULL, city TEXT, income REAL, account INTEGER);
        CREATE TABLE visit (id INTEGER PRIMARY KEY, client_id INTEGER NOT NULL REFERENCES client(id),
                            visit_date TEXT NOT NULL, reason TEXT, picture BLOB);
        """
    )
    for n in range(250):
        connection.execute(
            "INSERT INTO client VALUES (?,?,?,?,?)",
            (n, texts[n], texts[250 + n % 50], reals[n % REALS], numbers[n]),
        )
    for n in range(600):
        connection.execute(
            "INSERT INTO visit VALUES (?,?,?,?,?)",
            (n, n % 250, dates[n % DATES], texts[300 + n % 100], blobs[n % BLOBS]),
        )
    connection.commit()
    connection.close()
    written = [t.encode() for t in texts] + [str(n).encode() for n in numbers] + [d.encode() for d in dates]
    return written + [str(int(r)).encode() for r in reals] + blobs


def test_no_canary_is_in_any_byte_written(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    canaries = plant(source / "clients.sqlite")
    assert len(canaries) == 1_000
    config = agro_data.BuildConfig(databases=str(source), size=80, values="synthetic", embedding_model=STRUCTURAL)
    run = agro_data.RunConfig(out=tmp_path / "out", cache=tmp_path / "cache", workers=1)
    result = agro_data.build(config=config, run=run)
    assert result.version.examples().collect().height == 80
    written = [p for folder in ("out", "cache") for p in (tmp_path / folder).rglob("*") if p.is_file()]
    assert len(written) > 10
    haystack = [(p, p.read_bytes()) for p in written]
    haystack += [(p, repr(pl_rows(p)).encode()) for p in written if p.suffix == ".parquet"]
    found = [(p, c) for p, content in haystack for c in canaries if c in content]
    assert found == []


def pl_rows(path: Path) -> list[tuple[object, ...]]:
    """A Parquet file's rows: compressed pages hide what a search of bytes would find."""
    import polars as pl

    return pl.read_parquet(path, glob=False).rows()

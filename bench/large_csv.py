"""A statement over a CSV too large to be loaded, as a view that knows how the file is written, beside its limits.

    python -m bench.large_csv --rows 2500000

Beside it a view that DuckDB's sniffer looks at anew for every statement, and the same rows as Parquet.
"""

from __future__ import annotations

import argparse
import tempfile
from contextlib import closing
from pathlib import Path
from statistics import median
from time import perf_counter

import duckdb

from agro_data.databases.files import file_tables
from agro_data.databases.quoting import literal
from bench.parts.machine import description
from bench.parts.tables import show

ORDERS = """
    SELECT i AS order_id, (i * 7919) % 1000000 AS customer_id, DATE '2020-01-01' + CAST(i % 1500 AS INT) AS ordered_on,
        (i * 31 % 50000) / 100 AS amount, 'city ' || (i % 300) AS city, 'note number ' || i AS note
    FROM range({}) t(i)"""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=2_500_000)
    parser.add_argument("--times", type=int, default=5)
    given = parser.parse_args()
    file_tables.CSV_LOADED = 0
    with tempfile.TemporaryDirectory() as place, closing(duckdb.connect(config={"threads": "1"})) as connection:
        folder, parquet = Path(place, "shop"), Path(place, "orders.parquet")
        folder.mkdir()
        file = folder / "orders.csv"
        for target in (file, parquet):
            connection.execute(f"COPY ({ORDERS.format(given.rows)}) TO {literal(target)}")
        file_tables.create_tables(connection, folder)
        ways = {
            "a view that knows how it is written": "orders",
            "a view that looks anew": f"read_csv({literal(file)}, sample_size=-1)",
            "as Parquet": literal(parquet),
        }
        seconds = {way: _seconds(connection, source, given.times) for way, source in ways.items()}
        size = file.stat().st_size / 2**20
    print(description())
    first = next(iter(seconds.values()))
    show(
        f"SELECT sum(amount) over a CSV of {size:.0f} MiB, one thread, median of {given.times}",
        ("read as", "seconds", "ratio"),
        [(way, f"{taken:.2f}", f"{taken / first:.2f}") for way, taken in seconds.items()],
    )


def _seconds(connection: duckdb.DuckDBPyConnection, source: str, times: int) -> float:
    """Of a statement, the median."""
    taken: list[float] = []
    for _ in range(times):
        start = perf_counter()
        connection.execute(f"SELECT sum(amount) FROM {source}").fetchall()
        taken.append(perf_counter() - start)
    return median(taken)


if __name__ == "__main__":
    main()

"""A table of two gigabytes: looked at in seconds, in bounded memory, and asked about like any other."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from making import run_sqlite

ROWS, WIDTH = 65_536, 32_768  # 2 GiB of scanned receipts

BUILD = """
import resource, sys, time, agro_data
from pathlib import Path
from agro_data.databases.discovery.catalog import find_databases
from agro_data.profiling.profiler import profile_database
(database,) = find_databases(Path(sys.argv[1])).databases
start = time.monotonic()
profile = profile_database(database)
print(profile.table("receipt").rows, profile.table("receipt").sampled, time.monotonic() - start)
config = agro_data.BuildConfig(databases=sys.argv[1], size=30, embedding_model="structural")
result = agro_data.build(config=config, run=agro_data.RunConfig(out=Path(sys.argv[2]) / "out", workers=1))
peaks = [resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
print(result.version.examples().collect().height, max(peaks))
"""


@pytest.fixture
def receipts(tmp_path: Path) -> Path:
    if shutil.disk_usage(tmp_path).free < 8 * 2**30:
        pytest.skip("needs 8 GiB of free disk: a database of 2 GiB and its shuffled copy")
    path = tmp_path / "databases" / "receipts.sqlite"
    run_sqlite(
        path,
        f"""
            PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;
            CREATE TABLE shop (id INTEGER PRIMARY KEY, name TEXT, city TEXT);
            CREATE TABLE receipt (id INTEGER PRIMARY KEY, shop_id INTEGER REFERENCES shop(id), total REAL, scan BLOB);
            INSERT INTO shop VALUES (1, 'Corner', 'Oslo'), (2, 'Market', 'Lyon'), (3, 'Station', 'Graz');
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {ROWS})
            INSERT INTO receipt SELECT i, 1 + i % 3, (i * 7919 % 100003) / 4.0, zeroblob({WIDTH}) FROM n;
            """,
    )
    assert path.stat().st_size > 2 * 2**30
    return path


@pytest.mark.slow
def test_a_table_of_two_gigabytes(receipts: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", BUILD, str(receipts), str(tmp_path)], capture_output=True, text=True, check=True
    )
    profiled, built = done.stdout.splitlines()[-2:]
    rows, sampled, seconds = profiled.split()
    assert sampled == "True"
    assert abs(int(rows) - ROWS) < ROWS // 50
    assert float(seconds) < 20
    examples, peak = built.split()
    assert int(examples) == 30
    assert int(peak) < 2 * 2**20  # KiB

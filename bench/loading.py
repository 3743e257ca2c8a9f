"""How long Dagster waits for our definitions, beside the libraries that they are written with.

python -m bench.loading --times 5

Seconds of computing of a process of its own, the median of several: a machine's other work does not count. Read
with compiled modules, as Dagster's second start does.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from bench.parts.machine import description

LIBRARIES = "import dagster, duckdb, polars, sqlglot, faiss, pyarrow"
OURS = "from agro_train.definitions import defs; defs.resolve_asset_graph(); defs.resolve_all_job_defs()"
GOAL = 3.0  # seconds


def main() -> None:
    """Print the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=5)
    print(json.dumps({"machine": description(), **measure(parser.parse_args().times)}, indent=1))


def measure(times: int) -> dict[str, float]:
    """Medians in seconds, and definitions as a multiple of their libraries."""
    with tempfile.TemporaryDirectory() as compiled:
        seconds(OURS, compiled)  # compiles
        libraries, ours = (
            median(of)
            for of in zip(*((seconds(LIBRARIES, compiled), seconds(OURS, compiled)) for _ in range(times)), strict=True)
        )
    return {
        "libraries": round(libraries, 2),
        "definitions": round(ours, 2),
        "ratio": round(ours / libraries, 2),
        "goal": GOAL,
    }


def seconds(code: str, compiled: str) -> float:
    """Of computing that `code` takes in a new interpreter, which keeps compiled modules in the folder `compiled`."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    asked = [sys.executable, "-c", f"import time; {code}; print(time.process_time())"]
    root = Path(__file__).resolve().parents[1]
    done = subprocess.run(
        asked, capture_output=True, text=True, check=True, cwd=root, env=env | {"PYTHONPYCACHEPREFIX": compiled}
    )
    return float(done.stdout)


if __name__ == "__main__":
    main()

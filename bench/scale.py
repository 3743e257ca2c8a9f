"""What an example costs at two sizes: the same databases, ten times as much asked.

    python -m bench.scale --databases ../shared/data/spider/database --questions ../shared/data/spider/train.json \
        --sizes 10000 100000

Each size is built by a process of its own, so that neither memory nor caches of one enter the other. Certificates are
left out unless `--certify` asks for them: their cost is by the row, and 100,000 take more than an hour.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agro_data.config import STRUCTURAL

GOAL = 1.3


def main() -> None:
    """Print the figures of each size, and the ratio of the last to the first, as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--databases", type=Path, required=True)
    parser.add_argument("--questions", type=Path, help="use only the databases of this file's db_id")
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--embedding-model", default=STRUCTURAL)
    parser.add_argument("--certify", action="store_true")
    given = parser.parse_args()
    print(json.dumps(measure(given.databases, given.questions, given.sizes, given.embedding_model, given.certify)))


def measure(
    databases: Path, questions: Path | None, sizes: Sequence[int], model: str, certify: bool = False
) -> dict[str, Any]:
    """Figures of `bench.factory` for each size, and `ratio`: CPU time an example, last size to first.

    CPU time and not the clock, which on a shared machine measures the neighbours.
    """
    found = [_built(databases, questions, size, model, certify) for size in sizes]
    costs = [one["cpu_milliseconds_per_example"] for one in found]
    return {"model": model, "sizes": found, "ratio": round(costs[-1] / costs[0], 2)}


def _built(databases: Path, questions: Path | None, size: int, model: str, certify: bool) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        figures = Path(folder) / "figures.json"
        command = [sys.executable, "-m", "bench.factory", "--databases", str(databases), "--size", str(size)]
        command += ["--embedding-model", model, "--speed-only", "--json", str(figures)]
        command += ["--questions", str(questions)] if questions else []
        command += [] if certify else ["--no-certify"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        found: dict[str, Any] = json.loads(figures.read_text(encoding="utf-8"))
        return found


if __name__ == "__main__":
    main()

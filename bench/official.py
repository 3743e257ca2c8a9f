"""Are the official evaluators' verdicts reproduced, and how much faster?

python -m bench.official PREDICTIONS --databases DATABASES --instances TEST_SUITES

PREDICTIONS is a folder of JSON files whose rows carry the official verdicts beside gold and prediction.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter
from pathlib import Path
from time import perf_counter
from typing import Any

from agro_data.evaluation.evaluate import evaluate
from agro_data.evaluation.loaded import Prediction
from bench.parts.machine import cpu_seconds
from bench.parts.tables import show

# Field of the file -> metric. BIRD's soft F1 is a float: equal within what rounding leaves.
OFFICIAL = {
    "spider_ex": "spider-ex",
    "spider_em": "spider-em",
    "spider_ts": "spider-ts",
    "bird_ex": "bird-ex",
    "bird_soft_f1": "soft-f1",
}
CLOSE = 1e-4
TIMED = 972
GOAL_SECONDS = 1.6  # a tenth of the official evaluator's 16 to 30 s on two cores


def main() -> None:
    """Print agreement by metric and set, every difference, and the time."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("predictions", type=Path)
    parser.add_argument("--databases", type=Path, required=True)
    parser.add_argument("--instances", type=Path, required=True)
    arguments = parser.parse_args()
    sets = {file.stem: json.loads(file.read_text("utf-8")) for file in sorted(arguments.predictions.glob("*.json"))}
    rows = [(name, row) for name, content in sets.items() for row in content]
    agreement: dict[str, Counter[str]] = {}
    different: list[tuple[str, str, dict[str, Any], float, str]] = []
    for field, metric in OFFICIAL.items():
        instances = arguments.instances if metric == "spider-ts" else None
        started = perf_counter()
        found = evaluate(_read(rows), arguments.databases, metric=metric, instances=instances)
        agreement[metric] = Counter({"seconds": round(perf_counter() - started)})
        for (name, row), verdict in zip(rows, found.verdicts, strict=True):
            same = abs(verdict.score - row[field]) <= CLOSE
            agreement[metric][name] += same
            if not same:
                different.append((metric, name, row, verdict.score, verdict.reason))
    show(
        "Official verdicts reproduced",
        ["set", "predictions", *OFFICIAL.values()],
        [[name, len(content), *(agreement[m][name] for m in OFFICIAL.values())] for name, content in sets.items()]
        + [["all", len(rows), *(sum(agreement[m][n] for n in sets) for m in OFFICIAL.values())]],
    )
    for metric, name, row, score, reason in different:
        where = f"{metric} {name} {row.get('dev_index', '')} {row['db_id']}"
        print(f"\n{where}: ours {score:g} {reason}\n  gold {row['gold']}\n  pred {row['pred']}")
    with tempfile.TemporaryDirectory(prefix="agro-bench-") as folder:
        for state in ("golds unknown", "golds known"):
            wall, cpu = _time(rows, arguments, Path(folder))
            print(f"\n{TIMED} predictions on the test suites, {state}: {wall:.2f} s, {cpu:.2f} CPU s", end="")
    print(f" (goal at most {GOAL_SECONDS} s)")


def _read(rows: list[tuple[str, dict[str, Any]]]) -> list[Prediction]:
    return [
        Prediction(f"{name}, {place}", row["db_id"], row["question"], row["gold"], (row["pred"],))
        for place, (name, row) in enumerate(rows)
    ]


def _time(rows: list[tuple[str, dict[str, Any]]], arguments: argparse.Namespace, cache: Path) -> tuple[float, float]:
    """Wall and CPU seconds for as many predictions as the official evaluator was timed on, with all that it takes."""
    started, used = perf_counter(), cpu_seconds()
    evaluate(_read(rows[:TIMED]), arguments.databases, metric="spider-ts", instances=arguments.instances, cache=cache)
    return perf_counter() - started, cpu_seconds() - used


if __name__ == "__main__":
    main()

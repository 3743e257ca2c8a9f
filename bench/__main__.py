"""The standard set of figures, small enough to end in about ten minutes on two cores: `python -m bench`.

What needs real databases looks for them in `../shared/data` and says when it has found none. Full sizes are those
of the single benches: `bench.factory`, `bench.scale`, `bench.places`, `bench.gate`, `bench.human_likeness`.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import agro_data
from agro_data.config import STRUCTURAL
from agro_data.diversity.embeddings import embedding_installed
from bench import factory, gate, places, scale
from bench.parts.machine import description
from bench.parts.tables import show

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


def main() -> None:
    """Measure and print, one table a topic."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=4_000, help="examples on the training databases")
    parser.add_argument("--scale", type=int, nargs="+", default=[1_000, 5_000], help="sizes whose cost is compared")
    parser.add_argument("--single", type=int, default=1_000, help="examples on one database")
    parser.add_argument("--data", type=Path, default=SHARED, help="folder that holds spider/ and samples/")
    arguments = parser.parse_args()
    print(description())
    model = agro_data.BuildConfig("x").embedding_model if embedding_installed() else STRUCTURAL
    databases = arguments.data / "spider" / "database"
    questions = arguments.data / "spider" / "train.json"
    if databases.is_dir() and questions.is_file():
        of_factory(databases, questions, arguments.size, model)
        of_gate(databases, questions)
        of_scale(databases, questions, arguments.scale)
    else:
        print(
            f"\nskipped: factory, gate and scale need Spider's databases and train.json in {arguments.data / 'spider'}"
        )
    chinook = arguments.data / "samples" / "chinook.sqlite"
    if chinook.is_file():
        of_places(chinook, arguments.single, model)
    else:
        print(f"\nskipped: one database needs {chinook}")


def of_factory(databases: Path, questions: Path, size: int, model: str) -> None:
    """Stages, limits and what is delivered, of one build."""
    with tempfile.TemporaryDirectory() as folder:
        config = agro_data.BuildConfig(
            databases=str(databases), size=size, only=factory.named_in(questions), embedding_model=model, name="bench"
        )
        found = factory.measure(config, out=Path(folder))
    show(
        f"The factory: {found['asked']} examples asked of {len(config.only)} databases, {model}",
        ["stage", "in", "out", "seconds", "CPU seconds", "out a second"],
        [[s[k] for k in ("stage", "in", "out", "seconds", "cpu_seconds", "per_second")] for s in found["stages"]],
    )
    show("Beside its limit, in the same run", ["what", "ours", "limit", "ratio"], factory.beside_limits(found))
    show(
        "The whole",
        ["figure", "measured", "goal"],
        [
            ["examples a second", found["examples_per_second"], "100 at 20,000"],
            ["CPU milliseconds an example", found["cpu_milliseconds_per_example"], "20 on two cores"],
            ["acceptance (verified / candidates)", found["acceptance"], ""],
            ["peak memory, GiB", found["peak_memory_gib"], "under 3"],
            ["examples", found["examples"], found["asked"]],
            ["databases", found["databases"], "105 of 107"],
            ["tables with rows used", found["tables_used"], "0.99"],
            ["columns with values used", found["columns_used"], "0.90"],
            ["constructs", len(found["constructs"]), "every one"],
            ["least of hardness levels", min(found["hardness"].values()), "0.10"],
            ["skeletons, names masked", found["skeletons_names_masked"], "2,500 at 20,000"],
            ["digests replayed by plain sqlite3", found["digests_replayed_by_plain_sqlite3"], "1.0"],
            ["inputs unchanged", found["inputs_unchanged"], True],
        ],
    )


def of_gate(databases: Path, questions: Path) -> None:
    """People's queries at the gate."""
    found = gate.measure(questions, databases)
    rows: list[list[Any]] = [[name, found[name]] for name in ("queries", "runnable", "pass_the_gate")]
    show(f"Gold queries of {questions.name} at the gate", ["what", "count"], rows)


def of_scale(databases: Path, questions: Path, sizes: Sequence[int]) -> None:
    """Cost an example at two sizes, with structural embeddings: a model's cost an example does not depend on size."""
    found = scale.measure(databases, questions, sizes, STRUCTURAL)
    keys = ("examples", "seconds", "cpu_seconds", "cpu_milliseconds_per_example", "peak_memory_gib")
    show(
        f"Scale: cost an example, last to first {found['ratio']} (goal at most {scale.GOAL})",
        ["examples", "seconds", "CPU seconds", "CPU ms an example", "peak GiB"],
        [[one[key] for key in keys] for one in found["sizes"]],
    )


def of_places(database: Path, size: int, model: str) -> None:
    """One database, and folders in which nothing may appear."""
    found, changes = places.single(database, size, model), places.untouched(database)
    rows: list[list[Any]] = [["examples", found["examples"], size]]
    rows += [[f"examples in {split}", count, "some"] for split, count in found["splits"].items()]
    rows += [["in more than one split", found["leaks"], 0]]
    rows += [[f"files changed beside a source ({kind})", len(names), 0] for kind, names in changes.items()]
    show(f"One database: {database.name}", ["figure", "measured", "goal"], rows)


if __name__ == "__main__":
    main()

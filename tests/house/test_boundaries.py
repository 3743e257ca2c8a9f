"""Imports run one way, and importing the factory loads no model library."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from fnmatch import fnmatch
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from agro_data.software import EDGE
from agro_train.programs.settings import EDGE as TRAINING_EDGE

ROOT = Path(__file__).resolve().parents[2]

# Left may be imported by right, never the other way round. What stands in one set may import each other.
ORDER: list[set[str]] = [
    {"errors", "faults", "fences", "words"},
    {"records", "config", "hashing", "files"},
    {"progress", "locking", "pages"},
    {"focus"},
    {"models"},
    {"databases"},
    {"folders", "rows"},
    {"parallel"},
    {"software"},
    {"fingerprint"},
    {"snapshot"},
    {"protocol"},
    {"sql"},
    {"llm"},
    {"prompts"},
    {"profiling"},
    {"populate", "intent"},
    {"verify"},
    {"synthesis"},
    {"alignment"},
    {"evaluation"},
    {"diversity"},
    {"phrasing"},
    {"publish"},
    {"work"},
    {"stages"},
    {"pipeline"},
    {"estimate"},
    {"doctor"},
    {"pairs"},
    {"migration"},
    {"rounds"},
    {"exports"},
    {"terminal", "shown"},
    {"verbs"},
    {"defs", "definitions", "cli"},
]
RANK = {name: rank for rank, names in enumerate(ORDER) for name in names}

TRAINING_ORDER: list[set[str]] = [
    {"rewards", "advantages", "clarifying", "direct", "programs", "naming", "language_model"},
    {"tasks", "sampling"},
    {"sql_env", "questions", "objections"},
    {"rollouts"},
    {"decoding"},
    {"runs"},
    {"agents"},
    {"answers"},
    {"predict"},
    {"asking", "solving", "abstention"},
    {"finetuning", "reinforcement"},
    {"trajectories"},
    {"cold_start"},
    {"grpo"},
    {"teach", "aligning"},
    {"comparison"},
    {"evaluate"},
    {"promotion"},
    {"verbs"},
    {"defs", "definitions", "cli"},
    {"reference"},
]
TRAINING_RANK = {name: rank for rank, names in enumerate(TRAINING_ORDER) for name in names}


@cache
def imports(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def modules(package: str) -> list[Path]:
    return sorted(p for p in (ROOT / package).rglob("*.py") if "__pycache__" not in p.parts)


def room(path: Path) -> str:
    return path.relative_to(ROOT).with_suffix("").parts[1]


def dotted(path: Path) -> str:
    """The name by which a file is imported."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def shown(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", modules("agro_data"), ids=shown)
def test_imports_point_left(path: Path) -> None:
    assert not [name for name in imports(path) if name.split(".")[0] == "agro_train"], "the factory imports training"
    assert not pointing_right(path, RANK)


@pytest.mark.parametrize("path", modules("agro_train"), ids=shown)
def test_imports_of_training_point_left(path: Path) -> None:
    assert not pointing_right(path, TRAINING_RANK)


def pointing_right(path: Path, rank: dict[str, int]) -> list[str]:
    """The imports of rooms that stand further right; what follows the package may be a name and no room."""
    package, mine = path.relative_to(ROOT).parts[0], room(path)
    asked = [(name, name.split(".")) for name in imports(path) if mine != "__init__"]
    rooms = [(name, parts[1]) for name, parts in asked if parts[0] == package and len(parts) > 1]
    return [name for name, other in rooms if rank.get(other, -1) > rank[mine]]


@pytest.mark.parametrize("package", ["agro_data", "agro_train"])
def test_files_import_each_other_in_no_circle(package: str) -> None:
    """Not inside a function either; what a package gathers of its own files is passed over."""
    files = {dotted(path): path for path in modules(package) if path.stem != "__init__"}
    imported = {name: imports(path) & files.keys() for name, path in files.items()}
    TopologicalSorter(imported).prepare()  # raises CycleError, which names the files


@pytest.mark.parametrize(("package", "rank"), [("agro_data", RANK), ("agro_train", TRAINING_RANK)])
def test_no_room_is_forgotten(package: str, rank: dict[str, int]) -> None:
    rooms = {room(path) for path in modules(package)} - {"__init__"}
    assert rooms == set(rank), "add new rooms to the order"
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    [house] = re.findall(rf"^{package}/ .*\n((?: .*\n)+)", page, re.M)
    named = set(re.findall(r"\b(\w+)(?:\.py|/)", house))
    assert rooms <= named, "say in ARCHITECTURE's house what a new room is for"


TRAININGS = [f"agro_train.{name}" for name in ("cold_start", "grpo", "teach", "predict", "solving")]
# The pipeline, and what it starts as processes of their own.
BUILDS = [
    f"agro_data.{name}"
    for name in ("pipeline", "databases.hostile.worker", "databases.trusted.apart", "llm.vllm_child")
]


def reached(names: list[str]) -> set[Path]:
    """The files of these modules, and of all that they import. `agro_data` itself only passes names on."""
    paths = {dotted(path): path for path in [*modules("agro_data"), *modules("agro_train")]}
    del paths["agro_data"]
    waiting, found = [paths[name] for name in names], set[Path]()
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.add(path)
            waiting += [paths[name] for name in imports(path) if name in paths]
    return found


def test_what_a_training_is_not_named_by_decides_none() -> None:
    """Nothing that trains, answers, or keeps what others answered reads what its `EDGE` leaves out."""
    assert not of_edge(reached(TRAININGS), "agro_train", TRAINING_EDGE)


def test_what_a_build_is_not_named_by_decides_none() -> None:
    """Nothing that makes a version, keeps by `code_version` what it made, or trains, reads what the factory's `EDGE`
    leaves out. Dagster's assets only tell that version.
    """
    keeping = [path for path in modules("agro_data") if "agro_data.software.code_version" in imports(path)]
    names = [*BUILDS, *TRAININGS, *(dotted(path) for path in keeping if room(path) != "defs")]
    assert not of_edge(reached(names), "agro_data", EDGE)


def of_edge(files: set[Path], package: str, edge: frozenset[str]) -> list[str]:
    assert not [name for name in edge if not (ROOT / package / name).exists()]
    return [shown(path) for path in files if path.relative_to(ROOT).parts[:2] in {(package, name) for name in edge}]


LIGHT = ["agro_data", "agro_data.pipeline", "agro_data.cli", "agro_data.protocol", "agro_data.llm.client"]
TRAINING = ["agro_train.definitions", "agro_train.cli", "agro_train.evaluate", "agro_train.promotion"]
ENVIRONMENT = ["agro_train.sql_env", "agro_train.trajectories.teachers", "agro_train.rewards", "agro_train.advantages"]


@pytest.mark.ci
@pytest.mark.parametrize("module", [*LIGHT, *TRAINING, *ENVIRONMENT])
def test_import_loads_no_model_library(module: str) -> None:
    heavy = ("torch", "vllm", "trl", "transformers", "sentence_transformers", "matplotlib", "sklearn")
    code = f"import sys, {module}; print([m for m in {heavy!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "[]"


def test_no_folder_of_tests_is_passed_over(pytestconfig: pytest.Config) -> None:
    """pytest does not look into folders of some names, of itself into none that is called `build`."""
    passed_over = pytestconfig.getini("norecursedirs")
    folders = {path.parent.relative_to(ROOT) for path in (ROOT / "tests").rglob("test_*.py")}
    lost = [str(one) for one in folders if any(fnmatch(part, name) for part in one.parts for name in passed_over)]
    assert not lost


def test_what_is_imported_by_its_base_name_has_a_name_of_its_own() -> None:
    """Of two test files with one name pytest collects only one; of two helpers a test gets whichever was first."""
    places: dict[str, list[str]] = {}
    by_base_name: set[str] = set()
    for path in (ROOT / "tests").rglob("*.py"):
        places.setdefault(path.stem, []).append(str(path.relative_to(ROOT)))
        by_base_name |= imports(path) | ({path.stem} if path.stem.startswith("test_") else set())
    assert {name: paths for name, paths in places.items() if len(paths) > 1 and name in by_base_name} == {}

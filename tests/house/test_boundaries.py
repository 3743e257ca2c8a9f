"""Imports run one way, and importing the factory loads no model library."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# Left may be imported by right, never the other way round. What stands in one set may import each other.
ORDER: list[set[str]] = [
    {"records", "config"},
    {"focus"},
    {"models"},
    {"databases"},
    {"llm"},
    {"protocol"},
    {"sql"},
    {"profiling"},
    {"populate", "intent"},
    {"verify"},
    {"synthesis"},
    {"alignment"},
    {"evaluation"},
    {"diversity"},
    {"phrasing"},
    {"publish"},
    {"fingerprint", "progress", "parallel", "work", "pages"},
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
# Small tools without domain knowledge: anyone may use them.
ANYONE = {"records", "config", "fingerprint", "progress", "parallel", "work", "pages", "sql"}
RANK = {name: rank for rank, names in enumerate(ORDER) for name in names}


def imports(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def modules() -> list[Path]:
    return sorted(p for p in (ROOT / "agro_data").rglob("*.py") if "__pycache__" not in p.parts)


def room(path: Path) -> str:
    return path.relative_to(ROOT / "agro_data").with_suffix("").parts[0]


@pytest.mark.parametrize("path", modules(), ids=lambda p: p.relative_to(ROOT).as_posix())
def test_imports_point_left(path: Path) -> None:
    mine = room(path)
    if mine == "__init__":
        return
    for name in imports(path):
        parts = name.split(".")
        if parts[0] == "agro_train":
            pytest.fail(f"{path} imports {name}: the factory never imports training")
        if parts[0] != "agro_data" or len(parts) < 2 or parts[1] == mine or parts[1] in ANYONE:
            continue
        if parts[1] not in RANK:
            continue  # a name, not a module
        assert RANK[parts[1]] <= RANK[mine], f"{path.relative_to(ROOT)} imports {name}"


def test_no_room_is_forgotten() -> None:
    rooms = {room(path) for path in modules()} - {"__init__"}
    assert rooms == set(RANK), "add new rooms to ORDER"


LIGHT = ["agro_data", "agro_data.pipeline", "agro_data.cli", "agro_data.protocol", "agro_data.llm.client"]
TRAINING = ["agro_train.definitions", "agro_train.cli", "agro_train.evaluate", "agro_train.promotion"]
ENVIRONMENT = ["agro_train.sql_env", "agro_train.teachers", "agro_train.rewards", "agro_train.advantages"]


@pytest.mark.parametrize("module", [*LIGHT, *TRAINING, *ENVIRONMENT])
def test_import_loads_no_model_library(module: str) -> None:
    heavy = ("torch", "vllm", "trl", "transformers", "sentence_transformers", "matplotlib", "sklearn")
    code = f"import sys, {module}; print([m for m in {heavy!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "[]"

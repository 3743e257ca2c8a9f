"""What is installed from a built package is what stands in the repository."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

HOUSE = Path(__file__).resolve().parents[2]
SETTINGS = tomllib.loads((HOUSE / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
NOT_SHIPPED = {".py", ".pyc"}


@pytest.mark.parametrize("package", ["agro_data", "agro_train"])
def test_each_file_that_is_no_code_is_packaged(package: str) -> None:
    """Else a template or a prompt is missing where agro was installed from a wheel, and nowhere else."""
    folder = HOUSE / package
    packaged = {file for pattern in SETTINGS["package-data"][package] for file in folder.glob(pattern)}
    there = {file for file in folder.rglob("*") if file.is_file() and file.suffix not in NOT_SHIPPED}
    assert there == packaged


@pytest.mark.parametrize("package", ["agro_data", "agro_train"])
def test_each_folder_of_code_is_a_package(package: str) -> None:
    """A folder without `__init__.py` is imported from a checkout, but is not found by `setuptools`."""
    code = {file.parent for file in (HOUSE / package).rglob("*.py")}
    assert not [str(folder) for folder in code if not (folder / "__init__.py").is_file()]

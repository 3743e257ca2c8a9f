"""What the name of a model stands for: a run, a folder of weights, or a server."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from agro_data.llm.writers import is_address
from agro_data.models import DEFAULT_WRITER, ModelMissing, check_model_name
from agro_train.language_model.loading import find_folder
from agro_train.runs.store import ModelRun, NoRun, find_run


@dataclass(frozen=True)
class Folder:
    """A model that is no run of ours. `name` is what it calls itself."""

    path: Path
    name: str


@dataclass(frozen=True)
class Address:
    """A server's address: `URL#MODEL`, or `URL` if it serves one model."""

    url: str


Named = ModelRun | Folder | Address


def check_named(name: str, models: Path) -> None:
    """Raise like `find_named` for a name that stands for nothing here and is no Hub id by its form. Asks nobody."""
    if is_address(name):
        return
    try:
        find_run(models, name)
    except NoRun as missing:
        if missing.ours:
            raise
        try:
            check_model_name(name, like=DEFAULT_WRITER)
        except ModelMissing as error:
            raise ModelMissing(f"{error}; and {missing}") from None


def find_named(name: str, models: Path, cache: Path) -> Named:
    """What `name` stands for: `promoted`, a run below `models` or its path, a folder, a Hub id, or a server's URL.

    A server is asked nothing. Raises `NoRun` for a run that is not there, and `ModelMissing` where nothing is found.
    """
    if is_address(name):
        return Address(name)
    try:
        return find_run(models, name)
    except NoRun as missing:
        if missing.ours:
            raise
        try:
            path = find_folder(name, cache)
        except ModelMissing as error:
            raise ModelMissing(f"{error}; and {missing}") from error
    return Folder(path, path.name if Path(name).is_dir() else name)

"""Settings of a training program: a frozen dataclass, read from JSON and written to it, strict about names."""

from __future__ import annotations

import json
import re
from argparse import ArgumentParser
from collections.abc import Mapping
from dataclasses import asdict, fields
from difflib import get_close_matches
from functools import cache
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_args, get_type_hints

from agro_data.config import ConfigError, RunConfig, cache_folder
from agro_data.hashing import file_hash, stable_hash
from agro_data.software import EMBEDDING_LIBRARIES, LIBRARIES, code_version, library_versions

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Settings = TypeVar("Settings", bound="DataclassInstance")
LAST_SEED = 2**32 - 1
_YAML = (".yaml", ".yml")
_EXPONENT = re.compile(r"([-+]?\d+)(\.\d*)?[eE]([-+]?)(\d+)")
# What only calls the rest, or shows what came of it: no training and no answer is another because of these.
EDGE = frozenset(
    {
        *("defs", "verbs", "comparison", "abstention.py", "aligning.py", "asking.py", "cli.py", "definitions.py"),
        *("evaluate.py", "promotion.py", "reference.py"),
    }
)
_LIBRARIES = ("tokenizers", "trl", "peft", "accelerate")  # beside the factory's


class SettingsError(ConfigError):
    """Settings that cannot be used; the message names the setting, what was expected and what to do."""


def settings_from(kind: type[Settings], given: Mapping[str, Any]) -> Settings:
    """An instance of the dataclass `kind`. Raises `SettingsError` for an unknown name or a value of another type."""
    known = {field.name: field for field in fields(kind)}
    types = get_type_hints(kind)
    for name, value in given.items():
        if name not in known:
            near = get_close_matches(name, known, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else f"; known are {', '.join(sorted(known))}"
            raise SettingsError(f"there is no setting {name!r}{hint}")
        _check_type(name, known[name].default, types[name], value)
    try:
        return kind(**_with_reals(kind, given))
    except (TypeError, OverflowError) as error:
        raise SettingsError(str(error)) from error


def read_settings(kind: type[Settings], path: Path, on_top: Mapping[str, Any] | None = None) -> Settings:
    """The settings in a JSON file, with the options `on_top`. Raises `SettingsError`, which names the file."""
    given = read_values(path)
    try:
        return settings_from(kind, given | dict(on_top or {}))
    except ConfigError as error:
        where = f"{path}, with the options on top" if on_top else path
        raise SettingsError(f"{where}: {error}") from error


def settings_of_program(kind: type[Settings], module: str, about: str | None) -> Settings:
    """The settings of a program that was started as `python -m MODULE --config FILE`. Raises like `read_settings`."""
    parser = ArgumentParser(prog=f"python -m {module}", description=(about or "").splitlines()[0])
    parser.add_argument("--config", type=Path, required=True, help=f"JSON file of {kind.__name__}")
    return read_settings(kind, parser.parse_args().config)


def read_values(path: Path) -> dict[str, Any]:
    """Values of settings by name, from a JSON file. Raises `SettingsError`, which names the file."""
    if not path.exists():
        raise SettingsError(f"{path}: no such file")
    if path.is_dir():
        raise SettingsError(f"{path}: a folder; expected a file of settings as JSON")
    if path.suffix in _YAML:
        raise SettingsError(
            f"{path}: expected settings as JSON; a YAML file is a run configuration of Dagster, for "
            f"`dagster job execute -j train_grpo -c {path}`"
        )
    try:
        given = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise SettingsError(f"{path} cannot be read as JSON settings: {error}") from error
    if not isinstance(given, dict):
        raise SettingsError(f"{path}: expected an object of settings, found {type(given).__name__}")
    return given


def check_finite(settings: DataclassInstance) -> None:
    """Raise `SettingsError` for the first setting that is NaN or infinite, as JSON can say."""
    for field in fields(settings):
        if isinstance(value := getattr(settings, field.name), float) and not isfinite(value):
            raise SettingsError(f"{field.name} is {value}: expected a finite number")


def check_counts(settings: DataclassInstance, *names: str, least: int = 1) -> None:
    """Raise `SettingsError` for the first of these settings that is below `least`."""
    for name in names:
        if not (count := getattr(settings, name)) >= least:  # JSON can say NaN, which is not below it either
            raise SettingsError(f"{name} is {count:g}: expected at least {least}")


def check_shares(settings: DataclassInstance, *names: str) -> None:
    """Raise `SettingsError` for the first of these settings that is no share."""
    for name in names:
        if not 0 <= (share := getattr(settings, name)) <= 1:
            raise SettingsError(f"{name}={share:g}: expected a share between 0 and 1")


def check_seed(settings: DataclassInstance) -> None:
    """Raise `SettingsError` for a `seed` that numpy does not take."""
    if not 0 <= (seed := getattr(settings, "seed")) <= LAST_SEED:  # noqa: B009 (settings of several kinds)
        raise SettingsError(f"seed is {seed}: expected 0 to {LAST_SEED}")


def find_cache(settings: DataclassInstance) -> None:
    """Set an empty `cache` to where every verb keeps its own: `$AGRO_CACHE`, or `.agro-cache` here."""
    if not getattr(settings, "cache"):  # noqa: B009 (settings of several kinds)
        object.__setattr__(settings, "cache", str(cache_folder(RunConfig())))


def fit_parts(settings: DataclassInstance, name: str, whole: int) -> None:
    """Lower the setting `name`, the size of parts at most, to the largest that parts `whole` evenly."""
    size: int = getattr(settings, name)
    object.__setattr__(settings, name, max(part for part in range(1, min(size, whole) + 1) if whole % part == 0))


def settings_to(settings: DataclassInstance) -> dict[str, Any]:
    """As JSON values; `settings_from` gives the settings back."""
    found: dict[str, Any] = json.loads(json.dumps(asdict(settings)))
    return _with_reals(type(settings), found)


def _with_reals(kind: type[DataclassInstance], given: Mapping[str, Any]) -> dict[str, Any]:
    """Whole numbers made the real ones that they stand for: 1 and 1.0 are one setting, and have to be one
    fingerprint. Raises `OverflowError`.
    """
    real = {field.name for field in fields(kind) if isinstance(field.default, float)}
    return {name: float(value) if name in real else value for name, value in given.items()}


@cache
def training_code_version() -> str:
    """Hash of what decides, beside settings, what training does: the sources of the factory and of this package, each
    without its edge, and the versions of libraries."""
    root = Path(__file__).parents[1]
    files = sorted(path for path in root.rglob("*.py") if path.relative_to(root).parts[0] not in EDGE)
    sources = [[path.relative_to(root).as_posix(), file_hash(path)] for path in files]
    return stable_hash([code_version(), sources, library_versions(LIBRARIES + EMBEDDING_LIBRARIES + _LIBRARIES)])[:16]


def _check_type(name: str, default: Any, kind: Any, value: Any) -> None:
    """A value must have its default's type. A whole number may stand for a real one. Several values are a list, of the
    type that `kind` names.
    """
    if isinstance(default, tuple):
        each = get_args(kind)[0]
        if not isinstance(value, (list, tuple)) or not all(isinstance(one, each) for one in value):
            raise SettingsError(f"{name}: expected a list of {each.__name__}; found {json.dumps(value)}")
    if not isinstance(default, (bool, int, float, str)):
        return
    wanted = (int, float) if isinstance(default, float) else (type(default),)
    if not isinstance(value, wanted) or (isinstance(value, bool) and not isinstance(default, bool)):
        found = f"{json.dumps(value)}{_as_number(value)}"
        raise SettingsError(f"{name}: expected {type(default).__name__}, as in {default!r}; found {found}")


def _as_number(value: Any) -> str:
    """How a number is written that YAML takes for text, as it does 1e-5, which has no dot, and 1.0e5, whose exponent
    has no sign; "" for what is none."""
    found = isinstance(value, str) and _EXPONENT.fullmatch(value)
    if not found:
        return ""
    whole, part, sign, power = found.groups()
    return f"; YAML takes that for text: write {whole}{part or '.0'}e{sign or '+'}{power}"

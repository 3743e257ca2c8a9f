"""Profiles kept on disk: by what the database holds, what is written beside it, and what this code would say of it."""

from __future__ import annotations

import hashlib
import json
import logging
import math
import multiprocessing
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import fields, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

from agro_data.databases.types import Database
from agro_data.faults import NO_SPACE
from agro_data.files import write_text
from agro_data.profiling.profile import (
    ColumnProfile,
    DatabaseProfile,
    ForeignKey,
    Mark,
    Metric,
    NullRule,
    TableProfile,
    Unknown,
    Versions,
    Within,
)
from agro_data.profiling.profiler import profile_database
from agro_data.profiling.serialising.texts import Texts, read_texts
from agro_data.profiling.side_files.sources import side_bytes
from agro_data.software import library_versions

LIBRARIES = ("duckdb", "sqlglot", "numpy", "inflect", "lemminflect", "wordninja", "pyyaml")  # they decide a profile
# Names are taken apart in `agro_data.sql`, and SQL of metrics is read there; three rooms of `agro_data.databases`, and
# the modules of `LISTING`, list the tables of a database, and read them.
ROOMS = ("profiling", "sql", "databases/files", "databases/schema", "databases/trusted")
LISTING = ("cells", "duckdb_settings", "errors", "opening", "quoting")
log = logging.getLogger(__name__)
T = TypeVar("T")
_FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def cached_profile(
    database: Database, cache_folder: Path, *, values: bool = True, side_values: bool = True
) -> DatabaseProfile:
    """The profile of `database`, from `cache_folder` when nothing that it depends on has changed.

    An entry that cannot be read is made anew, and one that cannot be written is not kept: it is said once, and only a
    full disk raises. With `values=False` neither the profile nor the cache holds a value of the source. Raises
    `DatabaseError` when the database has to be read and cannot be opened.
    """
    options = {"values": values, "side_values": side_values}

    def make() -> DatabaseProfile:
        return profile_database(database, values=values, side_values=side_values)

    return _kept(cache_folder / f"{profile_key(database, options)}.json", decode, make, encode)


def cached_texts(database: Database, profile: DatabaseProfile, cache_folder: Path) -> Texts:
    """The texts of `database`, kept as its profile is. Raises as `cached_profile` does."""
    path = cache_folder / f"{profile_key(database, {'texts': True})}.texts.json"
    return _kept(path, _read_texts, lambda: read_texts(database, profile), _texts_as_json)


def _kept(path: Path, read: Callable[[str], T], make: Callable[[], T], write: Callable[[T], str]) -> T:
    """What `read` makes of the file, or what is made anew and kept in it as `write` says."""
    try:
        return read(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        pass
    except (OSError, ValueError):
        with suppress(OSError):  # half-written by another program, or of a format this version does not know
            path.unlink(missing_ok=True)
    made = make()
    try:
        write_text(path, write(made))
    except OSError as error:
        if error.errno in NO_SPACE:  # a build stops, and goes on once there is room
            raise
        _say_unwritable(path.parent, error.strerror or str(error))
    return made


@cache
def _say_unwritable(folder: Path, reason: str) -> None:
    """Once a process, and not again by each of its workers."""
    if multiprocessing.parent_process() is None:
        log.warning("%s: cannot be written (%s), profiles are not kept; AGRO_CACHE names the folder", folder, reason)


def lend_profiles(cache_folder: Path, passing: Path) -> None:
    """Let what keeps its profiles below `passing`, a cache that will go, find and keep them in `cache_folder`, if that
    is there: reading a large database anew takes most of the time of twenty rows."""
    with suppress(OSError):  # no links here, then: profiles are made anew
        passing.mkdir(parents=True, exist_ok=True)
        if cache_folder.is_dir():
            (cache_folder / "profiles").mkdir(exist_ok=True)
            (passing / "profiles").symlink_to(cache_folder / "profiles", target_is_directory=True)


def profile_key(database: Database, options: Mapping[str, object]) -> str:
    """64 hex digits of SHA-256 over all that the profile depends on."""
    digest = hashlib.sha256()
    made_by = [code_version(), library_versions(LIBRARIES)]
    identity = [*made_by, database.db_id, database.dialect, database.layout, database.content_hash]
    digest.update(json.dumps([*identity, dict(options)], sort_keys=True).encode())
    for name, content in side_bytes(database):
        digest.update(b"\0" + name.encode() + b"\0" + hashlib.sha256(content).digest())
    return digest.hexdigest()


@cache
def code_version() -> str:
    """SHA-256 (hex) of the sources and word lists of `ROOMS` and `LISTING`: another code may say another thing
    of the same data."""
    package = Path(str(files("agro_data")))
    listing = [package / "databases" / f"{name}.py" for name in LISTING]
    rooms = [file for room in ROOMS for file in (package / room).rglob("*") if file.suffix in (".py", ".yml")]
    digest = hashlib.sha256()
    for file in sorted([*rooms, *listing]):
        digest.update(file.relative_to(package).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()


# --- JSON ----------------------------------------------------------------------------------------------------------

_TYPES: dict[str, type[Any]] = {
    kind.__name__: kind
    for kind in (
        ColumnProfile,
        ForeignKey,
        Metric,
        Mark,
        NullRule,
        Unknown,
        Versions,
        Within,
        TableProfile,
        DatabaseProfile,
    )
}


def encode(profile: DatabaseProfile) -> str:
    """The profile as one line of standard JSON; bytes and non-finite floats are wrapped in objects."""
    return json.dumps(_encode(profile), ensure_ascii=True, allow_nan=False, separators=(",", ":"))


def without_rows(profile: DatabaseProfile) -> DatabaseProfile:
    """The profile without its sample rows, which are most of its text."""
    return replace(profile, tables=tuple(replace(table, sample_rows=()) for table in profile.tables))


def decode(text: str) -> DatabaseProfile:
    """The profile that `encode` wrote. Raises `ValueError` for anything else."""
    try:
        profile = _decode(json.loads(text))
    except (KeyError, TypeError) as error:
        raise ValueError(f"not a profile that this release writes: {error!r}") from error
    if not isinstance(profile, DatabaseProfile):
        raise ValueError(f"expected a profile, found {type(profile).__name__}")
    return profile


def _texts_as_json(texts: Texts) -> str:
    return json.dumps([[*name, *held] for name, held in texts.items()], ensure_ascii=True, separators=(",", ":"))


def _read_texts(text: str) -> Texts:
    try:
        return {(table, column): tuple(held) for table, column, *held in json.loads(text)}
    except TypeError as error:
        raise ValueError(f"not texts that this release writes: {error!r}") from error


def _encode(value: Any) -> Any:
    if type(value).__name__ in _TYPES:
        body = {field.name: _encode(getattr(value, field.name)) for field in fields(value)}
        return {"_": type(value).__name__, **body}
    if isinstance(value, tuple):
        return [_encode(item) for item in value]
    if isinstance(value, bytes):
        return {"_": "bytes", "hex": value.hex()}
    if isinstance(value, float) and not math.isfinite(value):
        return {"_": "float", "value": str(value)}
    return value


def _decode(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_decode(item) for item in value)
    if not isinstance(value, dict):
        return value
    kind = value["_"]
    if kind == "bytes":
        return bytes.fromhex(value["hex"])
    if kind == "float":
        return _FLOATS[value["value"]]
    return _TYPES[kind](**{name: _decode(item) for name, item in value.items() if name != "_"})

"""What has become of databases since they were last looked at: first by the files' sizes and times, then by content."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from agro_data.databases.discovery.catalog import beside
from agro_data.databases.discovery.identity import database_identity, one_line
from agro_data.databases.opening import with_sides
from agro_data.databases.types import Catalog, Problem
from agro_data.hashing import stable_hash


def glance(source: Path) -> str:
    """A hash of the names, sizes and times of the files at `source`, hidden ones left out; opens none of them.

    For a single file, its log and side files are included. Raises `FileNotFoundError` when nothing is there.
    """
    if not source.is_dir():
        source.stat()  # raises where there is nothing
        logs = [*with_sides(source, "sqlite")[1:], *with_sides(source, "duckdb")[1:]]
        return stable_hash([seen for path in (source, *logs, *beside(source)) if (seen := _seen(path, path.parent))])
    found: list[list[str | int]] = []
    for folder, folders, files in os.walk(source):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        paths = (Path(folder, name) for name in sorted(files) if not name.startswith("."))
        found += [seen for path in paths if (seen := _seen(path, source))]
    return stable_hash(found)


def _seen(path: Path, root: Path) -> list[str | int]:
    """Name, size and time of a file; empty if the file is gone, or is a link that leads nowhere."""
    try:
        facts = path.stat()
    except OSError:
        return []
    return [one_line(path.relative_to(root).as_posix()), facts.st_size, facts.st_mtime_ns]


def identities(catalog: Catalog, only: Sequence[str] = ()) -> dict[str, str]:
    """The identity of each database, 16 hex digits by id: its content and the files that tell more of it."""
    chosen = [database for database in catalog.databases if not only or database.db_id in only]
    return {database.db_id: stable_hash(database_identity(database))[:16] for database in chosen}


def difference(before: Mapping[str, str], now: Mapping[str, str]) -> dict[str, list[str]]:
    """The ids that are `new`, `changed` and `gone`; kinds without ids are left out."""
    found = {
        "new": sorted(now.keys() - before.keys()),
        "changed": sorted(db_id for db_id in now.keys() & before.keys() if now[db_id] != before[db_id]),
        "gone": sorted(before.keys() - now.keys()),
    }
    return {kind: ids for kind, ids in found.items() if ids}


def unusable(facts: Iterable[Mapping[str, Any]], problems: Iterable[Problem]) -> dict[str, str]:
    """Databases that are there and cannot be used as they are, with the reason, by id: they may be in writing.

    `facts` come from a version's manifest, `problems` from the present catalog.
    """
    left_out = {problem.path: str(problem) for problem in problems if problem.left_out}
    places = {str(fact["db_id"]): one_line(fact["relative_path"]) for fact in facts}  # as a problem writes it
    return {db_id: left_out[place] for db_id, place in places.items() if place in left_out}

"""The databases that predictions are about: found below a folder, and why one that is named is not there."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from agro_data.config import ConfigError
from agro_data.databases.discovery.catalog import find_databases, nothing_at
from agro_data.databases.discovery.identity import is_own_name, meant
from agro_data.databases.types import Database
from agro_data.evaluation.missing import said_of, why_missing


class Named(NamedTuple):
    """The databases `found`, by id, and the reason for each that is `missing`; `unusable` are those of the missing that
    are there, but damaged, locked or empty."""

    found: dict[str, Database]
    missing: dict[str, str]
    unusable: frozenset[str]


def named_databases(path: Path, wanted: set[str]) -> Named:
    """The named databases below `path`.

    Raises `ConfigError` when there is nothing at `path`.
    """
    at_once = _at_once(path, wanted)
    if at_once is not None:
        return Named(at_once, {}, frozenset())
    if not path.exists():
        raise ConfigError(nothing_at(path))
    catalog = find_databases(path)
    found = meant(catalog.databases, wanted)
    missing = {db_id: why_missing(db_id, catalog) for db_id in sorted(wanted - found.keys())}
    return Named(found, missing, frozenset(db_id for db_id in missing if said_of(db_id, catalog)))


def needed_databases(path: Path, wanted: set[str]) -> tuple[dict[str, Database], dict[str, str]]:
    """Those found, and the reason for each that is missing. Raises `ConfigError` also when none is there."""
    found, missing, _ = named_databases(path, wanted)
    if not found:
        named = ", ".join(sorted(wanted)[:3])
        more = f" and {len(wanted) - 3} more" if len(wanted) > 3 else ""
        why = [f"{db_id}: {why}" for db_id, why in list(missing.items())[:3]]
        raise ConfigError("\n".join([f"{path}: none of the databases of the predictions is here: {named}{more}", *why]))
    return found, missing


def _at_once(path: Path, wanted: set[str]) -> dict[str, Database] | None:
    """If `databases` has a folder `<db_id>/` for each, as Spider and BIRD do, only databases that are asked for are
    looked at.
    """
    if not all(map(is_own_name, wanted)):
        return None
    folders = [path / db_id for db_id in sorted(wanted)]
    if not all(map(os.path.isdir, folders)):  # Path.is_dir raises for a name that is too long to be one
        return None
    tables = next((place / "tables.json" for place in (path, path.parent) if (place / "tables.json").is_file()), None)
    found: dict[str, Database] = {}
    for folder in folders:
        for database in find_databases(folder).databases:
            if database.db_id == folder.name:
                found[database.db_id] = replace(database, spider_tables=database.spider_tables or tables)
    return found if len(found) == len(wanted) else None

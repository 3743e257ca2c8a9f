"""Why a database that is asked for is not among those found."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import PurePosixPath

from agro_data.databases.discovery.identity import database_id
from agro_data.databases.types import Catalog, Problem

SHOWN = 3


def said_of(db_id: str, catalog: Catalog) -> tuple[Problem, ...]:
    """What the catalog says of a file or folder that has the name of a database: locked, damaged, of two such names."""
    return tuple(problem for problem in catalog.problems if db_id.lower() in _names(problem))


def why_missing(db_id: str, catalog: Catalog) -> str:
    """The catalog's message about it, else the ids that exist, the most similar first."""
    ids = [database.db_id for database in catalog.databases]
    said = said_of(db_id, catalog) or (() if ids else catalog.problems[:SHOWN])
    if said:
        return "; ".join(map(str, said))
    shown = get_close_matches(db_id, ids, SHOWN, cutoff=0.0)
    more = f" and {len(ids) - len(shown)} more" if len(ids) > len(shown) else ""
    return f"there {'is' if len(ids) == 1 else 'are'} {', '.join(shown)}{more}"


def _names(problem: Problem) -> set[str]:
    path = PurePosixPath(problem.path)
    return {database_id(name).lower() for name in (path.name, path.stem)}

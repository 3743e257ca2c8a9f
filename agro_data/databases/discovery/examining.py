"""Whether a database can be used, and what it holds: found out before anything costly is done with it.

What DuckDB reads is read in a child process (`apart`). A DuckDB file that passed has been read whole, now or when its
hash was `remembered`.
"""

from __future__ import annotations

import logging
from time import monotonic
from typing import NamedTuple

from agro_data.databases.discovery.content import content_hash
from agro_data.databases.discovery.health import examine
from agro_data.databases.discovery.identity import one_line
from agro_data.databases.discovery.remembered import State, recalled, remember
from agro_data.databases.errors import DatabaseError, first_line
from agro_data.databases.opening import stamp
from agro_data.databases.types import Database, Problem, Stamp

LARGE = 2**29  # bytes, from which on it takes so long that a person should know of it
log = logging.getLogger(__name__)
REMEDY = "check it with the engine's own tools, or give a copy"


class Examined(NamedTuple):
    """What was found; without a content hash the database cannot be used, and a problem says why."""

    problems: list[Problem]
    content_hash: str = ""
    seen: Stamp = ()


def examined(database: Database) -> Examined:
    """A database as examined."""
    problems = examine(database)
    place = one_line(database.relative_path)
    if any(problem.left_out and problem.path == place for problem in problems):
        return Examined(problems)
    try:
        seen, state = stamp(database.path, database.layout), State.of(database.path, database.layout)
        if content := recalled(state):
            return Examined(problems, content, seen)
        if (size := sum(size for _, size, *_ in seen)) >= LARGE:
            log.warning("%s: reading all of it (%.1f GB), to know whether it has changed", place, size / 1e9)
        began = monotonic()
        content = content_hash(database.path, database.layout)
        remember(state, content, monotonic() - began)
        return Examined(problems, content, seen)
    except OSError as error:
        problem = Problem(place, f"cannot be read: {error.strerror}", "check its permissions")
    except DatabaseError as error:
        problem = Problem(place, one_line(first_line(error)), REMEDY)
    return Examined([*problems, problem])

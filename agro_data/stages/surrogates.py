"""Privacy mode: each source database is replaced by a synthetic one of the same schema, before anything is written.

Profiles are taken without values, so nothing after this module has ever seen one. Error texts of engines may quote
values, so only the class of a failure is kept.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from agro_data.databases.discovery.content import content_hash
from agro_data.databases.opening import stamp
from agro_data.databases.types import Database
from agro_data.faults import NO_SPACE, is_passing
from agro_data.files import write_json
from agro_data.hashing import seed_of
from agro_data.populate.surrogate import build_surrogate
from agro_data.profiling.profiler import profile_database


def surrogates(sources: Sequence[Database], folder: Path, seed: int) -> tuple[list[Database], list[str], list[str]]:
    """The surrogate of each source, a line for each source that has none, and what a person should know of the rest."""
    made: list[Database] = []
    failed: list[str] = []
    notes: list[str] = []
    for source in sources:
        target = folder / f"{source.db_id}.{source.dialect}"
        told = folder / f"{source.db_id}.notes.json"
        try:
            if not target.exists():
                structure = profile_database(source, values=False)
                write_json(told, list(structure.problems))
                build_surrogate(structure, target, seed_of(seed, source.db_id))
        except Exception as error:  # one schema that cannot be populated costs that database only
            if is_passing(error) or (isinstance(error, OSError) and error.errno in NO_SPACE):
                raise  # the machine's fault: a version without the database would be returned for good as the whole one
            failed.append(f"{source.relative_path}: no synthetic copy could be made ({type(error).__name__})")
            continue
        made.append(_stand_in(source, target))
        notes += [f"{source.db_id}: {note}" for note in json.loads(told.read_text(encoding="utf-8"))]
    return made, failed, notes


def _stand_in(source: Database, target: Path) -> Database:
    content, seen = content_hash(target, source.dialect), stamp(target, source.dialect)
    return replace(source, layout=source.dialect, path=target, content_hash=content, seen=seen)

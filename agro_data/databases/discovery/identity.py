"""What a database is called, and what it is: stable ids, which database is meant by a name, and what decides examples.

Ids match `[A-Za-z0-9_][A-Za-z0-9_.-]*`: each run of other characters becomes one `_`. Where several databases
would have one id, each takes its whole relative path instead (`a/shop.db` and `b/shop.db` become `a.shop` and
`b.shop`), with its extension where that is not enough, and then with a hash.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path, PurePosixPath

from agro_data.databases.types import Database
from agro_data.hashing import input_hash

ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")


def distinct_ids(places: Sequence[tuple[str, str]]) -> list[str]:
    """An id for each (relative path, name without extension); the same set of places gives the same ids.

    Ids that differ only by case count as one: they name folders and files.
    """
    candidates = [_candidates(relative, name) for relative, name in places]
    level = [0] * len(places)
    while clashing := [group for group in _groups(candidates, level) if len(group) > 1]:
        for group in clashing:
            for index in group:
                level[index] += 1
    return [names[chosen] for names, chosen in zip(candidates, level, strict=True)]


def _candidates(relative: str, name: str) -> tuple[str, ...]:
    """Ids from the plainest to one that no other path has."""
    path = PurePosixPath(relative)
    full = ".".join(path.parts) or name
    digest = hashlib.sha256(relative.encode("utf-8", "surrogateescape")).hexdigest()
    unique = f"{database_id(full)}-{digest[:8]}"
    return (
        database_id(name),
        database_id(".".join((*path.parts[:-1], name))),
        database_id(full),
        unique,
        f"{unique}{digest[8:]}",
    )


def _groups(candidates: list[tuple[str, ...]], level: list[int]) -> list[list[int]]:
    """Places by the id they have now."""
    groups: dict[str, list[int]] = {}
    for index, names in enumerate(candidates):
        groups.setdefault(names[level[index]].lower(), []).append(index)
    return list(groups.values())


def database_id(name: str) -> str:
    """A name as an id: `my shop (1)` -> `my_shop_1`, `...` -> `_`."""
    cleaned = re.sub(r"[^A-Za-z0-9_.-]+", "_", name).lstrip(".-")
    if not re.search(r"\w$", name):
        cleaned = cleaned.rstrip("_")
    return cleaned or "_"


def is_own_name(name: str) -> bool:
    """Whether a name that comes from data names a file or folder, and is no path that leads out of its folder."""
    return PurePosixPath(name).name == name and name not in ("", "..")


def meant(databases: Iterable[Database], names: Iterable[str]) -> dict[str, Database]:
    """The database that each name means, by that name; a name that means none, or perhaps several, is left out.

    A name is an id, in any letter case, or what the file or folder is called (`my shop`), or it gives the id of one
    that has no such name: not of any other, since all Chinese names give `_`. It may also be the path of the file, or
    its end (`shops/my shop.sqlite`).
    """
    there, wanted = list(databases), sorted(set(names))
    by_id = {database.db_id.lower(): database for database in there}
    by_name: dict[str, list[Database]] = {}
    for database in there:
        by_name.setdefault(_folded(_own_name(database)), []).append(database)
    giving = Counter(database_id(name).lower() for name in {_folded(name): name for name in wanted}.values())

    def one(name: str) -> Database | None:
        if ID.fullmatch(name):
            return by_id.get(name.lower())
        if called := by_name.get(_folded(name)):
            return called[0] if len(called) == 1 else None
        database = by_id.get(database_id(name).lower())
        alone = database is not None and giving[database.db_id.lower()] == 1 and ID.fullmatch(_own_name(database))
        return database if alone else None

    def placed(name: str) -> Database | None:
        parts = _parts(name)
        ending = [one for one in there if _ends_alike(parts, _parts(one.relative_path))]
        return ending[0] if len(ending) == 1 else None

    found = {name: one(name) or placed(name) for name in wanted}
    return {name: database for name, database in found.items() if database is not None}


def meant_among(names: Iterable[str]) -> Callable[[str], str]:
    """What says which of `names` another text means, in one form for all that mean the same.

    Two texts mean one database if they are the same in any letter case, or if one is an id and the other alone gives
    it: `my_shop` is `my shop`. A text that means none, or perhaps several, means itself.
    """
    there = {_folded(name) for name in names}
    by_id: dict[str, list[str]] = {}
    for name in sorted(there):
        by_id.setdefault(database_id(name).lower(), []).append(name)

    def one(name: str) -> str:
        folded = _folded(name)
        found = by_id.get(database_id(name).lower(), [])
        alone = folded not in there and len(found) == 1 and (ID.fullmatch(name) or ID.fullmatch(found[0]))
        return found[0] if alone else folded

    return one


def _parts(path: str) -> tuple[str, ...]:
    return PurePosixPath(_folded(path.replace("\\", "/"))).parts


def _ends_alike(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether one of two paths is the end of the other."""
    shorter = min(len(one), len(other))
    return bool(shorter) and one[-shorter:] == other[-shorter:]


def _own_name(database: Database) -> str:
    return database.path.name if database.layout == "files" else database.path.stem


def _folded(name: str) -> str:
    """In one letter case and one form: file systems and files of questions spell umlauts differently."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def one_line(text: str) -> str:
    """Text with line breaks and other control characters written as escapes."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def database_identity(database: Database) -> list[str]:
    """What of a database decides an example: its id, dialect and content, and the files beside it."""
    side = [database.spider_tables, database.descriptions, database.semantics]
    if database.dbt_manifest is not None:  # no empty place where there is none: versions made before keep their name
        side.append(database.dbt_manifest)
    return [database.db_id, database.dialect, database.content_hash, *map(_side_hash, side)]


def _side_hash(path: Path | None) -> str:
    """`input_hash`, or "" where nothing can be read: who reads the file for what it says reports that."""
    try:
        return "" if path is None else input_hash(path)
    except OSError:
        return ""

"""Find the databases under a path, identify them, and say what was left out and why.

Layouts, recognised by content rather than by extension: SQLite and DuckDB files anywhere in the tree, whose
id is the file's stem; that covers Spider (`database/<id>/<id>.sqlite` with `tables.json`) and BIRD
(`<id>/<id>.sqlite` with `database_description/`). A folder that holds Parquet and CSV files, and no database
beside or below them, is one database whose tables are the files and whose id is the folder's name; a folder in
it whose folders are called `year=2024`, or its files as Spark calls parts, is one table. Beside a database such
files may be its exports or what it was made of, so they are left out. Two files with one id get longer ones (see
`identity`), and a note names them.
"""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass, field, replace
from pathlib import Path

from agro_data.config import ConfigError
from agro_data.databases.discovery.examining import examined
from agro_data.databases.discovery.identity import database_id, distinct_ids, one_line
from agro_data.databases.errors import first_line
from agro_data.databases.files.data_files import (
    DATA_SUFFIXES,
    fault_of_name,
    is_data_file,
    is_parts,
    is_utf8,
    lake_of,
)
from agro_data.databases.files.spider_tables import NOT_SPIDERS, spider_entries
from agro_data.databases.types import Catalog, Database, Layout, Problem
from agro_data.words import some

SQLITE_HEADER = b"SQLite format 3\0"
DUCKDB_MARK = b"DUCK"  # bytes 8 to 12 of the file
EXTENSIONS = (".sqlite", ".sqlite3", ".sqlitedb", ".db", ".db3", ".s3db", ".duckdb", ".ddb")
DESCRIPTIONS = "database_description"
TABLES_JSON = ("tables.json", "train_tables.json", "dev_tables.json", "test_tables.json")
SEMANTICS = "semantics.yml"
VERSION_NAME = re.compile(r"v(?P<number>\d{4,})-(?P<fingerprint>[0-9a-f]{8})")  # of a corpus; no database is below
EXPORT = "agro-export.json"  # says what an export is of
_ADDRESS = re.compile(r"jdbc:|\w[\w+.-]+:/")  # of a server; as a path with one slash; Windows' drives have a letter
DBT_MANIFESTS = ("manifest.json", "target/manifest.json")


def find_databases(path: Path | str) -> Catalog:
    """Catalog of a file, or of a folder and the folders in it (not hidden ones), those behind links last.

    Raises `FileNotFoundError` when there is nothing at `path`. Everything else that is wrong is a `Problem`.
    """
    given = Path(path).absolute()
    if not given.exists():
        raise FileNotFoundError(nothing_at(path))
    search = _Search(given if given.is_dir() else given.parent)
    if given.is_dir():
        search.given(given)
        search.linked_folders()
    else:
        search.file(given, asked_for=True)
    if not search.found and not search.problems:
        search.problem(given, "holds no database", "give SQLite or DuckDB files, or folders of Parquet or CSV")
    databases = _databases(search)
    return Catalog(
        search.root,
        tuple(sorted(databases, key=lambda database: database.db_id)),
        tuple(sorted(search.problems, key=lambda problem: (problem.path, problem.reason))),
    )


def usable_databases(path: Path | str, hint: str = "") -> Catalog:
    """`find_databases` of what a person gave; `hint` says what it should have been.

    Raises `ConfigError` when there is nothing at `path`, and, with every reason, when no database there can be used.
    """
    place = Path(path).expanduser()
    if not place.exists():
        raise ConfigError(nothing_at(path, hint))
    catalog = find_databases(place)
    if not catalog.databases:
        reasons = [str(problem) for problem in catalog.problems]
        if len(reasons) == 1 and catalog.problems[0].path in (".", place.name):
            raise ConfigError(str(replace(catalog.problems[0], path=str(path))))
        raise ConfigError("\n  ".join([f"{path}: no database that can be used", *reasons]))
    return catalog


def nothing_at(path: Path | str, hint: str = "") -> str:
    """What to say where databases were expected at `path`, and nothing is. An address may hold a password, and is not
    repeated."""
    if _ADDRESS.match(str(path)):
        return (
            "the address of a server, where a file or folder is expected: `agro snapshot ADDRESS --out shop.duckdb` "
            "copies a PostgreSQL server's tables into a file to give here"
        )
    return f"{path}: no such file or folder{hint and f'; {hint}'}"


def without_copies(catalog: Catalog) -> Catalog:
    """One database of each content, the first by id; each other is a problem that names it.

    For whoever learns from them: a row is told by the content that its SQL asks, so a copy would give every row again.
    Questions that others made name databases by id, and copies stay.
    """
    first: dict[str, Database] = {}
    for database in catalog.databases:
        first.setdefault(database.content_hash, database)
    copies = [database for database in catalog.databases if first[database.content_hash] != database]
    problems = [_copy(database, first[database.content_hash]) for database in copies]
    return replace(catalog, databases=tuple(first.values()), problems=(*catalog.problems, *problems))


def _copy(database: Database, first: Database) -> Problem:
    reason = f"holds the same as {one_line(first.relative_path)}; left out"
    return Problem(one_line(database.relative_path), reason, f"to learn from it instead, give --only {database.db_id}")


@dataclass
class _Search:
    """What a walk through the folders has found."""

    root: Path
    found: list[tuple[Path, Layout]] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    links: list[Path] = field(default_factory=list)
    entered: set[str] = field(default_factory=set)

    def relative(self, path: Path) -> str:
        """`path` from the root on; a file above it (a `tables.json`) by its name."""
        return path.relative_to(self.root).as_posix() if path.is_relative_to(self.root) else path.name

    def problem(self, path: Path, reason: str, remedy: str = "", left_out: bool = True) -> None:
        self.problems.append(Problem(one_line(self.relative(path)), one_line(reason), remedy, left_out))

    def linked_folders(self) -> None:
        """Add what is behind links to folders. Last, so that a folder which is also there itself keeps its own path."""
        for link in self.links:  # which grows when more of them are found there
            target = Path(os.path.realpath(link))
            if Path(os.path.realpath(link.parent)).is_relative_to(target):
                reason = f"is a link to a folder that it lies in, {target}, and is not followed"
                self.problem(link, reason, "give that folder itself if it is meant", left_out=False)
            elif not any(map(_is_ours, target.parents)):
                self.folder(link)

    def given(self, folder: Path) -> None:
        """Add what is in a folder that was asked for."""
        if self._is_lake(folder):
            return
        if is_parts(folder):
            self.problem(folder, "is one table in parts, not a database", "give the folder that holds it")
        else:
            self.folder(folder)

    def _is_lake(self, folder: Path) -> bool:
        """Whether a folder is a table whose rows cannot be known here (a data lake's); if so, notes a problem."""
        if lake := lake_of(folder):
            reason = f"is a table of {lake}: its files also hold rows that were deleted since"
            self.problem(folder, reason, "write what it holds now as Parquet, or into a DuckDB file")
        return bool(lake)

    def folder(self, folder: Path) -> None:
        """Add what is in a folder and below, once. Data files without a database among them are one database."""
        if (real := os.path.realpath(folder)) in self.entered:
            return
        self.entered.add(real)
        try:
            visible = sorted(entry for entry in folder.iterdir() if not entry.name.startswith("."))
            folders = {entry for entry in visible if entry.is_dir()}
        except OSError as error:
            self.problem(folder, f"folder cannot be listed: {error.strerror}", "check its permissions")
            return
        before = len(self.found)
        parts: list[str] = []
        for entry in visible:
            if entry not in folders:
                self.file(entry)
            elif entry.name == DESCRIPTIONS or _is_ours(entry) or self._is_lake(entry):
                continue
            elif is_parts(entry):
                parts.append(one_line(entry.name))
            elif entry.is_symlink():
                self.links.append(entry)
            else:
                self.folder(entry)
        data = [*parts, *(one_line(entry.name) for entry in visible if is_data_file(entry) and entry.is_file())]
        if data and len(self.found) == before:
            self._add(folder, "files")
        elif data:
            reason = f"data files beside or above other databases are left out: {some(data)}"
            self.problem(folder, reason, "move them to a folder of their own if they are a database")

    def _add(self, path: Path, layout: Layout) -> None:
        if is_utf8(str(path)):
            self.found.append((path, layout))
        else:  # no text of a corpus could name it
            self.problem(path, "its path is not UTF-8", "rename the folders that it lies in")

    def file(self, file: Path, asked_for: bool = False) -> None:
        """Add a file if it is a database, or a problem if it was meant to be one."""
        if (fault := fault_of_name(file.name)) and file.name.lower().endswith((*EXTENSIONS, *DATA_SUFFIXES)):
            self.problem(file, fault, "rename it")
            return
        expected = asked_for or file.suffix.lower() in EXTENSIONS
        try:
            if not stat.S_ISREG(file.stat().st_mode):  # a pipe would block whoever opens it
                if expected:
                    self.problem(file, "not a regular file")
                return
            header = header_of(file)
        except OSError as error:
            if expected:
                self.problem(file, f"cannot be read: {error.strerror}", "check that it exists and its permissions")
            return
        if layout := layout_told_by(header):
            self._add(file, layout)
        elif asked_for and is_data_file(file):
            self.problem(file, "is one table, not a database", "give the folder that holds it")
        elif asked_for and file.suffix.lower() == ".sql":
            self.problem(file, "a script of SQL, not a database", "run it, and give the database that it makes")
        elif expected:
            reason = "not a database: neither the header of SQLite nor that of DuckDB" if header else "empty file"
            self.problem(file, reason, "if it is encrypted, give a decrypted copy" if header else "")


def header_of(file: Path) -> bytes:
    """The first bytes of a file, which tell what database it is. Raises `OSError`."""
    with file.open("rb") as stream:
        return stream.read(len(SQLITE_HEADER))


def layout_told_by(header: bytes) -> Layout | None:
    """The layout of a file with this header, or None if it is not a database."""
    if header == SQLITE_HEADER:
        return "sqlite"
    return "duckdb" if header[8:12] == DUCKDB_MARK else None


def _is_ours(folder: Path) -> bool:
    """Whether a folder is an export, a corpus, or a version where a corpus has the name of the folder of its databases:
    output below the databases must not be the next build's input.
    """
    if os.path.isfile(folder / EXPORT):
        return True
    if VERSION_NAME.fullmatch(folder.name):
        return os.path.isfile(folder / "manifest.json")
    return os.path.isfile(folder / "latest") and any(folder.glob("v*-*/manifest.json"))


def _databases(search: _Search) -> list[Database]:
    """The usable ones of what was found, with ids, content hashes and the files that tell more of them."""
    spider = _SpiderTables(search)
    names = [path.name if layout == "files" else path.stem for path, layout in search.found]
    ids = distinct_ids([(search.relative(path), name) for (path, _), name in zip(search.found, names, strict=True)])
    of_id: dict[str, list[str]] = {}
    by_folder: dict[Path, int] = {}
    for (path, layout), name in zip(search.found, names, strict=True):
        of_id.setdefault(database_id(name).lower(), []).append(one_line(search.relative(path)))
        folder = _own_folder(path, layout)
        by_folder[folder] = by_folder.get(folder, 0) + 1
    databases: list[Database] = []
    for (path, layout), name, db_id in zip(search.found, names, ids, strict=True):
        own = _own_folder(path, layout)
        alone = by_folder[own] == 1
        if len(same := of_id[database_id(name).lower()]) > 1:
            reason = f"one id for {', '.join(same)}: this one is called {db_id}"
            search.problem(path, reason, "rename one to choose its id", left_out=False)
        semantics = [path.parent / f"{name}.{SEMANTICS}", *([own / SEMANTICS] if alone else [])]
        database = Database(
            db_id,
            "sqlite" if layout == "sqlite" else "duckdb",
            layout,
            path,
            "",  # hashed once it is known that it can be used
            search.relative(path),
            spider_tables=spider.of(path.parent, name),
            descriptions=own / DESCRIPTIONS if alone and (own / DESCRIPTIONS).is_dir() else None,
            semantics=next((file for file in semantics if file.is_file()), None),
            dbt_manifest=_dbt_manifest(own),
        )
        found = examined(database)
        search.problems += found.problems
        if found.content_hash:
            databases.append(replace(database, content_hash=found.content_hash, seen=found.seen))
    for folder, count in by_folder.items():
        if count > 1 and (folder / SEMANTICS).is_file():
            reason = f"lies beside {count} databases and is used for none"
            search.problem(folder / SEMANTICS, reason, f"name it <database>.{SEMANTICS}", left_out=False)
    return databases


def _dbt_manifest(folder: Path) -> Path | None:
    """dbt's `manifest.json` in the folder of a database, or in `target/` there."""
    found = (folder / name for name in DBT_MANIFESTS)
    return next((path for path in found if path.is_file() and _is_dbt(path)), None)


def _is_dbt(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return b"dbt_schema_version" in file.read(4096)
    except OSError:
        return True  # perhaps one: who reads it says that it cannot be read


def _own_folder(path: Path, layout: Layout) -> Path:
    return path if layout == "files" else path.parent


def beside(file: Path) -> list[Path]:
    """Where more may be told of a database file: by a person, dbt, BIRD or Spider."""
    names = (f"{file.stem}.{SEMANTICS}", SEMANTICS, *DBT_MANIFESTS)
    folder = file.parent
    described = sorted((folder / DESCRIPTIONS).rglob("*"))
    return [*(folder / name for name in names), *described, *tables_json(folder)]


def tables_json(folder: Path) -> list[Path]:
    """Where Spider names the databases of a folder: there, or up to two folders above it."""
    return [place / name for place in (folder, *list(folder.parents)[:2]) for name in TABLES_JSON]


class _SpiderTables:
    """Which `tables.json` names a database: see `tables_json`; else one in the root."""

    def __init__(self, search: _Search) -> None:
        self._search = search
        self._ids: dict[Path, frozenset[str]] = {}

    def of(self, folder: Path, stem: str) -> Path | None:
        for file in (*tables_json(folder), *(self._search.root / name for name in TABLES_JSON)):
            if stem in self._named_in(file):
                return file
        return None

    def _named_in(self, file: Path) -> frozenset[str]:
        if file not in self._ids:
            self._ids[file] = frozenset()
            if file.is_file():
                try:
                    self._ids[file] = frozenset(spider_entries(file))
                except NOT_SPIDERS as error:
                    self._note(file, error)
        return self._ids[file]

    def _note(self, file: Path, error: Exception) -> None:
        reason = f"not a Spider tables.json, and not used: {type(error).__name__}: {first_line(error)}"
        self._search.problem(file, reason, left_out=False)

"""Find the databases under a path, give each a stable id and a content hash, and say what was left out and why.

Layouts, recognised by content rather than by extension: SQLite and DuckDB files anywhere in the tree, whose id is
the file's stem; that covers Spider (`database/<id>/<id>.sqlite` with `tables.json`) and BIRD
(`<id>/<id>.sqlite` with `database_description/`). A folder that holds Parquet and CSV files, and no database, is one
database whose tables are the files and whose id is the folder's name.

Ids match `[A-Za-z0-9_][A-Za-z0-9_.-]*`: each run of other characters becomes one `_`. Where several databases would
have one id, each takes its whole relative path instead (`a/shop.db`, `b/shop.db` -> `a.shop`, `b.shop`; with the
extension, then with a hash, where that is still not enough), and a note names them all.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from agro_data.databases.connections import open_database
from agro_data.databases.opening import (
    DatabaseError,
    data_files,
    first_line,
    is_data_file,
    quoted,
    with_sides,
)
from agro_data.databases.types import Catalog, Database, Layout, Problem

SQLITE_HEADER = b"SQLite format 3\0"
DUCKDB_MARK = b"DUCK"  # bytes 8 to 12 of the file
EXTENSIONS = (".sqlite", ".sqlite3", ".sqlitedb", ".db", ".db3", ".s3db", ".duckdb", ".ddb")
DESCRIPTIONS = "database_description"
TABLES_JSON = ("tables.json", "train_tables.json", "dev_tables.json", "test_tables.json")
SEMANTICS = "semantics.yml"
ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")


def find_databases(path: Path | str) -> Catalog:
    """Catalog of a file, or of a folder and all folders in it (hidden ones and symbolic links to folders apart).

    Raises `FileNotFoundError` when there is nothing at `path`. Everything else that is wrong is a `Problem`.
    """
    given = Path(path).absolute()
    if not given.exists():
        raise FileNotFoundError(f"{path}: no such file or folder")
    search = _Search(given if given.is_dir() else given.parent)
    if given.is_dir():
        search.folder(given)
    else:
        search.file(given, asked_for=True)
    databases = [database for database in _with_ids(search) if _usable(database, search.problems)]
    databases = _with_companions(databases, search)
    if not databases and not search.problems:
        search.problem(
            given, "holds no database", "give SQLite or DuckDB files, or folders of Parquet or CSV files"
        )
    return Catalog(
        search.root,
        tuple(sorted(databases, key=lambda database: database.db_id)),
        tuple(sorted(search.problems, key=lambda problem: (problem.path, problem.reason))),
    )


@dataclass
class _Search:
    """What a walk through the folders has found."""

    root: Path
    found: list[tuple[Path, Layout]] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def relative(self, path: Path) -> str:
        return path.relative_to(self.root).as_posix() if path != self.root else "."

    def problem(self, path: Path, reason: str, remedy: str = "", left_out: bool = True) -> None:
        self.problems.append(Problem(one_line(self.relative(path)), one_line(reason), remedy, left_out))

    def folder(self, folder: Path) -> None:
        """Add what is in a folder and below. A folder of data files with no database around them is a database."""
        try:
            entries = sorted(folder.iterdir())
        except OSError as error:
            self.problem(folder, f"folder cannot be listed: {error.strerror}", "check its permissions")
            return
        visible = [entry for entry in entries if not entry.name.startswith(".")]
        before = len(self.found)
        for entry in visible:
            if not entry.is_dir():
                self.file(entry)
            elif not entry.is_symlink() and entry.name != DESCRIPTIONS:
                self.folder(entry)
        tables = [entry for entry in visible if is_data_file(entry) and not entry.is_dir()]
        if tables and len(self.found) == before:
            if bad := [entry for entry in tables if "\n" in entry.name]:
                self.problem(bad[0], "a newline in the file name", "rename it")
            else:
                self.found.append((folder, "files"))

    def file(self, file: Path, asked_for: bool = False) -> None:
        """Add a file if it is a database; a problem if it only seems to be one, or if it was asked for by name."""
        expected = asked_for or file.suffix.lower() in EXTENSIONS
        try:
            if not stat.S_ISREG(file.stat().st_mode):  # a pipe would block whoever opens it
                if expected:
                    self.problem(file, "not a regular file")
                return
            with file.open("rb") as stream:
                header = stream.read(len(SQLITE_HEADER))
        except OSError as error:
            if expected:
                self.problem(
                    file, f"cannot be read: {error.strerror}", "check that it exists and its permissions"
                )
            return
        if header == SQLITE_HEADER:
            layout: Layout = "sqlite"
        elif header[8:12] == DUCKDB_MARK:
            layout = "duckdb"
        elif asked_for and is_data_file(file):
            self.problem(file, "is one table, not a database", "give the folder that holds it")
            return
        elif expected:
            reason = (
                "not a database: neither the header of SQLite nor that of DuckDB" if header else "empty file"
            )
            self.problem(file, reason, "if it is encrypted, give a decrypted copy" if header else "")
            return
        else:
            return
        if "\n" in file.name:
            self.problem(file, "a newline in the file name", "rename it")
        else:
            self.found.append((file, layout))


def _with_ids(search: _Search) -> Iterator[Database]:
    """Each database found, under an id that no other has; the hash and the files around it come later."""
    names = {path: _names(PurePosixPath(search.relative(path)), path) for path, _ in search.found}
    choice = dict.fromkeys(names, 0)
    for level in range(max(map(len, names.values()), default=1) - 1):
        taken: dict[str, list[Path]] = {}
        for path, names_of in names.items():
            taken.setdefault(names_of[choice[path]].lower(), []).append(path)
        for paths in taken.values():
            if len(paths) == 1:
                continue
            for path in paths:
                if level == 0:
                    others = ", ".join(one_line(search.relative(p)) for p in paths if p != path)
                    search.problem(
                        path, f"has the same id as {others}: its id is its relative path", left_out=False
                    )
                choice[path] = min(choice[path] + 1, len(names[path]) - 1)
    for path, layout in search.found:
        db_id = names[path][choice[path]]
        yield Database(
            db_id, "sqlite" if layout == "sqlite" else "duckdb", layout, path, "", search.relative(path)
        )


def _names(relative: PurePosixPath, path: Path) -> tuple[str, ...]:
    """Candidate ids, from the plainest to one that no other path can have."""
    parts = relative.parts or (path.name,)
    stem = path.name if path.is_dir() else path.stem
    full = ".".join(parts)
    unique = f"{database_id(full)}-{hashlib.sha256(full.encode('utf-8', 'surrogateescape')).hexdigest()[:8]}"
    return database_id(stem), database_id(".".join((*parts[:-1], stem))), database_id(full), unique


def database_id(name: str) -> str:
    """A name as an id: `my shop (1)` -> `my_shop_1`."""
    cleaned = re.sub(r"[^A-Za-z0-9_.-]+", "_", name)
    cleaned = re.sub(r"(?<=.)_+$", "", cleaned) if not name.endswith("_") else cleaned
    return cleaned if ID.fullmatch(cleaned) else f"_{cleaned.lstrip('.-')}"


def one_line(text: str) -> str:
    """Text with line breaks and other control characters written as escapes."""
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in text
    )


def content_hash(path: Path, layout: Layout) -> str:
    """SHA-256 (hex), streamed: of the file and, if any, of its log or journal; or of a folder's names and files."""
    if layout != "files":
        digest = hashlib.sha256()
        for file in with_sides(path, layout):
            with file.open("rb") as stream:
                while block := stream.read(2**20):
                    digest.update(block)
        return digest.hexdigest()
    digest = hashlib.sha256()
    for file in sorted(data_files(path), key=lambda file: file.name):
        with file.open("rb") as stream:
            of_file = hashlib.file_digest(stream, "sha256").digest()
        digest.update(os.fsencode(file.name) + b"\0" + of_file)
    return digest.hexdigest()


def _usable(database: Database, problems: list[Problem]) -> bool:
    """Whether the database can be opened and has a table; what is wrong with it is added to `problems`."""
    where = one_line(database.relative_path)

    def report(reason: str, remedy: str = "", left_out: bool = True) -> None:
        problems.append(Problem(where, one_line(reason), remedy, left_out))

    try:
        if reason := _locked(database) or _truncated(database):
            report(*reason)
            return False
        with open_database(database) as connection:
            tables = connection.objects()
            empty = [
                table.name
                for table in tables
                if not connection.execute(f"SELECT 1 FROM {quoted(table.name)}", limit=1)
            ]
            notes = list(connection.problems)
    except OSError as error:
        report(f"cannot be read: {error.strerror}", "check its permissions")
        return False
    except DatabaseError as error:
        report(f"cannot be read: {first_line(error)}", "check it with the engine's own tools, or give a copy")
        return False
    for note in notes:
        report(note, left_out=False)
    if not tables:
        report("no tables that can be read")
        return False
    if len(empty) == len(tables):
        report("no table has a row", "give a copy that holds data")
        return False
    if empty:
        shown = ", ".join(empty[:5]) + (f" and {len(empty) - 5} more" if len(empty) > 5 else "")
        report(f"{len(empty)} of {len(tables)} tables have no rows: {shown}", left_out=False)
    return True


def _locked(database: Database) -> tuple[str, str] | None:
    """Whether another program is writing a SQLite file just now (DuckDB says so itself when it is opened)."""
    if database.layout != "sqlite":
        return None
    import fcntl  # noqa: PLC0415 - absent on Windows

    with database.path.open("rb") as stream:
        try:  # the bytes that SQLite readers share, and a writer takes while it changes the file
            fcntl.lockf(stream, fcntl.LOCK_SH | fcntl.LOCK_NB, 510, 0x40000002)
        except OSError:
            return "locked: another program is writing to it", "let it finish, or give a copy"
    return None


def _truncated(database: Database) -> tuple[str, str] | None:
    """Whether a SQLite file is shorter than its header says. One with a log may be: its end is in the log."""
    if database.layout != "sqlite" or len(with_sides(database.path, "sqlite")) > 1:
        return None
    with database.path.open("rb") as stream:
        header = stream.read(100)
    size = database.path.stat().st_size
    page = int.from_bytes(header[16:18], "big")
    page = 65_536 if page == 1 else page
    pages = int.from_bytes(header[28:32], "big")
    certain = (
        header[24:28] == header[92:96]
    )  # else the page count was left by an old version, and may be wrong
    if len(header) < 100 or (certain and size < page * pages):
        return f"truncated SQLite file: {size} bytes of {page * pages}", "give a whole copy"
    return None


def _with_companions(databases: list[Database], search: _Search) -> list[Database]:
    """Each database with its content hash and the files beside it that tell more of it."""
    spider = _SpiderTables(search)
    crowded: dict[Path, list[Path]] = {}
    for path, layout in search.found:
        crowded.setdefault(path if layout == "files" else path.parent, []).append(path)
    for folder, paths in crowded.items():
        if len(paths) > 1 and (folder / SEMANTICS).is_file():
            search.problem(
                folder / SEMANTICS,
                f"lies beside {len(paths)} databases and is used for none",
                f"name it after its database: {paths[0].stem}.{SEMANTICS}",
            )
    completed: list[Database] = []
    for database in databases:
        own = database.path if database.layout == "files" else database.path.parent
        stem = database.path.name if database.layout == "files" else database.path.stem
        named = database.path.parent / f"{stem}.{SEMANTICS}"
        shared = own / SEMANTICS
        semantics = (
            named if named.is_file() else shared if shared.is_file() and len(crowded[own]) == 1 else None
        )
        descriptions = own / DESCRIPTIONS
        try:
            hashed = content_hash(database.path, database.layout)
        except OSError as error:
            search.problem(database.path, f"cannot be read: {error.strerror}", "check its permissions")
            continue
        completed.append(
            replace(
                database,
                content_hash=hashed,
                spider_tables=spider.of(database.path.parent, stem),
                descriptions=descriptions if descriptions.is_dir() and len(crowded[own]) == 1 else None,
                semantics=semantics,
            )
        )
    return completed


class _SpiderTables:
    """Which `tables.json` names a database: in its folder, up to two folders above it, or in the root."""

    def __init__(self, search: _Search) -> None:
        self._search = search
        self._ids: dict[Path, frozenset[str]] = {}

    def of(self, folder: Path, stem: str) -> Path | None:
        places = [folder, *list(folder.parents)[:2], self._search.root]
        for file in (place / name for place in places for name in TABLES_JSON):
            if stem in self._named_in(file):
                return file
        return None

    def _named_in(self, file: Path) -> frozenset[str]:
        if file not in self._ids:
            self._ids[file] = frozenset()
            if file.is_file():
                try:
                    self._ids[file] = frozenset(
                        str(entry["db_id"]) for entry in json.loads(file.read_text("utf-8"))
                    )
                except (OSError, ValueError, TypeError, KeyError) as error:
                    self._note(file, error)
        return self._ids[file]

    def _note(self, file: Path, error: Exception) -> None:
        reason = f"not a Spider tables.json, and not used: {type(error).__name__}: {first_line(error)}"
        path = (
            file.relative_to(self._search.root) if file.is_relative_to(self._search.root) else Path(file.name)
        )
        self._search.problems.append(Problem(one_line(path.as_posix()), one_line(reason), left_out=False))

"""The data files of a folder, and the tables that they are: one each, or the parts that a folder below holds.

Imports the standard library only, as `opening` does.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

DATA_SUFFIXES = (".parquet", ".csv", ".tsv", ".csv.gz", ".tsv.gz")

_PARTITION = re.compile(r"([^=]+)=")  # a folder `year=2024`, by Hive's convention
_PART = re.compile(r"part[-_.]\d|data_\d+\.parquet\Z", re.IGNORECASE)  # as Spark and Dask, and DuckDB, name parts
LINKS = 2  # to folders of a table's parts, one below the other: among many folders, links have paths without end
# Files or folders that mark a table whose data files also hold deleted rows.
_LAKES = {"_delta_log": "Delta Lake", ".hoodie": "Hudi", "metadata/version-hint.text": "Iceberg"}


@dataclass(frozen=True)
class DataTable:
    """A table of a folder: one file, or the parts in a folder of its own, where folders `year=2024` are columns."""

    name: str
    files: tuple[Path, ...]
    folder: Path | None = None  # in which the parts lie

    @property
    def place(self) -> str:
        """The name by which a person knows it: its file's or folder's."""
        return self.files[0].name if self.folder is None else self.folder.name

    @property
    def is_parquet(self) -> bool:
        return is_parquet(self.files[0])

    @property
    def size(self) -> int:
        """Bytes of its files."""
        return sum(file.stat().st_size for file in self.files)

    @property
    def partitions(self) -> frozenset[str]:
        """Columns that its folders are."""
        return _partitions(self.files[0].relative_to(self.folder).parent) if self.folder else frozenset()

    @property
    def above(self) -> frozenset[str]:
        """The keys of folders `key=value` above the table, which are none of its own partition columns."""
        return (_partitions(self.folder) if self.folder else frozenset()) - self.partitions


def _partitions(path: Path) -> frozenset[str]:
    return frozenset(found[1] for name in path.parts if (found := _PARTITION.match(name)))


def data_tables(folder: Path) -> list[DataTable]:
    """What Parquet and CSV files of a folder are tables; Parquet first, else by name."""
    found: list[DataTable] = []
    for entry in folder.iterdir():
        if is_data_file(entry) and entry.is_file():
            found.append(DataTable(table_name(entry), (entry,)))
        elif is_parts(entry):
            found.append(DataTable(entry.name, tuple(sorted(_walk(entry))), entry))
    return sorted(found, key=lambda table: (not table.is_parquet, table.place))


def data_files(folder: Path) -> list[Path]:
    """The files of all tables of a folder, in the order of the tables."""
    return [file for table in data_tables(folder) for file in table.files]


def is_parts(folder: Path) -> bool:
    """Whether a folder is one table in parts: its folders are all called `year=2024`, or its files as parts are."""
    if folder.name.startswith((".", "_")) or fault_of_name(folder.name) or not os.path.isdir(folder) or lake_of(folder):
        return False
    try:
        visible = [entry for entry in folder.iterdir() if not entry.name.startswith((".", "_"))]
    except OSError:
        return False
    if folders := [entry.name for entry in visible if os.path.isdir(entry)]:
        first = next(_walk(folder), None) if all(map(_PARTITION.match, folders)) else None
        return first is not None and all(map(_PARTITION.match, first.relative_to(folder).parts[:-1]))
    files = [entry for entry in visible if is_data_file(entry) and not _is_pipe(entry)]
    return bool(files) and all(_PART.match(file.name) for file in files)


def _walk(folder: Path, through: tuple[str, ...] = ()) -> Iterator[Path]:
    """Data files below a folder, be it `through` at most `LINKS` links to folders that do not lead back; names that
    begin with `_` or `.` are the writer's own."""
    for place, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith((".", "_"))]
        paths = (Path(place, name) for name in files if not name.startswith("_"))
        yield from (path for path in paths if is_data_file(path) and not _is_pipe(path))
        links = folders if len(through) < LINKS else ()
        for link in (path for name in links if (path := Path(place, name)).is_symlink()):
            target = os.path.realpath(link)
            if target not in through and not Path(os.path.realpath(place)).is_relative_to(target):
                yield from _walk(link, (*through, target))


def _is_pipe(path: Path) -> bool:
    """Whether a file is a pipe or the like, which would block whoever opens it. A link to nowhere is reported when it
    is read.
    """
    return path.exists() and not path.is_file()


def lake_of(folder: Path) -> str:
    """The format (Delta Lake, for instance) if a folder is such a table, else "". Its files also hold rows that were
    deleted.
    """
    return next((lake for mark, lake in _LAKES.items() if os.path.exists(folder / mark)), "")


def is_data_file(file: Path) -> bool:
    """Whether a file is named as a Parquet or CSV file, and its name can be a table's."""
    name = file.name.lower()
    return name.endswith(DATA_SUFFIXES) and not name.startswith(".") and not fault_of_name(name)


def is_parquet(file: Path) -> bool:
    """Whether a file is named as a Parquet file."""
    return file.name.lower().endswith(".parquet")


def is_cut(file: Path) -> bool:
    """Whether a file is not a whole Parquet file."""
    if not is_parquet(file):
        return False
    with file.open("rb") as stream:
        stream.seek(-min(4, file.stat().st_size), os.SEEK_END)
        return stream.read() not in (b"PAR1", b"PARE")


def table_name(file: Path) -> str:
    """`orders` for `orders.csv.gz`."""
    suffix = max((s for s in DATA_SUFFIXES if file.name.lower().endswith(s)), key=len)
    return file.name[: -len(suffix)]


def fault_of_name(name: str) -> str:
    """Why neither a table nor a row of a corpus can be called by the name of a file, or ""."""
    if "\n" in name:
        return "a newline in the file name"
    return "" if is_utf8(name) else "a file name that is not UTF-8"


def is_utf8(path: str) -> bool:
    """False for a path in which Python has surrogates for bytes that it could not decode."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True

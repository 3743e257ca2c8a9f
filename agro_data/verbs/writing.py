"""Files of what was found, written once it has been shown: one that cannot be written costs only itself."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from agro_data.config import ConfigError
from agro_data.databases.discovery.catalog import header_of, layout_told_by
from agro_data.databases.files.data_files import is_data_file
from agro_data.files import write_text
from agro_data.terminal.showing import tell


def check_written(
    written: Mapping[str, Path | None], read: Iterable[Path | None], databases: Iterable[Path | None] = ()
) -> None:
    """Raise `ConfigError` where a file to write, by its option, is one that is read, a database, or named twice.

    In a folder of `read` no file may be overwritten; in a folder of `databases` no database and no data file.
    """
    inputs = [_real(path) for path in read if path is not None]
    folders = [_real(path) for path in databases if path is not None]
    before: dict[Path, str] = {}
    for option, given in written.items():
        if given is None or (given.exists() and not given.is_file()):  # what is no file, as /dev/stdout, holds nothing
            continue
        file = _real(given)
        if file in before:
            raise ConfigError(f"{given}: named by {before[file]} and by {option}; give each a file of its own")
        before[file] = option
        if not file.exists():
            continue
        holds = any(one in file.parents or (one.exists() and one.samefile(file)) for one in inputs)
        data = is_data_file(file) and any(one in file.parents for one in folders)
        database = _is_database(file)
        if holds or data or database:
            what = "is a database" if database else "is read by this very command"
            raise ConfigError(f"{given}: {what}, which {option} would write over; give another file")


def all_written(asked: Sequence[tuple[Path | None, Callable[[], str]]]) -> bool:
    """Write each text where a file is asked for, and tell what became of it; whether none failed."""
    done = [_written(file, text) for file, text in asked if file is not None]
    return all(done)


def _written(file: Path, text: Callable[[], str]) -> bool:
    try:
        write_text(file, text())
    except BrokenPipeError:  # nobody reads it, which is no fault of the file
        raise
    except OSError as error:
        tell([f"{file}: cannot be written: {error.strerror or error}"], "yellow")
        return False
    tell([f"{file}: written"], "dim")
    return True


def _real(path: Path) -> Path:
    """The file behind links. If a link leads to itself, writing will say what is wrong."""
    return Path(os.path.realpath(path))


def _is_database(file: Path) -> bool:
    """Whether a file has the header of a database, whatever its name and place."""
    try:
        return layout_told_by(header_of(file)) is not None
    except OSError:  # what it is written over with fails too, and says why
        return False

"""Files of what was found, written once it has been shown: one that cannot be written costs only itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from agro_data.terminal import tell
from agro_data.work import write_text


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

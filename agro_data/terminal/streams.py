"""Standard output and error, whatever they are: closed, read no further, or in an encoding that lacks characters."""

from __future__ import annotations

import io
import os
import sys
from typing import IO, Any, TextIO

from rich.console import Console

AS_IT_IS: dict[str, Any] = {"highlight": False, "markup": False, "emoji": False}  # ':x:' in SQL is no picture


class Screen(Console):
    """Standard output or error. A reader that has seen enough, as `head` has, changes nothing but what is seen."""

    def on_broken_pipe(self) -> None:
        unread(self.file)


def unread(stream: IO[str]) -> None:
    """Nobody reads a stream any more: the rest goes nowhere, and the verb ends with the status that it earns."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def let_go(*streams: IO[str]) -> None:
    """Write what streams still hold. Where that fails it goes nowhere: else Python, which tries it once more at its own
    end, would end with a status of its own (120)."""
    for stream in streams:
        try:
            stream.flush()
        except OSError:
            unread(stream)


screen = Screen(**AS_IT_IS)
notes = Screen(stderr=True, **AS_IT_IS)


def open_closed() -> None:
    """Stand in for streams with which the process was not started (`>&-`): what is written there goes nowhere. Each
    gets the lowest free number, its own, or a database would get it, and what a child says would go there.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            stream = open(os.devnull, mode, encoding="utf-8")  # noqa: SIM115 (as long as the process)
            os.set_inheritable(stream.fileno(), True)
            setattr(sys, name, stream)


def escape_what_cannot_be_written() -> None:
    """Characters that a stream's encoding lacks (of another locale, or PYTHONIOENCODING) are written as escapes."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and (stream.errors == "strict" or not takes_all(stream)):
            stream.reconfigure(errors="backslashreplace")


def takes_all(stream: TextIO) -> bool:
    """Whether all characters can be written to a stream; one that names no encoding takes text as it is."""
    return (stream.encoding or "utf").lower().startswith("utf")

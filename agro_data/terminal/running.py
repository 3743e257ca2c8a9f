"""How `agro` runs and ends: its statuses, signals that ask it to end, and errors in one line."""

from __future__ import annotations

import os
import signal
import sys
import threading
import traceback
from contextlib import suppress
from pathlib import Path
from types import FrameType

import click

from agro_data.databases.errors import first_line
from agro_data.databases.scratch import sweep
from agro_data.errors import InWords
from agro_data.faults import NO_SPACE
from agro_data.terminal.showing import tell
from agro_data.terminal.streams import escape_what_cannot_be_written, let_go, open_closed

FAILED_SOME = 1
CANNOT_START = 2
INTERRUPTED = 130
ASKED_TO_END = (signal.SIGTERM, signal.SIGHUP)
TRACEBACK = "AGRO_TRACEBACK"  # set it to see where an unexpected error came from


class AskedToEnd(KeyboardInterrupt):
    """A signal asked the process to end: it unwinds as at Ctrl-C, and its status says which signal it was."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.status = 128 + number


_asked: list[AskedToEnd] = []  # what DuckDB makes another error of


def run(command: click.Command) -> None:
    """Entry point of `agro`. Ends with 0 (done), 1 (done, something is left out and listed) or 2 (cannot start).

    A signal that asks it to end leaves nothing of it behind, as Ctrl-C does, and the status that a shell shows for it.
    """
    _asked.clear()
    _end_when_asked()
    open_closed()
    escape_what_cannot_be_written()
    sweep()
    try:
        command(standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.Abort as stopped:
        by = _asked[0] if _asked else None
        with suppress(OSError):  # a terminal that is closed reads nothing
            tell([": ".join([f"stopped by {by}" if by else "stopped", *stopped.args])], "yellow")
        sys.exit(by.status if by else INTERRUPTED)
    except click.ClickException as error:
        error.show()
        sys.exit(CANNOT_START)
    except BrokenPipeError:  # by the last flush: all is done
        pass
    except Exception as error:
        if _is_loss(error):
            tell(str(error).splitlines(), "red")
            sys.exit(FAILED_SOME)
        if os.environ.get(TRACEBACK):
            raise
        with suppress(OSError):  # standard error may be what cannot be written
            tell([in_words(error)], "red")
        sys.exit(CANNOT_START)
    finally:
        sweep()  # what workers had that were ended amid their work
        let_go(sys.stdout, sys.stderr)


def _end_when_asked() -> None:
    """Let the signals that would end this process at once unwind it: copies of databases are removed, workers end."""
    if threading.current_thread() is threading.main_thread():  # of others Python sets no handlers
        for number in ASKED_TO_END:
            if signal.getsignal(number) == signal.SIG_DFL:  # who calls it with `nohup` does not want it to end
                signal.signal(number, _end)


def _end(number: int, frame: FrameType | None) -> None:
    for other in ASKED_TO_END:  # a terminal that closes may say so twice; what removes is not to be stopped by that
        signal.signal(other, signal.SIG_IGN)
    _asked.append(AskedToEnd(number))
    raise _asked[0]


def _is_loss(error: Exception) -> bool:
    """Whether a build lost shards that its next run makes."""
    from agro_data.parallel import ShardsLost  # noqa: PLC0415 (with engines, which a verb that ends well may not need)

    return isinstance(error, ShardsLost)


def in_words(error: Exception) -> str:
    """One line for a person (some of our own errors list what was found, and have several)."""
    from polars.exceptions import PolarsError  # noqa: PLC0415 (half a second, where nothing went wrong)

    if isinstance(error, InWords):
        return str(error)
    if isinstance(error, OSError) and error.errno in NO_SPACE:
        again = ": ".join(["run it again", *getattr(error, "__notes__", ())])
        place = error.filename2 or error.filename  # of a copy, where it goes; the cache and TMPDIR may be other disks
        where = f" to {place}" if place else ""
        return f"no room to write{where}: {error.strerror}. Free some space and {again}"
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    if isinstance(error, PolarsError) and str(error).startswith("parquet:"):
        return f"a file could not be read as Parquet: {first_line(error)}"
    place = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{Path(place.filename).name}, line {place.lineno}"
    return (
        f"unexpected {type(error).__name__}: {first_line(error)} ({where}). "
        f"This is a fault of agro: please report it, with what {TRACEBACK}=1 shows"
    )

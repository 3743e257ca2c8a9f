"""How `agro` speaks: help in sections, tables and texts that fit the terminal, and errors in one line.

Results go to standard output (`screen`), progress and problems to standard error (`notes`). What is piped into another
program is never wrapped: a row stays a line.
"""

from __future__ import annotations

import io
import os
import re
import signal
import sys
import textwrap
import threading
import traceback
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import IO, Any, TextIO

import click
from polars.exceptions import PolarsError
from rich.console import Console
from rich.table import Table

from agro_data.databases.errors import first_line, interruptible
from agro_data.databases.scratch import sweep
from agro_data.errors import InWords
from agro_data.faults import NO_SPACE
from agro_data.parallel import ShardsLost

FAILED_SOME = 1
CANNOT_START = 2
INTERRUPTED = 130
ASKED_TO_END = (signal.SIGTERM, signal.SIGHUP)
WIDEST = 100_000  # characters of a line that is piped
SHOWN = 3  # problems of one reason
LONGEST_CELL = 200  # characters of a cell of a result
# With the marks that turn the direction of writing: a text may be shown in another order than it is run.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
TRACEBACK = "AGRO_TRACEBACK"  # set it to see where an unexpected error came from

_ONE_FOLDER = "several databases or files go into one folder (of links: ln -s /data/*.sqlite folder)"
AS_IT_IS: dict[str, Any] = {"highlight": False, "markup": False, "emoji": False}  # ':x:' in SQL is no picture


class AskedToEnd(KeyboardInterrupt):
    """A signal asked the process to end: it unwinds as at Ctrl-C, and its status says which signal it was."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.status = 128 + number


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


_asked: list[AskedToEnd] = []  # what DuckDB makes another error of
screen = Screen(**AS_IT_IS)
notes = Screen(stderr=True, **AS_IT_IS)


class Setting(click.Option):
    """An option that stands under a heading of the help."""

    def __init__(self, *arguments: Any, section: str = "Options", **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self.section = section


class _Helped(click.Command):
    """Helps at `-h` as at `--help`, whether it is called by itself or by the group that it is in."""

    def __init__(self, *, context_settings: Mapping[str, Any] | None = None, **settings: Any) -> None:
        names = {"help_option_names": ["-h", "--help"]}
        super().__init__(context_settings={**names, **(context_settings or {})}, **settings)


class Verb(_Helped):
    """A command whose options are listed under their headings, in the order in which they are declared.

    Nothing that it was given is dropped without a word: of an option that was given twice click takes the last.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.allow_extra_args = True  # refused below, in our words
        _, _, given = self.make_parser(ctx).parse_args(list(args))
        rest = super().parse_args(ctx, args)
        for option, times in Counter(one for one in given if isinstance(one.type, click.Path)).items():
            if times > 1 and option.nargs == 1 and not getattr(option, "multiple", False):
                ctx.fail(f"{option.opts[0]} is given {times} times, and takes one path; {_ONE_FOLDER}")
        if rest:
            named = any(one.name == "databases" for one in given) or all(one.name != "databases" for one in self.params)
            hint = _ONE_FOLDER if named else "databases are named by --databases"
            ctx.fail(f"{rest[0]!r} is one more than this verb takes" + f"; {hint}" * Path(rest[0]).exists())
        return rest

    def invoke(self, ctx: click.Context) -> Any:
        with interruptible():
            return super().invoke(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                sections.setdefault(getattr(parameter, "section", "Options"), []).append(record)
        for heading, records in sections.items():
            with formatter.section(heading):
                formatter.write_dl(records, col_max=28)


class Resumed(Verb):
    """A verb that keeps what is finished, and says so when it is stopped, by a full disk, too."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            raise click.exceptions.Abort("the same command goes on where it was") from error
        except OSError as error:
            if error.errno in NO_SPACE:
                error.add_note("it goes on where it was")
            raise


class Verbs(_Helped, click.Group):
    """A group that lists its verbs in the order of use, each with its whole first sentence."""

    command_class = Verb

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Verbs"):
            formatter.write_dl(
                [(name, command.get_short_help_str(limit=200)) for name, command in self.commands.items()]
            )


def visible(text: str) -> str:
    """Text as a terminal may be given it: control characters, which could move its cursor or change what it shows, are
    written as escapes. Line breaks and tabs stay."""
    return _CONTROL.sub(lambda one: one[0].encode("unicode_escape").decode(), text.replace("\r\n", "\n"))


def shortened(text: str, most: int = LONGEST_CELL) -> str:
    """The first line of a text, at most so many characters of it; what is left out is an ellipsis."""
    first = text[:most].partition("\n")[0]
    return first if first == text else f"{first}…"


def say(text: str, first: str = "", rest: str = "", style: str | None = None) -> None:
    """Text as paragraphs with a hanging indent; one long line each where the output is no terminal."""
    text = visible(text)
    if not screen.is_terminal:
        screen.print(first + text, soft_wrap=True)
        return
    for line in text.splitlines():
        lines = textwrap.wrap(
            line, screen.width, initial_indent=first, subsequent_indent=rest or first, replace_whitespace=False,
            drop_whitespace=True, break_long_words=False, break_on_hyphens=False,
        )  # fmt: skip
        screen.print("\n".join(lines), style=style, soft_wrap=True)


def put(text: str) -> None:
    """Text for a program to read: a line, unchanged."""
    try:
        click.echo(text)
    except BrokenPipeError:
        unread(sys.stdout)


def show_table(listing: Sequence[Mapping[str, Any]]) -> None:
    """Rows of one shape as a table; numbers to the right, with separators."""
    if not listing:
        screen.print("nothing")
        return
    numbers = {key for key in listing[0] if any(isinstance(row.get(key), int | float) for row in listing)}
    headings = {key.replace("_", " "): key in numbers for key in listing[0]}
    _draw(headings.items(), [[_cell(cell) for cell in row.values()] for row in listing])


def show_result(columns: Iterable[str], rows: Iterable[Sequence[str]]) -> None:
    """What a query gave: columns as the engine names them, and of each cell as much as a person takes in at once."""
    _draw([(shortened(name), False) for name in columns], [[*map(shortened, row)] for row in rows])


def _draw(headings: Iterable[tuple[str, bool]], rows: Iterable[Sequence[str]]) -> None:
    """A table; each heading with whether its column stands to the right."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading, right in headings:
        table.add_column(visible(heading), justify="right" if right else "left", overflow="fold")
    for row in rows:
        table.add_row(*map(visible, row))
    # A console never prints wider than it is, and one that is piped takes itself for 80 characters wide.
    wide = screen if screen.is_terminal else Screen(file=screen.file, width=WIDEST, **AS_IT_IS)
    wide.print(table)


def _cell(value: object) -> str:
    if value is None:
        return "–"
    return f"{value:,}" if isinstance(value, int | float) else str(value)


def show_pairs(pairs: Mapping[str, str]) -> None:
    """Names to the right of a margin, what they are beside them."""
    margin = max(map(len, pairs), default=0) + 2
    for name, value in pairs.items():
        say(value, first=f"{name:>{margin}}  ", rest=" " * (margin + 2))


def tell(lines: Iterable[str], style: str) -> None:
    """Lines on standard error, each once, unbroken."""
    for line in dict.fromkeys(lines):
        notes.print(visible(line), style=style, soft_wrap=True)


def few_of_each(problems: Iterable[str]) -> list[str]:
    """Problems ("place: reason"); of those with one reason the first `SHOWN`, and how many more there are."""
    places: dict[str, list[str]] = defaultdict(list)
    for problem in dict.fromkeys(problems):
        places[problem.partition(": ")[2] or problem].append(problem)
    lines: list[str] = []
    for reason, some in places.items():
        lines += some[:SHOWN]
        lines += [f"and {len(some) - SHOWN:,} more: {reason}"] if len(some) > SHOWN else []
    return lines


def run(command: click.Command) -> None:
    """Entry point of `agro`. Ends with 0 (done), 1 (done, something is left out and listed) or 2 (cannot start).

    A signal that asks it to end leaves nothing of it behind, as Ctrl-C does, and the status that a shell shows for it.
    """
    _asked.clear()
    _end_when_asked()
    _open_closed()
    _escape_what_cannot_be_written()
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
    except ShardsLost as error:
        tell(str(error).splitlines(), "red")
        sys.exit(FAILED_SOME)
    except Exception as error:
        if os.environ.get(TRACEBACK):
            raise
        with suppress(OSError):  # standard error may be what cannot be written
            tell([in_words(error)], "red")
        sys.exit(CANNOT_START)
    finally:
        sweep()  # what workers had that were ended amid their work
        let_go(sys.stdout, sys.stderr)


def _open_closed() -> None:
    """Stand in for streams with which the process was not started (`>&-`): what is written there goes nowhere. Each
    gets the lowest free number, its own, or a database would get it, and what a child says would go there.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            stream = open(os.devnull, mode, encoding="utf-8")  # noqa: SIM115 (as long as the process)
            os.set_inheritable(stream.fileno(), True)
            setattr(sys, name, stream)


def _escape_what_cannot_be_written() -> None:
    """Characters that a stream's encoding lacks (of another locale, or PYTHONIOENCODING) are written as escapes."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and (stream.errors == "strict" or not takes_all(stream)):
            stream.reconfigure(errors="backslashreplace")


def takes_all(stream: TextIO) -> bool:
    """Whether all characters can be written to a stream; one that names no encoding takes text as it is."""
    return (stream.encoding or "utf").lower().startswith("utf")


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


def in_words(error: Exception) -> str:
    """One line for a person (some of our own errors list what was found, and have several)."""
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

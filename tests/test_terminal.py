"""What is printed, as programs and people get it."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import click
import pytest

from agro_data.terminal.running import CANNOT_START, INTERRUPTED, in_words, run
from agro_data.terminal.showing import few_of_each, put, say, show_table, tell, visible
from agro_data.terminal.verb import Resumed, Verb
from agro_data.verbs.options import A_PATH


@pytest.mark.parametrize(
    ("kind", "said"), [(Verb, "stopped"), (Resumed, "stopped: the same command goes on where it was")]
)
def test_who_is_stopped_says_whether_it_goes_on(
    kind: type[Verb], said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    @click.command(cls=kind)
    def work() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("sys.argv", ["work"])
    with pytest.raises(SystemExit) as ended:
        run(work)
    assert ended.value.code == INTERRUPTED
    assert capsys.readouterr().err.strip() == said


@pytest.mark.parametrize(
    ("kind", "said"), [(Verb, "and run it again"), (Resumed, "and run it again: it goes on where it was")]
)
def test_who_has_no_room_says_whether_it_goes_on(
    kind: type[Verb], said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    @click.command(cls=kind)
    def work() -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("sys.argv", ["work"])
    with pytest.raises(SystemExit):
        run(work)
    assert capsys.readouterr().err.strip() == f"no room to write: No space left on device. Free some space {said}"


def test_where_there_is_no_room_is_said() -> None:
    """A copy goes to the cache, or to the folder for temporary files: a person has to know which disk is full."""
    assert in_words(OSError(errno.ENOSPC, "no room for a copy of shop", "cache/full")).startswith(
        "no room to write to cache/full: no room for a copy of shop. "
    )
    copying = OSError(errno.ENOSPC, "No space left on device", "shop.sqlite", None, "cache/full/shop.sqlite")
    assert in_words(copying).startswith("no room to write to cache/full/shop.sqlite: No space")


ODD_CHARACTERS = r"""
import click
from agro_data.shown import print_json
from agro_data.terminal.running import run
from agro_data.terminal.showing import show_table, tell
from agro_data.terminal.verb import Verb

@click.command(cls=Verb)
@click.option("--json", "as_json", is_flag=True)
def show(as_json):
    (print_json if as_json else show_table)([{"from \u2192 to": "\xe9 \U0001f600 \udc80"}])
    tell(["\u2192"], "dim")

run(show)
"""


@pytest.mark.parametrize("encoding", ["latin-1", "ascii:surrogateescape", "utf-8"])
def test_what_an_encoding_lacks_is_written_as_an_escape(encoding: str) -> None:
    env = {**os.environ, "PYTHONIOENCODING": encoding}
    shown, told = (
        subprocess.run([sys.executable, "-c", ODD_CHARACTERS, *more], env=env, check=True, capture_output=True).stdout
        for more in ((), ("--json",))
    )
    assert ("→" if encoding == "utf-8" else r"\u2192").encode() in shown
    assert json.loads(told.decode(encoding.partition(":")[0])) == [{"from → to": "é \U0001f600 \udc80"}]


AMID_A_STATEMENT = """
import os, signal, sys, threading
import click
from agro_data.databases.discovery.catalog import find_databases
from agro_data.databases.trusted.connections import open_database
from agro_data.terminal.running import run
from agro_data.terminal.verb import Verb

# What a test runs in may ignore or block them, as what runs behind `nohup` does.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGTERM, signal.SIG_DFL)
signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT, signal.SIGTERM})

@click.command(cls=Verb)
def work():
    number, place = ARGUMENTS
    (database,) = find_databases(place).databases
    with open_database(database) as connection:
        threading.Timer(0.3, os.kill, (os.getpid(), int(number))).start()
        try:
            connection.execute("SELECT sum(a.range * b.range) FROM range(10000000) a, range(10000000) b")
        except Exception as error:  # as a verb that goes on with the next database
            print("gone on", error)

ARGUMENTS, sys.argv[1:] = sys.argv[1:], []
run(work)
"""


@pytest.mark.parametrize(
    ("number", "status", "said"),
    [(signal.SIGINT, INTERRUPTED, "stopped"), (signal.SIGTERM, 143, "stopped by SIGTERM")],
)
def test_who_is_stopped_amid_a_statement_of_duckdb_is_stopped(
    number: signal.Signals, status: int, said: str, tmp_path: Path
) -> None:
    """Which DuckDB tells by an error of its own."""
    (tmp_path / "t.csv").write_text("a\n1\n")
    command = [sys.executable, "-c", AMID_A_STATEMENT, str(int(number)), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr.strip()) == (status, "", said)


def test_a_row_that_is_piped_stays_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    long = "many words " * 20
    show_table([{"what": long, "said": long, "number": 12_345}])
    heading, row = capsys.readouterr().out.splitlines()
    assert heading.split() == ["what", "said", "number"]
    assert row.split() == [*long.split(), *long.split(), "12,345"]


def test_sql_is_shown_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    sql = "SELECT ':x:', '[bold]', 'a:on:b'"
    say(sql)
    show_table([{"sql": sql}])
    put(sql)
    assert [line for line in capsys.readouterr().out.splitlines() if line.strip() != "sql"] == [sql] * 3


def test_what_is_not_known_is_a_dash_in_a_column_of_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    show_table([{"stage": "profiles", "rate": None}, {"stage": "verified", "rate": 1_234.5}])
    assert capsys.readouterr().out.splitlines() == ["stage        rate", "profiles        –", "verified  1,234.5"]


def test_no_text_turns_the_direction_of_what_is_shown() -> None:
    marks = "\u200e\u200f\u202a\u202e\u2066\u2069"
    assert visible(f"SELECT{marks} 1, 'עברית'") == r"SELECT\u200e\u200f\u202a\u202e\u2066\u2069 1, 'עברית'"


def test_no_text_moves_the_cursor(capsys: pytest.CaptureFixture[str]) -> None:
    steering = "\x1b[31mred\x07 \x9b2J\x7f and\r\na line\tmore\x0b"
    say(steering)
    show_table([{"it": steering}])
    tell([steering], "dim")
    shown, told = capsys.readouterr()
    assert not {*shown, *told} & {*"\x1b\x07\x9b\x7f\r\x0b"}
    assert r"\x1b[31mred\x07 \x9b2J\x7f and" in shown
    assert "a line" in told


WORK = """
import sys, click
from pathlib import Path
from agro_data.terminal.running import run
from agro_data.terminal.showing import put, say, tell
from agro_data.terminal.streams import notes
from agro_data.terminal.verb import Verb

@click.command(cls=Verb)
@click.argument("done", type=Path)
def work(done):
    for number in range(3):
        tell([f"note {number}"], "dim")
        say("said")
        put("put")
    done.write_text("done")

run(work)
"""


def test_a_reader_of_both_streams_that_leaves_ends_no_verb(tmp_path: Path) -> None:
    """As in `agro predict ... 2>&1 | head -1`."""
    left, end = os.pipe()
    os.close(left)
    done = subprocess.run([sys.executable, "-c", WORK, tmp_path / "done"], stdout=end, stderr=end, check=False)
    os.close(end)
    assert (done.returncode, (tmp_path / "done").read_text()) == (0, "done")


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_verb_is_done_without_the_streams_that_it_was_not_started_with(tmp_path: Path, closed: str) -> None:
    command = ["sh", "-c", f'"$0" -c "$1" "$2" {closed}', sys.executable, WORK, str(tmp_path / "done")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, (tmp_path / "done").read_text()) == (0, "done"), done
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.parametrize(("full", "said"), [(">/dev/full", True), ("2>/dev/full", False), (">/dev/full 2>&1", False)])
def test_an_output_that_takes_nothing_is_told_in_one_line_where_one_can_be(
    full: str, said: bool, tmp_path: Path
) -> None:
    """The status is not the one of a verb that is done and left something out."""
    command = ["sh", "-c", f'"$0" -c "$1" "$2" {full}', sys.executable, WORK, str(tmp_path / "done")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    told = [line for line in done.stderr.splitlines() if not line.startswith("note")]
    assert told == ["no room to write: No space left on device. Free some space and run it again"] * said
    assert done.returncode == CANNOT_START


def test_what_is_said_of_many_places_is_said_of_three() -> None:
    problems = [f"a.json, row {n}: no database: no row" for n in range(1, 6)]
    told = few_of_each([*problems[:4], "b.json: is empty", problems[4], problems[0], "no place"])
    assert told == [*problems[:3], "and 2 more: no database: no row", "b.json: is empty", "no place"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--databases", "a", "--databases", "b"], "--databases is given 2 times"),
        (["--databases", "a", __file__], "several databases or files go into one folder"),
        (["--databases", "a", "b"], "'b' is one more than this verb takes"),
        ([__file__], "databases are named by --databases"),
    ],
)
def test_nothing_that_was_given_is_dropped_without_a_word(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        run(_reading(arguments))
    assert said in capsys.readouterr().err


def test_what_may_be_given_again_is_taken(capsys: pytest.CaptureFixture[str]) -> None:
    run(_reading(["--databases", "a", "--exclude", "b", "--exclude", "c", "--size", "1", "--size", "2"]))
    assert capsys.readouterr().out == "a b,c 2\n"


def _reading(arguments: list[str]) -> click.Command:
    """A verb that is called with `arguments`, whatever its process was called with."""

    @click.command(cls=Verb)
    @click.option("--databases", type=A_PATH)
    @click.option("--exclude", type=A_PATH, multiple=True)
    @click.option("--size", type=int)
    def read(databases: Path, exclude: tuple[Path, ...], size: int) -> None:
        click.echo(f"{databases} {','.join(map(str, exclude))} {size}")

    main = read.main
    read.main = lambda **settings: main(arguments, **settings)  # type: ignore[method-assign]
    return read

"""Progress in lines: rate and time left from the start of the stage, anew in each round."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console

from agro_data import progress
from agro_data.progress import Bars, Lines, is_line


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time that `progress` reads, in a list that the test moves on."""
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def test_lines_say_rate_and_time_left(clock: list[float]) -> None:
    written: list[str] = []
    lines = Lines(written.append, every=5.0)
    lines("verified", 0, 1000, "candidates")
    clock[0] += 2
    lines("verified", 100, 1000, "candidates")  # not due yet
    clock[0] += 8
    lines("verified", 500, 1000, "candidates")
    clock[0] += 90
    lines("verified", 1000, 1000, "candidates")
    assert written == [
        "verified: 1,000 candidates to do",
        "verified: 500 of 1,000 candidates, 50 candidates/s, 10 s left",
        "verified: 1,000 of 1,000 candidates, 10 candidates/s, done in 1 min 40 s",
    ]


def test_what_is_slow_is_said_by_the_time_that_each_takes(clock: list[float]) -> None:
    written: list[str] = []
    lines = Lines(written.append, every=5.0)
    lines("answers of http://host:80/v1", 0, 8, "questions")
    clock[0] += 104
    lines("answers of http://host:80/v1", 4, 8, "questions")
    assert written[-1] == "answers of http://host:80/v1: 4 of 8 questions, 26 s each, 1 min 44 s left"
    assert all(map(is_line, written))
    assert not is_line("8 of 96 questions have no prediction; they score 0")


def test_a_line_is_whole_where_there_is_no_terminal(clock: list[float]) -> None:
    console = Console(file=StringIO(), width=80)
    with Bars(console) as progress:
        progress("answers of a model whose name is long enough to break a line of eighty", 0, 96, "questions")
    assert isinstance(console.file, StringIO)
    assert console.file.getvalue().endswith("eighty: 96 questions to do\n")


def test_a_bar_says_the_pace_of_a_line(clock: list[float]) -> None:
    with Bars(Console(file=StringIO(), force_terminal=True, get_time=lambda: clock[0])) as bars:
        bars("answers", 0, 8, "questions")
        clock[0] += 104
        bars("answers", 4, 8, "questions")
        assert bars.progress.tasks[0].fields["rate"] == "26 s each"


def test_a_further_round_has_its_own_clock(clock: list[float]) -> None:
    written: list[str] = []
    lines = Lines(written.append)
    lines("verified", 0, 10, "candidates")
    clock[0] += 100
    lines("verified", 10, 10, "candidates")
    lines("verified", 0, 8, "candidates")
    clock[0] += 2
    lines("verified", 8, 8, "candidates")
    assert written[-1] == "verified: 8 of 8 candidates, 4.0 candidates/s, done in 2 s"


def test_one_is_said_as_one(clock: list[float]) -> None:
    written: list[str] = []
    lines = Lines(written.append)
    lines("answers", 0, 1, "questions")
    clock[0] += 2
    lines("answers", 1, 1, "questions")
    assert written == [
        "answers: 1 question to do",
        "answers: 1 of 1 question, 0.5 questions/s, done in 2 s",
    ]

"""Progress in lines: rate and time left from the start of the stage, anew in each round."""

from __future__ import annotations

import pytest

from agro_data import progress
from agro_data.progress import Lines


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

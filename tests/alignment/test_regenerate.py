"""Faulty parts made anew: what is asked of whom, and what is left alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from alignment.aligning import CITIES, NOT_30, OLD, OLDER, SANDBOX, example
from scripted_model import Scripted

from agro_data.alignment.agreement import Ballot
from agro_data.alignment.example import Example
from agro_data.alignment.grouping import group
from agro_data.alignment.judge import Dispute
from agro_data.alignment.regenerate import Regenerator
from agro_data.alignment.tournament import Opinion, Pairing
from agro_data.llm.client import Client
from agro_data.prompts.judge import Blame, Ruling


def made(
    one: Example, ruling: Ruling, others: Sequence[str] = (), said: str = "", prefer: object = None
) -> tuple[Example | None, Regenerator, Scripted]:
    backend = Scripted(lambda request: said)
    [found] = group([(one, others)], SANDBOX)
    regenerator = Regenerator(SANDBOX, prefer, Client(backend) if said else None)  # type: ignore[arg-type]
    [new] = regenerator([(Dispute(one, Ballot((), (), found.groups)), ruling)], 1)
    return new, regenerator, backend


def test_the_judge_s_query_is_taken_if_it_is_sound(tmp_path: Path) -> None:
    one = example(tmp_path, OLDER, ordered=False, meaning="old ones")
    new, _, _ = made(one, Ruling("gold_wrong", "x", OLD), [CITIES])
    assert new is not None
    assert (new.sql, new.ordered, new.meaning, new.question) == (OLD, None, "", one.question)
    assert made(one, Ruling("gold_wrong", "x", "SELECT nam FROM customer"), [CITIES])[0] is None
    named_none = made(one, Ruling("gold_wrong", "x"), [CITIES, OLD, OLD])[0]
    assert named_none is not None
    assert named_none.sql == OLD


def test_a_tournament_chooses_among_all(tmp_path: Path) -> None:
    def prefer(pairings: Sequence[Pairing]) -> list[Opinion]:
        return [Opinion("first" if one.first == NOT_30 else "second", "") for one in pairings]

    new, regenerator, _ = made(example(tmp_path), Ruling("gold_wrong", "x", OLDER), [CITIES, NOT_30], prefer=prefer)
    assert new is not None
    assert new.sql == NOT_30
    assert len(regenerator.tournaments[0].matches) == 6


@pytest.mark.parametrize("verdict", ["question_wrong", "ambiguous"])
def test_questions_are_written_anew(tmp_path: Path, verdict: Blame) -> None:
    said = '{"question": "Who is over 40?", "evidence": null}'
    new, _, backend = made(example(tmp_path, meaning="customers over 40"), Ruling(verdict, "x"), said=said)
    assert new is not None
    assert (new.question, new.sql) == ("Who is over 40?", OLD)
    assert "customers over 40" in backend.asked[0].messages[1].content


def test_evidence_is_written_anew(tmp_path: Path) -> None:
    one = example(tmp_path, evidence="old: over 60")
    new, _, backend = made(one, Ruling("evidence_wrong", "40 is meant"), said='{"evidence": "old: over 40"}')
    assert new is not None
    assert (new.evidence, new.question, new.sql) == ("old: over 40", one.question, one.sql)
    told = backend.asked[0].messages[1].content
    assert "old: over 60" in told
    assert "40 is meant" in told


@pytest.mark.parametrize("verdict", ["question_wrong", "evidence_wrong", "predictor_wrong"])
def test_nothing_comes_of_no_writer_and_of_no_reply(tmp_path: Path, verdict: Blame) -> None:
    assert made(example(tmp_path), Ruling(verdict, "x"))[0] is None
    assert made(example(tmp_path), Ruling(verdict, "x"), said="Sorry.")[0] is None

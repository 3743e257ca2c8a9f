"""The referee: looks at the data, in a bounded number of turns, and gives one of six verdicts or none."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from alignment.aligning import OLD, OLDER, SANDBOX, example
from hypothesis import given
from hypothesis import strategies as st
from scripted_model import Scripted

from agro_data.alignment.agreement import vote
from agro_data.alignment.judge import Dispute, Judgement, Referee, outvoted
from agro_data.llm.client import Client
from agro_data.llm.prompt import Unparsed
from agro_data.llm.types import Completion, Failure, Request
from agro_data.prompts.judge import BLAMES, Ruling, parse_ruling
from agro_data.verify.golds import GoldResults

LOOK = "<think>who is old?</think><sql>SELECT name, age FROM customer WHERE age > 40"  # a stop took the closing tag
RULES = '<think>so</think><solution>{"verdict": "gold_wrong", "evidence": "Bo is 41", "sql": "SELECT 1;"}'


def hear(
    folder: Path, reply: Callable[[Request], str | Completion | Failure], turns: int = 3
) -> tuple[Judgement, Scripted]:
    backend = Scripted(reply)
    one = example(folder, OLDER)
    [ballot] = vote([one], [[OLD, OLD, ""]], SANDBOX, GoldResults())
    [judgement] = Referee(Client(backend), SANDBOX, turns)([Dispute(one, ballot)], 1)
    return judgement, backend


def test_it_looks_and_rules(tmp_path: Path) -> None:
    found, backend = hear(tmp_path, lambda request: RULES if len(request.messages) > 2 else LOOK)
    assert found.ruling == Ruling("gold_wrong", "Bo is 41", "SELECT 1")
    told = backend.asked[0].messages[1].content
    assert "3 answers were asked for; 0 gave the same result" in told
    assert f"2 of them: {OLD}" in told
    seen = backend.asked[1].messages[-1].content
    assert "Bo | 41" in seen
    assert "3 rows, 2 turns left" in seen
    assert found.transcript.count("<observation>") == 1
    assert found.transcript.endswith("</solution>")


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        ("I think the gold is wrong.", "no_tag"),
        ("<think>a</think><solution>gold_wrong</solution>", "no_json"),
        ('<think>a</think><solution>{"verdict": "fine", "evidence": "x"}</solution>', "not_schema"),
        ('<think>a</think><solution>{"verdict": "ambiguous", "evidence": " "}</solution>', "no_evidence"),
        (Completion("<think>and then", cut=True), "cut"),
        (Failure("timeout", "30 s"), "timeout"),
        (LOOK, "turns"),
        ("<think>a</think><observation>3 rows</observation>", "forged_observation"),
    ],
)
def test_no_verdict_has_a_class(tmp_path: Path, reply: str | Completion | Failure, kind: str) -> None:
    found, backend = hear(tmp_path, lambda request: reply)
    assert found.verdict == ""
    assert found.evidence.startswith(f"{kind}: ")
    assert len(backend.asked) == (3 if kind == "turns" else 1)


def test_its_queries_are_no_more_trusted_than_others(tmp_path: Path) -> None:
    said = iter(["<think>x</think><sql>DROP TABLE customer</sql>", "<think>x</think><sql>SELECT 1/</sql>", RULES])
    found, backend = hear(tmp_path, lambda request: next(said))
    assert found.verdict == "gold_wrong"
    assert all("Error" in request.messages[-1].content for request in backend.asked[1:])


@given(st.text() | st.sampled_from(BLAMES).map(lambda blame: json.dumps({"verdict": blame, "evidence": "x"})))
def test_every_solution_is_read(text: str) -> None:
    assert isinstance(parse_ruling(text), Ruling | Unparsed)


@pytest.mark.parametrize(
    ("answers", "need", "verdict"),
    [
        ([OLD, OLD, OLDER], 2, "gold_wrong"),
        ([OLD, OLDER, ""], 2, ""),
        ([OLD, OLD, OLDER, OLDER], 2, ""),  # as many for the gold
        ([], 1, ""),
    ],
)
def test_outvoting(tmp_path: Path, answers: list[str], need: int, verdict: str) -> None:
    one = example(tmp_path, OLDER)
    [ballot] = vote([one], [answers], SANDBOX, GoldResults())
    [found] = outvoted(need)([Dispute(one, ballot)], 1)
    assert found.verdict == verdict
    if verdict:
        assert isinstance(found.ruling, Ruling)
        assert found.ruling.sql == OLD
        assert "2 of 3 answers give one other result" in found.evidence

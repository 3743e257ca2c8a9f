"""Models that know no turns are asked for a query at once, by the verbs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from making import make_school
from train.asked import gold_of, make_place
from train.model_server import Server, message

from agro_data.config import ConfigError
from agro_train.cli import agro
from agro_train.rollouts import Limits


def test_a_model_that_knows_no_turns_is_asked_for_a_query_at_once(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As most of text-to-SQL are trained: in turns none of its answers counts, which is said with what to do."""
    monkeypatch.setenv("AGRO_CACHE", str(tmp_path / "cache"))
    place = make_place(tmp_path / "place")

    def reply(path: str, body: dict[str, Any], headers: dict[str, str]) -> tuple[int, Any]:
        said = body["messages"][0]["content"]
        return message(f"Let me see.\n```sql\n{gold_of(said)}\n```" if "Question: " in said else "x")

    server.handle = reply
    asked = ["predict", "--questions", str(place / "questions.json"), "--databases", str(place / "databases")]
    asked += ["--model", f"{server.base}#m", "--instances", "none", "--json"]
    in_turns = CliRunner().invoke(agro, [*asked, "--out", str(tmp_path / "turns.jsonl")])
    assert in_turns.exit_code == 1
    assert "no prediction for 4 of 4 questions: 4 malformed (no tag" in in_turns.stderr
    assert "can be asked for a query at once: --direct" in in_turns.stderr
    assert server.asked[-1]["max_tokens"] == Limits().turn
    at_once = CliRunner().invoke(agro, [*asked, "--direct", "--out", str(tmp_path / "direct.jsonl")])
    assert at_once.exit_code == 0, at_once.output
    figures = json.loads(at_once.stdout)
    [model] = figures["models"]
    assert (model["metrics"]["strict"]["score"]["mean"], model["turns"], model["direct"]) == (1.0, 1.0, True)
    assert "m: was asked for a query at once, not in turns" in figures["notes"]
    assert server.asked[-1]["max_tokens"] == 2 * Limits().turn  # it says more than a query
    prompt = server.asked[-1]["messages"][0]["content"]
    assert "```sql" in prompt
    assert "<think>" not in prompt
    other = CliRunner().invoke(agro, [*asked, "--out", str(tmp_path / "direct.jsonl")])
    assert "reading.direct was True, is None" in str(other.exception)


@pytest.mark.parametrize(
    ("given", "told"),
    [(["--names"], "no turns in which SQL is held to names"), (["--decoding", "tree"], "a tree branches: use vote")],
)
def test_what_needs_turns_is_refused_where_a_query_is_asked_for_at_once(
    server: Server, tmp_path: Path, given: list[str], told: str
) -> None:
    server.handle = lambda *_: message("x")
    school = str(make_school(tmp_path / "school.sqlite"))
    asked = ["--model", f"{server.base}#m", "--direct", *given]
    done = CliRunner().invoke(agro, ["ask", "How many?", "--database", school, *asked])
    assert isinstance(done.exception, ConfigError)
    assert told in str(done.exception)


def test_a_person_is_answered_at_once(server: Server, tmp_path: Path) -> None:
    server.handle = lambda *_: message("Schools are rows.\n```sql\nSELECT COUNT(*) FROM school\n```")
    school = str(make_school(tmp_path / "school.sqlite"))
    asked = ["ask", "How many schools are there?", "--database", school, "--model", f"{server.base}#m", "--json"]
    done = CliRunner().invoke(agro, [*asked, "--direct"])
    assert done.exit_code == 0, done.output
    reply = json.loads(done.stdout)
    assert (reply["rows"], [step["thought"] for step in reply["steps"]]) == ([[6]], ["Schools are rows."])
    in_turns = CliRunner().invoke(agro, asked)
    assert in_turns.exit_code == 1
    assert "can be asked for a query at once: --direct" in in_turns.stderr

"""A model that can write some kinds of queries and not others is asked more for those that it can."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from making import make_school, one_worker
from rounds.test_next_round import judged, stored

import agro_data
from agro_data.config import STRUCTURAL
from agro_data.hashing import seed_of
from agro_data.rounds.next_round import next_round
from bench.parts.scripted_server import ScriptedServer

# An intent says each of them, so that the grammar asks for it and the model is asked for SQL only.
QUERIES = (
    "SELECT name FROM school WHERE city = 'Oslo'",
    "SELECT name FROM teacher ORDER BY salary DESC LIMIT {n}",
    "SELECT COUNT(*) FROM lesson WHERE pupils > {n}0",
    "SELECT COUNT(*) FROM lesson WHERE pupils < {n}5",
)


def beginner(body: Mapping[str, Any]) -> str:
    """What a model replies that can write nothing with more than a join or two conditions."""
    text = "\n".join(message["content"] for message in body["messages"])
    drawn = seed_of(text, body["seed"])
    if not ("How hard: simple." in text or "How hard: moderate." in text):
        return "I cannot."
    return f"```sql\n{QUERIES[drawn % len(QUERIES)].format(n=1 + drawn // 100 % 4)}\n```"


@pytest.mark.slow
def test_requests_move_to_what_gave_certified_rows(tmp_path: Path) -> None:
    school = make_school(tmp_path / "school.sqlite")
    settings: dict[str, Any] = {"size": 30, "embedding_model": STRUCTURAL, "certify": False, "generator": "both"}
    run = one_worker(tmp_path)
    with ScriptedServer(beginner) as server:
        first = agro_data.build(str(school), run=run, writer=server.base, **settings).version
        found = next_round(stored(tmp_path / "evaluated", judged(first, pl.lit(False))), first)
        focus = tmp_path / "focus.json"
        focus.write_text(json.dumps(found.to_dict()))
        second = agro_data.build(str(school), run=run, writer=server.base, focus=str(focus), **settings).version
    before, after = of_arms(first), of_arms(second)
    assert before["llm:highly_complex"]["certified"] == before["llm:complex"]["certified"] == 0
    assert before["llm:simple"]["certified"] > 0
    assert before["grammar"]["certified"] > before["llm:simple"]["certified"]
    arms = found.to_dict()["arms"]
    assert arms["complexity"]["simple"] > 0.25 > arms["complexity"]["complex"] > 0.05
    assert arms["model"]["grammar"] > 0.6
    for name in ("grammar", "llm:complex", "llm:highly_complex"):
        assert (part(after, name) > part(before, name)) == (name == "grammar")
        assert part(after, name) > 0, "less, and never nothing"
    ratio = [arms["llm:simple"]["requests"] / arms["llm:complex"]["requests"] for arms in (before, after)]
    assert ratio[1] > ratio[0]


def of_arms(version: agro_data.Version) -> dict[str, dict[str, int]]:
    return {one["arm"]: one for one in version.manifest["yields"] if one["stage"] == "candidates"}


def part(arms: Mapping[str, Mapping[str, int]], name: str) -> float:
    return arms[name]["requests"] / sum(one["requests"] for one in arms.values())

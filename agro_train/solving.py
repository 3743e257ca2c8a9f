"""A model that was trained here, or any other agent, as a solver of Gen-as-Check: `agro_data.alignment` is given it.

The agent answers in the environment, in its own way of reading schemas, and is told the question and the evidence: no
gold is in its tasks. Answers are kept as they come, some questions a file, so that who was interrupted asks no more of
them again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from agro_data.alignment.example import Example
from agro_data.alignment.solvers import Solver
from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.files import write_json
from agro_data.hashing import seed_of, stable_hash
from agro_data.profiling.serialising.asked import Source, open_source
from agro_train.agents.agent import Agent
from agro_train.answers import answer
from agro_train.decoding import Decoding
from agro_train.predict import TOGETHER, identity_of
from agro_train.programs.settings import training_code_version
from agro_train.questions import Questions, Row, plain_row
from agro_train.tasks import Task


def agent_solver(
    agent: Agent,
    sandbox: Sandbox,
    cache: Path,
    *,
    samples: int,
    temperature: float = 0.7,
    seed: int = 0,
    refused: Callable[[str], object] = lambda said: None,
) -> Solver:
    """A solver of `samples` attempts at each question; `sandbox` runs the queries that the agent looks with.

    Profiles and answers are kept below `cache`, but not those among which a server refused some: `refused` is told why,
    and of whom, for each question. Raises `ConfigError`, as `Questions.tasks` does, when a schema has no room in the
    agent's budget.
    """
    decoding = Decoding("vote", samples, temperature)
    sources: dict[str, Source] = {}

    def attempts(examples: Sequence[Example], cycle: int) -> list[list[str]]:
        for one in examples:
            if one.database.content_hash not in sources:
                sources[one.database.content_hash] = open_source(one.database, cache / "profiles")
        asked = {one.database.db_id: sources[one.database.content_hash] for one in examples}
        rows = tuple(_row(one) for one in examples)
        tasks = Questions("alignment", rows, asked, Path()).tasks(agent.prompt_format)
        together = max(1, TOGETHER // samples)
        own = seed_of(seed, "alignment", cycle)
        found: list[list[str]] = []
        for first in range(0, len(tasks), together):
            found += answered(tasks[first : first + together], own)
        return found

    def answered(tasks: Sequence[Task], own: int) -> list[list[str]]:
        asked = [[task.example_id, task.database.content_hash, task.prompt] for task in tasks]
        key = stable_hash([identity_of(agent, decoding, own), training_code_version(), asked])
        file = cache / "solved" / f"{key[:32]}.json"
        if file.is_file():
            kept: list[list[str]] = json.loads(file.read_text(encoding="utf-8"))
            return kept
        answers = answer(tasks, agent.policy, sandbox, decoding, own)
        found = [list(one.predictions) for one in answers]
        said = [one.refusal for one in answers if one.refusal]
        for one in said:
            refused(f"{agent.name}: {one}")
        if not said:
            write_json(file, found)
        return found

    return Solver(agent.name, attempts, facts_of(agent, samples, temperature))


def facts_of(agent: Agent, samples: int, temperature: float) -> dict[str, Any]:
    """What a manifest says of the solver: its weights, and the corpus that it was trained on."""
    return {
        "model": agent.name,
        "weights": agent.weights,
        "corpus": agent.run.corpus if agent.run else None,
        "samples": samples,
        "temperature": temperature,
        "direct": agent.prompt_format.direct,
    }


def _row(one: Example) -> Row:
    return plain_row(
        example_id=one.example_id,
        db_id=one.database.db_id,
        question=one.question,
        evidence=one.evidence or None,
        hardness=one.hardness,
        place=f"example {one.example_id}",
    )

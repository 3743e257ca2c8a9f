"""Who answers the question without having seen the SQL: any function, any model.

A solver is given the question and the schema, and gives several queries; "" stands for an attempt that came to nothing,
which counts among those asked. Each cycle asks for attempts of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from agro_data.alignment.example import Example
from agro_data.llm.client import Client
from agro_data.llm.prompts.prompt import Unparsed, ask
from agro_data.llm.prompts.solve import SOLVE
from agro_data.llm.types import SAMPLING, Sampling

Solve = Callable[[str, str], Sequence[str]]  # (question, schema) -> queries
Attempts = Callable[[Sequence[Example], int], Sequence[Sequence[str]]]  # (examples, cycle) -> queries of each, in order


@dataclass(frozen=True)
class Solver:
    """`facts` are what a manifest says of it: model, weights, the corpus that it was trained on."""

    name: str
    attempts: Attempts
    facts: Mapping[str, Any] = field(default_factory=dict)


def solver_of(name: str, solve: Solve) -> Solver:
    """A solver from a plain function, asked one question after the other; evidence stands on a line below it."""

    def attempts(examples: Sequence[Example], cycle: int) -> list[Sequence[str]]:
        return [
            solve(f"{one.question}\n{one.evidence}" if one.evidence else one.question, one.shown) for one in examples
        ]

    return Solver(name, attempts)


def model_solver(name: str, client: Client, samples: int, sampling: Sampling = SAMPLING) -> Solver:
    """A solver that asks a model `samples` times, with the prompt `solve`; all examples at once."""

    def attempts(examples: Sequence[Example], cycle: int) -> list[list[str]]:
        fresh = replace(sampling, seed=sampling.seed + cycle)
        problems = [one.problem() for one in examples]
        found: list[list[str]] = [[] for _ in examples]
        for one in ask(client, SOLVE, problems, fresh, samples=samples, stage=f"solve ({name})"):
            found[one.place].append("" if isinstance(one.answer, Unparsed) else one.answer.sql)
        return found

    facts = {"model": dict(client.backend.identity), "samples": samples, "prompt": SOLVE.version}
    return Solver(name, attempts, facts)

"""What a token costs for each number of rows, and what saves some of it: `python -m bench.writing --model NAME`.

Beside writing as it is done: with weights as they lie (`language_model.packed_weights`), and besides with a copy of its
beginning in each row (`language_model.shared_prefix`). Prompts are eight questions about each of two schemas; more rows
than prompts are attempts at the same. Tokens are random, since what they say costs nothing. Steps of all are taken in
turn, by process time, which counts no waiting.
"""

from __future__ import annotations

import argparse
from contextlib import nullcontext
from pathlib import Path
from random import Random
from statistics import median
from time import process_time
from typing import Any

from agro_train.agents.opening import open_agent
from agro_train.language_model.packed_weights import packed
from agro_train.sampling.module import ModuleSampler
from agro_train.sampling.rows import Rows
from bench.parts.tables import show

SCHEMAS, QUESTIONS = 2, 8
WAYS = {"as it is done": (True, True), "weights as they lie": (True, False), "and copies": (False, False)}


def main() -> None:
    parser = options(__doc__, dtype="bfloat16", rows=[1, 4, 16, 64, 128])
    parser.add_argument("--steps", type=int, default=9)
    given = parser.parse_args()
    agent = open_agent(given.model, given.models, given.cache, dtype=given.dtype)
    if not isinstance(agent.sampler, ModuleSampler):
        raise SystemExit(f"{agent.name} is not a model that runs here")
    module, pad = agent.sampler.module.eval(), agent.tokenizer.pad_token_id
    prompts = draw_prompts(given.schema, given.question)
    found = [_steps(module, pad, [prompts[row % len(prompts)] for row in range(n)], given.steps) for n in given.rows]
    show(
        f"Seconds of a step of {agent.name}, up to {len(prompts)} prompts of {len(prompts[0])} tokens",
        ["rows", *WAYS, "less time"],
        [
            [n, *(f"{one:.3f}" for one in seconds), f"{1 - seconds[0] / seconds[-1]:.0%}"]
            for n, seconds in zip(given.rows, found, strict=True)
        ],
    )


def options(text: str | None, dtype: str, rows: list[int]) -> argparse.ArgumentParser:
    """Which model writes, behind how many tokens, and how many turns at a time."""
    parser = argparse.ArgumentParser(description=(text or "").splitlines()[0])
    parser.add_argument("--model", required=True, help="a trained run or a model's folder")
    parser.add_argument("--models", type=Path, default=Path("models"))
    parser.add_argument("--cache", type=Path, default=Path(".agro-cache"))
    parser.add_argument("--dtype", default=dtype, help="type of the weights")
    parser.add_argument("--schema", type=int, default=250, help="tokens of a schema")
    parser.add_argument("--question", type=int, default=60, help="tokens behind it")
    parser.add_argument("--rows", type=int, nargs="+", default=rows)
    return parser


def draw_prompts(schema: int, question: int) -> list[list[int]]:
    """`QUESTIONS` of so many random tokens about each of `SCHEMAS` schemas."""
    chance = Random(0)
    schemas = [_tokens(schema, chance) for _ in range(SCHEMAS)]
    return [[*one, *_tokens(question, chance)] for _ in range(QUESTIONS) for one in schemas]


def _tokens(count: int, chance: Random) -> list[int]:
    return [chance.randrange(100, 5_000) for _ in range(count)]


def _steps(module: Any, pad: int, prefixes: list[list[int]], steps: int) -> list[float]:
    """Seconds of one step, each of `WAYS`."""
    import torch

    taken: list[list[float]] = [[] for _ in WAYS]
    with torch.no_grad():
        begun = [Rows.begin(module, prefixes, pad, share) for share, _ in WAYS.values()]
        for _ in range(steps + 1):
            for rows, seconds, (_, packs) in zip(begun, taken, WAYS.values(), strict=True):
                with packed(module) if packs else nullcontext():
                    began = process_time()
                    rows.go_on([*range(len(prefixes))], [101] * len(prefixes))
                    seconds.append(process_time() - began)
    return [median(seconds[1:]) for seconds in taken]  # the first makes room


if __name__ == "__main__":
    main()

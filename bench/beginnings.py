"""What a token costs where rows hold what they begin with once, and where each holds a copy: `python -m
bench.beginnings --model NAME`.

Two schemas, eight questions about each, and `--attempts` rows of every question; tokens are random, since what they say
costs nothing. Steps of both are taken in turn, by process time, which counts no waiting.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from random import Random
from statistics import median
from time import process_time

from agro_train.agents.agent import open_agent
from agro_train.sampling.module import ModuleSampler
from agro_train.sampling.rows import Rows
from bench.tables import show

SCHEMAS, QUESTIONS = 2, 8


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--model", required=True, help="a trained run or a model's folder")
    parser.add_argument("--models", type=Path, default=Path("models"))
    parser.add_argument("--cache", type=Path, default=Path(".agro-cache"))
    parser.add_argument("--dtype", default="bfloat16", help="type of the weights")
    parser.add_argument("--schema", type=int, default=250, help="tokens of a schema")
    parser.add_argument("--question", type=int, default=60, help="tokens behind it")
    parser.add_argument("--attempts", type=int, nargs="+", default=[1, 4, 8])
    parser.add_argument("--steps", type=int, default=9)
    given = parser.parse_args()
    agent = open_agent(given.model, given.models, given.cache, dtype=given.dtype)
    if not isinstance(agent.sampler, ModuleSampler):
        raise SystemExit(f"{agent.name} is not a model that runs here")
    module, pad, chance = agent.sampler.module.eval(), agent.tokenizer.pad_token_id, Random(0)
    schemas = [_tokens(given.schema, chance) for _ in range(SCHEMAS)]
    prompts = [[*schema, *_tokens(given.question, chance)] for schema in schemas for _ in range(QUESTIONS)]
    found = [_step(module, pad, [prompt for prompt in prompts for _ in range(n)], given.steps) for n in given.attempts]
    show(
        f"Seconds of a step of {agent.name}, {len(prompts)} prompts of {len(prompts[0])} tokens",
        ["rows", "held once", "a copy in each row", "less time"],
        [
            [len(prompts) * n, f"{held:.3f}", f"{copied:.3f}", f"{1 - held / copied:.0%}"]
            for n, (held, copied) in zip(given.attempts, found, strict=True)
        ],
    )


def _tokens(count: int, chance: Random) -> list[int]:
    return [chance.randrange(100, 5_000) for _ in range(count)]


def _step(module: object, pad: int, prefixes: list[list[int]], steps: int) -> tuple[float, float]:
    """Seconds of one step, held once and in copies."""
    import torch

    seconds: tuple[list[float], list[float]] = ([], [])
    with torch.no_grad():
        both = [Rows.begin(module, prefixes, pad, share) for share in (True, False)]
        for _ in range(steps + 1):
            for rows, taken in zip(both, seconds, strict=True):
                began = process_time()
                rows.go_on([*range(len(prefixes))], [101] * len(prefixes))
                taken.append(process_time() - began)
    held, copied = (median(taken[1:]) for taken in seconds)  # the first makes room
    return held, copied


if __name__ == "__main__":
    main()

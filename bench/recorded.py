"""Turns that a GPU writes, recorded and row by row: `python -m bench.recorded --model NAME`.

Of the same prompts, eight questions about each of two schemas and more attempts at them, with the same seeds, in turn.
Row by row is what a CPU does: rows share what they have in common, and each step launches its kernels anew.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from random import Random
from time import perf_counter

from agro_train.agents.agent import open_agent
from agro_train.sampling.module import ModuleSampler
from bench.tables import show

SCHEMAS, QUESTIONS = 2, 8


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--model", required=True, help="a trained run or a model's folder")
    parser.add_argument("--models", type=Path, default=Path("models"))
    parser.add_argument("--cache", type=Path, default=Path(".agro-cache"))
    parser.add_argument("--dtype", default="float32", help="type of the weights")
    parser.add_argument("--schema", type=int, default=250, help="tokens of a schema")
    parser.add_argument("--question", type=int, default=60, help="tokens behind it")
    parser.add_argument("--turn", type=int, default=96, help="tokens of a turn at most")
    parser.add_argument("--rows", type=int, nargs="+", default=[1, 16, 64, 256, 512])
    given = parser.parse_args()
    sampler = open_agent(given.model, given.models, given.cache, dtype=given.dtype, batch=max(given.rows)).sampler
    if not isinstance(sampler, ModuleSampler) or sampler.module.device.type != "cuda":
        raise SystemExit("there is no GPU here: nothing is recorded without one")
    chance = Random(0)
    schemas = [_tokens(given.schema, chance) for _ in range(SCHEMAS)]
    prompts = [[*schema, *_tokens(given.question, chance)] for _ in range(QUESTIONS) for schema in schemas]
    _written(sampler, prompts, given.turn)  # libraries set themselves up
    found = [
        [
            _written(sampler, [prompts[row % len(prompts)] for row in range(count)], given.turn, record=record)
            for record in (True, False)
        ]
        for count in given.rows
    ]
    show(
        f"Tokens a second, turns of at most {given.turn} tokens behind {len(prompts[0])}",
        ["rows", "recorded", "row by row", "times as many"],
        [
            [n, *(f"{rate:,.0f}" for rate in rates), f"{rates[0] / rates[1]:.1f}"]
            for n, rates in zip(given.rows, found, strict=True)
        ],
    )


def _tokens(count: int, chance: Random) -> list[int]:
    return [chance.randrange(100, 5_000) for _ in range(count)]


def _written(sampler: ModuleSampler, prefixes: list[list[int]], most: int, *, record: bool = True) -> float:
    """Tokens of turns behind `prefixes` that are written in a second."""
    sampler.record = record
    began = perf_counter()
    turns = sampler(prefixes, temperature=0.85, max_tokens=most, seeds=[*range(len(prefixes))])
    if sampler.record != record:
        raise SystemExit("the module cannot be recorded")
    return sum(len(turn.ids) for turn in turns) / (perf_counter() - began)


if __name__ == "__main__":
    main()

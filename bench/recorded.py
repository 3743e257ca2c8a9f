"""Turns that a GPU writes, recorded and row by row: `python -m bench.recorded --model NAME`.

Of the same prompts, eight questions about each of two schemas and more attempts at them, with the same seeds, in turn.
Row by row is what a CPU does: rows share what they have in common, and each step launches its kernels anew.
"""

from __future__ import annotations

from time import perf_counter

from agro_train.agents.opening import open_agent
from agro_train.sampling.module import ModuleSampler
from bench.parts.tables import show
from bench.writing import draw_prompts, options


def main() -> None:
    parser = options(__doc__, dtype="float32", rows=[1, 16, 64, 256, 512])
    parser.add_argument("--turn", type=int, default=96, help="tokens of a turn at most")
    given = parser.parse_args()
    sampler = open_agent(given.model, given.models, given.cache, dtype=given.dtype, batch=max(given.rows)).sampler
    if not isinstance(sampler, ModuleSampler) or sampler.module.device.type != "cuda":
        raise SystemExit("there is no GPU here: nothing is recorded without one")
    prompts = draw_prompts(given.schema, given.question)
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

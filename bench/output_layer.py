"""The output layer of training on a CPU beside TRL's own: `python -m bench.output_layer`.

Forward and backward of as many tokens as a micro batch learns, in bfloat16 as mixed precision computes, with the
sizes of SmolLM2-135M. CPU seconds of one thread; the least of `--rounds`, each way once in each, since what shares the
machine only adds.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import torch
from trl.kernels import ChunkedLogProbFunction
from trl.trainer.utils import _CHUNKED_LOGPROB_CHUNK_SIZE

from agro_train.language_model.fused_head import Head
from bench.parts.tables import show

OUTPUTS = ("log_probs", "entropy", "is_top1")  # what supervised fine-tuning asks for


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokens", type=int, default=504)
    parser.add_argument("--vocabulary", type=int, default=49_152)
    parser.add_argument("--hidden", type=int, default=576)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    hidden, weight = torch.randn(given.tokens, given.hidden), torch.randn(given.vocabulary, given.hidden) * 0.1
    targets = torch.randint(0, given.vocabulary, (given.tokens,))
    ways = {"TRL": ChunkedLogProbFunction, "ours": Head}
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    for _ in range(given.rounds):
        for name, way in ways.items():
            taken[name].append(seconds(way, hidden, weight, targets))
    least = {name: [min(column) for column in zip(*each, strict=True)] for name, each in taken.items()}
    show(
        f"{given.tokens} tokens, {given.vocabulary:,} entries of {given.hidden} numbers, CPU seconds",
        ["way", "forward", "backward", "both", "of TRL"],
        [
            [name, *(round(one, 3) for one in (*parts, sum(parts))), round(sum(parts) / sum(least["TRL"]), 3)]
            for name, parts in least.items()
        ],
    )


def seconds(way: Any, hidden: torch.Tensor, weight: torch.Tensor, targets: torch.Tensor) -> tuple[float, float]:
    """Of forward and backward."""
    given, learnt = hidden.clone().requires_grad_(), weight.clone().requires_grad_()
    with torch.autocast("cpu", torch.bfloat16):
        began = time.process_time()
        log_probs = way.apply(given, learnt, None, targets, 1.0, _CHUNKED_LOGPROB_CHUNK_SIZE, None, 1.0, OUTPUTS)[0]
        between = time.process_time()
        log_probs.mean().backward()
    return between - began, time.process_time() - between


if __name__ == "__main__":
    main()

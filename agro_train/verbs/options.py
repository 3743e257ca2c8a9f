"""Options that several verbs have."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import click

from agro_data.verbs.options import A_PATH
from agro_train.programs.usual import COMPACT, ROLLOUT_TOKENS, SAMPLES, TURN_TOKENS, UNTRAINED_BUDGET, Kind

TRUNCATED = "truncated (by --turn-tokens, --rollout-tokens or the number of turns)"  # what a person is told

ASK_DIRECTLY = "a model that was not taught to answer in turns can be asked for a query at once: --direct"

decoding = click.option(
    "--decoding",
    type=click.Choice(get_args(Kind)),
    default="greedy",
    show_default=True,
    help="The likeliest answer, a vote of several (adaptive: as few as settle it), or a tree of turns.",
)
samples = click.option(
    "--samples",
    type=click.IntRange(2),
    default=SAMPLES,
    show_default=True,
    help="Votes of `vote`, `adaptive` and `tree`.",
)
style = click.option("--style", default=COMPACT, show_default=True, help="Schema style for models not trained here.")
budget = click.option(
    "--budget",
    type=click.IntRange(1),
    default=UNTRAINED_BUDGET,
    show_default=True,
    help="Tokens of a schema, for the same models.",
)
direct = click.option(
    "--direct/--in-turns",
    default=False,
    show_default=True,
    help="Ask models not trained here for a query at once, as most of text-to-SQL are trained.",
)
turn_tokens = click.option(
    "--turn-tokens",
    type=click.IntRange(1),
    default=TURN_TOKENS,
    show_default=True,
    help="Tokens of a turn at most; a model asked directly may write twice as many.",
)
rollout_tokens = click.option(
    "--rollout-tokens",
    type=click.IntRange(1),
    default=ROLLOUT_TOKENS,
    show_default=True,
    help="Tokens after a prompt at most.",
)
models_root = click.option(
    "--models", "models_root", type=A_PATH, default=Path("models"), show_default=True, help="Trained runs."
)
data = click.option(
    "--data", type=A_PATH, default=Path("datasets"), show_default=True, help="The folder of the corpora."
)

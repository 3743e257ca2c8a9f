"""Options that several verbs have."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import click

from agro_data.verbs.options import A_PATH
from agro_train.programs.usual import COMPACT, SAMPLES, UNTRAINED_BUDGET, Kind

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
models_root = click.option(
    "--models", "models_root", type=A_PATH, default=Path("models"), show_default=True, help="Trained runs."
)
data = click.option(
    "--data", type=A_PATH, default=Path("datasets"), show_default=True, help="The folder of the corpora."
)

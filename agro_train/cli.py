"""`agro`: the data verbs, and those that train, predict and ask."""

from __future__ import annotations

from agro_data.cli import VERBS, data
from agro_data.terminal.running import run
from agro_data.terminal.verb import Verbs, mounted

OWN = mounted(
    "agro_train.verbs",
    {
        "train": "Train a model on a corpus: first a cold start, then GRPO.",
        "predict": "Let models answer questions, and compare them.",
        "align": "Have models answer the questions of a corpus, and keep what they confirm.",
        "ask": "Answer a question about a database, showing each step, the SQL, the result, and findings against it.",
    },
)

agro = Verbs(
    name="agro", help=data.help, params=data.params, verbs=(*VERBS, *OWN), context_settings=data.context_settings
)


def main() -> None:
    """Entry point of the distribution."""
    run(agro)

"""`agro`: the data verbs, and those that train, predict and ask."""

from __future__ import annotations

from agro_data.cli import data
from agro_data.terminal.running import run
from agro_data.terminal.verb import Verbs
from agro_train.verbs.align import align_command
from agro_train.verbs.ask import ask_command
from agro_train.verbs.predict import predict_command
from agro_train.verbs.train import train_group

OWN = (train_group, predict_command, align_command, ask_command)

agro = Verbs(
    name="agro",
    help=data.help,
    params=data.params,
    commands={**data.commands, **{str(command.name): command for command in OWN}},
    context_settings=data.context_settings,
)


def main() -> None:
    """Entry point of the distribution."""
    run(agro)

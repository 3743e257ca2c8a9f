"""`agro train cold-start` and `agro train grpo`: the training programs, in this process and on this terminal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from agro_data.shown import print_json
from agro_data.terminal.running import FAILED_SOME
from agro_data.terminal.showing import say, show_pairs, tell
from agro_data.terminal.streams import notes, screen
from agro_data.terminal.verb import Resumed, Verbs
from agro_data.verbs.options import A_PATH, json_of
from agro_train.programs.settings import Settings, read_settings, settings_from
from agro_train.programs.telling import figures, said, why_nothing_was_learned
from agro_train.runs.corpora import find_corpus, find_databases_of

if TYPE_CHECKING:
    from agro_train.cold_start import ColdStartConfig
    from agro_train.reinforcement.config import GrpoConfig
    from agro_train.runs.store import ModelRun

Config = TypeVar("Config", "ColdStartConfig", "GrpoConfig")

DATASETS = Path("datasets")


@click.group(name="train", cls=Verbs)
def train_command() -> None:
    """Train a model on a corpus: first a cold start, then GRPO.

    \b
    Example:
      agro train cold-start --corpus datasets/demo --examples 400
      agro train grpo --corpus datasets/demo --steps 20
    """


def _settings(function: Callable[..., None]) -> Callable[..., None]:
    """The options of both programs."""
    for option in (
        json_of("run"),
        click.option("--seed", type=click.IntRange(0), default=None, help="Same seed, same training.  [default: 0]"),
        click.option("--name", default=None, help="Name of the model; its runs lie below it."),
        click.option("--models", default=None, help="The folder of trained models.  [default: models]"),
        click.option("--config", "file", type=A_PATH, metavar="FILE", help="Settings as JSON; options come on top."),
        click.option("--databases", default=None, metavar="PATH", help="Its databases.  [default: where it was built]"),
        click.option(
            "--corpus", default=None, metavar="VERSION", help="Corpus version.  [default: newest in datasets]"
        ),
    ):
        function = option(function)
    return function


def _parts(function: Callable[..., None]) -> Callable[..., None]:
    """The options of what of a model is trained."""
    share, rank = click.FloatRange(0, 1), click.IntRange(0)
    for option in (
        click.option("--lora", type=rank, metavar="RANK", help="Train adapters of this rank, not all weights."),
        click.option("--freeze", type=share, metavar="SHARE", help="Lower layers that stay as they are.  [default: 0]"),
    ):
        function = option(function)
    return function


@train_command.command(name="cold-start", cls=Resumed)
@_settings
@click.option("--model", default=None, help="A Hub id, a folder, or a run to go on from.  [default: SmolLM2-135M]")
@click.option("--examples", type=click.IntRange(1), default=None, help="Trajectories to learn from.  [default: 2000]")
@_parts
def cold_start_command(file: Path | None, as_json: bool, **given: Any) -> None:
    """Fine-tune a model on trajectories made of a corpus' train split.

    The same settings give the same run; one that was interrupted goes on where it was.

    \b
    Example:
      agro train cold-start --corpus datasets/demo --databases datasets/samples --examples 400
    """
    from agro_train.cold_start import ColdStartConfig, train  # noqa: PLC0415

    config = _config(ColdStartConfig, file, given)
    # People's pairs alone need no corpus.
    _show(train(config if config.pairs and not config.corpus else _placed(config), report=_tell), as_json)


@train_command.command(name="grpo", cls=Resumed)
@_settings
@click.option("--model", default=None, help="A run, a folder or a Hub id to start from.  [default: cold-start]")
@click.option("--steps", type=click.IntRange(1), default=None, help="Steps of the optimiser.  [default: 100]")
@click.option("--reward", default=None, help="Preset of reward terms: agro, reex, skyrl, arctic.  [default: agro]")
@_parts
def grpo_command(file: Path | None, as_json: bool, **given: Any) -> None:
    """Let a model learn from its own attempts at a corpus' questions, graded on all instances.

    \b
    Example:
      agro train grpo --corpus datasets/demo --databases datasets/samples --model cold-start --steps 20
    """
    from agro_train.grpo import train  # noqa: PLC0415
    from agro_train.reinforcement.config import GrpoConfig  # noqa: PLC0415

    _show(train(_placed(_config(GrpoConfig, file, given)), report=_tell), as_json)


def _config(kind: type[Settings], file: Path | None, given: Mapping[str, Any]) -> Settings:
    """Settings of the file with the options on top."""
    options = {name: value for name, value in given.items() if value is not None}
    return read_settings(kind, file, options) if file is not None else settings_from(kind, options)


def _placed(config: Config) -> Config:
    """With corpus and databases found where nobody said them."""
    version = find_corpus(DATASETS, config.corpus)
    return replace(config, corpus=str(version.path), databases=str(find_databases_of(version, config.databases)))


def _tell(line: Mapping[str, Any]) -> None:
    notes.print(said(line), soft_wrap=True)


def _show(run: ModelRun, as_json: bool) -> None:
    """The run. Ends with 1 when training moved no weight: such a model is the one it began with."""
    if as_json:
        print_json({"run": run.name, "path": str(run.path), "manifest": run.manifest})
    else:
        facts = run.manifest
        last = figures(facts.get("summary") or {})
        show_pairs(
            {
                "run": run.name,
                "model": str(run.model),
                "from": str(facts.get("parent") or run.base_model),
                "steps": f"{facts['steps']:,}",
                "seconds": f"{facts['seconds']:,.0f}",
                **{name: f"{value:.4g}" for name, value in last.items()},
            }
        )
        screen.print()
        say(f'agro ask --model {run.name} --database FILE "question"')
    if not run.moved["moved"]:
        tell([f"no parameter moved, nothing was learned: {why_nothing_was_learned(run.metrics())}"], "yellow")
        raise SystemExit(FAILED_SOME)

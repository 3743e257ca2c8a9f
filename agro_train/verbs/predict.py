"""`agro predict`: what models answer to questions, and which of them to use."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from agro_data.config import ConfigError, RunConfig, cache_folder
from agro_data.evaluation.load import files_of
from agro_data.progress import Bars
from agro_data.shown import print_json
from agro_data.terminal import FAILED_SOME, Resumed, notes, show_table, tell
from agro_data.verbs.options import A_PATH
from agro_data.verbs.writing import check_written
from agro_data.words import counted
from agro_train.programs.usual import BATCH, ROLLOUT_TOKENS, TURN_TOKENS, Engine
from agro_train.verbs import options

if TYPE_CHECKING:
    from agro_train.comparison.scoring import Scored
    from agro_train.questions import Questions


@click.command(name="predict", cls=Resumed)
@click.option(
    "--corpus", default=None, metavar="VERSION", help="A corpus version: its folder, or its name below --data."
)
@click.option("--split", default="test", show_default=True, help="The split of the corpus that is asked.")
@click.option(
    "--questions", type=A_PATH, default=None, metavar="FILE", help="Questions in any form; SQL may be unknown."
)
@click.option(
    "--databases", type=A_PATH, default=None, help="The databases asked about.  [default: those of the corpus]"
)
@click.option(
    "--model", "models", multiple=True, required=True, metavar="NAME", help="Run, folder, Hub id or URL (repeatable)."
)
@click.option("--out", type=A_PATH, required=True, metavar="FILE", help="Predictions as JSONL; continued if there.")
@options.decoding
@options.samples
@click.option("--names/--any-names", default=False, show_default=True, help="SQL may name only what the schema has.")
@click.option(
    "--check/--no-check",
    default=True,
    show_default=True,
    help="Only answers with the least grave findings vote.",
)
@click.option("--limit", type=click.IntRange(1), default=None, metavar="N", help="Ask N questions, spread over all.")
@click.option(
    "--instances",
    default="built",
    metavar="FOLDER",
    show_default=True,
    help="Instances that also judge answers: <db_id>/*.sqlite, built for the golds, or none.",
)
@options.style
@options.budget
@click.option(
    "--turn-tokens", type=click.IntRange(1), default=TURN_TOKENS, show_default=True, help="Tokens of a turn at most."
)
@click.option(
    "--rollout-tokens",
    type=click.IntRange(1),
    default=ROLLOUT_TOKENS,
    show_default=True,
    help="Tokens after a prompt at most.",
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Same seed, same answers.")
@click.option("--dtype", default="float32", show_default=True, help="Type of the weights; auto: the fastest here.")
@click.option("--engine", type=click.Choice(get_args(Engine)), default="transformers", show_default=True)
@click.option(
    "--batch",
    type=click.IntRange(1),
    default=BATCH,
    show_default=True,
    help="Turns that transformers writes together: more on a GPU.",
)
@click.option("--allow-seen", is_flag=True, help="Ask also about databases that a model was trained on.")
@click.option("--models", "models_root", type=A_PATH, default=Path("models"), show_default=True, help="Trained runs.")
@click.option("--data", type=A_PATH, default=Path("datasets"), show_default=True, help="The folder of the corpora.")
@click.option("--workers", type=click.IntRange(1), default=1, show_default=True, help="Processes that run SQL.")
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON on standard output.")
def predict_command(
    corpus: str | None,
    questions: Path | None,
    models: tuple[str, ...],
    out: Path,
    limit: int | None,
    as_json: bool,
    **settings: Any,
) -> None:
    """Let models answer questions, and compare them.

    With several models the file of each is named after it. Where the SQL is known, a table shows accuracy, cost,
    time and errors: which model to use on these data. `agro evaluate --predictions` scores a file by any metric.

    \b
    Examples:
      agro predict --questions dev.json --databases database --model promoted --out preds.jsonl
      agro predict --corpus corpus --model promoted --model HuggingFaceTB/SmolLM2-135M-Instruct --out preds.jsonl
      agro predict --questions mine.csv --databases my.sqlite --model http://localhost:8000/v1 --out preds.jsonl
    """
    from agro_train.agents.choosing import slug, told_apart  # noqa: PLC0415 (so that --help is quick)
    from agro_train.comparison.asking import Asked, How, scored_on  # noqa: PLC0415
    from agro_train.comparison.figures import compare, table  # noqa: PLC0415
    from agro_train.comparison.scoring import answerable, suite_of  # noqa: PLC0415
    from agro_train.decoding import decoding_named  # noqa: PLC0415
    from agro_train.predict import check_out, check_own, kept_beside  # noqa: PLC0415
    from agro_train.rollouts import Limits  # noqa: PLC0415
    from agro_train.runs.prompt_format import prompt_format_named  # noqa: PLC0415

    cache = cache_folder(RunConfig(out=settings["data"]))
    asked = _asked(corpus, questions, settings, cache)
    asked = asked.first(limit) if limit else asked
    suite = suite_of(asked, settings["instances"])
    check_out(out)
    prompt_format = prompt_format_named(settings["style"], settings["budget"])
    how = How(
        settings["models_root"],
        cache,
        prompt_format,
        Limits(settings["turn_tokens"], settings["rollout_tokens"]),
        decoding_named(settings["decoding"], settings["samples"], names=settings["names"], checks=settings["check"]),
        **{name: settings[name] for name in ("engine", "dtype", "batch", "seed", "workers")},
    )
    scored: list[Scored] = []
    with Bars(notes) as progress:
        called = told_apart(models, how.models, cache, [] if settings["allow_seen"] else [asked])
        several = len(called) > 1
        files = {own: out.with_name(f"{out.stem}-{slug(own)}{out.suffix}") if several else out for own in called}
        for file in files.values():
            check_out(file)
            check_own(file)
            check_written({"--out": file}, files_of(questions)[0] if questions else [], [asked.databases])
        for own, who in called.items():
            scored += scored_on(own, who, [Asked(asked, suite, files[own])], how, progress)
    figures = compare(answerable(asked), scored, settings["seed"])
    print_json(figures) if as_json else show_table(table(figures))
    tell(figures["notes"], "dim")
    tell(figures["problems"], "yellow")
    tell([line for file in files.values() for line in (f"{file}: written", *kept_beside(file))], "dim")
    _end(scored, bool(figures["problems"]))


def _end(scored: Sequence[Scored], problems: bool) -> None:
    """Say who gave no prediction; ends with 1 then, or where there are problems."""
    without = [(one, sum(not answer.predictions[0] for answer in one.answers)) for one in scored]
    lacking = [
        f"{one.model}: no prediction for {n:,} of {counted(len(one.answers), 'questions')}" for one, n in without if n
    ]
    tell(lacking, "yellow")
    if lacking or problems:
        raise SystemExit(FAILED_SOME)


def _asked(corpus: str | None, file: Path | None, settings: dict[str, Any], cache: Path) -> Questions:
    from agro_train.questions import questions_of_file, questions_of_version  # noqa: PLC0415
    from agro_train.runs.corpora import find_corpus, find_databases_of  # noqa: PLC0415

    if (corpus is None) == (file is None):
        raise ConfigError("say what to ask: either --corpus VERSION or --questions FILE")
    databases: Path | None = settings["databases"]
    if corpus is not None:
        version = find_corpus(settings["data"], corpus)
        folder = find_databases_of(version, str(databases) if databases else "")
        return questions_of_version(version, folder, cache, settings["split"])
    if databases is None or file is None:
        raise ConfigError("say where the databases are that the questions are about: --databases PATH")
    return questions_of_file(file, databases, cache)

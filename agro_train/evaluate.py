"""Models side by side on questions they have not seen: strict and official metrics, intervals, transcripts, cost.

`python -m agro_train.evaluate --config FILE.json`, or with the options that `--help` lists. The result is a folder:

    <out>/summary.json  index.html              every set of questions, every model
    <out>/<questions>/<model>/answers.jsonl     attempts with transcripts, a line each; gone on with when interrupted
    <out>/<questions>/<model>/<metric>.jsonl    verdicts
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, get_args

import click

from agro_data.config import ConfigError
from agro_data.evaluation.verdict import lines
from agro_data.files import write_json, write_text
from agro_data.progress import Bars, Reporter, silent
from agro_data.terminal.running import FAILED_SOME, run
from agro_data.terminal.showing import few_of_each, show_table, tell
from agro_data.terminal.streams import notes
from agro_data.terminal.verb import Resumed
from agro_train.agents.choosing import slug, told_apart
from agro_train.comparison.asking import Asked, How, side_by_side
from agro_train.comparison.figures import Compared, table
from agro_train.comparison.page import render_page
from agro_train.comparison.scoring import BUILT, suite_of
from agro_train.decoding import LIMITS, Decoding, decoding_named
from agro_train.predict import check_folder
from agro_train.programs.settings import (
    check_counts,
    check_finite,
    check_seed,
    find_cache,
    read_settings,
    settings_from,
    settings_to,
)
from agro_train.programs.usual import BATCH, COMPACT, PROMPT_BUDGET, SAMPLES, TEMPERATURE, Engine, Kind
from agro_train.questions import Questions, questions_of_file, questions_of_version
from agro_train.rollouts import Limits
from agro_train.runs.corpora import find_corpus, find_databases_of
from agro_train.runs.prompt_format import prompt_format_named
from agro_train.tasks import PromptFormat

HELD = ", their SQL held to the names of the schema"


@dataclass(frozen=True)
class EvaluationConfig:
    """What is evaluated. `models` are names as `find_named` takes them; the first is what others are held to.

    `corpus` is a version's folder, or its name below `data`; `questions` are files; one of the two or both. `style` and
    `budget` are for models that were not trained here. `limit` is the most questions of each set, spread over it; 0:
    all.
    """

    models: Sequence[str] = ()  # runs, folders, Hub ids, URLs; the others are compared with the first
    databases: str = ""  # the folder of the databases asked about; if empty, the corpus' databases
    corpus: str = ""  # a version's folder, or its name below `data`
    data: str = "datasets"  # the folder of the corpora
    split: str = "test"  # the split of the corpus that is asked
    questions: Sequence[str] = ()  # files of questions with SQL, asked besides
    instances: str = BUILT  # for strict-ts, if the corpus has none: a folder <db_id>/*.sqlite, built or none
    out: str = "evaluation"  # where summary, page and verdicts are written
    models_root: str = "models"  # where runs lie
    cache: str = ""  # profiles and unpacked models; `$AGRO_CACHE` or .agro-cache, if empty
    decoding: str = "greedy"  # greedy, vote, adaptive or tree
    samples: int = SAMPLES  # votes of vote and tree
    temperature: float = TEMPERATURE  # how they are sampled
    width: int = 2  # continuations of a branch of a tree
    names: bool = False  # SQL may name only what the schema has: another way to decode
    checks: bool = True  # only answers with the least grave findings of `agro verify` vote
    limit: int = 0  # questions of each set at most, spread over it; 0: all
    seed: int = 0  # of samples and intervals
    workers: int = 1  # processes that run SQL
    engine: Engine = "transformers"  # who writes
    batch: int = BATCH  # turns written together by transformers; a GPU has room for more, and takes as long for them
    dtype: str = "float32"  # type of the weights, as torch names it; auto: the fastest here
    style: str = COMPACT  # how a schema is written, for models that were not trained here
    budget: int = PROMPT_BUDGET  # tokens of a schema, for the same models
    direct: bool = False  # ask the same models for a query at once, not in turns
    turns: int = LIMITS.turns  # turns of an answer at most, for the same models
    turn_tokens: int = LIMITS.turn  # tokens of a turn at most; more for a run that could write more in training
    rollout_tokens: int = LIMITS.rollout  # tokens after the prompt at most; more for such a run, too
    allow_seen: bool = False  # ask also about databases that a model was trained on

    def __post_init__(self) -> None:
        find_cache(self)
        check_finite(self)
        if not self.models:
            raise ConfigError("say which models to evaluate: --model NAME (a run, a folder, a Hub id, promoted)")
        if not self.corpus and not self.questions:
            raise ConfigError("say what to ask: --corpus VERSION, or --questions FILE, or both")
        if not self.databases and (self.questions or not self.corpus):
            raise ConfigError("say where the databases are: --databases PATH (in Dagster `questions_databases`)")
        check_counts(self, "samples", "width", "workers", "batch", "budget", "turns", "turn_tokens", "rollout_tokens")
        check_counts(self, "temperature", "limit", least=0)
        check_seed(self)
        _ = self.decoded, self.prompt_format
        if self.engine not in get_args(Engine):
            raise ConfigError(f"there is no engine {self.engine!r}; use {', '.join(get_args(Engine))}")

    @property
    def limits(self) -> Limits:
        return Limits(self.turn_tokens, self.rollout_tokens, self.turns)

    @property
    def prompt_format(self) -> PromptFormat:
        return prompt_format_named(self.style, self.budget, direct=self.direct)

    @property
    def decoded(self) -> Decoding:
        return decoding_named(
            self.decoding,
            self.samples,
            self.temperature,
            self.width,
            self.names,
            checks=self.checks,
            direct=self.direct,
        )

    @property
    def how(self) -> How:
        return How(
            Path(self.models_root),
            Path(self.cache),
            prompt_format=self.prompt_format,
            limits=self.limits,
            decoding=self.decoded,
            engine=self.engine,
            dtype=self.dtype,
            batch=self.batch,
            seed=self.seed,
            workers=self.workers,
        )


def evaluate_models(config: EvaluationConfig, progress: Reporter = silent) -> tuple[Compared, ...]:
    """Evaluate every model on every set of questions, and write the folder `config.out`.

    Raises `SeenInTraining` when a model was trained on a database that is asked about, and like `open_agent`.
    """
    cache, out = Path(config.cache), Path(config.out)
    sets = _sets(config, cache)
    asked = [Asked(one, suite_of(one, config.instances), partial(_place, out, one, "answers.jsonl")) for one in sets]
    check_folder(out)
    models = told_apart(config.models, config.how.models, cache, () if config.allow_seen else sets)
    compared = side_by_side(models, asked, config.how, progress)
    for questions, scored in ((one.questions, scored) for one in compared for scored in one.models):
        for metric, found in scored.by_metric.items():
            write_text(_place(out, questions, f"{metric}.jsonl", scored.model), lines(found.verdicts))
    summary = {"config": settings_to(config), "sets": [one.figures for one in compared]}
    write_json(out / "summary.json", summary)
    write_text(out / "index.html", render_page(compared, f"Models side by side{HELD if config.names else ''}"))
    return compared


def _place(out: Path, questions: Questions, file: str, model: str) -> Path:
    """Where a file lies of what a model did on a set of questions."""
    return out / slug(questions.name) / slug(model) / file


def _sets(config: EvaluationConfig, cache: Path) -> list[Questions]:
    databases = Path(config.databases)
    found = [questions_of_file(Path(file), databases, cache) for file in config.questions]
    if config.corpus:
        version = find_corpus(Path(config.data), config.corpus)
        theirs = find_databases_of(version, config.databases)
        found.insert(0, questions_of_version(version, theirs, cache, config.split))
    for one in found:
        without = sum(not row["sql"] for row in one.rows)
        if without:
            raise ConfigError(f"{one.name}: {without} of {len(one.rows)} questions have no SQL to be scored against")
    folders = [slug(one.name) for one in found]
    if alike := [one.name for one, folder in zip(found, folders, strict=True) if folders.count(folder) > 1]:
        raise ConfigError(f"{' and '.join(alike)}: what comes of them would lie in one folder; rename one of the files")
    return [one.first(config.limit) if config.limit else one for one in found]


# --- from the command line ---------------------------------------------------------------------------------------


@click.command(name="python -m agro_train.evaluate", cls=Resumed)
@click.option("--config", "config_file", type=click.Path(path_type=Path), help="Settings as JSON; options come on top.")
@click.option("--model", "models", multiple=True, help="A run, a folder, a Hub id or `promoted` (repeatable).")
@click.option("--corpus", metavar="VERSION", help="A corpus version: its folder, or its name below --data.")
@click.option("--split", help="Its split.  [default: test]")
@click.option("--questions", multiple=True, help="A file of questions with SQL (repeatable).")
@click.option("--databases", help="The databases that are asked about.  [default: those of the corpus]")
@click.option("--data", help="The folder of the corpora.  [default: datasets]")
@click.option("--instances", help="What else to judge on: a folder <db_id>/*.sqlite, `none`, or built for the golds.")
@click.option("--out", help="Folder of the results.  [default: evaluation]")
@click.option("--models-root", help="Where trained runs are.  [default: models]")
@click.option("--cache", help="Profiles and unpacked models.  [default: .agro-cache]")
@click.option("--decoding", type=click.Choice(get_args(Kind)), help="How answers are taken.  [default: greedy]")
@click.option(
    "--samples", type=click.IntRange(1), help=f"Votes of `vote`, `adaptive` and `tree`.  [default: {SAMPLES}]"
)
@click.option(
    "--direct/--in-turns", default=None, help="Ask models not trained here for a query at once.  [default: in turns]"
)
@click.option("--names/--any-names", default=None, help="SQL may name only what the schema has.  [default: any]")
@click.option("--check/--no-check", "checks", default=None, help="Only answers with the least grave findings vote.")
@click.option("--limit", type=click.IntRange(1), help="Most questions of each set.  [default: all]")
@click.option("--seed", type=click.IntRange(0), help="Of samples and intervals.  [default: 0]")
@click.option("--engine", type=click.Choice(get_args(Engine)), help="What generates.  [default: transformers]")
@click.option("--dtype", help="Type of the weights; auto: the fastest here.  [default: float32]")
@click.option(
    "--batch",
    type=click.IntRange(1),
    help=f"Turns that transformers writes together: more on a GPU.  [default: {BATCH}]",
)
@click.option("--allow-seen/--refuse-seen", default=None, help="Whether databases of the training may be asked about.")
def main(config_file: Path | None, **given: Any) -> None:
    """Evaluate models side by side.

    \b
    Example:
      python -m agro_train.evaluate --model promoted --corpus corpus --limit 200
    """
    asked = {key: list(value) if isinstance(value, tuple) else value for key, value in given.items()}
    asked = {key: value for key, value in asked.items() if value not in (None, [])}
    read = read_settings(EvaluationConfig, config_file, asked) if config_file else None
    config = read or settings_from(EvaluationConfig, asked)
    with Bars(notes) as progress:
        compared = evaluate_models(config, progress)
    for one in compared:
        show_table(table(one.figures))
    if config.names:
        tell([f"Models side by side{HELD}"], "dim")
    tell([note for one in compared for note in one.figures["notes"]], "dim")
    problems = [problem for one in compared for problem in one.figures["problems"]]
    tell(few_of_each(problems), "yellow")
    tell([f"{config.out}: written"], "dim")
    if problems:
        raise SystemExit(FAILED_SOME)


if __name__ == "__main__":
    run(main)

"""`agro predict`: what models answer to questions, and which of them to use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from agro_data.config import ConfigError, RunConfig, cache_folder
from agro_data.evaluation.load import files_of
from agro_data.progress import Bars
from agro_data.shown import print_json
from agro_data.terminal.running import FAILED_SOME
from agro_data.terminal.showing import few_of_each, show_table, tell
from agro_data.terminal.streams import notes
from agro_data.terminal.verb import Resumed
from agro_data.verbs.options import A_PATH, json_of
from agro_data.verbs.writing import check_written
from agro_data.words import counted
from agro_train.programs.usual import BATCH, Engine, Kind
from agro_train.verbs import options

if TYPE_CHECKING:
    from agro_train.answers import Answer
    from agro_train.comparison.asking import How
    from agro_train.comparison.scoring import Scored
    from agro_train.questions import Questions


@dataclass(frozen=True)
class _Wanted:
    """What the options of `agro predict` say, each under its name."""

    corpus: str | None
    split: str
    questions: Path | None
    databases: Path | None
    models: tuple[str, ...]
    out: Path
    decoding: Kind
    samples: int
    names: bool
    check: bool
    limit: int | None
    instances: str
    style: str
    budget: int
    direct: bool
    turn_tokens: int
    rollout_tokens: int
    seed: int
    dtype: str
    engine: Engine
    batch: int
    allow_seen: bool
    models_root: Path
    data: Path
    workers: int
    as_json: bool

    @property
    def cache(self) -> Path:
        return cache_folder(RunConfig(out=self.data))

    def asked(self) -> Questions:
        """The questions. Raises `ConfigError` where the options do not say which."""
        found = self._all_questions()
        return found.first(self.limit) if self.limit else found

    def _all_questions(self) -> Questions:
        from agro_train.questions import questions_of_file, questions_of_version  # noqa: PLC0415
        from agro_train.runs.corpora import find_corpus, find_databases_of  # noqa: PLC0415

        if (self.corpus is None) == (self.questions is None):
            raise ConfigError("say what to ask: either --corpus VERSION or --questions FILE")
        if self.corpus is not None:
            version = find_corpus(self.data, self.corpus)
            folder = find_databases_of(version, str(self.databases) if self.databases else "")
            return questions_of_version(version, folder, self.cache, self.split)
        if self.databases is None or self.questions is None:
            raise ConfigError("say where the databases are that the questions are about: --databases PATH")
        return questions_of_file(self.questions, self.databases, self.cache)

    def how(self) -> How:
        """How the models are opened, and how they answer. Raises `ConfigError` for a style that does not exist."""
        from agro_train.comparison.asking import How  # noqa: PLC0415
        from agro_train.decoding import decoding_named  # noqa: PLC0415
        from agro_train.rollouts import Limits  # noqa: PLC0415
        from agro_train.runs.prompt_format import prompt_format_named  # noqa: PLC0415

        return How(
            self.models_root,
            self.cache,
            prompt_format=prompt_format_named(self.style, self.budget, direct=self.direct),
            limits=Limits(self.turn_tokens, self.rollout_tokens),
            decoding=decoding_named(
                self.decoding, self.samples, names=self.names, checks=self.check, direct=self.direct
            ),
            engine=self.engine,
            dtype=self.dtype,
            batch=self.batch,
            seed=self.seed,
            workers=self.workers,
        )


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
@options.direct
@options.turn_tokens
@options.rollout_tokens
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Same seed, same answers.")
@click.option("--dtype", default="float32", show_default=True, help="Type of the weights; auto: the fastest here.")
@click.option(
    "--engine",
    type=click.Choice(get_args(Engine)),
    default="transformers",
    show_default=True,
    help="What runs a model of this machine.",
)
@click.option(
    "--batch",
    type=click.IntRange(1),
    default=BATCH,
    show_default=True,
    help="Turns that transformers writes together: more on a GPU.",
)
@click.option("--allow-seen", is_flag=True, help="Ask also about databases that a model was trained on.")
@options.models_root
@options.data
@click.option("--workers", type=click.IntRange(1), default=1, show_default=True, help="Processes that run SQL.")
@json_of("figures")
def predict_command(**given: Any) -> None:
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
    from agro_train.comparison.asking import Asked, side_by_side  # noqa: PLC0415
    from agro_train.comparison.figures import table  # noqa: PLC0415
    from agro_train.comparison.scoring import suite_of  # noqa: PLC0415
    from agro_train.predict import check_out, check_own, kept_beside  # noqa: PLC0415
    from agro_train.runs.store import ModelRun  # noqa: PLC0415

    wanted = _Wanted(**given)
    asked, out = wanted.asked(), wanted.out
    suite = suite_of(asked, wanted.instances)
    check_out(out)
    how = wanted.how()
    with Bars(notes) as progress:
        called = told_apart(wanted.models, how.models, how.cache, [] if wanted.allow_seen else [asked])
        several = len(called) > 1
        files = {own: out.with_name(f"{out.stem}-{slug(own)}{out.suffix}") if several else out for own in called}
        read = files_of(wanted.questions)[0] if wanted.questions else []
        for file in files.values():
            check_out(file)
            check_own(file)
            check_written({"--out": file}, read, [asked.databases])
        [compared] = side_by_side(called, [Asked(asked, suite, files.__getitem__)], how, progress)
    figures = compared.figures
    print_json(figures) if wanted.as_json else show_table(table(figures))
    tell(figures["notes"], "dim")
    tell(few_of_each(figures["problems"]), "yellow")
    tell([line for file in files.values() for line in (f"{file}: written", *kept_beside(file))], "dim")
    _end(compared.models, bool(figures["problems"]), {own for own, one in called.items() if isinstance(one, ModelRun)})


def _end(scored: Sequence[Scored], problems: bool, trained: Container[str]) -> None:
    """Say who gave no prediction, and how those attempts ended; ends with 1 then, or where there are problems. Those
    that were not `trained` here may never have learnt to answer in turns."""
    without = [(one, [answer for answer in one.answers if not answer.predictions[0]]) for one in scored]
    lacking = [
        f"{one.model}: no prediction for {len(some):,} of {counted(len(one.answers), 'questions')}: "
        + _endings(some, direct=one.direct)
        for one, some in without
        if some
    ]
    tell(lacking, "yellow")
    if any(one.model not in trained and not one.direct and _mostly_malformed(one.answers) for one in scored):
        tell([options.ASK_DIRECTLY], "dim")
    if lacking or problems:
        raise SystemExit(FAILED_SOME)


def _mostly_malformed(answers: Sequence[Answer]) -> bool:
    return 2 * sum(one.outcomes[0] == "malformed" for one in answers) > len(answers)


def _endings(answers: Sequence[Answer], *, direct: bool = False) -> str:
    """How attempts without a prediction ended, the most frequent first, with what may be done or the first reason."""
    from agro_data.protocol import Malformed, parse_transcript  # noqa: PLC0415
    from agro_train.direct import read_direct  # noqa: PLC0415

    parse = read_direct if direct else parse_transcript
    ended = ["refused" if one.refusal else one.outcomes[0] for one in answers]
    first = dict(zip(reversed(ended), reversed(answers), strict=True))

    def said(how: str) -> str:
        if how == "refused":
            return f"refused ({first[how].refusal})"
        if how == "truncated":
            return options.TRUNCATED
        read = parse(first[how].transcripts[0]) if how == "malformed" else None
        return f"{how} ({read.detail})" if isinstance(read, Malformed) else how

    return ", ".join(f"{number:,} {said(how)}" for how, number in Counter(ended).most_common())

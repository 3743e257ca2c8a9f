"""Models side by side on questions they have not seen: strict and official metrics, intervals, transcripts, cost.

`python -m agro_train.evaluate --config FILE.json`, or with the options that `--help` lists. The result is a folder:

    <out>/summary.json  index.html              every set of questions, every model
    <out>/<questions>/<model>/answers.jsonl     attempts with transcripts, a line each; gone on with when interrupted
    <out>/<questions>/<model>/<metric>.jsonl    verdicts
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, get_args

import click

from agro_data.config import ConfigError
from agro_data.databases.sandbox import Sandbox
from agro_data.databases.types import Limits as SqlLimits
from agro_data.evaluation.evaluate import UNGRADABLE, Evaluation
from agro_data.evaluation.evaluate import evaluate as grade
from agro_data.evaluation.instances import SUFFIXES
from agro_data.evaluation.loaded import Pair, Prediction
from agro_data.evaluation.metrics import METRICS
from agro_data.evaluation.statistics import paired
from agro_data.evaluation.verdict import Verdict, lines
from agro_data.pairs.finding import Finding
from agro_data.pairs.verify import SOURCE
from agro_data.progress import Bars, Reporter, silent
from agro_data.terminal import FAILED_SOME, Resumed, notes, run, show_table, tell
from agro_data.work import write_json, write_text
from agro_train.abstention import abstention
from agro_train.agents.agent import IN_WORDS, Agent, Engine, open_agent, reading_named
from agro_train.agents.choosing import slug, told_apart
from agro_train.answers import Answer
from agro_train.comparison_page import render_page
from agro_train.decoding import LIMITS, Decoding, Kind, decoding_named
from agro_train.objections import Answered, objections
from agro_train.predict import check_folder, predict
from agro_train.programs.settings import check_counts, check_seed, find_cache, read_settings, settings_from, settings_to
from agro_train.questions import Questions, Reading, questions_of_file, questions_of_version
from agro_train.rollouts import Limits
from agro_train.runs.corpora import find_corpus, find_databases_of
from agro_train.sampling.module import BATCH
from agro_train.sql_env import RAN
from agro_train.tasks import COMPACT, PROMPT_BUDGET

HELD = ", their SQL held to the names of the schema"
ON_INSTANCES = ("strict", "strict-ts", "spider-ex", "bird-ex")
ON_SOURCES = ("strict", "spider-ex", "bird-ex")
BUILT, NONE = "built", "none"
# Findings of an answer that does not run.
FAILS = frozenset({"no_database", "not_a_query", "syntax", "unknown_name", "does_not_run", "over_limit"})
Suite = Path | str
"""What `strict-ts` is on besides the database: a folder `<db_id>/*.sqlite`, instances built for the golds, or none."""
# Of a statement that a model wrote. Steps stop the same statements everywhere, after about ten seconds.
SQL_LIMITS = SqlLimits(seconds=30.0, rows=1_000_000, bytes=256 * 2**20, steps=300_000_000)


@dataclass(frozen=True)
class EvaluationConfig:
    """What is evaluated. `models` are names as `agents.open_agent` takes them; the first is what others are held to.

    `corpus` is a version's folder, or its name below `data`; `questions` are files; one of the two or both. `style` and
    `budget` are for models that were not trained here. `limit` is the most questions of each set, spread over it; 0:
    all.
    """

    models: Sequence[str] = ()  # runs, folders, Hub ids, URLs; the first is what others are held to
    databases: str = ""  # the folder of the databases asked about; those of the corpus, if empty
    corpus: str = ""  # a version's folder, or its name below `data`
    data: str = "datasets"  # the folder of the corpora
    split: str = "test"  # the split of the corpus that is asked
    questions: Sequence[str] = ()  # files of questions with SQL, asked besides
    instances: str = BUILT  # of strict-ts, where a corpus has none: a folder <db_id>/*.sqlite, built or none
    out: str = "evaluation"  # where summary, page and verdicts are written
    models_root: str = "models"  # where runs lie
    cache: str = ""  # profiles and unpacked models; `$AGRO_CACHE` or .agro-cache, if empty
    decoding: str = "greedy"  # greedy, vote, adaptive or tree
    samples: int = 8  # votes of vote and tree
    temperature: float = 0.7  # how they are sampled
    width: int = 2  # continuations of a branch of a tree
    names: bool = False  # SQL may name only what the schema has: another way to decode
    checks: bool = True  # of several answers those vote that least speaks against, as `agro verify` finds it
    limit: int = 0  # questions of each set at most, spread over it; 0: all
    seed: int = 0  # of samples and intervals
    workers: int = 1  # processes that run SQL
    engine: Engine = "transformers"  # who writes
    batch: int = BATCH  # turns written together by transformers; a GPU has room for more, and takes as long for them
    dtype: str = "float32"  # type of the weights, as torch names it; auto: the fastest here
    style: str = COMPACT  # how a schema is written, for models that were not trained here
    budget: int = PROMPT_BUDGET  # tokens of a schema, for the same models
    turns: int = LIMITS.turns  # turns of an answer at most, for the same models
    turn_tokens: int = LIMITS.turn  # tokens of a turn at most; more for a run that could write more in training
    rollout_tokens: int = LIMITS.rollout  # tokens after the prompt at most; likewise
    allow_seen: bool = False  # ask also about databases that a model was trained on

    def __post_init__(self) -> None:
        find_cache(self)
        if not self.models:
            raise ConfigError("say which models to evaluate: --model NAME (a run, a folder, a Hub id, promoted)")
        if not self.corpus and not self.questions:
            raise ConfigError("say what to ask: --corpus VERSION, or --questions FILE, or both")
        if not self.databases and (self.questions or not self.corpus):
            raise ConfigError("say where the databases are: --databases PATH (in Dagster questions_databases)")
        check_counts(self, "samples", "width", "workers", "batch", "budget", "turns", "turn_tokens", "rollout_tokens")
        check_counts(self, "temperature", "limit", least=0)
        check_seed(self)
        _ = self.decoded, self.reading
        if self.engine not in get_args(Engine):
            raise ConfigError(f"there is no engine {self.engine!r}; use {', '.join(get_args(Engine))}")

    @property
    def limits(self) -> Limits:
        return Limits(self.turn_tokens, self.rollout_tokens, self.turns)

    @property
    def reading(self) -> Reading:
        return reading_named(self.style, self.budget)

    @property
    def decoded(self) -> Decoding:
        return decoding_named(self.decoding, self.samples, self.temperature, self.width, self.names, checks=self.checks)


@dataclass(frozen=True)
class Scored:
    """One model on one set of questions: its answers and, by metric, its evaluation.

    `asked_back` are the figures of `abstention`, of all questions; the rest is of those that have an answer. `findings`
    are what speaks against each answer, None where that was not asked.
    """

    model: str
    unit: str
    answers: tuple[Answer, ...]
    by_metric: Mapping[str, Evaluation]
    asked_back: Mapping[str, Any] = field(default_factory=dict)
    findings: tuple[tuple[Finding, ...], ...] | None = None

    def verdicts(self, metric: str) -> tuple[Verdict, ...]:
        return self.by_metric[metric].verdicts


@dataclass(frozen=True)
class Compared:
    """All models on one set of questions. `figures` are JSON values."""

    questions: Questions
    models: tuple[Scored, ...]
    figures: dict[str, Any] = field(default_factory=dict)


def evaluate_models(config: EvaluationConfig, progress: Reporter = silent) -> tuple[Compared, ...]:
    """Evaluate every model on every set of questions, and write the folder `config.out`.

    Raises `SeenInTraining` when a model was trained on a database that is asked about, and like `open_agent`.
    """
    cache, out = Path(config.cache), Path(config.out)
    sets = _sets(config, cache)
    suites = {one.name: suite_of(one, config.instances) for one in sets}
    check_folder(out)
    scored: dict[str, list[Scored]] = {one.name: [] for one in sets}
    root = Path(config.models_root)
    for name, own in told_apart(config.models, root, cache, () if config.allow_seen else sets).items():
        # One model in memory at a time.
        opened = open_agent(
            name,
            root,
            cache,
            reading=config.reading,
            dtype=config.dtype,
            engine=config.engine,
            limits=config.limits,
            batch=config.batch,
        )
        agent = replace(opened, name=own)
        for questions in sets:
            folder = out / slug(questions.name) / slug(agent.name)
            answers = predict(
                questions,
                agent,
                folder / "answers.jsonl",
                decoding=config.decoded,
                seed=config.seed,
                workers=config.workers,
                progress=progress,
            )
            suite = suites[questions.name]
            one = scored_by(questions, agent, answers, suite, cache, workers=config.workers, progress=progress)
            for metric, found in one.by_metric.items():
                write_text(folder / f"{metric}.jsonl", lines(found.verdicts))
            scored[questions.name].append(one)
        agent.close()
    compared = tuple(
        Compared(asked, tuple(scored[asked.name]), compare(asked, scored[asked.name], config.seed))
        for asked in map(answerable, sets)
    )
    summary = {"config": settings_to(config), "sets": [one.figures for one in compared]}
    write_json(out / "summary.json", summary)
    write_text(out / "index.html", render_page(compared, f"Models side by side{HELD if config.names else ''}"))
    return compared


def suite_of(questions: Questions, instances: str) -> Suite:
    """The instances of the corpus, else those named: on a database alone a wrong answer may be right by luck."""
    if instances not in (BUILT, NONE) and not Path(instances).is_dir():
        raise ConfigError(f"{instances}: no such folder of instances (<db_id>/*.sqlite); or say {BUILT}, or {NONE}")
    if questions.instances is not None:
        return questions.instances
    if instances not in (BUILT, NONE):
        _check_instances(Path(instances), questions)
    return instances if instances in (BUILT, NONE) else Path(instances)


def _check_instances(folder: Path, questions: Questions) -> None:
    """Raise `ConfigError` where a folder has nothing to judge any of the answers on."""
    golds = {row["db_id"] for row in questions.rows if row["sql"]}
    names = golds | {questions.sources[db_id].database.db_id for db_id in golds}
    if golds and not any(file.suffix in SUFFIXES for name in names for file in (folder / name).glob("*")):
        raise ConfigError(
            f"{folder}: no files {folder.name}/<db_id>/*.sqlite for any of the {len(golds)} databases asked about; "
            f"give another folder, or say {BUILT}, or {NONE}"
        )


def answerable(questions: Questions) -> Questions:
    """Those that have an answer, which SQL can be held against."""
    return replace(questions, rows=tuple(row for row in questions.rows if row["answerable"]))


def scored_by(
    questions: Questions,
    agent: Agent,
    answers: Sequence[Answer],
    suite: Suite,
    cache: Path,
    *,
    workers: int = 1,
    progress: Reporter = silent,
) -> Scored:
    """What an agent's answers are worth: SQL where there is an answer and its gold is known, and where it asks back."""
    kept = tuple(answer for answer, row in zip(answers, questions.rows, strict=True) if row["answerable"])
    asked = answerable(questions)
    known = [(row, one) for row, one in zip(asked.rows, kept, strict=True) if row["sql"]]
    graded = replace(asked, rows=tuple(row for row, _ in known))
    found = score(graded, [one for _, one in known], suite, cache, workers=workers, progress=progress) if known else {}
    asked_back = abstention(questions, answers) if questions.clarify or agent.reading.clarify else {}
    answered = [_answered(row, asked, one) for row, one in zip(asked.rows, kept, strict=True)]
    with Sandbox(workers, SOURCE) as sandbox:
        against = objections(answered, sandbox)
    return Scored(agent.name, agent.unit, kept, found, asked_back, tuple(against))


def _answered(row: Mapping[str, Any], asked: Questions, answer: Answer) -> Answered:
    source = asked.sources[row["db_id"]]
    pair = Pair(row["place"], row["db_id"], row["question"], answer.predictions[0], row["evidence"] or "")
    return Answered(pair, source.database, source.profile)


def score(
    questions: Questions,
    answers: Sequence[Answer],
    suite: Suite,
    cache: Path | None = None,
    *,
    workers: int = 1,
    progress: Reporter = silent,
) -> dict[str, Evaluation]:
    """Evaluations by metric. `strict-ts` is on the database and its instances; without a suite it is left out."""
    rows = [
        Prediction(
            row["place"],
            row["db_id"],
            row["question"],
            row["sql"],
            one.predictions if any(one.predictions) else (),
            row["evidence"] or "",
            row["example_id"],
            tuple(row["alternatives"]),
            one.votes if any(one.predictions) and set(one.votes) != {1} else (),
        )
        for row, one in zip(questions.rows, answers, strict=True)
    ]
    databases = {name: source.database for name, source in questions.sources.items()}
    metrics = ON_SOURCES if suite == NONE else ON_INSTANCES
    return {
        metric: grade(
            rows,
            databases,
            metric=metric,
            instances=suite if METRICS[metric].suite and isinstance(suite, Path) else None,
            with_source=METRICS[metric].suite,
            cache=cache,
            workers=workers,
            limits=SQL_LIMITS,
            progress=progress,
        )
        for metric in metrics
    }


def compare(questions: Questions, models: Sequence[Scored], seed: int = 0) -> dict[str, Any]:
    """Figures of models on the same questions; each is paired with every one before it."""
    metrics = list(models[0].by_metric)
    every = [found for one in models for found in one.by_metric.values()]
    return {
        "questions": questions.name,
        "count": len(questions.rows),
        "databases": len({row["db_id"] for row in questions.rows}),
        "metrics": metrics,
        "models": [
            {
                "model": one.model,
                **behaviour(one),
                "asked_back": dict(one.asked_back),
                "metrics": {metric: one.by_metric[metric].summary for metric in metrics},
            }
            for one in models
        ],
        "pairs": [
            {
                "challenger": one.model,
                "against": other.model,
                "metric": metric,
                **paired(one.verdicts(metric), other.verdicts(metric), seed),
            }
            for number, one in enumerate(models)
            for other in models[:number]
            for metric in metrics
        ],
        "notes": sorted({*_worth_knowing(questions), *(note for found in every for note in found.notes)}),
        "problems": sorted(
            {
                *questions.problems,
                *(problem for found in every for problem in found.problems),
                *(said for one in models for said in _refused(one)),
            }
        ),
    }


def _worth_knowing(questions: Questions) -> list[str]:
    unknown = sum(not row["sql"] for row in questions.rows)
    told = [f"{unknown:,} of {len(questions.rows):,} questions have no SQL to be scored against"] if unknown else []
    few = f"{questions.name} is of few databases, and holds questions back: who learnt from it has read those databases"
    return [*told, *([few] if questions.same_databases else [])]


def _refused(one: Scored) -> list[str]:
    said = [answer.refusal for answer in one.answers if answer.refusal]
    if not said:
        return []
    return [f"{one.model}: refused {len(said):,} of the questions (asked anew next time), first: {said[0]}"]


def behaviour(one: Scored) -> dict[str, Any]:
    """What a model did, right or not, and what it cost. Rates are shares of the questions.

    `format_rate`: every turn of the chosen attempt was well formed and it gave an answer. `execution_rate`: that
    answer runs; of the questions whose gold could be graded on, and where there are none, of all whose answers were
    looked at, None if they were not. `unopposed_rate`: there is an answer, and nothing speaks against it, for which no
    gold is needed. Tokens and seconds are means of a question; `unit` says what is counted as a token.
    """
    count = max(1, len(one.answers))
    outcomes = Counter(answer.outcomes[0] for answer in one.answers)
    verdicts = one.verdicts("strict") if one.by_metric else ()
    unopposed = sum(
        bool(answer.predictions[0]) and not found
        for answer, found in zip(one.answers, one.findings or [()] * len(one.answers), strict=True)
    )
    return {
        "format_rate": outcomes["answered"] / count,
        "malformed_rate": outcomes["malformed"] / count,
        "truncated_rate": outcomes["truncated"] / count,
        "clarified_rate": outcomes["clarified"] / count,
        "execution_rate": _execution_rate(one, verdicts),
        "unopposed_rate": None if one.findings is None else unopposed / count,
        "turns": sum(answer.turns[0] for answer in one.answers) / count,
        "attempts": sum(len(answer.predictions) for answer in one.answers) / count,
        "tokens_read": sum(answer.read for answer in one.answers) / count,
        "tokens_written": sum(answer.written for answer in one.answers) / count,
        "seconds": sum(answer.seconds for answer in one.answers) / count,
        "unit": one.unit,
        "error_classes": dict(
            Counter(verdict.error_class for verdict in verdicts if verdict.error_class).most_common()
        ),
    }


def _execution_rate(one: Scored, verdicts: Sequence[Verdict]) -> float | None:
    """A verdict whose gold fails does not say whether the answer runs."""
    ran = [verdict.error_class in RAN for verdict in verdicts if verdict.error_class not in UNGRADABLE]
    if not ran and one.findings is not None:
        ran = [
            bool(answer.predictions[0]) and not any(each.kind in FAILS for each in found)
            for answer, found in zip(one.answers, one.findings, strict=True)
        ]
    return sum(ran) / len(ran) if ran else None


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
    if len({one.name for one in found}) < len(found):
        raise ConfigError("two files of questions have the same name: rename one")
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
@click.option("--samples", type=click.IntRange(1), help="Votes of `vote`, `adaptive` and `tree`.  [default: 8]")
@click.option("--names/--any-names", default=None, help="SQL may name only what the schema has.  [default: any]")
@click.option(
    "--check/--no-check", "checks", default=None, help="Of several answers those vote that least speaks against."
)
@click.option("--limit", type=click.IntRange(1), help="Most questions of each set.  [default: all]")
@click.option("--seed", type=click.IntRange(0), help="Of samples and intervals.  [default: 0]")
@click.option("--engine", type=click.Choice(get_args(Engine)), help="What generates.  [default: transformers]")
@click.option("--dtype", help="Type of the weights; auto: the fastest here.  [default: float32]")
@click.option(
    "--batch", type=click.IntRange(1), help="Turns that transformers writes together: more on a GPU.  [default: 64]"
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
    tell(problems, "yellow")
    tell([f"{config.out}: written"], "dim")
    if problems:
        raise SystemExit(FAILED_SOME)


def table(figures: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One row a model: what a person compares."""
    return [
        {
            "model": one["model"],
            **{metric: f"{one['metrics'][metric]['score']['mean']:.1%}" for metric in figures["metrics"]},
            "answers": f"{one['format_rate']:.1%}",
            **_asks_back(one["asked_back"]),
            "run": "" if one["execution_rate"] is None else f"{one['execution_rate']:.1%}",
            "unopposed": "" if one["unopposed_rate"] is None else f"{one['unopposed_rate']:.1%}",
            "read": f"{one['tokens_read']:,.0f} {one['unit']}",
            "written": f"{one['tokens_written']:,.0f}",
            "s each": f"{one['seconds']:.2f}",
            "wrong": ", ".join(f"{name} {count}" for name, count in list(one["error_classes"].items())[:3]),
        }
        for one in figures["models"]
    ]


def _asks_back(figures: Mapping[str, Any]) -> dict[str, str]:
    """Two cells, where there are questions without an answer: asked back in vain, and rightly."""
    named = {"in vain": "false_abstention", "asks back": "abstention"}
    return {cell: f"{figures[name]:.1%}" for cell, name in named.items() if figures.get(name) is not None}


if __name__ == "__main__":
    run(main, lambda: IN_WORDS)

"""`agro build`: a corpus version from databases."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, get_args

import click

from agro_data.config import STRUCTURAL, BuildConfig, ConfigError, Generator, RunConfig, Wording, cache_folder
from agro_data.databases.scratch import ScratchFolder
from agro_data.estimate import estimate
from agro_data.pipeline import build, sources
from agro_data.profiling.cache import lend_profiles
from agro_data.progress import Bars
from agro_data.shown import count_of_rows, end, print_json, show_build, show_estimate, show_row
from agro_data.stages.running import SHOWS
from agro_data.terminal.streams import notes
from agro_data.terminal.verb import Resumed, Setting
from agro_data.verbs.options import A_PATH, as_json

F = TypeVar("F", bound=Callable[..., Any])


def _section(heading: str) -> Callable[..., Callable[[F], F]]:
    """`click.option` whose options stand under `heading`."""
    return partial(click.option, cls=Setting, section=heading)


reads, asks, splits, makes, looks = map(_section, ("What is read", "What is asked", "What comes out", "How", "Before"))


@click.command(name="build", cls=Resumed)
@reads("--databases", type=A_PATH, help="A database (SQLite, DuckDB), a folder of them, or of Parquet and CSV files.")
@reads("--only", multiple=True, metavar="DB_ID", help="Use only these databases (repeatable; @FILE: one a line).")
@reads("--exclude", multiple=True, metavar="FILE", help="Drop what these question/SQL files hold (repeatable).")
@reads("--query-log", type=click.Path(), default=None, metavar="FILE", help="SQL, or a table: asks more of the kind.")
@reads("--log-dialect", default=None, metavar="ENGINE", help="Whose SQL the log is, as postgres or snowflake.")
@reads("--focus", type=click.Path(), default=None, metavar="FILE", help="File of `agro next-round`: what to ask more.")
@reads("--config", "config_file", type=A_PATH, metavar="FILE", help="Settings as JSON, or a manifest.json to repeat.")
@asks("--size", type=int, default=None, help="Rows over all splits.  [default: 2000]")
@asks(
    "--generator",
    type=click.Choice(get_args(Generator)),
    default=None,
    help="Who writes SQL: the grammar, seeds from --query-log, the model --writer, or both.  [default: grammar]",
)
@asks("--writer", default=None, metavar="MODEL", help="A model that writes: Hub id, folder, vllm:ID or http address.")
@asks(
    "--wording",
    type=click.Choice(get_args(Wording)),
    default=None,
    help="Who words questions: the grammar, or --writer from its question or from the meaning.  [default: grammar]",
)
@asks("--phrasings", type=int, default=None, help="Replies of --writer for each question.  [default: 3]")
@asks("--styles-per-sql", type=int, default=None, help="Questions for each SQL, 1 to 6.  [default: 1]")
@asks("--unanswerable", type=float, default=None, help="Share of rows without one answer, at most 0.33.  [default: 0]")
@asks("--views/--no-views", default=None, help="Views as well as tables, described or not.  [default: no-views]")
@asks("--seed", type=int, default=None, help="Same seed, same bytes.  [default: 0]")
@asks(
    "--values",
    type=click.Choice(["source", "synthetic"]),
    default=None,
    help="synthetic: no value of the source is written anywhere.  [default: source]",
)
@splits("--out", type=A_PATH, default=Path("datasets"), show_default=True, help="The folder that holds the corpora.")
@splits("--name", default=None, help="Name of the corpus; its folder under --out.  [default: corpus]")
@splits(
    "--split-by",
    type=click.Choice(["auto", "database", "skeleton"]),
    default=None,
    help="What no two splits may share; auto: databases from three on.  [default: auto]",
)
@makes("--certify/--no-certify", default=None, help="Tell each SQL from its mutants on instances.  [default: certify]")
@makes("--min-kill-rate", type=float, default=None, help="Mutants killed, of those not equivalent.  [default: 0.95]")
@makes("--embedding-model", default=None, metavar="NAME", help="Hub id or path; 'structural' needs no model.")
@makes("--workers", type=int, default=2, show_default=True, help="Processes that sample and verify.")
@looks("--preview", type=int, default=0, metavar="N", help="Show N rows, not yet certified, soon; write nothing.")
@looks("--dry-run", is_flag=True, help="Say time, disk and what limits the size; build nothing.")
@as_json
def build_command(
    databases: Path | None,
    out: Path,
    name: str | None,
    config_file: Path | None,
    workers: int,
    preview: int,
    dry_run: bool,
    as_json: bool,
    **settings: Any,
) -> None:
    """Build a corpus version from databases.

    The same databases, settings and seed give the same bytes (instances in DuckDB files: the same rows). A build
    that was stopped goes on where it was.

    \b
    Examples:
      agro build --databases my.sqlite --size 500 --seed 1
      agro build --databases folder --exclude dev.json --query-log log.sql
      agro build --config datasets/corpus/v0001-1a2b3c4d/manifest.json
    """
    how = RunConfig(out=out, workers=workers)
    settings["only"] = _ids(settings["only"])
    config = _config(config_file, {"databases": str(databases) if databases else None, "name": name} | settings)
    if dry_run:
        with Bars(notes) as progress:
            figures = estimate(config, how, progress)
        show_estimate(figures, as_json)
        return
    if preview:
        _preview(config, preview, cache_folder(how), as_json)
        return

    with Bars(notes) as progress:
        result = build(config=config, run=how, progress=progress)
    show_build(result, as_json)
    end(result, config)


def _preview(config: BuildConfig, count: int, cache: Path, as_json: bool) -> None:
    """Rows of a handful of the databases, as they are before they are certified, which takes most of a build's time.

    Nothing is left behind, but profiles in a `cache` that is there.
    """

    with ScratchFolder("preview") as folder:
        place = Path(folder)
        lend_profiles(cache, place / "cache")
        few, left_out = _few(config)
        small = replace(config, size=count, embedding_model=STRUCTURAL, only=few, oversample=2.0, certify=False)
        how = RunConfig(out=place / "out", cache=place / "cache", workers=1)
        with Bars(notes) as progress:
            result = build(config=small, run=how, progress=progress)
        rows = result.version.examples().head(count).collect().to_dicts()
    if as_json:
        print_json(rows)
    else:
        for row in rows:
            show_row(row, f"{row['db_id']}, {row['hardness']}, {count_of_rows(row)}")
    problems = (*left_out, *(_without_trace(problem, place.resolve()) for problem in result.problems))
    end(replace(result, problems=tuple(dict.fromkeys(problems))), small)


def _without_trace(problem: str, place: Path) -> str:
    """What a preview says of a failure whose trace went with its folder, `place`."""

    return re.sub(
        rf"{re.escape(str(place))}.* (?={SHOWS})", "`agro build` without --preview ", problem, flags=re.DOTALL
    )


def _few(config: BuildConfig, most: int = 4) -> tuple[tuple[str, ...], list[str]]:
    """The ids of a handful of the databases, spread over the catalog: a preview looks at no more. And what a build of
    all of them would leave out."""

    if config.only:
        return config.only[:most], []
    catalog = sources(config)
    ids = tuple(database.db_id for database in catalog.databases)
    step = max(len(ids) // most, 1)
    return ids[::step][:most], [str(problem) for problem in catalog.problems if problem.left_out]


def _config(file: Path | None, settings: dict[str, Any]) -> BuildConfig:
    given = {key: value for key, value in settings.items() if value not in (None, (), [])}
    if file is not None:
        return BuildConfig.from_dict(BuildConfig.from_file(file).to_dict() | given)
    if "databases" not in given:
        raise ConfigError("say which databases: --databases PATH (or --config FILE)")
    return BuildConfig.from_dict(given)


def _ids(given: Sequence[str]) -> tuple[str, ...]:
    ids: list[str] = []
    for item in given:
        ids += Path(item[1:]).read_text(encoding="utf-8").split() if item.startswith("@") else [item]
    return tuple(ids)

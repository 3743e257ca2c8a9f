"""The data verbs of `agro`. Each one parses, calls the library, prints, and ends with 0, 1 or 2.

What only building and profiling need is loaded by the verbs that do: it takes longer than most other verbs run.

0: done. 1: done, but something was left out and is listed. 2: could not start; the line says why and what to do.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, get_args

import click

from agro_data.config import STRUCTURAL, BuildConfig, ConfigError, Generator, RunConfig, Wording, cache_folder
from agro_data.databases.discovery.catalog import usable_databases
from agro_data.databases.scratch import ScratchFolder
from agro_data.files import write_text
from agro_data.progress import Bars
from agro_data.publish.explain import explain
from agro_data.publish.read import open_version
from agro_data.publish.report import render_report
from agro_data.shown import count_of_rows, end, print_json, show_build, show_estimate, show_row
from agro_data.terminal.running import FAILED_SOME, run
from agro_data.terminal.showing import put, say, show_table, tell
from agro_data.terminal.streams import notes, screen
from agro_data.terminal.verb import Resumed, Setting, Verb, Verbs
from agro_data.verbs.audit import audit_command
from agro_data.verbs.choosing import chosen_version, version_with, whole
from agro_data.verbs.doctor import doctor_command
from agro_data.verbs.evaluate import evaluate_command
from agro_data.verbs.export import export_command
from agro_data.verbs.invent import invent_command
from agro_data.verbs.next_round import next_round_command
from agro_data.verbs.options import A_PATH, as_json
from agro_data.verbs.publish import publish_command
from agro_data.verbs.snapshot import snapshot_command
from agro_data.verbs.verify import verify_command
from agro_data.verbs.versions import versions_group
from agro_data.verbs.writing import check_written

__all__ = ["data", "run"]

F = TypeVar("F", bound=Callable[..., Any])

out_folder = click.option(
    "--out", type=A_PATH, default=Path("datasets"), show_default=True, help="The folder that holds the corpora."
)
corpus_name = click.option("--name", default=None, help="Name of the corpus, when --out holds several.")


def _section(heading: str) -> Callable[..., Callable[[F], F]]:
    """`click.option` whose options stand under `heading`."""
    return partial(click.option, cls=Setting, section=heading)


reads, asks, splits, makes, looks = map(_section, ("What is read", "What is asked", "What comes out", "How", "Before"))


@click.group(cls=Verbs, context_settings={"max_content_width": 100})
@click.version_option(package_name="agro-sql", prog_name="agro", message="%(prog)s %(version)s")
def data() -> None:
    """Databases in, trusted text-to-SQL examples out.

    \b
    First steps:
      agro databases my.sqlite                       what is found in it
      agro build --databases my.sqlite --preview 20  twenty rows in seconds
      agro build --databases my.sqlite --size 2000   a corpus
      agro versions --show latest                    where it is, three rows

    Ends with 0 when all is done, 1 when something was left out and is listed, 2 when it cannot start.
    """


@data.command(name="build", cls=Resumed)
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
        from agro_data.estimate import estimate  # noqa: PLC0415

        with Bars(notes) as progress:
            figures = estimate(config, how, progress)
        show_estimate(figures, as_json)
        return
    if preview:
        _preview(config, preview, cache_folder(how), as_json)
        return
    from agro_data.pipeline import build  # noqa: PLC0415

    with Bars(notes) as progress:
        result = build(config=config, run=how, progress=progress)
    show_build(result, as_json)
    end(result, config)


@data.command(name="databases", cls=Verb)
@click.argument("path", type=A_PATH)
@click.option("--draft", is_flag=True, help="Write a first semantics.yml for each database to standard output.")
@click.option(
    "--out", type=A_PATH, metavar="FILE", help="Write the draft there; what the file says is read first, and kept."
)
@click.option(
    "--values",
    type=click.Choice(["source", "synthetic"]),
    default="source",
    show_default=True,
    help="synthetic: no value of the source is written anywhere, the draft and the cache included.",
)
@as_json
def databases_command(path: Path, draft: bool, out: Path | None, values: str, as_json: bool) -> None:
    """List what is found at PATH, with tables and their rows and columns, views, keys and problems.

    \b
    Examples:
      agro databases datasets/samples
      agro databases my.sqlite --draft --out my.semantics.yml
    """
    from agro_data.profiling.cache import cached_profile  # noqa: PLC0415
    from agro_data.profiling.side_files.semantics import draft_semantics  # noqa: PLC0415
    from agro_data.profiling.side_files.sources import stated_hiding  # noqa: PLC0415

    catalog = usable_databases(path)
    if out is not None:
        if not draft or len(catalog.databases) > 1:
            raise ConfigError(
                f"--out {out}: a file for the --draft of one database; {path} has {len(catalog.databases)}"
            )
        check_written({"--out": out}, [], [path])
    cache = cache_folder(RunConfig()) / "profiles"
    problems = [str(problem) for problem in catalog.problems if problem.left_out]
    remarks = [str(problem) for problem in catalog.problems if not problem.left_out]
    listing: list[dict[str, Any]] = []
    for database in catalog.databases:
        try:
            profile = cached_profile(database, cache, values=values == "source")
        except Exception as error:  # one bad database is one line
            problems.append(f"{database.path}: cannot be profiled ({type(error).__name__}: {error})")
            continue
        if draft:
            text = draft_semantics(profile, stated_hiding(database))
            if out is None:
                put(text)
            else:
                write_text(out, text)
            continue
        tables = [table for table in profile.tables if not table.is_view]
        listing.append(
            {
                "db_id": database.db_id,
                "dialect": database.dialect,
                "tables": len(tables),
                "views": len(profile.tables) - len(tables),
                "rows": sum(table.rows for table in tables),
                "columns": sum(len(table.columns) for table in tables),
                "foreign_keys": sum(key.declared for key in profile.foreign_keys),
                "inferred_keys": sum(not key.declared for key in profile.foreign_keys),
                "path": database.relative_path,
            }
        )
        remarks += [f"{database.db_id}: {remark}" for remark in profile.problems]
    if as_json and not draft:
        print_json({"databases": listing, "problems": problems})
    elif not draft:
        show_table(listing)
    tell(remarks, "dim")
    tell(problems, "yellow")
    if problems:
        raise SystemExit(FAILED_SOME)


data.add_command(versions_group)


@data.command(name="explain", cls=Verb)
@click.argument("example_id")
@click.option("--version", "version_path", type=A_PATH, help="Its folder.  [default: the newest under --out with it]")
@out_folder
@corpus_name
@as_json
def explain_command(example_id: str, version_path: Path | None, out: Path, name: str | None, as_json: bool) -> None:
    """Say in plain words why an example is believed; the first 4 digits of its id are enough.

    \b
    Example:
      agro explain 3f2a9c0d
    """
    version = open_version(version_path) if version_path else version_with(example_id, out, name)
    with whole(version):
        text = explain(version, example_id, width=min(screen.width, 100) if screen.is_terminal else 100)
    print_json({"example_id": example_id, "explanation": text}) if as_json else put(text)


@data.command(name="report", cls=Verb)
@click.argument("version", required=False)
@click.option("--compare", default=None, metavar="VERSION", help="Also what distinguishes it from this one, before it.")
@click.option("--html", type=A_PATH, default=Path("report.html"), show_default=True, help="The page to write.")
@out_folder
@corpus_name
@as_json
def report_command(
    version: str | None, compare: str | None, out: Path, name: str | None, html: Path, as_json: bool
) -> None:
    """Write one HTML page about a version; it works offline.

    A version is a folder, a version's name below --out, or 'latest'.

    \b
    Examples:
      agro report --html report.html
      agro report latest --compare v0001-1a2b3c4d
    """
    shown = chosen_version(version, out, name)
    before = chosen_version(compare, out, name) if compare else None
    check_written({"--html": html}, [shown.path, *([before.path] if before else [])])
    with whole(before or shown), whole(shown):
        page = render_report(shown, before=before)
    write_text(html, page)
    print_json({"report": str(html)}) if as_json else say(f"{html}: report of {shown.path.name}")


data.add_command(snapshot_command)
data.add_command(invent_command)
data.add_command(verify_command)
data.add_command(audit_command)
data.add_command(evaluate_command)
data.add_command(next_round_command)
data.add_command(publish_command)
data.add_command(export_command)
data.add_command(doctor_command)


def _preview(config: BuildConfig, count: int, cache: Path, as_json: bool) -> None:
    """Rows of a handful of the databases, as they are before they are certified, which takes most of a build's time.

    Nothing is left behind, but profiles in a `cache` that is there.
    """
    from agro_data.pipeline import build  # noqa: PLC0415
    from agro_data.profiling.cache import lend_profiles  # noqa: PLC0415

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
    from agro_data.stages.running import SHOWS  # noqa: PLC0415

    return re.sub(
        rf"{re.escape(str(place))}.* (?={SHOWS})", "`agro build` without --preview ", problem, flags=re.DOTALL
    )


def _few(config: BuildConfig, most: int = 4) -> tuple[tuple[str, ...], list[str]]:
    """The ids of a handful of the databases, spread over the catalog: a preview looks at no more. And what a build of
    all of them would leave out."""
    from agro_data.pipeline import sources  # noqa: PLC0415

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

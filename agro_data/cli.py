"""The data verbs of `agro`. Each one parses, calls the library, prints, and returns 0, 1 or 2.

0: done. 1: done, but something was left out and is listed. 2: could not start; the line says why and what to do.
Results go to standard output, progress and problems to standard error.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from agro_data.config import STRUCTURAL, BuildConfig, ConfigError, RunConfig
from agro_data.databases.catalog import find_databases
from agro_data.estimate import estimate
from agro_data.pipeline import Build, build, cache_folder, funnel
from agro_data.profiling.cache import cached_profile
from agro_data.profiling.semantics import draft_semantics
from agro_data.progress import Bars
from agro_data.publish.explain import explain
from agro_data.publish.read import NoVersion, Version, list_versions, open_version
from agro_data.publish.report import render_report
from agro_data.publish.storage import Locked
from agro_data.publish.version import NotWritten
from agro_data.work import atomic_path

FAILED_SOME = 1
CANNOT_START = 2
SHOWN_ROWS = 3

screen = Console()
notes = Console(stderr=True)


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
def data() -> None:
    """Databases in, trusted text-to-SQL examples out."""


@data.command(name="build")
@click.option("--databases", type=click.Path(path_type=Path), help="A database, or a folder of them.")
@click.option("--out", type=click.Path(path_type=Path), default=Path("datasets"), show_default=True)
@click.option("--name", default=None, help="Name of the corpus; its folder under --out.  [default: corpus]")
@click.option("--size", type=int, default=None, help="Rows over all splits.  [default: 2000]")
@click.option("--seed", type=int, default=None, help="Same seed, same bytes.  [default: 0]")
@click.option(
    "--only", multiple=True, metavar="DB_ID", help="Use only these databases (repeatable; @FILE: one a line)."
)
@click.option("--styles-per-sql", type=int, default=None, help="Questions for each SQL.  [default: 1]")
@click.option(
    "--values",
    type=click.Choice(["source", "synthetic"]),
    default=None,
    help="synthetic: no value of the source is written anywhere.",
)
@click.option("--split-by", type=click.Choice(["auto", "database", "skeleton"]), default=None)
@click.option("--exclude", multiple=True, metavar="FILE", help="Drop what these question/SQL files hold (repeatable).")
@click.option("--query-log", type=click.Path(), default=None, help="A file of SQL: what is asked there is asked more.")
@click.option("--embedding-model", default=None, help="Hub id or path; 'structural' needs no model.")
@click.option(
    "--config",
    "config_file",
    type=click.Path(path_type=Path),
    help="Settings as JSON, or a manifest.json to repeat.",
)
@click.option("--workers", type=int, default=2, show_default=True)
@click.option("--preview", type=int, default=0, metavar="N", help="Show N finished rows in seconds; write nothing.")
@click.option("--dry-run", is_flag=True, help="Say time, disk and what limits the size; build nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
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

    Example: agro build --databases datasets/samples --out datasets --name shop --size 500 --seed 1
    """
    run = RunConfig(out=out, workers=workers)
    settings["only"] = _ids(settings["only"])
    config = _config(config_file, {"databases": str(databases) if databases else None, "name": name} | settings)
    if dry_run:
        figures = estimate(config, run)
        _print(figures, as_json)
        return
    if preview:
        _preview(config, preview, as_json)
        return
    with Bars(notes) as progress:
        result = build(config=config, run=run, progress=progress)
    _print_build(result, config, as_json)
    for note in result.notes:
        notes.print(note, style="dim", markup=False, highlight=False)
    for problem in result.problems:
        notes.print(problem, style="yellow", markup=False, highlight=False)
    if result.problems or not result.complete:
        raise SystemExit(FAILED_SOME)


@data.command(name="databases")
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--draft", is_flag=True, help="Write a first semantics.yml for each database to standard output.")
@click.option(
    "--values",
    type=click.Choice(["source", "synthetic"]),
    default="source",
    show_default=True,
    help="synthetic: no value of the source is written anywhere, the draft and the cache included.",
)
@click.option("--json", "as_json", is_flag=True)
def databases_command(path: Path, draft: bool, values: str, as_json: bool) -> None:
    """List what is found at PATH, with tables, rows, keys and problems.

    Example: agro databases datasets/samples
    """
    if not path.exists():
        raise ConfigError(f"{path}: no such file or folder")
    catalog = find_databases(path)
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
            click.echo(draft_semantics(profile))
            continue
        listing.append(
            {
                "db_id": database.db_id,
                "dialect": database.dialect,
                "tables": len(profile.tables),
                "rows": sum(table.rows for table in profile.tables),
                "columns": sum(len(table.columns) for table in profile.tables),
                "foreign_keys": sum(key.declared for key in profile.foreign_keys),
                "inferred_keys": sum(not key.declared for key in profile.foreign_keys),
                "path": database.relative_path,
            }
        )
        remarks += [f"{database.db_id}: {remark}" for remark in profile.problems]
    if not draft:
        if as_json:
            click.echo(json.dumps({"databases": listing, "problems": problems}, indent=2, ensure_ascii=False))
        else:
            _table(listing)
    for remark in remarks:
        notes.print(remark, style="dim", markup=False, highlight=False)
    for problem in problems:
        notes.print(problem, style="yellow", markup=False, highlight=False)
    if not catalog.databases:
        raise ConfigError(f"{path}: no database that can be used")
    if problems:
        raise SystemExit(FAILED_SOME)


@data.command(name="explain")
@click.argument("example_id")
@click.option(
    "--version",
    "version_path",
    type=click.Path(path_type=Path),
    help="A version's folder.  [default: the latest under --out]",
)
@click.option("--out", type=click.Path(path_type=Path), default=Path("datasets"), show_default=True)
@click.option("--name", default=None, help="Corpus name, when --out holds several.")
@click.option("--json", "as_json", is_flag=True)
def explain_command(example_id: str, version_path: Path | None, out: Path, name: str | None, as_json: bool) -> None:
    """Say in plain words why an example is believed.

    Example: agro explain 3f2a9c0d11e4b7a6
    """
    version = open_version(version_path) if version_path else _latest(out, name)
    text = explain(version, example_id)
    click.echo(json.dumps({"example_id": example_id, "explanation": text}) if as_json else text)


@data.command(name="report")
@click.argument("version_path", type=click.Path(path_type=Path), required=False)
@click.option("--out", type=click.Path(path_type=Path), default=Path("datasets"), show_default=True)
@click.option("--name", default=None, help="Corpus name, when --out holds several.")
@click.option("--html", type=click.Path(path_type=Path), default=Path("report.html"), show_default=True)
@click.option("--json", "as_json", is_flag=True)
def report_command(version_path: Path | None, out: Path, name: str | None, html: Path, as_json: bool) -> None:
    """Write one HTML page about a version; it works offline.

    Example: agro report --html report.html
    """
    version = open_version(version_path) if version_path else _latest(out, name)
    with atomic_path(html) as temporary:
        temporary.write_text(render_report(version), encoding="utf-8")
    click.echo(json.dumps({"report": str(html)}) if as_json else f"{html}: report of {version.path.name}")


@data.command(name="versions")
@click.argument("out", type=click.Path(path_type=Path), default=Path("datasets"))
@click.option("--name", default=None, help="Only this corpus.")
@click.option("--show", default=None, help="'latest' or a version's name: its place, three rows, counts and funnel.")
@click.option("--json", "as_json", is_flag=True)
def versions_command(out: Path, name: str | None, show: str | None, as_json: bool) -> None:
    """List the corpus versions under a folder, or show one.

    Example: agro versions datasets --show latest
    """
    if show:
        version = _latest(out, name) if show == "latest" else _named(out, name, show)
        if as_json:
            click.echo(json.dumps(version.manifest, indent=2, ensure_ascii=False))
        else:
            show_version(version)
        return
    found = [open_version(p) for corpus in _corpora(out, name) for p in list_versions(out, corpus)]
    listing = [
        {
            "corpus": v.path.parent.name,
            "version": v.path.name,
            "examples": v.manifest["counts"]["examples"],
            "databases": v.manifest["counts"]["databases"],
        }
        for v in found
    ]
    if as_json:
        click.echo(json.dumps(listing, indent=2))
    else:
        _table(listing)


def show_version(version: Version) -> None:
    """Where a version is, three of its rows, its counts and its funnel."""
    screen.print(f"\n[bold]{version.path}[/bold]")
    examples = version.examples().sort("example_id").collect()  # ids are hashes: neighbours have nothing in common
    for row in examples.head(SHOWN_ROWS).iter_rows(named=True):
        screen.print()
        screen.print(row["question"], style="bold", markup=False, highlight=False)
        screen.print(f"  {row['sql']}", markup=False, highlight=False)
        proof = f"{row['result_rows']} rows, digest {row['result_digest'][:12]}, {row['hardness']}, {row['split']}"
        screen.print(f"  {row['db_id']} ({row['dialect']}); {proof}; {row['example_id']}", style="dim", markup=False)
    counts = version.manifest["counts"]
    screen.print()
    for key, value in counts.items():
        shown = ", ".join(f"{k} {v:,}" for k, v in value.items()) if isinstance(value, dict) else f"{value:,}"
        screen.print(f"{key:>12}: {shown}", markup=False, highlight=False)
    screen.print()
    _table(version.manifest["funnel"])


def _preview(config: BuildConfig, count: int, as_json: bool) -> None:
    with tempfile.TemporaryDirectory(prefix="agro-preview-") as folder:
        place = Path(folder)
        small = replace(config, size=count, embedding_model=STRUCTURAL, only=_few(config), oversample=2.0)
        result = build(config=small, run=RunConfig(out=place / "out", cache=place / "cache", workers=1))
        rows = result.version.examples().head(count).collect().to_dicts()
    if as_json:
        click.echo(json.dumps(rows, indent=2, ensure_ascii=False))
        return
    for row in rows:
        screen.print(row["question"], style="bold", markup=False, highlight=False)
        screen.print(f"  {row['sql']}", markup=False, highlight=False)
        screen.print(f"  {row['db_id']}, {row['hardness']}, {row['result_rows']} rows", style="dim", markup=False)


def _few(config: BuildConfig, most: int = 4) -> tuple[str, ...]:
    """The ids of a handful of the databases, spread over the catalog: a preview looks at no more."""
    ids = config.only or tuple(d.db_id for d in find_databases(Path(config.databases)).databases)
    step = max(len(ids) // most, 1)
    return tuple(ids[::step][:most])


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


def _corpora(root: Path, name: str | None) -> list[str]:
    names = [name] if name else sorted(p.parent.name for p in root.glob("*/latest") if p.is_file())
    if not names or (name and not (root / name).is_dir()):
        raise ConfigError(f"{root}: no corpus {name or ''} here; `agro build` makes one")
    return names


def _latest(root: Path, name: str | None) -> Version:
    names = _corpora(root, name)
    newest = max(names, key=lambda corpus: (root / corpus / "latest").stat().st_mtime)
    return open_version(root / newest / (root / newest / "latest").read_text(encoding="utf-8").strip())


def _named(root: Path, name: str | None, version: str) -> Version:
    for corpus in _corpora(root, name):
        if (root / corpus / version / "manifest.json").exists():
            return open_version(root / corpus / version)
    raise ConfigError(f"{root}: no version {version}; `agro versions {root}` lists them")


def _print_build(result: Build, config: BuildConfig, as_json: bool) -> None:
    if as_json:
        summary = {
            "version": str(result.version.path),
            "counts": result.version.manifest["counts"],
            "complete": result.complete,
            "problems": list(result.problems),
            "funnel": funnel(result.reports).to_dicts(),
        }
        click.echo(json.dumps(summary, indent=2, ensure_ascii=False))
        return
    show_version(result.version)
    _table(funnel(result.reports).to_dicts())
    if not result.complete:
        limit = result.version.manifest["selection"]["limiting"]
        notes.print(f"fewer than the {config.size:,} asked for: limited by {limit}", style="yellow", markup=False)


def _print(figures: dict[str, Any], as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(figures, indent=2, ensure_ascii=False))
        return
    for key, value in figures.items():
        screen.print(f"{key:>24}: {value}", markup=False, highlight=False)


def _table(listing: Sequence[dict[str, Any]]) -> None:
    if not listing:
        screen.print("nothing")
        return
    table = Table(box=None, pad_edge=False)
    for key, value in listing[0].items():
        table.add_column(key, justify="right" if isinstance(value, int | float) else "left", overflow="fold")
    for row in listing:
        table.add_row(*(f"{v:,}" if isinstance(v, int) else str(v) for v in row.values()))
    screen.print(table)


def run(group: click.Group) -> None:
    """Entry point: a `ConfigError` is one line and exit status 2."""
    try:
        group(standalone_mode=False)
    except (ConfigError, NoVersion, NotWritten, Locked) as error:
        notes.print(str(error), style="red", markup=False, highlight=False)
        sys.exit(CANNOT_START)
    except click.exceptions.Abort:
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(CANNOT_START)

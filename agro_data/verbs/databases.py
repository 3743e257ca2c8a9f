"""`agro databases`: what is found, and what is seen in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from agro_data.config import ConfigError, RunConfig, cache_folder
from agro_data.databases.discovery.catalog import usable_databases
from agro_data.files import write_text
from agro_data.profiling.cache import cached_profile
from agro_data.profiling.side_files.semantics import draft_semantics
from agro_data.profiling.side_files.sources import stated_hiding
from agro_data.shown import print_json
from agro_data.terminal.running import FAILED_SOME
from agro_data.terminal.showing import put, show_table, tell
from agro_data.terminal.verb import Verb
from agro_data.verbs.options import A_PATH, as_json
from agro_data.verbs.writing import check_written


@click.command(name="databases", cls=Verb)
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

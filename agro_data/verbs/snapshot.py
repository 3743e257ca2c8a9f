"""`agro snapshot`: a PostgreSQL server's tables as a file that corpora are built on."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from agro_data.shown import print_json
from agro_data.terminal.running import FAILED_SOME
from agro_data.terminal.showing import say, show_table, tell, visible
from agro_data.terminal.streams import notes
from agro_data.terminal.verb import Verb
from agro_data.verbs.options import as_json


@click.command(name="snapshot", cls=Verb)
@click.argument("url")
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    metavar="FILE",
    help="The DuckDB file to write (.duckdb).",
)
@click.option("--schema", "schemas", multiple=True, help="Only this schema (repeatable).  [default: all]")
@click.option("--only", multiple=True, metavar="TABLE", help="Only this table, view or foreign table (repeatable).")
@click.option("--views", is_flag=True, help="Views, too: what they give is copied as a table.")
@click.option("--replace", is_flag=True, help="Take the place of a snapshot that is there.")
@as_json
def snapshot_command(
    url: str, out: Path, schemas: tuple[str, ...], only: tuple[str, ...], views: bool, replace: bool, as_json: bool
) -> None:
    """Copy the tables of a PostgreSQL server into a DuckDB file, as they are at one moment.

    URL is what libpq takes: postgresql://role@host/database, or service=NAME; a password stands in ~/.pgpass or
    PGPASSWORD. The server is read in one transaction that may write nothing, and SQL that is generated runs on the
    file only. Keys come along; comments, and keys that DuckDB cannot declare, lie beside it in semantics.yml. Ends with
    1 when a table could not be copied.

    \b
    Example:
      agro snapshot postgresql://reader@localhost/shop --out shop.duckdb
      agro build --databases shop.duckdb
    """
    from agro_data.snapshot.copying import take_snapshot  # noqa: PLC0415 (only this verb asks a server)

    made = take_snapshot(url, out, schemas=schemas, only=only, views=views, replace=replace, report=_report)
    if as_json:
        print_json(
            {
                "path": str(made.path),
                "semantics": str(made.semantics) if made.semantics else None,
                "tables": [asdict(one) for one in made.tables],
                "lost": made.lost,
                "notes": made.notes,
            }
        )
    else:
        show_table([asdict(one) for one in made.tables])
        say(f"{made.path}: {len(made.tables)} tables{f'; see {made.semantics.name}' if made.semantics else ''}")
    tell(made.notes, "dim")
    tell(made.lost, "yellow")
    if made.lost:
        raise SystemExit(FAILED_SOME)


def _report(said: str) -> None:
    notes.print(visible(said))

"""`agro invent`: new databases, proposed by a model and filled here."""

from __future__ import annotations

from pathlib import Path

import click

from agro_data.config import ConfigError, RunConfig, cache_folder
from agro_data.models import ModelMissing
from agro_data.shown import print_json
from agro_data.terminal.running import FAILED_SOME
from agro_data.terminal.showing import say, tell
from agro_data.terminal.verb import Resumed
from agro_data.verbs.options import as_json


@click.command(name="invent", cls=Resumed)
@click.argument("topics", nargs=-1, required=True)
@click.option("--writer", required=True, metavar="MODEL", help="Hub id, folder, vllm:ID or http address of a model.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("datasets/invented"),
    show_default=True,
    help="The folder for databases and their definitions.",
)
@click.option("--tables", type=click.IntRange(2, 12), default=5, show_default=True, help="Tables to ask for.")
@click.option("--rows", type=click.IntRange(10, 5000), default=400, show_default=True, help="Rows of the largest.")
@click.option("--seed", type=int, default=7, show_default=True, help="Same seed and answers, same bytes.")
@as_json
def invent_command(
    topics: tuple[str, ...], writer: str, out: Path, tables: int, rows: int, seed: int, as_json: bool
) -> None:
    """Have a model propose a database for each of TOPICS, and fill it.

    The model says tables, keys, columns and what these hold, once, and no rows. A proposal that does not hold together
    is listed with its reason, and the status is 1. Definitions lie in OUT/definitions (.sql, .yml): one that was
    changed by hand is filled as it is when its topic is asked for again. `agro build --databases OUT` reads the
    databases.

    \b
    Example:
      agro invent "a ferry company" "seed bank" --writer http://localhost:8000/v1
    """
    from agro_data.llm.client import Client  # noqa: PLC0415 (only this verb asks a model)
    from agro_data.llm.writers import open_writer  # noqa: PLC0415
    from agro_data.populate.samples import build_domain  # noqa: PLC0415
    from agro_data.synthesis.domains import invent  # noqa: PLC0415

    try:
        backend = open_writer(writer)
    except ModelMissing as error:
        raise ConfigError(f"writer {writer}: {error}") from error
    with Client(backend, cache_folder(RunConfig(out=out))) as client:
        found = invent(client, topics, out / "definitions", tables=tables, rows=rows, seed=seed)
    made = [(one, build_domain(one.domain, out, seed)[0]) for one in found if one.domain is not None]
    failed = [one for one in found if one.domain is None]
    if as_json:
        print_json(
            {
                "databases": [{"topic": one.topic, "path": str(path), "notes": list(one.notes)} for one, path in made],
                "failed": [{"topic": one.topic, "reason": one.kind, "detail": one.detail} for one in failed],
            }
        )
    else:
        for one, path in made:
            count = len(one.domain.schema.tables) if one.domain is not None else 0
            say(f"{path}: {count} tables about {one.topic}")
    tell([f"{one.topic}: {note}" for one in found for note in one.notes], "dim")
    tell([f"{one.topic}: {one.kind}: {one.detail}" for one in failed], "yellow")
    if failed:
        raise SystemExit(FAILED_SOME)

"""`agro align`: models answer the questions of a corpus without its SQL; the questions that they confirm are its next
version.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from agro_data.progress import Bars
from agro_data.shown import print_json
from agro_data.terminal.showing import show_table, tell
from agro_data.terminal.streams import notes
from agro_data.terminal.verb import Resumed
from agro_data.verbs.options import A_PATH, json_of
from agro_train.verbs import options


@click.command(name="align", cls=Resumed)
@click.option("--corpus", default="", metavar="VERSION", help="A corpus version.  [default: the newest below --data]")
@click.option(
    "--databases", type=A_PATH, default=None, help="Its databases.  [default: where they were when it was built]"
)
@click.option(
    "--solver", "solvers", multiple=True, required=True, metavar="NAME", help="Run, folder, Hub id or URL (repeatable)."
)
@click.option("--samples", type=click.IntRange(1), default=5, show_default=True, help="Answers of each solver a cycle.")
@click.option("--temperature", type=click.FloatRange(0.0), default=0.7, show_default=True, help="Of the solvers.")
@options.direct
@click.option("--need", type=click.IntRange(1), default=3, show_default=True, help="Answers that must agree.")
@click.option("--cycles", type=click.IntRange(1), default=3, show_default=True, help="At most so many rounds.")
@click.option(
    "--judge", default="", metavar="NAME", help="Model that judges divergences and mends: URL, Hub id, folder."
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Same seed, same answers.")
@options.models_root
@options.data
@click.option("--workers", type=click.IntRange(1), default=2, show_default=True, help="Processes that run SQL.")
@json_of("figures")
def align_command(
    corpus: str, databases: Path | None, as_json: bool, data: Path, models_root: Path, **settings: Any
) -> None:
    """Have models answer the questions of a corpus, and keep what they confirm.

    A row is confirmed when --need answers give its SQL's result on every instance. If fewer do, a judge says whose
    fault it is, the faulty part is made anew, and the next cycle asks again. The next version of the corpus holds what
    is confirmed, and what a judge keeps as hard; the rest is in its rejected/, every cycle in its alignment/. After an
    interruption finished parts are not asked again.

    \b
    Examples:
      agro align --corpus corpus --solver promoted
      agro align --corpus corpus --solver promoted --solver http://localhost:8000/v1 --judge http://localhost:8000/v1
    """
    from agro_data.llm.accounting import FREE, spending_table  # noqa: PLC0415 (so that --help is quick)
    from agro_train.aligning import AlignConfig, align, refusals  # noqa: PLC0415

    config = AlignConfig(
        corpus=corpus,
        databases=str(databases) if databases else "",
        data=str(data),
        models=str(models_root),
        **settings,
    )
    said: list[str] = []
    worth: list[str] = []
    try:
        with Bars(notes) as progress:
            made, took = align(config, progress, said.append, worth.append)
    finally:
        tell(worth, "dim")
        tell(refusals(said), "yellow")
    found = made.manifest["alignment"]
    spent = spending_table(took, FREE).to_dicts()
    figures = {"version": made.name, "rows": made.manifest["counts"]["examples"], **found, "spent": spent}
    print_json(figures) if as_json else show_table(found["acceptance"])
    tell([f"{made.path}: {figures['rows']:,} rows"], "dim")

"""The data verbs of `agro`, each loaded when it is asked for: what one needs takes longer to load than another runs.

0: done. 1: done, but something was left out and is listed. 2: could not start; the line says why and what to do.
"""

from __future__ import annotations

import click

from agro_data.terminal.running import run
from agro_data.terminal.verb import Verbs, mounted

__all__ = ["VERBS", "data", "run"]

VERBS = mounted(
    "agro_data.verbs",
    {
        "build": "Build a corpus version from databases.",
        "databases": "List what is found at PATH, with tables and their rows and columns, views, keys and problems.",
        "versions": "List, compare and prune corpus versions.",
        "explain": "Say in plain words why an example is believed; the first 4 digits of its id are enough.",
        "report": "Write one HTML page about a version; it works offline.",
        "snapshot": "Copy the tables of a PostgreSQL server into a DuckDB file, as they are at one moment.",
        "invent": "Have a model propose a database for each of TOPICS, and fill it.",
        "verify": "Check questions with SQL that you already have, or a corpus version on databases that have changed.",
        "audit": "Check questions with SQL, and mend what can be mended for sure.",
        "evaluate": "Score predicted SQL against the gold.",
        "next-round": "Shift the next build to where a model fails, and its requests to what gave rows.",
        "publish": "Publish a version on the Hugging Face Hub: one commit, and a tag with the version's name.",
        "export": "Give a corpus version to another program: TRL, OpenAI, Spider's or BIRD's scripts, verl, verifiers.",
        "doctor": "Look for what is missing on this machine, and say the command that mends it.",
    },
)


@click.group(cls=Verbs, verbs=VERBS, context_settings={"max_content_width": 100})
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

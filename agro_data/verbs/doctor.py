"""`agro doctor`: what this machine has and lacks."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from agro_data.shown import print_json
from agro_data.terminal.running import FAILED_SOME
from agro_data.terminal.showing import say
from agro_data.terminal.verb import Verb
from agro_data.verbs.options import as_json

MARKS = {"ok": "✓", "note": "·", "missing": "✗"}
STYLES = {"ok": "green", "note": "yellow", "missing": "red"}


@click.command(name="doctor", cls=Verb)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("datasets"),
    show_default=True,
    help="The folder that holds the corpora.",
)
@click.option("--network", is_flag=True, help="Also ask whether the Hugging Face Hub answers.")
@as_json
def doctor_command(out: Path, network: bool, as_json: bool) -> None:
    """Look for what is missing on this machine, and say the command that mends it.

    Python and packages, memory, disk, GPU, models, Dagster's folder, writable folders, the newest corpus. Ends with 1
    when something is missing (✗); what only limits (·) is no failure. Nothing is installed, and the network is asked
    only with --network.

    \b
    Examples:
      agro doctor
      agro doctor --network --json
    """
    from agro_data.doctor import examine  # noqa: PLC0415 (only this verb looks for packages)

    found = examine(out, network=network)
    missing = sum(one.state == "missing" for one in found)
    if as_json:
        print_json({"missing": missing, "findings": [asdict(one) for one in found]})
    else:
        for one in found:
            say(f"{one.what}: {one.says}", first=f"{MARKS[one.state]} ", rest="    ", style=STYLES[one.state])
            if one.mend:
                say(one.mend, first="    → ", rest="      ")
        notes = sum(one.state == "note" for one in found)
        say(f"{missing} missing, {notes} to know of" if missing or notes else "nothing is missing")
    if missing:
        raise SystemExit(FAILED_SOME)

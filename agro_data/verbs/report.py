"""`agro report`: a page about a version."""

from __future__ import annotations

from pathlib import Path

import click

from agro_data.files import write_text
from agro_data.publish.report import render_report
from agro_data.shown import print_json
from agro_data.terminal.showing import say
from agro_data.terminal.verb import Verb
from agro_data.verbs.choosing import chosen_version, whole
from agro_data.verbs.options import A_PATH, as_json, corpus_name, out_folder
from agro_data.verbs.writing import check_written


@click.command(name="report", cls=Verb)
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

"""`agro verify`: pairs of question and SQL that others made, checked row by row."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from agro_data.evaluation.load import load_pairs
from agro_data.pairs.finding import KINDS
from agro_data.progress import Bars
from agro_data.shown import print_json
from agro_data.terminal import FAILED_SOME, Verb, notes, say, screen, show_table, tell
from agro_data.work import write_text

if TYPE_CHECKING:
    from agro_data.pairs.verify import Verified

A_PATH = click.Path(path_type=Path)


@click.command(name="verify", cls=Verb)
@click.argument("pairs", type=A_PATH)
@click.option("--databases", type=A_PATH, required=True, help="The databases that the pairs are about.")
@click.option(
    "--fail-under", type=click.FloatRange(0, 1), default=None, metavar="X", help="End with 1 if fewer are sound."
)
@click.option("--output", type=A_PATH, default=None, metavar="FILE", help="Every pair with its findings, as JSONL.")
@click.option("--html", type=A_PATH, default=None, metavar="FILE", help="One page to look through; works offline.")
@click.option("--instances", type=A_PATH, default=None, metavar="DIR", help="Certify; the instances are kept in DIR.")
@click.option("--workers", type=click.IntRange(1), default=2, show_default=True, help="Processes that check.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON on standard output.")
def verify_command(
    pairs: Path,
    databases: Path,
    fail_under: float | None,
    output: Path | None,
    html: Path | None,
    instances: Path | None,
    workers: int,
    as_json: bool,
) -> None:
    """Check questions with SQL that you already have.

    PAIRS is a JSON, JSONL, CSV, TSV or Parquet file, lines of SQL with a tab and the database, a Spider or BIRD
    folder, or a corpus version. A pair is sound when nothing certain and grave is found against it. Ends with 1 when
    a row could not be checked, a pair has an error, or fewer than X are sound.

    \b
    Examples:
      agro verify train.json --databases database
      agro verify bird/dev --databases bird/dev/dev_databases --html audit.html
      agro verify pairs.csv --databases my.sqlite --fail-under 0.9
      agro verify dev.json --databases database --instances instances
    """
    from agro_data.pairs.report import render_report, summary, verdict  # noqa: PLC0415 (half a second)
    from agro_data.pairs.verify import verify_pairs  # noqa: PLC0415

    loaded = load_pairs(pairs)
    with Bars(notes) as progress:
        found = verify_pairs(loaded, databases, instances=instances, workers=workers, progress=progress)
    if output is not None:
        lines = (json.dumps(verdict(one), ensure_ascii=False) + "\n" for one in found.checked)
        write_text(output, "".join(lines))
    if html is not None:
        write_text(html, render_report(found, f"Audit of {pairs.name}"))
    figures = summary(found)
    print_json(figures) if as_json else _show(figures)
    tell(found.notes, "dim")
    tell(found.problems, "yellow")
    tell([f"{file}: written" for file in (output, html) if file is not None], "dim")
    _end(found, fail_under)


def _show(figures: dict[str, Any]) -> None:
    show_table(
        [
            {
                "pairs": one["pairs"],
                "severity": one["severity"] + ("" if one["certain"] else ", possible"),
                "class": one["kind"],
                "what": one["title"],
                "first": one["example"].split(": ", 1)[0],
            }
            for one in figures["classes"]
        ]
    )
    screen.print()
    sound = f"{figures['sound']:.1%} of {figures['pairs']:,} pairs are sound: nothing certain and grave against them"
    say(f"{sound}; {figures['without_findings']:,} have no finding at all.")
    if figures["mutants"] is not None:
        found = figures["mutants"]
        to_kill = found["total"] - found["equivalent"]
        say(f"Certificates of {found['certified']:,} pairs: {found['killed']:,} of {to_kill:,} mutants are told apart.")


def _end(found: Verified, fail_under: float | None) -> None:
    errors = sum(any(KINDS[finding.kind].severity == "error" for finding in one.findings) for one in found.checked)
    if errors:
        tell([f"{errors:,} of {len(found.checked):,} pairs cannot be used as they are (severity error)"], "yellow")
    short = fail_under is not None and found.sound < fail_under
    if short:
        tell([f"{found.sound:.4f} of the pairs are sound, asked for were {fail_under}"], "yellow")
    if errors or found.problems or short:
        raise SystemExit(FAILED_SOME)

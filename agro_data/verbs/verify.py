"""`agro verify`: checks pairs that others made, row by row, or a version on the databases as they are now."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from agro_data.config import ConfigError
from agro_data.evaluation.load import files_of, load_pairs, only_database
from agro_data.files import json_lines
from agro_data.progress import Bars
from agro_data.shown import print_json
from agro_data.terminal.running import FAILED_SOME
from agro_data.terminal.showing import few_of_each, say, show_table, tell
from agro_data.terminal.streams import notes, screen
from agro_data.terminal.verb import Verb
from agro_data.verbs.drift import DriftOptions, check_drift, version_named
from agro_data.verbs.options import A_PATH, as_json
from agro_data.verbs.writing import all_written, check_written

if TYPE_CHECKING:
    from agro_data.pairs.verify import Verified


@click.command(name="verify", cls=Verb)
@click.argument("pairs", type=A_PATH)
@click.option("--databases", type=A_PATH, required=True, help="The databases that they are about, as they are now.")
@click.option(
    "--fail-under", type=click.FloatRange(0, 1), default=None, metavar="X", help="End with 1 if fewer are sound."
)
@click.option("--output", type=A_PATH, default=None, metavar="FILE", help="Every pair with its findings, as JSONL.")
@click.option("--html", type=A_PATH, default=None, metavar="FILE", help="One page to look through; works offline.")
@click.option("--instances", type=A_PATH, default=None, metavar="DIR", help="Certify; the instances are kept in DIR.")
@click.option("--before", type=A_PATH, default=None, metavar="PATH", help="The databases that a version was made from.")
@click.option("--out", type=A_PATH, default=None, metavar="DIR", help="Write a new version of what holds below DIR.")
@click.option("--workers", type=click.IntRange(1), default=2, show_default=True, help="Processes that check.")
@as_json
def verify_command(
    pairs: Path,
    databases: Path,
    fail_under: float | None,
    output: Path | None,
    html: Path | None,
    instances: Path | None,
    before: Path | None,
    out: Path | None,
    workers: int,
    as_json: bool,
) -> None:
    """Check questions with SQL that you already have, or a corpus version on databases that have changed.

    PAIRS is a JSON, JSONL, CSV, TSV or Parquet file, lines of SQL with a tab and the database, or a Spider or BIRD
    folder. A pair is sound when nothing certain and grave is found against it. Ends with 1 when a row could not be
    checked, a pair has an error, or fewer than X are sound.

    A VERSION (its folder, its name below datasets, or latest) is checked against the databases as they are now: each
    example is kept, repaired (rewritten for names that changed) or broken. Kept and repaired examples have been
    executed and certified again. These are sound. Ends with 1 when fewer than X are, or, without X,
    when one is broken.

    \b
    Examples:
      agro verify train.json --databases database
      agro verify bird/dev --databases bird/dev/dev_databases --html audit.html
      agro verify pairs.csv --databases my.sqlite --fail-under 0.9
      agro verify dev.json --databases database --instances instances
      agro verify datasets/shop --databases shop.sqlite --fail-under 0.95
      agro verify latest --databases database --out datasets --output drift.jsonl
    """
    version = version_named(pairs)
    if version is not None:
        if html is not None:
            raise ConfigError("--html is a page about pairs; of a version, --output writes every example and why")
        asked = DriftOptions(
            databases=databases,
            before=before,
            instances=instances,
            out=out,
            output=output,
            fail_under=fail_under,
            workers=workers,
            as_json=as_json,
        )
        check_drift(version, asked)
        return
    if before is not None or out is not None:
        option = "--before" if before is not None else "--out"
        raise ConfigError(f"{option} is for a corpus version, and {pairs} is none; `agro versions` lists them")
    from agro_data.pairs.report import render_report, summary, verdict  # noqa: PLC0415 (half a second)
    from agro_data.pairs.verify import verify_pairs  # noqa: PLC0415

    loaded = load_pairs(pairs, only_database(databases))
    check_written({"--output": output, "--html": html}, files_of(pairs.expanduser())[0], [databases, instances])
    with Bars(notes) as progress:
        found = verify_pairs(loaded, databases, instances=instances, workers=workers, progress=progress)
    figures = summary(found)
    print_json(figures) if as_json else _show(figures)
    tell(found.notes, "dim")
    tell(few_of_each(found.problems), "yellow")
    saved = all_written(
        [
            (output, lambda: json_lines(verdict(one) for one in found.checked)),
            (html, lambda: render_report(found, f"Audit of {pairs.name}")),
        ]
    )
    _end(found, fail_under, saved)


def _show(figures: dict[str, Any]) -> None:
    from agro_data.pairs.report import class_row, left_out, said_of  # noqa: PLC0415 (half a second)

    show_table([class_row(one) for one in figures["classes"]])
    screen.print()
    sound = f"{said_of(figures)}: nothing certain and grave against them"
    say(f"{sound}; {figures['without_findings']:,} have no finding at all{left_out(figures)}.")
    if figures["mutants"] is not None:
        found = figures["mutants"]
        to_kill = found["total"] - found["equivalent"]
        say(f"Certificates of {found['certified']:,} pairs: {found['killed']:,} of {to_kill:,} mutants are told apart.")


def _end(found: Verified, fail_under: float | None, saved: bool) -> None:
    errors = sum(one.unusable for one in found.checked)
    if errors:
        tell([f"{errors:,} of {len(found.checked):,} pairs cannot be used as they are (severity error)"], "yellow")
    short = fail_under is not None and found.sound < fail_under
    if short:
        what = "rows" if found.unread else "pairs"
        tell([f"{found.sound:.4f} of the {what} are sound, asked for were {fail_under}"], "yellow")
    if errors or found.problems or short or not saved:
        raise SystemExit(FAILED_SOME)

"""`agro audit`: pairs that others made, checked, and mended where that follows, in a copy of their file."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import click

from agro_data.config import ConfigError, RunConfig, cache_folder
from agro_data.evaluation.load import AUDIT_REPORT, files_of, load_pairs, only_database
from agro_data.files import json_lines, write_text
from agro_data.folders import kept_in, unwritable
from agro_data.pairs.copying import copies, corrected_copy
from agro_data.pairs.finding import KINDS
from agro_data.progress import Bars
from agro_data.shown import print_json
from agro_data.terminal.running import FAILED_SOME
from agro_data.terminal.showing import few_of_each, say, show_table, tell
from agro_data.terminal.streams import notes, screen
from agro_data.terminal.verb import Verb
from agro_data.verbs.options import A_PATH, as_json

REPORTS = (AUDIT_REPORT, "report.html")


@click.command(name="audit", cls=Verb)
@click.argument("pairs", type=A_PATH)
@click.option("--databases", type=A_PATH, required=True, help="The databases that the pairs are about.")
@click.option("--out", type=A_PATH, required=True, metavar="DIR", help="Where report and corrected copy are written.")
@click.option(
    "--leave",
    multiple=True,
    type=click.Choice(sorted(KINDS)),
    metavar="CLASS",
    help="Report only. Repeatable.",
)
@click.option("--mend-ties", is_flag=True, help="Settle ties by the output columns, though no question says so.")
@click.option("--certify/--no-certify", default=True, show_default=True, help="Instances for every repaired SQL.")
@click.option("--workers", type=click.IntRange(1), default=2, show_default=True, help="Processes that check.")
@as_json
def audit_command(
    pairs: Path,
    databases: Path,
    out: Path,
    leave: tuple[str, ...],
    mend_ties: bool,
    certify: bool,
    workers: int,
    as_json: bool,
) -> None:
    """Check questions with SQL, and mend what can be mended for sure.

    Finds what `agro verify` finds. Where the right SQL follows from the data, the schema or a proof, it is run and
    checked in the same way. DIR gets report.jsonl (a line a pair), report.html, and a copy of PAIRS in which the mended
    rows keep their old SQL beside the new. PAIRS itself is never changed. Ties are reported and stay: which of equal
    rows is meant does not follow from anything, and answers that were right would be wrong against one that was picked.
    No model is used. Ends with 1 when a row could not be checked, or a pair that has an error could not be mended.

    \b
    Examples:
      agro audit train.json --databases database --out audited
      agro audit pairs.csv --databases my.sqlite --out audited --leave literal_misspelt --mend-ties
    """
    from agro_data.pairs.audit import audit_pairs  # noqa: PLC0415 (half a second)
    from agro_data.pairs.report import audit_lines, audit_summary, render_report  # noqa: PLC0415

    loaded = load_pairs(pairs, only_database(databases))
    _check_out(out, pairs)
    with kept_in(cache_folder(RunConfig())) as (cache, unkept), Bars(notes) as progress:
        audit = audit_pairs(
            loaded,
            databases,
            cache=cache,
            instances=out / "instances" if certify else None,
            leave=leave,
            mend_ties=mend_ties,
            workers=workers,
            progress=progress,
        )
    report, page = (out / name for name in REPORTS)
    write_text(report, json_lines(audit_lines(audit)))
    write_text(page, render_report(audit.verified, f"Audit of {pairs.name}", audit))
    written = [report, page, *corrected_copy(pairs, out, audit.changed)]
    figures = audit_summary(audit)
    print_json(figures) if as_json else _show(figures)
    tell([*unkept, *audit.verified.notes], "dim")
    tell(few_of_each(audit.verified.problems), "yellow")
    tell([f"{file}: written" for file in written], "dim")
    final = (audit.mended[n].checked if n in audit.mended else one for n, one in enumerate(audit.verified.checked))
    errors = sum(one.unusable for one in final)
    if errors:
        tell([f"{errors:,} pairs cannot be used as they are (severity error), and no repair follows"], "yellow")
    if errors or audit.verified.problems:
        raise SystemExit(FAILED_SOME)


def _check_out(out: Path, pairs: Path) -> None:
    """The copy has the name of the file that it corrects: it may not lie in the same folder, nor be the report. Only
    what an audit wrote is written over.
    """
    if out.exists() and not out.is_dir():
        raise ConfigError(f"{out}: is a file; give a folder with --out")
    files = files_of(pairs)[0]
    for file in files:
        if file.name in REPORTS:
            raise ConfigError(f"{file}: its corrected copy would lie where the report does; rename it")
        if (out / file.name).exists() and (out / file.name).samefile(file):
            raise ConfigError(
                f"{out}: holds {file.name} itself, which is never changed; give another folder with --out"
            )
    names = [*REPORTS, *(copy.name for file in files for copy in copies(file, out))]
    there = next((name for name in names if os.path.lexists(out / name)), "")
    if there and not _is_audit(out / AUDIT_REPORT):
        raise ConfigError(f"{out / there}: no audit wrote it, and it would be written over; give another --out")
    if (error := unwritable(out)) is not None:  # before the work, which would be lost
        raise ConfigError(f"{out}: nothing can be written there: {error.strerror}; give another folder with --out")


def _is_audit(report: Path) -> bool:
    """Whether a file is the report of an audit, by its first line."""
    try:
        with report.open(encoding="utf-8") as lines:
            first = json.loads(lines.readline())
    except (OSError, ValueError):
        return False
    return isinstance(first, dict) and {"place", "findings", "repair", "refused"} <= first.keys()


def _show(figures: dict[str, Any]) -> None:
    from agro_data.pairs.report import class_row, left_out, said_of  # noqa: PLC0415 (half a second)

    mended = figures["mended_by_class"]
    show_table(
        [{"pairs": one["pairs"], "mended": mended.get(one["kind"], "")} | class_row(one) for one in figures["classes"]]
    )
    screen.print()
    say(
        f"{said_of(figures)}{left_out(figures)}; {figures['mended']:,} were mended and checked again, "
        f"{len(figures['refused']):,} repairs did not hold."
    )

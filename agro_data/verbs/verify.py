"""`agro verify`: checks pairs that others made, row by row, or a version on the databases as they are now."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from agro_data.config import ConfigError, RunConfig, cache_folder
from agro_data.databases.catalog import VERSION_NAME
from agro_data.databases.scratch import ScratchFolder
from agro_data.errors import InWords
from agro_data.evaluation.load import files_of, load_pairs, only_database
from agro_data.files import json_lines
from agro_data.folders import kept_in
from agro_data.pairs.finding import KINDS, Checked
from agro_data.progress import Bars
from agro_data.publish.read import Version, list_versions, open_corpus
from agro_data.shown import print_json
from agro_data.terminal import FAILED_SOME, Verb, few_of_each, in_words, notes, say, screen, show_table, tell
from agro_data.verbs.choosing import LATEST, chosen_version, whole
from agro_data.verbs.options import A_PATH, as_json
from agro_data.verbs.writing import all_written, check_written

if TYPE_CHECKING:
    from agro_data.migration.drift import Drift
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
    version = _version(pairs)
    if version is not None:
        if html is not None:
            raise ConfigError("--html is a page about pairs; of a version, --output writes every example and why")
        _verify_version(version, databases, before, instances, out, output, fail_under, workers, as_json)
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
    from agro_data.pairs.report import left_out, said_of  # noqa: PLC0415 (half a second)

    show_table([class_row(one) for one in figures["classes"]])
    screen.print()
    sound = f"{said_of(figures)}: nothing certain and grave against them"
    say(f"{sound}; {figures['without_findings']:,} have no finding at all{left_out(figures)}.")
    if figures["mutants"] is not None:
        found = figures["mutants"]
        to_kill = found["total"] - found["equivalent"]
        say(f"Certificates of {found['certified']:,} pairs: {found['killed']:,} of {to_kill:,} mutants are told apart.")


def class_row(figures: Mapping[str, Any]) -> dict[str, Any]:
    """A class of findings as a row of a table."""
    return {
        "pairs": figures["pairs"],
        "severity": figures["severity"] + ("" if figures["certain"] else ", possible"),
        "class": figures["kind"],
        "what": figures["title"],
        "first": figures["example"].split(": ", 1)[0],
    }


def with_errors(checked: Iterable[Checked]) -> int:
    """How many pairs cannot be used as they are."""
    return sum(any(KINDS[finding.kind].severity == "error" for finding in one.findings) for one in checked)


def _end(found: Verified, fail_under: float | None, saved: bool) -> None:
    errors = with_errors(found.checked)
    if errors:
        tell([f"{errors:,} of {len(found.checked):,} pairs cannot be used as they are (severity error)"], "yellow")
    short = fail_under is not None and found.sound < fail_under
    if short:
        what = "rows" if found.unread else "pairs"
        tell([f"{found.sound:.4f} of the {what} are sound, asked for were {fail_under}"], "yellow")
    if errors or found.problems or short or not saved:
        raise SystemExit(FAILED_SOME)


# --- a version on databases that have changed ------------------------------------------------------------------------


def _version(said: Path) -> Version | None:
    """The version that is meant, None where it is pairs."""
    if said.is_dir():
        folder = said.resolve()  # `.` has no name
        is_one = VERSION_NAME.fullmatch(folder.name) is not None and (folder / "manifest.json").is_file()
        return open_corpus(folder) if is_one or list_versions(folder.parent, folder.name) else None
    named = str(said) == LATEST or VERSION_NAME.fullmatch(str(said)) is not None
    return chosen_version(str(said), Path("datasets")) if named and not said.exists() else None


def _verify_version(
    version: Version,
    databases: Path,
    before: Path | None,
    instances: Path | None,
    out: Path | None,
    output: Path | None,
    fail_under: float | None,
    workers: int,
    as_json: bool,
) -> None:
    from agro_data.migration.drift import verify_version  # noqa: PLC0415 (half a second)
    from agro_data.migration.opening import open_migrated  # noqa: PLC0415
    from agro_data.migration.report import lines, summary  # noqa: PLC0415

    check_written({"--output": output}, [version.path], [databases, before, instances])
    opened: Version | None = None
    unopened = ""
    with ScratchFolder("certified") as scratch, kept_in(cache_folder(RunConfig())) as (cache, unkept):
        folder = instances or Path(scratch)
        with whole(version), Bars(notes) as progress:
            drift = verify_version(
                version, databases, folder, before=before, cache=cache, workers=workers, progress=progress
            )
        if out is not None and drift.differs and drift.sound:
            try:
                opened = open_migrated(drift, out, databases, folder, cache)
            except (OSError, InWords) as error:  # what was found is shown all the same
                unopened = in_words(error)
    figures = summary(drift) | {"opened": str(opened.path) if opened is not None else None}
    print_json(figures) if as_json else _show_drift(figures)
    tell(unkept, "dim")
    tell(drift.problems, "yellow")
    saved = all_written([(output, lambda: json_lines(lines(drift)))])
    if opened is not None:
        tell([f"{opened.path}: written"], "dim")
    elif unopened:
        tell([f"no version is opened: {unopened}"], "yellow")
    elif out is not None:
        why = "every example is broken" if drift.differs else "databases and examples are as they were"
        tell([f"no version is opened: {why}"], "dim")
    _end_drift(drift, fail_under, saved and not unopened, output)


def _show_drift(figures: dict[str, Any]) -> None:
    show_table(
        [
            {"database": one["db_id"], "state": one["state"]} | {k: one[k] for k in ("kept", "repaired", "broken")}
            for one in figures["databases"]
        ]
    )
    for one in figures["databases"]:
        for change in one["changes"]:
            say(change["says"], first=f"{one['db_id']}: ", rest="  ")
    screen.print()
    show_table(figures["reasons"])
    holding = f"{figures['kept'] + figures['repaired']:,} of {figures['examples']:,} examples hold"
    say(f"{holding}: {figures['kept']:,} as they are, {figures['repaired']:,} repaired.")
    say(f"{figures['broken']:,} are broken; {figures['other_answers']:,} of those that hold have another answer now.")


def _end_drift(drift: Drift, fail_under: float | None, saved: bool, output: Path | None) -> None:
    broken = drift.counts["broken"]
    too_few = drift.sound < fail_under if fail_under is not None else broken > 0
    if too_few and fail_under is not None:
        tell([f"{drift.sound:.4f} of the examples hold, asked for were {fail_under}"], "yellow")
    elif too_few:
        why = f"{output or '--output FILE'} says why of each"
        tell([f"{broken:,} of {len(drift.fates):,} examples are broken; {why}"], "yellow")
    if too_few or not saved:
        raise SystemExit(FAILED_SOME)

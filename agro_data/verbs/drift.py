"""A version on the databases as they are now: the half of `agro verify` that is not about pairs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agro_data.config import RunConfig, cache_folder
from agro_data.databases.discovery.catalog import VERSION_NAME
from agro_data.databases.scratch import ScratchFolder
from agro_data.errors import InWords
from agro_data.files import json_lines
from agro_data.folders import kept_in
from agro_data.progress import Bars
from agro_data.publish.read import CERTIFICATE, Version, list_versions, open_corpus
from agro_data.shown import print_json
from agro_data.terminal.running import FAILED_SOME, in_words
from agro_data.terminal.showing import say, show_table, tell
from agro_data.terminal.streams import notes, screen
from agro_data.verbs.choosing import LATEST, chosen_version, whole
from agro_data.verbs.writing import all_written, check_written

if TYPE_CHECKING:
    from agro_data.migration.drift import Drift


@dataclass(frozen=True, kw_only=True)
class DriftOptions:
    """What `agro verify` was told of how to check a version, by the names of its options."""

    databases: Path
    before: Path | None
    instances: Path | None
    out: Path | None
    output: Path | None
    fail_under: float | None
    workers: int
    as_json: bool


def version_named(said: Path) -> Version | None:
    """The version that is meant, None where it is pairs."""
    if said.is_dir():
        folder = said.resolve()  # `.` has no name
        named = VERSION_NAME.fullmatch(folder.name) is not None and (folder / "manifest.json").is_file()
        is_one = named or (folder / CERTIFICATE).is_dir()  # what was published, wherever it was put
        return open_corpus(folder) if is_one or list_versions(folder.parent, folder.name) else None
    named = str(said) == LATEST or VERSION_NAME.fullmatch(str(said)) is not None
    return chosen_version(str(said), Path("datasets")) if named and not said.exists() else None


def check_drift(version: Version, asked: DriftOptions) -> None:
    """Check a version, show what became of its examples, and write what was asked for. Exits as `agro verify` does."""
    from agro_data.migration.drift import verify_version  # noqa: PLC0415 (half a second)
    from agro_data.migration.opening import open_migrated  # noqa: PLC0415
    from agro_data.migration.report import lines, summary  # noqa: PLC0415

    check_written({"--output": asked.output}, [version.path], [asked.databases, asked.before, asked.instances])
    opened: Version | None = None
    unopened = ""
    with ScratchFolder("certified") as scratch, kept_in(cache_folder(RunConfig())) as (cache, unkept):
        folder = asked.instances or Path(scratch)
        with whole(version), Bars(notes) as progress:
            drift = verify_version(
                version,
                asked.databases,
                folder,
                before=asked.before,
                cache=cache,
                workers=asked.workers,
                progress=progress,
            )
        if asked.out is not None and drift.differs and drift.sound:
            try:
                opened = open_migrated(drift, asked.out, asked.databases, folder, cache)
            except (OSError, InWords) as error:  # what was found is shown all the same
                unopened = in_words(error)
    figures = summary(drift) | {"opened": str(opened.path) if opened is not None else None}
    print_json(figures) if asked.as_json else _show(figures)
    tell(unkept, "dim")
    tell(drift.problems, "yellow")
    saved = all_written([(asked.output, lambda: json_lines(lines(drift)))])
    if opened is not None:
        tell([f"{opened.path}: written"], "dim")
    elif unopened:
        tell([f"no version is opened: {unopened}"], "yellow")
    elif asked.out is not None:
        why = "every example is broken" if drift.differs else "databases and examples are as they were"
        tell([f"no version is opened: {why}"], "dim")
    _end(drift, asked, saved and not unopened)


def _show(figures: dict[str, Any]) -> None:
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


def _end(drift: Drift, asked: DriftOptions, saved: bool) -> None:
    broken, least = drift.counts["broken"], asked.fail_under
    too_few = drift.sound < least if least is not None else broken > 0
    if too_few and least is not None:
        tell([f"{drift.sound:.4f} of the examples hold, asked for were {least}"], "yellow")
    elif too_few:
        why = f"{asked.output or '--output FILE'} says why of each"
        tell([f"{broken:,} of {len(drift.fates):,} examples are broken; {why}"], "yellow")
    if too_few or not saved:
        raise SystemExit(FAILED_SOME)

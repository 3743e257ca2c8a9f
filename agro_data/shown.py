"""Versions, builds and estimates on the terminal, and the exit status that a build deserves."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from agro_data.config import BuildConfig
from agro_data.progress import clock
from agro_data.publish.read import Version
from agro_data.terminal.running import FAILED_SOME
from agro_data.terminal.showing import put, say, show_pairs, show_table, tell
from agro_data.terminal.streams import screen, takes_all
from agro_data.words import counted

if TYPE_CHECKING:
    from agro_data.pipeline import Build

SHOWN_ROWS = 3
BUSY = 1.3  # times as long as with processors that do nothing else: less is not worth a word


def show_version(version: Version) -> None:
    """Where a version is, three of its rows, its counts and its funnel."""
    screen.print()
    say(str(version.path), style="bold")
    examples = version.examples().sort("example_id").collect()  # ids are hashes: neighbours have nothing in common
    for row in examples.head(SHOWN_ROWS).iter_rows(named=True):
        proof = f"{count_of_rows(row)}, digest {row['result_digest'][:12]}, {row['hardness']}, {row['split']}"
        screen.print()
        show_row(row, f"{row['db_id']} ({row['dialect']}); {proof}; {row['example_id']}")
    screen.print()
    show_pairs(
        {
            key: ", ".join(f"{k} {v:,}" for k, v in value.items()) if isinstance(value, dict) else f"{value:,}"
            for key, value in version.manifest["counts"].items()
        }
    )
    screen.print()
    show_table(version.manifest["funnel"])


def count_of_rows(row: dict[str, Any]) -> str:
    """How many rows the answer of an example has."""
    return counted(row["result_rows"], "rows")


def show_row(row: dict[str, Any], proof: str) -> None:
    """Question, evidence and SQL of an example, and one line about it."""
    say(row["question"], rest="  ", style="bold")
    if row["evidence"]:
        say(row["evidence"], first="  Evidence: ", rest="    ")
    say(row["sql"], first="  ", rest="    ")
    say(proof, first="  ", rest="    ", style="dim")


def print_json(value: Any) -> None:
    """JSON on standard output, for people to read and programs to parse."""
    put(json.dumps(value, indent=2, ensure_ascii=not takes_all(sys.stdout)))


def show_build(result: Build, as_json: bool) -> None:
    """The version that a build wrote, and what each stage did."""
    from agro_data.pipeline import funnel  # noqa: PLC0415 (a build has loaded it)

    if not as_json:
        show_version(result.version)
        screen.print()
        show_table(funnel(result.reports).to_dicts())
        return
    print_json(
        {
            "version": str(result.version.path),
            "counts": result.version.manifest["counts"],
            "complete": result.complete,
            "limiting": result.version.manifest["selection"]["limiting"],
            "problems": list(result.problems),
            "funnel": funnel(result.reports).to_dicts(),
        }
    )


def end(result: Build, config: BuildConfig) -> None:
    """Say what was left out, and end with 1 if anything was."""
    tell(result.notes, "dim")
    tell(result.problems, "yellow")
    if not result.complete:
        given = result.version.manifest["counts"]["examples"]
        limit = result.version.manifest["selection"]["limiting"]
        tell([f"{given:,} of the {config.size:,} examples asked for: {limit}"], "yellow")
    if result.problems or not result.complete:
        raise SystemExit(FAILED_SOME)


def show_estimate(figures: dict[str, Any], as_json: bool) -> None:
    """What `estimate` found, in words."""
    if as_json:
        print_json(figures)
        return
    left = f", {figures['left_out']:,} left out (`agro databases` says why)" if figures["left_out"] else ""
    show_pairs(
        {
            "databases": f"{figures['databases']:,} can be used{left}",
            "examples": f"{figures['examples_asked']:,} asked for",
            "time": _time(figures["seconds"], figures["seconds_as_busy"]),
            "disk": f"about {figures['disk_megabytes']:,} MB while building, {figures['kept_megabytes']:,} MB to keep",
            "acceptance": f"{figures['acceptance']:.0%} of the candidates hold",
            "size": figures["limits"],
        }
    )


def _time(seconds: int, as_busy: int) -> str:
    """As exact as it can be known, and what it is on a machine that is busy, if it is."""
    said = f"about {_rounded(seconds)}"
    if as_busy < BUSY * seconds:
        return said
    return f"{said}; {_rounded(as_busy)} if the machine stays as busy as it is now"


def _rounded(seconds: int) -> str:
    step = next(step for limit, step in ((60, 5), (600, 10), (float("inf"), 60)) if seconds < limit)
    return clock(max(round(seconds / step), 1) * step)

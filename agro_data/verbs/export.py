"""`agro export`: a corpus version in the form that another program reads."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from agro_data.publish.read import open_corpus
from agro_data.shown import print_json
from agro_data.terminal.running import FAILED_SOME
from agro_data.terminal.showing import say, tell
from agro_data.terminal.verb import Verb
from agro_data.verbs.choosing import whole
from agro_data.verbs.options import A_PATH, as_json

if TYPE_CHECKING:
    from agro_data.exports.export import Exported
    from agro_data.exports.material import LeftOut

FORMS = ("sft", "grpo", "preference", "openai", "spider", "bird", "verl", "verifiers")
SHOWN = 3  # rows left out that are shown of each reason, as far as they differ


@click.command(name="export", cls=Verb)
@click.argument("version", type=A_PATH)
@click.option("--format", "form", type=click.Choice(FORMS), required=True, help="Who reads it.")
@click.option("--out", type=A_PATH, required=True, help="A folder that is not there yet.")
@click.option(
    "--databases", type=A_PATH, default=None, help="Where the databases lie.  [default: as when it was built]"
)
@click.option("--style", type=click.Choice(["ddl", "compact", "mschema"]), default="mschema", show_default=True,
              help="How a prompt writes the schema.")  # fmt: skip
@click.option("--budget", type=click.IntRange(1), default=4_000, show_default=True, help="Tokens of a schema, at most.")
@as_json
def export_command(
    version: Path, form: str, out: Path, databases: Path | None, style: str, budget: int, as_json: bool
) -> None:
    """Give a corpus version to another program: TRL, OpenAI, Spider's or BIRD's scripts, verl, verifiers.

    VERSION is a version's folder, or a corpus' folder for its latest. Splits are kept. Ends with 1 when rows do not
    fit the form; they are counted, with examples, and listed in --json.

    \b
    Examples:
      agro export datasets/corpus --format sft --out sft
      agro export datasets/corpus --format spider --out spider --databases databases
    """
    from agro_data.exports.export import export  # noqa: PLC0415 (profiling takes a second to load)

    with whole(open_corpus(version)):
        done = export(version, form, out, databases=databases, style=style, budget=budget)  # type: ignore[arg-type]
    if as_json:
        print_json(
            {"path": str(done.path), "format": done.form, "rows": done.rows}
            | {"left_out": list(map(str, done.left_out)), "notes": list(done.notes)}
        )
    else:
        counted = ", ".join(f"{count:,} {split}" for split, count in done.rows.items())
        say(f"{done.path}: {counted} rows as {done.form}")
    tell(done.notes, "dim")
    tell(left_out_of(done), "yellow")
    if done.left_out:
        raise SystemExit(FAILED_SOME)


def left_out_of(done: Exported) -> Iterator[str]:
    """How many rows of each split are left out and why, each with some of them."""
    groups: dict[tuple[str, str], list[LeftOut]] = defaultdict(list)
    for row in done.left_out:
        groups[row.split, row.reason].append(row)
    lost = Counter(row.split for row in done.left_out)
    for (split, reason), rows in groups.items():
        whole_split = done.rows.get(split, 0) + lost[split]
        yield f"{split}: {len(rows):,} of {whole_split:,} rows are left out: {reason}"
        unlike: dict[str, LeftOut] = {}
        for row in rows:
            unlike.setdefault(row.detail, row)
        shown = list(unlike.values())[:SHOWN]
        yield from (f"  {': '.join(filter(None, (row.example_id, row.detail)))}" for row in shown)
    for split in [split for split in lost if not done.rows.get(split)]:
        yield f"{split}: no row is left, so that this split is not there"

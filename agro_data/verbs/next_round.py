"""`agro next-round`: what the next build should put more into."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from agro_data.files import write_json
from agro_data.shown import print_json
from agro_data.terminal.showing import say, show_table, tell
from agro_data.terminal.streams import screen
from agro_data.terminal.verb import Verb
from agro_data.verbs.choosing import chosen_version, whole
from agro_data.verbs.options import A_PATH, as_json
from agro_data.verbs.writing import check_written

SHOWN = 8  # values of a facet: those that the next build shifts to most


@click.command(name="next-round", cls=Verb)
@click.argument("evaluation", type=A_PATH)
@click.option("--corpus", required=True, metavar="VERSION", help="The folder of the version that has the questions.")
@click.option("--out", type=A_PATH, default=Path("focus.json"), show_default=True, help="The file to write.")
@click.option("--metric", default="", help="The verdicts of a folder to go by.  [default: strict-ts, else strict]")
@as_json
def next_round_command(evaluation: Path, corpus: str, out: Path, metric: str, as_json: bool) -> None:
    """Shift the next build to where a model fails, and its requests to what gave rows.

    EVALUATION is a folder that `python -m agro_train.evaluate` wrote, or a file of verdicts. Constructs, columns,
    styles and hardness that fail more get more; a part of each stays whatever fails. Where a model wrote the version,
    its requests move between what they ask for, by the certified rows that each gave. `agro build --focus` reads it.

    \b
    Example:
      agro next-round evaluation --corpus datasets/corpus --out focus.json
    """
    from agro_data.rounds.next_round import next_round  # noqa: PLC0415 (loads the grammar)

    version = chosen_version(corpus, Path(corpus).parent)
    verdicts = [evaluation] if evaluation.is_file() else evaluation.rglob("*.jsonl")
    check_written({"--out": out}, [version.path, *verdicts])
    with whole(version):
        found = next_round(evaluation, version, metric)
    write_json(out, found.to_dict())
    tell(found.notes, "dim")
    if as_json:
        print_json(found.to_dict() | {"path": str(out), "notes": list(found.notes)})
        return
    of = found.of
    show_table(_most(found.weights))
    screen.print()
    if found.shares:
        show_table(found.shares)
        screen.print()
    by = of["metric"] or evaluation.name
    say(f"{out}: after {of['failed']:,.0f} of {of['questions']:,} questions that fail ({by}, {of['version']})")


def _most(rows: tuple[dict[str, Any], ...]) -> list[dict[str, Any]]:
    """The values with the highest weights, for each facet."""
    facets = dict.fromkeys(row["facet"] for row in rows)
    ranked = sorted(rows, key=lambda row: (-row["weight"], row["value"]))
    return [row for facet in facets for row in [one for one in ranked if one["facet"] == facet][:SHOWN]]

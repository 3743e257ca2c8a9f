"""`agro evaluate`: predictions scored against their golds, one verdict a line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from agro_data.config import RunConfig, cache_folder
from agro_data.evaluation.evaluate import Evaluation, evaluate
from agro_data.evaluation.load import files_of
from agro_data.evaluation.metrics import DEFAULT, METRICS
from agro_data.evaluation.report import render_report
from agro_data.evaluation.statistics import spelled
from agro_data.evaluation.verdict import lines
from agro_data.progress import Bars
from agro_data.shown import print_json
from agro_data.terminal.running import FAILED_SOME
from agro_data.terminal.showing import few_of_each, say, show_table, tell
from agro_data.terminal.streams import notes, screen
from agro_data.terminal.verb import Verb
from agro_data.verbs.options import A_PATH, json_of
from agro_data.verbs.writing import all_written, check_written

SHOWN_DATABASES = 12


@click.command(name="evaluate", cls=Verb)
@click.option("--predictions", type=A_PATH, required=True, help="Rows with db_id, gold and pred (text, or a list).")
@click.option("--gold", type=A_PATH, default=None, help="Questions and golds, when the predictions do not hold them.")
@click.option("--databases", type=A_PATH, required=True, help="The databases that the predictions are about.")
@click.option("--instances", type=A_PATH, default=None, help="Folder <db_id>/*.sqlite for the -ts metrics.")
@click.option("--with-source", is_flag=True, help="Grade on the database itself too, besides the instances.")
@click.option("--metric", type=click.Choice(list(METRICS)), default=DEFAULT, show_default=True, help="What is right.")
@click.option("--output", type=A_PATH, default=None, metavar="FILE", help="Verdicts as JSONL, in the order given.")
@click.option("--html", type=A_PATH, default=None, metavar="FILE", help="One page to look through; works offline.")
@click.option("--self-check", is_flag=True, help="Grade each gold against itself: lists what cannot be graded.")
@click.option("--replies", is_flag=True, help="Predictions are a model's replies: take the SQL out of them.")
@click.option("--fail-under", type=click.FloatRange(0, 1), default=None, metavar="X", help="End with 1 below this.")
@click.option("--workers", type=click.IntRange(1), default=2, show_default=True, help="Processes that run SQL.")
@json_of("figures")
def evaluate_command(
    predictions: Path,
    gold: Path | None,
    databases: Path,
    instances: Path | None,
    with_source: bool,
    metric: str,
    output: Path | None,
    html: Path | None,
    self_check: bool,
    replies: bool,
    fail_under: float | None,
    workers: int,
    as_json: bool,
) -> None:
    """Score predicted SQL against the gold.

    A missing prediction scores 0. The -ts metrics need every instance of a database to agree; without --instances
    they are built for the golds, which takes a while the first time. Ends with 1 when rows could not be graded.

    \b
    Examples:
      agro evaluate --predictions pred.json --databases database --output verdicts.jsonl
      agro evaluate --predictions pred.sql --gold dev.json --databases database --metric spider-ex
      agro evaluate --predictions pred.json --databases database --metric spider-ts --instances testsuite
    """
    check_written({"--output": output, "--html": html}, [predictions, *_files(gold)], [databases, instances])
    with Bars(notes) as progress:
        found = evaluate(
            predictions,
            databases,
            metric=metric,
            gold=gold,
            instances=instances,
            with_source=with_source,
            self_check=self_check,
            replies=replies,
            cache=cache_folder(RunConfig()),
            workers=workers,
            progress=progress,
        )
    figures = {**found.summary, "problems": list(found.problems), "notes": list(found.notes)}
    print_json(figures) if as_json else _show(found)
    tell(found.notes, "dim")
    tell(few_of_each(found.problems), "yellow")
    saved = all_written(
        [(output, lambda: lines(found.verdicts)), (html, lambda: render_report(found, predictions.name))]
    )
    _end(found, fail_under, saved)


def _files(gold: Path | None) -> list[Path]:
    """The files that golds are read from; one that is not there is said when it is read."""
    return files_of(gold)[0] if gold is not None and gold.exists() else []


def _show(found: Evaluation) -> None:
    figures = found.summary
    show_table(
        [
            {"average": name, "score": _percent(one["mean"]), "95 % interval": _interval(one), "of": one["groups"]}
            for name, one in (
                ("over predictions", figures["score"]),
                ("over predictions, databases drawn", figures["interval_drawing_databases"]),
                ("over predictions, golds drawn", figures["interval_drawing_golds"]),
                ("by database", figures["score_by_database"]),
                ("by distinct gold", figures["score_by_gold"]),
                *_attempts(figures),
            )
        ]
    )
    for heading in ("hardness", "databases", "constructs"):
        groups = figures[heading]
        if heading == "databases":
            groups = sorted(groups, key=lambda one: one["mean"])[:SHOWN_DATABASES]
        if groups:
            screen.print()
            show_table(
                [
                    {
                        heading: one["name"],
                        "predictions": one["predictions"],
                        "score": _percent(one["mean"]),
                        "95 % interval": _interval(one),
                    }
                    for one in groups
                ]
            )
    screen.print()
    if figures["error_classes"]:
        show_table([{"wrong": name, "predictions": count} for name, count in figures["error_classes"].items()])
        screen.print()
    say(f"{found.metric}: {_percent(figures['score']['mean'])} of {figures['predictions']:,} predictions", style="bold")


def _attempts(figures: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    if "attempts" not in figures:
        return []
    attempts = figures["attempts"]
    return [*((f"pass@{k}", one) for k, one in attempts["pass_at"].items()), ("majority vote", attempts["majority"])]


def _percent(value: float) -> str:
    return f"{value:.1%}"


def _interval(one: dict[str, Any]) -> str:
    return spelled(one, "{:.1%} to {:.1%}")


def _end(found: Evaluation, fail_under: float | None, saved: bool) -> None:
    mean = found.summary["score"]["mean"]
    short = fail_under is not None and mean < fail_under
    if short:
        tell([f"the score is {mean:.4f}, asked for was {fail_under}"], "yellow")
    if found.problems or short or not saved:
        raise SystemExit(FAILED_SOME)

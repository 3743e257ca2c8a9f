"""What the UI shows of training: trajectories to read, curves, the table of models, the verdict."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import dagster as dg
import polars as pl

from agro_data.defs.metadata import counted, image, of_spending, sample, table
from agro_data.evaluation.statistics import spelled
from agro_data.llm.accounting import Prices, Spending
from agro_data.protocol import render_transcript
from agro_data.publish import plots
from agro_data.publish.read import DERIVED, Version
from agro_data.sql.difficulty import HARDNESS
from agro_data.stages.aligned import STAGE
from agro_train.programs.telling import figures
from agro_train.promotion import Decision, metric_of
from agro_train.runs.store import RUN, ModelRun
from agro_train.trajectories.store import steps_of

ROWS = 6
MADE_ANEW = ("example_id", "cycle", "made_anew", "verdict", "why", "question", "sql")
NO_CURVE = frozenset({"tokens per second"})
COST = ("read", "written", "s each", "latency")  # columns of a table of models that have one of their own
RIGHT = {"strict-ts": "right on all instances", "strict": "right"}
HUB = re.compile(r"^[^/:]+/(?=[^/]+$)")


def of_trajectories(version: Version) -> dict[str, Any]:
    """Counts, what occurs in them, why others were dropped, and some to read."""
    rows = version.examples().collect()
    counts = version.manifest["counts"]
    first = rows.row(0, named=True)
    shown = rows.with_columns(turns=rows["turns"].list.len())
    return {
        "dagster/row_count": rows.height,
        "dagster/uri": str(version.path),
        "folder": dg.MetadataValue.path(str(version.path)),
        "version": f"{version.corpus} {version.name}",
        "corpus": "{name} {version}".format(**version.manifest[DERIVED]),
        "turns": counted("turns", counts["turns"]),
        "teachers": counted("teacher", counts["teachers"]),
        "features": counted("feature", counts["features"]),
        "dropped": counted("reason", counts["dropped"]),
        "sample": sample(shown, ("db_id", "hardness", "teacher", "turns", "features"), ROWS),
        "one of them": dg.MetadataValue.md(f"```\n{first['prompt']}\n\n{render_transcript(steps_of(first))}\n```"),
    }


def of_alignment(version: Version, spent: Mapping[str, Spending], prices: Prices) -> dict[str, Any]:
    """What solvers and a judge made of a corpus: agreement by hardness and cycle, verdicts, what was made anew."""
    found = version.manifest["alignment"]
    cycles = pl.read_parquet(version.path / "alignment" / "cycles.parquet", glob=False)
    judged = cycles.with_columns(verdict=pl.when(pl.col("verdict") == "").then(pl.lit("none")).otherwise("verdict"))
    anew = cycles.filter(pl.col("made_anew") != "")
    checked = pl.col("candidate_id").is_in(cycles["example_id"].unique().implode())  # not by an alignment before
    rejected = version.rejected().filter(checked & (pl.col("stage") == STAGE)).collect()
    return {
        "dagster/row_count": version.manifest["counts"]["examples"],
        "dagster/uri": str(version.path),
        "folder": dg.MetadataValue.path(str(version.path)),
        "version": version.name,
        "version before": found["of"],
        "acceptance by hardness": table(found["acceptance"]),
        "agreement by hardness": table(agreement(cycles).to_dicts()),
        "verdicts": counted("verdict", _counts(judged["verdict"])),
        "made anew": counted("part", _counts(anew["made_anew"])),
        "rejected": counted("reason", _counts(rejected["reason"])),
        "what was made anew": sample(anew, MADE_ANEW, ROWS),
        **of_spending(spent, prices),
    }


def agreement(cycles: pl.DataFrame) -> pl.DataFrame:
    """From the log of an alignment: hardness, cycle, examples, mean share of answers that agree with the SQL."""
    share = pl.col("votes") / pl.col("asked").clip(1)
    found = cycles.group_by("hardness", "cycle").agg(examples=pl.len(), agree=share.mean().round(3))
    return found.sort(pl.col("hardness").cast(pl.Enum(HARDNESS)), "cycle")


def _counts(values: pl.Series) -> dict[str, int]:
    """How often each value occurs, the most frequent first."""
    counts = values.value_counts(name="rows").sort(["rows", values.name], descending=[True, False])
    return dict(counts.iter_rows())


def of_run(run: ModelRun) -> dict[str, Any]:
    """What a run is made of, its last figures as numbers (drawn over runs), and its curves."""
    facts = run.manifest
    return {
        "dagster/uri": str(run.path),
        "folder": dg.MetadataValue.path(str(run.path)),
        "run": run.name,
        "from": facts.get("parent") or run.base_model,
        "steps": facts["steps"],
        "seconds": facts["seconds"],
        "share of tensors changed": _short(run.moved["share"]),
        "largest change": _short(run.moved["largest"]),
        **{title: _short(value) for title, value in figures(facts.get("summary") or {}).items()},
        "plot: training": image("training", curves(run)),
        "databases": len(run.databases),
        "settings": dg.MetadataValue.json(run.settings),
        "hardware": dg.MetadataValue.json(facts["hardware"]),
    }


def curves(run: ModelRun) -> bytes:
    """The figures of a run over its steps. PNG bytes."""
    panels: dict[str, list[tuple[float, float]]] = {}
    for line in run.metrics():
        if "step" in line and not line.get("final"):
            for title, value in figures(line).items():
                panels.setdefault(title, []).append((float(line["step"]), value))
    drawn = {title: points for title, points in panels.items() if title not in NO_CURVE}
    return plots.curves(drawn, title=f"{run.name}: figures over steps")


def of_evaluation(
    summary: Mapping[str, Any], tables: Mapping[str, list[dict[str, Any]]], made: Mapping[str, ModelRun | None]
) -> dict[str, Any]:
    """The models side by side on each set of questions, and what each gained over those before it by what promotes.

    Of the corpus also what share of the questions each of the runs `made`, which are told by what they are (GRPO), is
    right on: under names that no build changes, so that it is drawn over evaluations.
    """
    found: dict[str, Any] = {}
    of_corpus = summary["sets"][0] if summary["config"]["corpus"] else None
    for figured in summary["sets"]:
        metric = metric_of(figured["metrics"])
        name = "the corpus" if figured is of_corpus else figured["questions"]
        rows = [row | {"model": _spelt(row["model"])} for row in tables[figured["questions"]]]
        found[f"models on {name}"] = table([{key: row[key] for key in row if key not in COST} for row in rows])
        found[f"gains on {name}"] = table([_gain(pair) for pair in figured["pairs"] if pair["metric"] == metric])
        found[f"cost on {name}"] = table([{key: row[key] for key in ("model", *COST) if key in row} for row in rows])
        found[f"questions of {name}"] = figured["count"]
    if of_corpus:
        found["corpus"] = of_corpus["questions"]
        found |= _right(of_corpus, {role: run.name for role, run in made.items() if run})
    return found


def _right(figured: Mapping[str, Any], roles: Mapping[str, str]) -> dict[str, float]:
    """The share of questions that those of the models are right on that have a role."""
    metric = metric_of(figured["metrics"])
    scores = {one["model"]: one["metrics"][metric]["score"]["mean"] for one in figured["models"]}
    return {f"{RIGHT[metric]}: {role}": _short(scores[name]) for role, name in roles.items() if name in scores}


def _gain(pair: Mapping[str, Any]) -> dict[str, Any]:
    gain = pair["gain"]
    return {
        f"gain in {pair['metric']} (95 % interval)": f"{gain['mean']:+.1%} ({spelled(gain, '{:+.1%} to {:+.1%}')})",
        "model": _spelt(pair["challenger"]),
        "against": _spelt(pair["against"]),
    }


def _spelt(model: str) -> str:
    """A name that fits a table: of a base on the Hub without who made it."""
    return model if RUN.match(model.rpartition("/")[2]) else HUB.sub("", model)


def _short(value: float) -> float:
    """A figure as it is read, not as it was computed."""
    return float(f"{value:.4g}")


def of_decisions(decisions: Sequence[Decision]) -> dg.TableMetadataValue:
    """Who was held to whom, and what came of it; why, the verdict says."""
    return table(
        [
            {
                "promoted": one.promoted,
                "gain (95 % interval)": f"{one.gain:+.1%} ({one.low:+.1%} to {one.high:+.1%})",
                "model": one.challenger,
                "against": _spelt(one.against),
                "metric": one.metric,
                "questions": one.rows,
            }
            for one in decisions
        ]
    )

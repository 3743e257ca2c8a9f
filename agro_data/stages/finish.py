"""The stages that look at everything at once: the diverse selection, its splits, and the version."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from math import ceil
from pathlib import Path
from typing import Any

import polars as pl

from agro_data.config import ConfigError
from agro_data.diversity.cutting import SHARES
from agro_data.diversity.neighbours import drop_near_duplicates
from agro_data.diversity.sampling import sample
from agro_data.diversity.selection import HARDNESS_MIX, Quotas, SelectionReport
from agro_data.diversity.similarity import sketch
from agro_data.diversity.splits import SplitReport
from agro_data.fingerprint import example_id
from agro_data.focus import Focus
from agro_data.hashing import file_hash, seed_of, stable_hash
from agro_data.intent.questions import STYLES
from agro_data.profiling.cache import encode, without_rows
from agro_data.profiling.serialising.serialise import serialiser
from agro_data.progress import Reporter
from agro_data.prompts.write_question import QUESTION_STYLES
from agro_data.publish.summary import NOT_CHOSEN
from agro_data.publish.version import Beside, Instances, NotWritten, write_version
from agro_data.records import ANSWERABLE, CERTIFICATE, CERTIFIED, EXAMPLE, REJECTED, SELECTED, rows
from agro_data.software import deciding_versions
from agro_data.stages import tally, unanswerable, vectors
from agro_data.stages.certifying import UNMADE, instance_file
from agro_data.stages.context import CATALOG, Context
from agro_data.stages.model import all_unanswered, spending
from agro_data.stages.running import StageCounts
from agro_data.stages.shard.questions import in_style
from agro_data.stages.shares import usable
from agro_data.stages.yields import yields
from agro_data.work import Work

WRITING = ("candidates", "questions")  # stages that may ask a model
SELECTION = "all"  # the one shard of the stage
STAGES = ("candidates", "verified", "questions", "distinct", "certified", "selection")
INDEXED = ["db_id", "example_id", "instances", "digests", "mutants"]  # of what the instance index is made
CERTIFICATE_COLUMNS = [name for name in CERTIFICATE if name in EXAMPLE]


def run_selection(context: Context, workers: int, progress: Reporter) -> StageCounts:
    """Near duplicates out, a diverse sample under the quotas, further styles, splits, questions without one answer."""
    work = context.work
    asked = tally.rows(work, "certified")
    if not work.finished("selection", SELECTION):
        progress("selection", 0, asked, "rows")
        _select(context, workers, progress)
        progress("selection", asked, asked, "rows")
    figures = work.read_json("selection/figures.json")
    kept = work.read("selection", SELECTION)
    without_one = {kind: float(count) for kind, count in figures["unanswerable"].items()}
    numbers = figures["numbers"] | without_one
    notes = _too_few(context, kept)
    problems = [*figures["problems"], *_unanswered(work)]
    return StageCounts(asked, kept.height, tally.reasons(work, "selection"), numbers, problems, notes)


def _unanswered(work: Work) -> list[str]:
    """A line on what a model's server left without an answer, if it did."""
    counts: Counter[str] = Counter()
    for (stage, _), count in all_unanswered(work).items():
        counts[stage] += count
    by_stage = ", ".join(f"{stage} {count:,}" for stage, count in counts.items())
    said = f"the model's server left {counts.total():,} requests without an answer ({by_stage})"
    return [f"{said}, and what they would have given is missing: build again, only they are asked"] if counts else []


def _too_few(context: Context, kept: pl.DataFrame) -> list[str]:
    wanted, made = round(context.config.unanswerable * kept.height), kept.filter(~pl.col("answerable")).height
    short = made < wanted - len(SHARES)  # each split rounds its own share
    return [f"{made:,} of {wanted:,} questions without one answer: no more rows can be turned"] if short else []


def _select(context: Context, workers: int, progress: Reporter) -> None:
    """Choose, turn and store, with the problems in words."""
    config, work = context.config, context.work
    if not usable(context):
        raise ConfigError(_why_unusable(context))
    frame, embeddings = vectors.read(work)
    if frame.is_empty():
        raise NotWritten(_why_empty(work))
    near = drop_near_duplicates(frame, embeddings)
    sketches = [sketch(context.profile(db_id)) for db_id in usable(context)]
    size = ceil(config.size / config.styles_per_sql)
    sampled = sample(
        near.kept,
        vectors.aligned(embeddings, frame, near.kept),
        sketches,
        size,
        config.seed,
        split_by=config.split_by,
        quotas=_quotas(context.focus),
    )
    said = _further_styles(context, _whole_rows(work, sampled.kept)).head(config.size)
    by_skeleton = sampled.splits.method == "skeleton"
    said, kinds, problems = unanswerable.turn(context, said, by_skeleton, workers, progress)
    rejected = pl.concat([pl.DataFrame(schema=REJECTED), near.rejected, sampled.rejected])
    figures = _figures(sampled.selection, sampled.splits.of(said)) | {"unanswerable": kinds, "problems": problems}
    figures[NOT_CHOSEN] = frame.height - rejected.height - said.n_unique(["db_id", "candidate_id"])
    work.write_json("selection/figures.json", figures)
    work.write("selection", SELECTION, said, rejected.with_columns(stage=pl.lit("selection")))


def _quotas(focus: Focus) -> Quotas:
    """The quotas of the selection, moved by the weights of a focus."""
    styles = {style: focus.weight("styles", style) for style in (*STYLES, *QUESTION_STYLES)}
    return Quotas(
        hardness={level: share * focus.weight("hardness", level) for level, share in HARDNESS_MIX.items()},
        styles=styles if focus.of("styles") else None,
        constructs=focus.of("constructs"),
        columns=focus.of("columns"),
    )


def _why_unusable(context: Context) -> str:
    """Why no database is left to ask about."""
    work = context.work
    lines = [*_left_out(work), *work.read_json("profiles.json")["problems"]]
    return "".join([f"{context.config.databases}: no database that can be used", *(f"\n  {line}" for line in lines)])


def _why_empty(work: Work) -> str:
    """Why no candidate is left to choose from."""
    before = STAGES[:-1]
    lost = [f"{reason} {count:,}" for stage in before for reason, count in tally.reasons(work, stage).items()]
    failed = [problem for stage in before for problem in work.read_json(f"{stage}.json")["problems"]]
    asked = tally.different(work, "candidates")
    said = f"no example is left of {asked:,} candidates, so no version was written"
    told = [*_most_frequent(work), *_unmade(work), *failed[:3], *_left_out(work)[:3]]
    return "; ".join([said, *lost, *told, *_unanswered(work)])


def _most_frequent(work: Work) -> list[str]:
    """The detail of the first row that the most frequent reason rejected, if it is given in words."""
    refused = pl.concat([work.read_rejected(stage).select("reason", "detail") for stage in STAGES[:-1]])
    if refused.is_empty():
        return []
    reason = Counter(refused["reason"].to_list()).most_common(1)[0][0]
    details = refused.filter(pl.col("reason") == reason)["detail"].drop_nulls()
    return [f"the first of {reason}: {' '.join(detail.split())}" for detail in details if detail.strip()][:1]


def _unmade(work: Work) -> list[str]:
    """The first note of why instances could not be made, if any was."""
    notes = sorted((work.root / UNMADE).glob("*.json"))
    return work.read_json(f"{UNMADE}/{notes[0].name}")[:1] if notes else []


def _left_out(work: Work) -> list[str]:
    """Databases that could not be used, as the catalog says."""
    return [str(problem) for problem in work.read_json(CATALOG)["problems"]]


def _failed(work: Work) -> list[str]:
    """Shards that failed, and what else the stages could not give."""
    stages = ("profiles", *STAGES[:-1], "embeddings", STAGES[-1])
    return [str(problem) for stage in stages for problem in work.read_json(f"{stage}.json")["problems"]]


def _whole_rows(work: Work, chosen: pl.DataFrame) -> pl.DataFrame:
    """SELECTED rows for the chosen DISTINCT ones, from the shards that said and certified them; sorted by identity."""
    splits = chosen.select(*vectors.KEY, "split")
    found = [pl.DataFrame(schema=SELECTED)]
    for shards in tally.by_database(work, "questions").values():
        seen: set[str] = set()
        for shard in shards:
            part = work.read("questions", shard).join(splits, on=vectors.KEY, how="inner", maintain_order="left")
            new = part.filter(~pl.col("candidate_id").is_in(sorted(seen)))  # where two shards met, the first counts
            seen.update(new["candidate_id"])
            found.append(new.with_columns(**ANSWERABLE).select(list(SELECTED)))
    whole = pl.concat(found).drop(CERTIFICATE_COLUMNS)
    certificates = _certificates(work, CERTIFICATE_COLUMNS)
    joined = whole.join(certificates, on=["db_id", "candidate_id"], how="left", maintain_order="left")
    return joined.select(list(SELECTED)).sort(vectors.KEY)


def _certificates(work: Work, columns: list[str]) -> pl.DataFrame:
    """These columns of every certified row, with the row's identity; a row that two shards hold stands once."""
    identity = ["db_id", "candidate_id"]
    frames = [work.read("certified", shard, identity + columns) for shard in work.shards("certified")]
    empty = pl.DataFrame(schema={name: CERTIFIED[name] for name in identity + columns})
    return pl.concat([empty, *frames]).unique(identity, keep="first", maintain_order=True)


def _further_styles(context: Context, chosen: pl.DataFrame) -> pl.DataFrame:
    """`styles_per_sql` questions for each row: its own, and the styles that follow it."""
    more = context.config.styles_per_sql - 1
    if not more:
        return chosen
    said: list[dict[str, Any]] = []
    written_by_us = chosen.filter(pl.col("intent") != "")  # others have the one that was written for them
    for row in written_by_us.sort("db_id").iter_rows(named=True):  # few profiles are held at a time
        first = STYLES.index(row["style"]) if row["style"] in STYLES else -1
        taken = {row["question"]}
        for step in range(1, len(STYLES)):
            style = STYLES[(first + step) % len(STYLES)]
            own = seed_of(context.config.seed, row["candidate_id"], style)
            other = row | in_style(row, context.profile(row["db_id"]), style, own)
            if other["question"] not in taken and len(taken) <= more:
                taken.add(other["question"])
                said.append(other)
    return pl.concat([chosen, rows(said, SELECTED)]).sort("candidate_id", "style")


def write_corpus(context: Context, out: Path) -> Path:
    """Write the version of this build, or find the one that was written before."""
    work = context.work
    build = work.read_json("build.json")
    chosen = work.read("selection", SELECTION)
    hashes = {d.db_id: d.content_hash for d in context.databases()}
    ids = [
        example_id(hashes[row["db_id"]], row, row["sql"], row["hidden"])
        for row in chosen.select("db_id", "dialect", "sql", "question", "evidence", "hidden").iter_rows(named=True)
    ]
    examples = chosen.with_columns(pl.Series("example_id", ids, dtype=pl.String)).select(list(EXAMPLE))
    return write_version(
        out,
        context.config.name,
        fingerprint=_identity(work, build["fingerprint"]),
        examples=examples,
        rejected=tally.once(work.read_rejected()),
        manifest=_manifest(context, build["config"]),
        beside=Beside(
            _instances(work, chosen.with_columns(examples["example_id"])),
            profiles={db_id: encode(without_rows(context.profile(db_id))) for db_id in usable(context)},
        ),
    )


def _identity(work: Work, fingerprint: str) -> str:
    """The fingerprint of the build where it is whole. A version with unanswered requests has its own identity: the
    whole version comes when the server has answered.
    """
    lacking = [[*place, file_hash(work.path(place[0], f"{place[1]}.parquet"))] for place in all_unanswered(work)]
    return stable_hash([fingerprint, lacking]) if lacking else fingerprint


def _instances(work: Work, chosen: pl.DataFrame) -> Instances:
    """The instances that the chosen rows and their further readings name, their index, and what became of each mutant.

    `chosen` has the columns of `records.SELECTED` and example_id.
    """
    certificates = _certificates(work, ["instances", "digests", "mutants"])
    rows = chosen.select("db_id", "candidate_id", "example_id")
    found = rows.join(certificates, on=["db_id", "candidate_id"], how="inner", maintain_order="left")
    found = pl.concat([found.select(INDEXED), unanswerable.further_readings(work, chosen)])
    index = found.select(
        "db_id", "example_id", pl.col("instances").alias("file"), pl.col("digests").alias("gold_digest")
    )
    index = index.explode("file", "gold_digest").drop_nulls("file")
    names = index["file"].unique().sort().to_list()
    mutants = found.select("example_id", "mutants").explode("mutants").drop_nulls("mutants").unnest("mutants")
    return Instances({name: instance_file(work, name) for name in names}, index, mutants)


def _manifest(context: Context, config: dict[str, Any]) -> dict[str, Any]:
    work = context.work
    figures = work.read_json("selection/figures.json")
    left = {stage: work.read_json(f"{stage}.json")["out"] for stage in STAGES}
    left["candidates"] = tally.different(work, "candidates")  # with those of rounds that `verified` has asked for
    return {
        "config": config,
        "databases": _database_facts(context),
        "funnel": [{"stage": stage, "rows": count} for stage, count in left.items()],
        "seeds": {"build": config["seed"]},
        "schema_serialiser": serialiser(),
        "library_versions": deciding_versions(context.config),
        "selection": figures["selection"],
        "unanswerable": figures["unanswerable"],
        "counts": {NOT_CHOSEN: figures[NOT_CHOSEN]},
        "split": figures["split"],
        "problems": [*_left_out(work), *_failed(work)],
    } | (_of_a_model(work) if context.config.writer else {})


def _of_a_model(work: Work) -> dict[str, Any]:
    """What a model took, and what came of it."""
    return {"asked_of_a_model": {name: spending(work, name) for name in WRITING}, "yields": yields(work)}


def _database_facts(context: Context) -> list[dict[str, Any]]:
    """What the manifest says of each database: where, which content, and how much of it can be used."""
    profiles = {db_id: context.profile(db_id) for db_id in usable(context)}
    facts = []
    for source in context.work.read_json("sources.json"):
        profile = profiles.get(source["db_id"])
        if profile is not None:
            tables = [table for table in profile.tables if table.rows]
            columns = sum(column.has_values for table in tables for column in table.columns)
            facts.append(source | {"tables": len(tables), "columns": columns})
    return facts


def _figures(report: SelectionReport, split: SplitReport) -> dict[str, Any]:
    """The selection in numbers: for the manifest, and the few that make a plot over builds."""
    numbers = {
        "radius_95": report.radius.percentile_95,
        "radius_95_random": report.random_radius.percentile_95,
        "radius_mean": report.radius.mean,
        "radius_mean_random": report.random_radius.mean,
    }
    return {
        "numbers": numbers,
        "selection": {
            "asked": report.asked,
            "available": report.available,
            "given": report.given,
            "limiting": report.limiting,
            "numbers": numbers,
            "quotas": [asdict(quota) for quota in report.quotas],
        },
        "split": asdict(split),
    }

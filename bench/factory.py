"""The factory on real databases: what is delivered, what it covers, how fast, and each stage beside its limit.

    python -m bench.factory --databases ../shared/data/spider/database --questions ../shared/data/spider/train.json \
        --size 20000

Limits are measured in the same run: a bare sqlite3 loop over the same statements, a bare `encode` of the same texts.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sqlite3
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

import agro_data
from agro_data.config import STRUCTURAL
from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.databases.types import Database
from agro_data.pipeline import STAGES, StageReport, prepare, run_stage, write_corpus
from agro_data.progress import Lines
from agro_data.sql.facts import sql_facts
from agro_data.stages.context import Context
from bench.parts.machine import Usage, description


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--databases", type=Path, required=True)
    parser.add_argument("--questions", type=Path, help="use only the databases of this file's db_id")
    parser.add_argument("--size", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="keep the corpus here")
    parser.add_argument("--embedding-model", default=agro_data.BuildConfig("x").embedding_model)
    parser.add_argument("--no-certify", action="store_true", help="build without certificates")
    parser.add_argument("--speed-only", action="store_true", help="leave out what is measured after the build")
    parser.add_argument("--json", type=Path, help="write the figures here")
    arguments = parser.parse_args()
    config = agro_data.BuildConfig(
        databases=str(arguments.databases),
        name="bench",
        size=arguments.size,
        seed=arguments.seed,
        only=named_in(arguments.questions) if arguments.questions else (),
        embedding_model=arguments.embedding_model,
        certify=not arguments.no_certify,
    )
    figures = measure(config, out=arguments.out, speed_only=arguments.speed_only)
    print(json.dumps(figures, indent=1))
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=1) + "\n")


def named_in(questions: Path) -> tuple[str, ...]:
    """The databases that a file of Spider's layout asks about."""
    return tuple(sorted({str(row["db_id"]) for row in json.loads(questions.read_text(encoding="utf-8"))}))


def measure(config: agro_data.BuildConfig, *, out: Path | None = None, speed_only: bool = False) -> dict[str, Any]:
    """Build `config` in a fresh cache: what it took, stage by stage, and what it gave."""
    source = Path(config.databases)
    before = snapshot(source)
    with tempfile.TemporaryDirectory() as folder:
        run = agro_data.RunConfig(out=out or Path(folder) / "out", cache=Path(folder) / "cache")
        progress = Lines(lambda line: print(line, file=sys.stderr, flush=True), every=15)
        start = time.monotonic()
        with Usage() as usage:
            context = prepare(config, run)
            stages = []
            for name in STAGES:
                earlier = usage.cpu_seconds
                report = run_stage(name, context, run.workers, progress)
                stages.append(stage(report, usage.cpu_seconds - earlier))
            version = write_corpus(context, run.out)
            seconds, cpu_seconds = time.monotonic() - start, usage.cpu_seconds
        given = int(version.manifest["counts"]["examples"])
        figures = {
            "machine": description(),
            "asked": config.size,
            "examples": given,
            "seconds": round(seconds, 1),
            "cpu_seconds": round(cpu_seconds, 1),
            "examples_per_second": round(given / seconds, 1),
            "cpu_milliseconds_per_example": round(1000 * cpu_seconds / given, 2),
            "acceptance": round(stages[2]["out"] / stages[2]["in"], 3),
            "peak_memory_gib": usage.gibibytes,
            "stages": stages,
            "inputs_unchanged": snapshot(source) == before,
        }
        if speed_only:
            return figures
        return {**figures, **delivered(version, context), **limits(context, version, config.embedding_model)}


def stage(report: StageReport, cpu_seconds: float) -> dict[str, Any]:
    """A stage's counts and cost. `cpu_seconds` are of all its processes."""
    return {
        "stage": report.stage,
        "in": report.rows_in,
        "out": report.rows_out,
        "seconds": round(report.seconds, 1),
        "cpu_seconds": round(cpu_seconds, 1),
        "per_second": round(report.rate, 1),
        "reasons": report.reasons,
        **report.figures,
    }


def delivered(version: agro_data.Version, context: Context) -> dict[str, Any]:
    """What the version holds, counted from its rows and not from its manifest."""
    examples = version.examples().collect()
    totals = {d["db_id"]: d for d in version.manifest["databases"]}
    tables = used(examples, "tables")
    columns = used(examples, "columns")
    templates = {sql_facts(row["sql"], row["dialect"], {}).template for row in examples.iter_rows(named=True)}
    return {
        "databases": examples["db_id"].n_unique(),
        "tables_used": round(sum(map(len, tables.values())) / sum(d["tables"] for d in totals.values()), 4),
        "columns_used": round(sum(map(len, columns.values())) / sum(d["columns"] for d in totals.values()), 4),
        "hardness": shares(examples["hardness"]),
        "splits": shares(examples["split"]),
        "constructs": dict(Counter(examples["constructs"].explode().to_list()).most_common()),
        "skeletons_names_masked": len(templates),
        "skeletons_names_kept": examples["skeleton"].n_unique(),
        "distinct_questions": examples["question"].n_unique(),
        "selection": version.manifest["selection"]["numbers"],
        "digests_replayed_by_plain_sqlite3": replayed(examples, context),
    }


def used(examples: pl.DataFrame, column: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for db_id, names in examples.select("db_id", column).iter_rows():
        found[db_id].update(names)
    return found


def shares(values: pl.Series) -> dict[str, float]:
    counts = Counter(values.to_list())
    return {name: round(count / len(values), 4) for name, count in sorted(counts.items())}


def replayed(examples: pl.DataFrame, context: Context) -> float:
    """Share of stored digests that a bare sqlite3 connection and the documented digest give again."""
    from agro_data.databases.digest import result_digest

    same = total = 0
    for database in context.databases():
        if database.dialect != "sqlite":
            continue
        connection = plain(database)
        for row in examples.filter(pl.col("db_id") == database.db_id).iter_rows(named=True):
            answer = connection.execute(row["sql"]).fetchall()
            total += 1
            same += result_digest(row["result_columns"], answer, row["order_matters"]) == row["result_digest"]
        connection.close()
    return round(same / total, 6) if total else 1.0


def limits(context: Context, version: agro_data.Version, model: str) -> dict[str, Any]:
    """The sandbox beside a bare sqlite3 loop, the embedding stage beside a bare encode, on the same input."""
    examples = version.examples().collect()
    by_id = {d.db_id: d for d in context.databases() if d.dialect == "sqlite"}
    work = [(by_id[row["db_id"]], row["sql"]) for row in examples.iter_rows(named=True) if row["db_id"] in by_id]
    work.sort(key=lambda pair: pair[0].db_id)
    bare_seconds = timed_bare(work)
    start = time.monotonic()
    with Sandbox(workers=1) as sandbox:
        sandbox.run_many(work, want="digest")
    sandbox_seconds = time.monotonic() - start
    found = {
        "statements": len(work),
        "bare_sqlite3_per_second": round(len(work) / bare_seconds, 1),
        "sandbox_one_worker_per_second": round(len(work) / sandbox_seconds, 1),
        "sandbox_to_bare_time": round(sandbox_seconds / bare_seconds, 2),
    }
    if model != STRUCTURAL:
        from agro_data.diversity.embeddings import load_encoder

        texts = sorted(examples["question"].to_list())[::4]
        encoder = load_encoder(model)
        encoder.encode(texts[:64])
        start = time.monotonic()
        encoder.encode(texts)
        found["bare_encode_per_second"] = round(len(texts) / (time.monotonic() - start), 1)
        found["encode_precision"] = encoder.precision
    return found


def beside_limits(figures: dict[str, Any]) -> list[list[Any]]:
    """Rows of (what, ours a second, the limit a second, how many times longer ours takes), from `measure`'s figures."""
    ours, bare = figures["sandbox_one_worker_per_second"], figures["bare_sqlite3_per_second"]
    rows = [["statements in the sandbox, a bare sqlite3 loop", ours, bare, figures["sandbox_to_bare_time"]]]
    if "bare_encode_per_second" in figures:
        ours = next(one["per_second"] for one in figures["stages"] if one["stage"] == "embeddings")
        bare = figures["bare_encode_per_second"]
        rows.append(["rows embedded (model loading included), a bare encode", ours, bare, round(bare / ours, 2)])
    return rows


def timed_bare(work: Sequence[tuple[Database, str]]) -> float:
    start = time.monotonic()
    connection, current = None, ""
    for database, sql in work:
        if connection is None or database.db_id != current:
            connection, current = plain(database), database.db_id
        connection.execute(sql).fetchall()
    return time.monotonic() - start


def plain(database: Database) -> sqlite3.Connection:
    connection = sqlite3.connect(f"file:{database.path}?mode=ro&immutable=1", uri=True)
    connection.text_factory = _text
    return connection


def _text(raw: bytes) -> str | bytes:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw


def snapshot(folder: Path) -> str:
    """Names and bytes of all files below a folder."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")) if folder.is_dir() else [folder]:
        if path.is_file():
            digest.update(path.name.encode() + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


if __name__ == "__main__":
    main()

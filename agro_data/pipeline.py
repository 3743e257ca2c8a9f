"""The pipeline: databases in, a corpus version out, one stage after the other.

`prepare` finds and identifies the databases and opens the work folder; `run_stage` does one stage in it; `build` does
them all. The command line and the Dagster assets call these and nothing else. Every stage reads what the one before
it stored and stores its own shards, so a build that was stopped, however, goes on where it was.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from itertools import chain, count
from math import inf
from pathlib import Path, PurePosixPath
from typing import Any

import polars as pl

from agro_data.config import BuildConfig, ConfigError, RunConfig, cache_folder
from agro_data.databases.discovery.catalog import usable_databases, without_copies
from agro_data.databases.types import Catalog, Problem
from agro_data.fingerprint import fingerprint, settings_of
from agro_data.locking import exclusive
from agro_data.progress import Reporter, silent
from agro_data.publish.read import Version, open_version
from agro_data.software import code_version
from agro_data.stages import finish, generating, reuse, saying, tally
from agro_data.stages.certifying import run_certified
from agro_data.stages.context import Context, store_catalog
from agro_data.stages.embedding import run_embeddings
from agro_data.stages.inputs import check_inputs, check_writer
from agro_data.stages.model import all_unanswered, followed
from agro_data.stages.running import StageCounts
from agro_data.stages.surrogates import surrogates
from agro_data.work import Work


@dataclass(frozen=True)
class StageReport:
    """What a stage did: rows in and out, why rows were dropped, and figures worth a plot over builds.

    `rows_made` counts the rows of `rows_out` that were made in these `seconds`, without rows found finished.
    """

    stage: str
    rows_in: int
    rows_out: int
    rows_made: int
    seconds: float
    reasons: dict[str, int] = field(default_factory=dict)
    figures: dict[str, float] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def rate(self) -> float:
        """Rows made a second; 0 where all was finished before."""
        return self.rows_made / self.seconds if self.seconds > 0 else 0.0


@dataclass(frozen=True)
class Build:
    """A finished build: the version, what each stage did, and everything that was left out."""

    version: Version
    reports: tuple[StageReport, ...]
    problems: tuple[str, ...]  # what was left out, and shards that failed
    notes: tuple[str, ...]  # what a person may want to know and nothing was lost by
    complete: bool  # as many examples as asked for


Stage = Callable[[Context, int, Reporter], StageCounts]

ELSEWHERE = "say another place with --out (in Dagster `datasets` of the resource place)"
LOCK = ".lock"  # of a work folder

STAGES: dict[str, Stage] = {
    "profiles": generating.run_profiles,
    "candidates": generating.run_candidates,
    "verified": generating.run_verified,
    "questions": saying.run_questions,
    "distinct": saying.run_distinct,
    "certified": run_certified,
    "embeddings": run_embeddings,
    "selection": finish.run_selection,
}


def sources(config: BuildConfig) -> Catalog:
    """The databases of a build, one of each content, and what was left out.

    Raises `ConfigError` when none can be used, or one named not.
    """
    found = usable_databases(config.databases, "--databases names a database or a folder of them")
    return without_copies(_only(found, config.only) if config.only else found)


def prepare(config: BuildConfig, run: RunConfig) -> Context:
    """Find the databases, name the build by its fingerprint, and open its work folder.

    Raises `ConfigError` when no database can be used, or something else it was given cannot, be it the folder that the
    corpus is to be written to.
    """
    _check_writable(run.out.expanduser() / config.name)
    found = sources(config)
    problems, notes = check_inputs(config, (database.dialect for database in found.databases))
    writer = check_writer(config)
    identity = fingerprint(config, found, writer)
    cache = cache_folder(run)
    work = _folder(cache / "work", identity[:16])
    settings = settings_of(config, writer)
    facts = {"fingerprint": identity, "config": config.to_dict(), "settings": settings, "code": code_version()}
    problems += [str(problem) for problem in found.problems if problem.left_out]
    notes += [str(problem) for problem in found.problems if not problem.left_out]
    with _alone(work):
        work.write_json("build.json", facts)
        if config.values == "synthetic":
            made, failed, told = surrogates(found.databases, work.root / "surrogates", config.seed)
            store_catalog(work, made, problems + failed, notes + told)
        else:
            store_catalog(work, list(found.databases), problems, notes)
        work.write_json("sources.json", [_source(database, config) for database in found.databases])
    return Context(work, config, cache, run.seconds)


def _check_writable(folder: Path) -> None:
    """Raise `ConfigError` where no corpus can be written: at the end of a build that would cost the whole of it."""
    there = next(path for path in (folder, *folder.parents) if path.exists())
    if not there.is_dir():
        raise ConfigError(f"{there}: is no folder, so no corpus can be written to {folder}; {ELSEWHERE}")
    if not os.access(there, os.W_OK | os.X_OK):
        raise ConfigError(f"{there}: you may not write there, so no corpus can be written to {folder}; {ELSEWHERE}")


def _alone(work: Work) -> AbstractContextManager[None]:
    """Around all that is written in a work folder. A second process with the same build waits, and says for which one:
    two that make the same shard would remove each other's files.
    """
    work.root.mkdir(parents=True, exist_ok=True)
    return exclusive(work.root / LOCK, wait_seconds=inf, doing="is at the same build")


def _folder(place: Path, name: str) -> Work:
    """The work folder of a build. A folder in which a model's server left requests without an answer stays as it is:
    the next build gets a new folder, takes over the whole shards, and asks again for the rest.
    """
    names = chain([name], (f"{name}.{number}" for number in count(1)))
    return next(work for work in map(Work, map(place.joinpath, names)) if not all_unanswered(work))


def open_work(root: Path, cache: Path) -> Context:
    """The context of a work folder that `prepare` made. Raises `ConfigError` when it is not there any more."""
    work = Work(root)
    if not root.is_dir():
        raise ConfigError(f"{root}: this work folder is gone; build from the databases on")
    return Context(work, BuildConfig.from_dict(work.read_json("build.json")["config"]), cache)


def run_stage(name: str, context: Context, workers: int = 2, progress: Reporter = silent) -> StageReport:
    """Do the rest of one stage, and report on the whole stage. Waits while another process is at the same build.

    Raises `ConfigError` if the work folder was begun by other code: its fingerprint names what that code would make.
    """
    _check_code(context)
    with _alone(context.work):
        return _run_stage(name, context, workers, progress)


def _check_code(context: Context) -> None:
    if context.work.read_json("build.json").get("code") != code_version():
        raise ConfigError(f"{context.work.root}: was begun by another release; build from the databases on")


def _run_stage(name: str, context: Context, workers: int, progress: Reporter) -> StageReport:
    """The stage, by whoever holds the work folder."""
    start, moment = time.monotonic(), time.time_ns()
    with followed(context.work, progress) if context.config.writer else nullcontext():
        outcome = STAGES[name](context, workers, progress)
    report = StageReport(
        stage=name,
        rows_in=outcome.rows_in,
        rows_out=outcome.rows_out,
        rows_made=tally.rows(context.work, name, context.work.made_since(name, moment)),
        seconds=time.monotonic() - start,
        reasons=outcome.reasons,
        figures=outcome.figures | reuse.counts(context.work, name),
        problems=tuple(outcome.problems),
        notes=tuple(outcome.notes),
    )
    context.work.write_json(
        f"{name}.json",
        {"in": report.rows_in, "out": report.rows_out, "reasons": report.reasons}
        | {"figures": report.figures, "problems": list(report.problems)},
    )
    return report


def write_corpus(context: Context, out: Path) -> Version:
    """Write the selected examples as a version, or return the one that this build wrote before.

    Raises `ConfigError` in a work folder of other code, as a stage does, and `NotWritten`.
    """
    _check_code(context)
    return open_version(finish.write_corpus(context, out))


def build(
    databases: str | Path | None = None,
    *,
    config: BuildConfig | None = None,
    run: RunConfig | None = None,
    progress: Reporter = silent,
    **settings: Any,
) -> Build:
    """Build a corpus and return its version with what each stage did.

    Give a path and settings (`build("my.sqlite", size=500, seed=1)`), or a whole `BuildConfig`.

    Raises `ConfigError` when it cannot start. A database, query or question that fails is listed in `problems` or
    in the version's `rejected/`, and stops nothing.
    """
    if config is None:
        if databases is None:
            raise ConfigError("give a path to databases, or a BuildConfig")
        config = BuildConfig.from_dict({"databases": str(databases)} | settings)
    elif settings or databases is not None:
        given = {"databases": str(databases)} if databases is not None else {}
        config = BuildConfig.from_dict(config.to_dict() | settings | given)
    run = run or RunConfig()
    context = prepare(config, run)
    reports = tuple(run_stage(name, context, run.workers, progress) for name in STAGES)
    version = write_corpus(context, run.out)
    found = context.work.read_json("catalog.json")
    problems = (*found["problems"], *(problem for report in reports for problem in report.problems))
    notes = (*found["notes"], *(note for report in reports for note in report.notes), *_taken_over(reports))
    return Build(version, reports, problems, notes, complete=int(version.manifest["counts"]["examples"]) >= config.size)


def _taken_over(reports: tuple[StageReport, ...]) -> list[str]:
    taken = {r.stage: r.figures for r in reports if r.figures.get(reuse.TAKEN)}
    counts = [f"{stage} {found[reuse.TAKEN]:,.0f} of {found[reuse.SHARDS]:,.0f}" for stage, found in taken.items()]
    return [f"shards taken over from earlier builds: {', '.join(counts)}"] if counts else []


def _only(catalog: Catalog, wanted: tuple[str, ...]) -> Catalog:
    """The databases that are wanted, with what there is to say of these: unusable files of theirs are left out, and of
    others nothing is.
    """
    known = {database.db_id for database in catalog.databases}
    missing = sorted(set(wanted) - known)
    if missing:
        raise ConfigError(
            f"{catalog.root}: no database named {', '.join(missing)} that can be used; there are "
            f"{', '.join(sorted(known))}{_reasons(catalog)}"
        )
    databases = tuple(database for database in catalog.databases if database.db_id in wanted)
    others = [PurePosixPath(one.relative_path) for one in catalog.databases if one.db_id not in wanted]
    files = [PurePosixPath(database.relative_path) for database in databases if database.layout == "files"]

    def is_told(problem: Problem) -> bool:
        lies_in = PurePosixPath(problem.path).is_relative_to
        return any(map(lies_in, files)) if problem.left_out else not any(map(lies_in, others))

    return replace(catalog, databases=databases, problems=tuple(filter(is_told, catalog.problems)))


def _reasons(catalog: Catalog) -> str:
    return "".join(f"\n  {problem}" for problem in catalog.problems if problem.left_out)


def _source(database: Any, config: BuildConfig) -> dict[str, Any]:
    return {
        "db_id": database.db_id,
        "dialect": database.dialect,
        "relative_path": database.relative_path,
        "content_hash": database.content_hash,
        "shareable": False,  # nobody has said so; publishing asks (DESIGN section 5)
        "values": config.values,
    }


def funnel(reports: tuple[StageReport, ...]) -> pl.DataFrame:
    """One row a stage: rows in, rows out, seconds, rate (null where nothing was left to make)."""
    return pl.DataFrame(
        [
            {
                "stage": r.stage,
                "in": r.rows_in,
                "out": r.rows_out,
                "seconds": round(r.seconds, 2),
                "per_second": round(r.rate, 1) if r.rows_made else None,
            }
            for r in reports
        ]
    )

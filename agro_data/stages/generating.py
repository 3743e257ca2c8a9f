"""The stages `profiles`, `candidates` and `verified`: what is sampled until enough of it holds.

`verified` decides how many candidates are needed: it tops up, round after round, the databases that have not yet
given their share, until the sum suffices or nothing new is found.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil
from pathlib import Path

import polars as pl

from agro_data.databases.hostile.sandbox import own_sandbox
from agro_data.databases.types import STEPS, Database, Limits
from agro_data.progress import Reporter
from agro_data.stages import shares, tally, yields
from agro_data.stages.context import Context
from agro_data.stages.model import spending
from agro_data.stages.running import StageCounts, failures, files, lacking, run
from agro_data.stages.shard.synthesised import made
from agro_data.stages.shard.verified import verified
from agro_data.stages.task import Task
from agro_data.verify.chance.shuffled_copy import shuffled_or_none
from agro_data.work import Work

ACCEPTANCE = 0.85  # expected before anything is known
ROUNDS = 12


# --- profiles ----------------------------------------------------------------------------------------------------


def run_profiles(context: Context, workers: int, progress: Reporter) -> StageCounts:
    """Profile every database; one that cannot be profiled is left out with its reason."""
    tasks = [Task(context, database.db_id) for database in context.databases()]
    outcomes = run(_profile, tasks, workers, "profiles", "databases", progress)
    problems = [f"{o.task.db_id}: cannot be profiled, left out: {o.error}" for o in outcomes if o.error]
    usable = [o.task.db_id for o in outcomes if o.answer]
    for outcome in outcomes:
        if outcome.answer == 0:
            problems.append(f"{outcome.task.db_id}: no table with rows, left out")
    context.work.write_json("usable.json", usable)
    tables = sum(o.answer or 0 for o in outcomes)
    # A stand-in lacks what is hidden in its source, so the files beside the source do not fit it; `prepare` has told.
    told = usable if context.config.values == "source" else []
    profiles = [(db_id, context.profile(db_id)) for db_id in told]
    notes = [f"{db_id}: {note}" for db_id, profile in profiles for note in profile.problems]
    return StageCounts(len(tasks), len(usable), figures={"tables": tables}, problems=problems, notes=notes)


def _profile(task: Task) -> int:
    """Number of tables with rows."""
    with task.context.reading(task.db_id):
        profile = task.context.profile(task.db_id)
    return sum(table.rows > 0 for table in profile.tables)


# --- candidates and verified -------------------------------------------------------------------------------------


def run_candidates(context: Context, workers: int, progress: Reporter) -> StageCounts:
    """First round: every database is asked for an equal share, or for its share in the focus."""
    weights = shares.weights(context)
    share = shares.wanted(context) / max(len(weights), 1) / ACCEPTANCE
    # One shard each: whether a database has more to give is known once these are verified.
    first = {db_id: min(shares.steady(ceil(share * weight)), shares.SHARD) for db_id, weight in weights.items()}
    problems = make(
        [t for db_id, count in first.items() for t in shares.split(context, db_id, 0, count)], workers, progress
    )
    return StageCounts(
        sum(first.values()),
        tally.different(context.work, "candidates"),
        tally.reasons(context.work, "candidates"),
        spending(context.work, "candidates"),
        problems=problems,
    )


def run_verified(context: Context, workers: int, progress: Reporter) -> StageCounts:
    """Verify what there is, then top up databases that lack, while that finds anything new."""
    problems: list[str] = []
    for number in range(ROUNDS):
        waiting = lacking(context, "candidates", "verified")
        waiting.sort(key=_bulk, reverse=True)  # the slowest first, so that no worker is left alone with it at the end
        problems += failures(
            run(verify, waiting, workers, "verified", "candidates", progress, candidates_in, reads=read_to_verify)
        )
        more = planned(context, f"{number:02d}", _top_up)
        if not more:
            break
        problems += make(more, workers, progress)
    given = shares.accepted(context).values()
    return StageCounts(
        tally.different(context.work, "candidates"),
        sum(given),
        tally.reasons(context.work, "verified"),
        {"databases": float(sum(n > 0 for n in given))},
        problems,
    )


def candidates_in(task: Task) -> int:
    """How many candidates a shard has."""
    return tally.rows(task.context.work, "candidates", [task.shard])


def _bulk(task: Task) -> int:
    """Bytes of the database: what a shard costs grows with it."""
    return sum(size for _, size, *_ in task.context.database(task.db_id).seen)


def _top_up(context: Context) -> list[Task]:
    """Candidate shards for the databases that have not given their share and can still give."""
    return shares.top_up(context, shares.accepted(context), shares.wanted(context))


def planned(context: Context, name: str, top_up: Callable[[Context], Sequence[Task]]) -> list[Task]:
    """The shards of the round `name`. Written down before the first is made: a build that is stopped among them goes
    on with the same plan, whatever it has made of it.
    """
    plan = f"rounds/{name}.json"
    if not (context.work.root / plan).exists():
        context.work.write_json(plan, [[task.db_id, task.shard, task.count] for task in top_up(context)])
    return [Task(context, db_id, shard, count) for db_id, shard, count in context.work.read_json(plan)]


def make(tasks: Sequence[Task], workers: int, progress: Reporter) -> list[str]:
    """Sample the candidates of the shards that lack them; a line for each shard that failed."""
    waiting = [t for t in tasks if not t.context.work.finished("candidates", t.shard)]
    # A model is loaded once, in a process of its own, and asked by nobody else.
    alone = bool(waiting) and waiting[0].context.config.generator in ("llm", "both")
    return failures(
        run(
            _sample,
            waiting,
            1 if alone else workers,
            "candidates",
            "queries",
            progress,
            lambda task: task.count,
            reads=_nothing,
            beside=yields.beside_candidates,
            isolate=alone,
        )
    )


def _nothing(task: Task) -> list[Path]:
    return []


def _sample(task: Task) -> int:
    context = task.context
    frame, refused = made(context, task.db_id, task.shard, task.count)
    context.work.write("candidates", task.shard, frame, refused)
    return frame.height


def verify(task: Task) -> int:
    """Verify the candidates of one shard that no earlier round has tried; how many hold."""
    context = task.context
    earlier = _tried_before(context.work, task)
    new = context.work.read("candidates", task.shard).filter(~pl.col("candidate_id").is_in(sorted(earlier)))
    sandbox = own_sandbox(Limits(seconds=context.seconds, steps=STEPS))
    with context.reading(task.db_id) as database:
        again = shuffled(context, database)
        frame, refused = verified(new, database, context.profile(task.db_id), sandbox, again)
    context.work.write("verified", task.shard, frame, refused)
    return frame.height


def read_to_verify(task: Task) -> list[Path]:
    """The files that `verify` reads."""
    work = task.context.work
    return files(work, "candidates", [task.shard, *_earlier(work, task)])


def _tried_before(work: Work, task: Task) -> set[str]:
    """What earlier rounds have asked of the database; shards of one round do not wait for each other."""
    return tally.ids(work, "candidates", _earlier(work, task))


def _earlier(work: Work, task: Task) -> list[str]:
    if tally.round_of(task.shard) == 0:
        return []
    shards = tally.by_database(work, "candidates")[task.db_id]
    return [shard for shard in shards if tally.round_of(shard) < tally.round_of(task.shard)]


def shuffled(context: Context, database: Database) -> Database | None:
    """The row-shuffled copy; None where none can be made, and the check `row_order` is then missing from the rows."""
    return shuffled_or_none(database, context.cache / "shuffled", seed=context.config.seed)


def recount(context: Context) -> None:
    """Bring the counts of finished stages up to date, after further shards were added to them."""
    work = context.work
    before: int | None = None
    for stage in ("candidates", "verified", "questions", "distinct"):
        counts = work.read_json(f"{stage}.json")
        given = tally.rows(work, stage) if stage == "distinct" else tally.different(work, stage)
        counts |= {"out": given, "reasons": tally.reasons(work, stage)}
        counts["figures"] |= spending(work, stage)
        if before is not None:
            counts["in"] = before
        work.write_json(f"{stage}.json", counts)
        before = given

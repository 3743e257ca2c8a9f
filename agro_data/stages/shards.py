"""The stages that work shard by shard in worker processes: profiles, candidates, verified; `stages.saying`,
`stages.certifying` and `stages.embedding` have those that follow.

`verified` decides how many candidates are needed: it tops up, round after round, the databases that have not yet
given their share, until the sum suffices or nothing new is found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from math import ceil
from pathlib import Path

import polars as pl

from agro_data import parallel
from agro_data.databases.sandbox import own_sandbox
from agro_data.databases.types import STEPS, Database, Limits
from agro_data.progress import Reporter, counting
from agro_data.stages import reuse, tally, yields
from agro_data.stages.asking import spending
from agro_data.stages.context import Context
from agro_data.stages.synthesised import made
from agro_data.stages.verified import verified
from agro_data.verify.determinism import shuffled_or_none
from agro_data.work import Work, write_text

SHARD = 1_000  # candidates; a worker holds one shard in memory
ACCEPTANCE = 0.85  # expected before anything is known
ROUNDS = 12
LEAST = 10  # candidates of a round: of fewer, that none is new would not say that a database has come to its end
STEADY = 4  # binary digits of a share that count
FAILURES = "failures"  # below the work folder: a traceback for each shard that raised, by stage
WORTHWHILE = 0.05  # a round that adds less than this share of what it tried has found the end of a database


@dataclass(frozen=True)
class Outcome:
    """Counts of a whole stage, over this run and the ones it continues."""

    rows_in: int
    rows_out: int
    reasons: dict[str, int] = field(default_factory=dict)
    figures: dict[str, float] = field(default_factory=dict)
    problems: Sequence[str] = ()  # what was lost
    notes: Sequence[str] = ()  # what is worth knowing, and nothing was lost by


@dataclass(frozen=True)
class Task:
    """One shard of one stage, made from the shards `parts`. `count` is what is asked of it: candidates, or, in
    `distinct`, the most rows of one skeleton."""

    context: Context
    db_id: str
    shard: str = ""
    count: int = 0
    parts: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.db_id}, shard {self.shard}" if self.shard else self.db_id


def wanted(context: Context) -> int:
    """Verified queries to aim for, so that selection has a choice."""
    return ceil(context.config.size / context.config.styles_per_sql * context.config.oversample)


def steady(share: int) -> int:
    """`share` or up to an eighth more, one of few values: a query more or less in one database shall not move the
    shares of all others, whose shards would then have to be made again."""
    step = 1 << max(share.bit_length() - STEADY, 0)
    return ceil(share / step) * step


# --- profiles ----------------------------------------------------------------------------------------------------


def run_profiles(context: Context, workers: int, progress: Reporter) -> Outcome:
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
    notes = [f"{db_id}: {note}" for db_id in told for note in context.profile(db_id).problems]
    return Outcome(len(tasks), len(usable), figures={"tables": tables}, problems=problems, notes=notes)


def _profile(task: Task) -> int:
    """Number of tables with rows."""
    with task.context.reading(task.db_id):
        profile = task.context.profile(task.db_id)
    return sum(table.rows > 0 for table in profile.tables)


def usable(context: Context) -> list[str]:
    """Ids of the databases that have a profile and rows."""
    return [str(db_id) for db_id in context.work.read_json("usable.json")]


# --- candidates and verified -------------------------------------------------------------------------------------


def run_candidates(context: Context, workers: int, progress: Reporter) -> Outcome:
    """First round: every database is asked for an equal share, or for that of the focus."""
    weights = _weights(context)
    share = wanted(context) / max(len(weights), 1) / ACCEPTANCE
    # One shard each: whether a database has more to give is known once these are verified.
    first = {db_id: min(steady(ceil(share * weight)), SHARD) for db_id, weight in weights.items()}
    problems = make([t for db_id, count in first.items() for t in _split(context, db_id, 0, count)], workers, progress)
    return Outcome(
        sum(first.values()),
        tally.rows(context.work, "candidates"),
        tally.reasons(context.work, "candidates"),
        spending(context.work, "candidates"),
        problems=problems,
    )


def run_verified(context: Context, workers: int, progress: Reporter) -> Outcome:
    """Verify what there is, then top up databases that lack, while that finds anything new."""
    problems: list[str] = []
    for number in range(ROUNDS):
        waiting = lacking(context, "candidates", "verified")
        waiting.sort(key=_bulk, reverse=True)  # the slowest first, so that no worker is left alone with it at the end
        problems += failures(
            run(verify, waiting, workers, "verified", "candidates", progress, _candidates_in, reads=read_to_verify)
        )
        more = _planned(context, number)
        if not more:
            break
        problems += make(more, workers, progress)
    given = _accepted(context).values()
    return Outcome(
        tally.rows(context.work, "candidates"),
        sum(given),
        tally.reasons(context.work, "verified"),
        {"databases": float(sum(n > 0 for n in given))},
        problems,
    )


def _bulk(task: Task) -> int:
    """Bytes of the database: what a shard costs grows with it."""
    return sum(size for _, size, *_ in task.context.database(task.db_id).seen)


def _accepted(context: Context) -> dict[str, int]:
    """How many different queries of each usable database have been verified."""
    shards = tally.by_database(context.work, "verified")
    return {db_id: len(tally.ids(context.work, "verified", shards.get(db_id, ()))) for db_id in usable(context)}


def _weights(context: Context) -> dict[str, float]:
    """What each usable database is asked for beside the others: a focus moves a model's requests, not the grammar's."""
    databases = usable(context)
    asked = context.config.generator in ("llm", "both")
    return dict(
        zip(databases, context.focus.arm("domain", databases) if asked else [1.0] * len(databases), strict=True)
    )


def fair_shares(available: dict[str, int], total: int, weights: Mapping[str, float]) -> dict[str, int]:
    """Share `total` among databases by weight, none above what it has; what one cannot give the others do."""
    shares: dict[str, int] = {}
    left = total
    order = sorted(available.items(), key=lambda item: (item[1] / weights[item[0]], item[0]))
    for position, (db_id, most) in enumerate(order):
        parts = sum(weights[other] for other, _ in order[position:]) / weights[db_id]
        shares[db_id] = min(most, ceil(left / parts))
        left -= shares[db_id]
    return shares


def _planned(context: Context, number: int) -> list[Task]:
    """The shards that follow the `number`-th verification. Written down before the first is made: a build that is
    stopped among them goes on with the same plan, whatever it has made of it.
    """
    name = f"rounds/{number:02d}.json"
    if not (context.work.root / name).exists():
        more = top_up(context, _accepted(context), wanted(context))
        context.work.write_json(name, [[task.db_id, task.shard, task.count] for task in more])
    return [Task(context, db_id, shard, count) for db_id, shard, count in context.work.read_json(name)]


def top_up(context: Context, accepted: dict[str, int], ceiling: int) -> list[Task]:
    """Candidate shards of the next round, so that the databases, which have given `accepted` each, give `ceiling`
    together: for those that lack and can still give.
    """
    asked_of = tally.by_database(context.work, "candidates")
    open_ended = {
        db_id: n if _exhausted(context, asked_of.get(db_id, [])) else ceiling for db_id, n in accepted.items()
    }
    tasks: list[Task] = []
    for db_id, share in fair_shares(open_ended, ceiling, _weights(context)).items():
        missing = steady(share) - accepted[db_id]
        if missing > 0 and open_ended[db_id] == ceiling:
            shards = asked_of.get(db_id, [])
            tried = len(tally.ids(context.work, "candidates", shards))
            rate = max(accepted[db_id] / max(tried, 1), 0.1)
            # At most as many again: the end of a small database is met early, not after its whole share was asked.
            asked = min(max(ceil(missing / rate), LEAST), max(tried, SHARD))
            tasks += _split(context, db_id, max(map(tally.round_of, shards), default=-1) + 1, asked)
    return tasks


def _exhausted(context: Context, shards: Sequence[str]) -> bool:
    """Whether the last round of a database, which has these shards, gave next to nothing new."""
    work = context.work
    finished = [shard for shard in shards if work.finished("verified", shard)]
    last = max(map(tally.round_of, shards), default=0)
    newest = {shard for shard in shards if tally.round_of(shard) == last}
    before = tally.ids(work, "verified", (shard for shard in finished if shard not in newest))
    new = tally.ids(work, "verified", (shard for shard in finished if shard in newest)) - before
    return len(new) < max(WORTHWHILE * len(tally.ids(work, "candidates", newest)), 1)


def _split(context: Context, db_id: str, round_: int, count: int) -> list[Task]:
    """Tasks of at most `SHARD` candidates each."""
    parts = max(ceil(count / SHARD), 1)
    return [Task(context, db_id, f"{db_id}.{round_:02d}.{n:03d}", ceil(count / parts)) for n in range(parts)]


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
    chain = ("candidates", "verified", "questions", "distinct")
    for before, stage in zip((None, *chain), chain, strict=False):
        counts = work.read_json(f"{stage}.json")
        given = sum(_accepted(context).values()) if stage == "verified" else tally.rows(work, stage)
        counts |= {"out": given, "reasons": tally.reasons(work, stage)}
        counts["figures"] |= spending(work, stage)
        if before is not None:
            counts["in"] = tally.rows(work, before)
        work.write_json(f"{stage}.json", counts)


# --- shared ------------------------------------------------------------------------------------------------------


def run(
    function: Callable[[Task], int],
    tasks: Sequence[Task],
    workers: int,
    stage: str,
    unit: str,
    progress: Reporter,
    amount: Callable[[Task], int] = lambda task: 1,
    *,
    isolate: bool = False,
    reads: reuse.Reads | None = None,
    beside: reuse.Beside = reuse.no_files,
) -> list[parallel.Outcome[Task, int]]:
    """Run shards; progress counts the `unit`s that each holds, since shards differ in size.

    With `reads`, the files that `function` reads, shards that another build has finished are linked and not run.
    Raises `parallel.ShardsLost` once all are tried when the process of one died, and died again: what later stages
    made without it would stay, and its version would pass for the whole one.
    """
    add = counting(progress, stage, sum(amount(task) for task in tasks), unit)
    if reads is not None:
        there, tasks = reuse.take_over(stage, tasks, reads, beside)
        for task in there:
            add(amount(task))
    outcomes = [
        _noted(stage, outcome)
        for outcome in parallel.run_shards(
            function, tasks, workers, lambda outcome: add(amount(outcome.task)), isolate=isolate
        )
    ]
    lost = [outcome for outcome in outcomes if outcome.lost]
    if lost:
        raise parallel.ShardsLost(lost)
    return outcomes


def _noted(stage: str, outcome: parallel.Outcome[Task, int]) -> parallel.Outcome[Task, int]:
    """The outcome; of one that raised the traceback stays in the work folder until its shard is made, and is named."""
    task = outcome.task
    path = task.context.work.root / FAILURES / stage / f"{task.shard or task.db_id}.txt"
    with suppress(OSError):  # what went wrong is said even where no file can be written
        if outcome.trace:
            write_text(path, outcome.trace)
            return replace(outcome, error=f"{outcome.error}; {path} shows how it came to that")
        path.unlink(missing_ok=True)
    return outcome


def files(work: Work, stage: str, shards: Iterable[str]) -> list[Path]:
    """The files of finished shards."""
    return [work.path(stage, f"{shard}.parquet") for shard in shards]


def _candidates_in(task: Task) -> int:
    return tally.rows(task.context.work, "candidates", [task.shard])


def lacking(context: Context, source: str, target: str) -> list[Task]:
    """A task for each shard of `source` that has none of `target` yet."""
    work = context.work
    return [Task(context, tally.database_of(s), s) for s in work.shards(source) if not work.finished(target, s)]


def failures(outcomes: Sequence[parallel.Outcome[Task, int]]) -> list[str]:
    """A line for each shard that failed."""
    return [f"{o.task}: {o.error}" for o in outcomes if o.error]

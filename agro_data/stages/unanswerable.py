"""Questions that the database shown does not answer in one way: a share of the chosen rows is turned into them.

They are made after the selection, of rows that it chose: size, splits and diversity stay as they are. Where something
is hidden the row keeps its question and SQL, so what was found of duplicates and excluded files stays true. A question
with several readings is a new one, and is held to both here; its readings, too, where splits are by skeleton.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import cycle
from math import ceil
from pathlib import Path
from typing import Any

import polars as pl

from agro_data.databases.hostile.sandbox import own_sandbox
from agro_data.databases.types import STEPS, Limits
from agro_data.diversity.decontamination import decontaminate, exclusion
from agro_data.diversity.normal_forms import normal_question
from agro_data.hashing import seed_of
from agro_data.intent.ambiguous import MOST
from agro_data.progress import Reporter
from agro_data.records import UNANSWERED
from agro_data.sql.facts import sql_facts
from agro_data.stages import generating, running
from agro_data.stages.certifying import FOLDER, instance_file
from agro_data.stages.context import Context
from agro_data.stages.shard.unanswered import AMBIGUOUS, KINDS, Row, ambiguous, withheld
from agro_data.stages.task import Task
from agro_data.verify.certificates.budget import Budget
from agro_data.verify.certificates.certifier import Certifier
from agro_data.verify.certificates.pool import FILES, LIMITS, room
from agro_data.work import Work

CHOSEN = "chosen"  # below the work folder: the rows that the selection chose, before any is turned
STAGE = "unanswerable"
SPARE = 2  # made of each kind in each database, for each that would be its share: some databases give none
PREFIX = "u-"  # of the instances that further readings are certified on
MOST_FILES = 16  # for them, of those that a database's rows leave
KEY = ["candidate_id", "style"]


def turn(
    context: Context, said: pl.DataFrame, by_skeleton: bool, workers: int, progress: Reporter
) -> tuple[pl.DataFrame, dict[str, int], list[str]]:
    """`said` (`records.SELECTED`) with its share of questions without one answer; how many of each kind; problems."""
    wanted = {split: round(context.config.unanswerable * len(part)) for (split,), part in _by(said, "split")}
    if not any(wanted.values()):
        return said, {}, []
    tasks: list[Task] = []
    for (db_id,), part in _by(said, "db_id"):
        context.work.write(CHOSEN, str(db_id), part)
        count = ceil(SPARE * context.config.unanswerable * part.height)
        tasks.append(Task(context, str(db_id), str(db_id), count))
    waiting = [task for task in tasks if not context.work.finished(STAGE, task.shard)]
    outcomes = running.run(_make, waiting, workers, STAGE, "databases", progress, reads=_read, beside=_beside)
    made = _made(context.work, [task.shard for task in tasks])
    taken = _taken(made, said, wanted, by_skeleton, context)
    turned = _turned(said, pl.DataFrame(taken, schema=UNANSWERED))
    return turned, dict(sorted(Counter(one["kind"] for one in taken).items())), running.failures(outcomes)


def _by(frame: pl.DataFrame, column: str) -> Iterator[tuple[tuple[Any, ...], pl.DataFrame]]:
    yield from frame.sort(column, *KEY).group_by(column, maintain_order=True)


# --- database by database ------------------------------------------------------------------------------------------


def _make(task: Task) -> int:
    """Turn rows of one database, more than are wanted of each kind; how many could be."""
    context = task.context
    rows = context.work.read(CHOSEN, task.shard).filter(pl.col("intent") != "").to_dicts()
    rows.sort(key=lambda row: seed_of(context.config.seed, STAGE, *(row[name] for name in KEY)))
    profile, sandbox = context.profile(task.db_id), own_sandbox(Limits(seconds=context.seconds, steps=STEPS))
    with context.reading(task.db_id) as database:
        found = withheld(rows, database, profile, sandbox, task.count)
        found += ambiguous(
            rows,
            database,
            profile,
            sandbox,
            generating.shuffled(context, database),
            task.count,
            certifier=_certifier(task, rows) if context.config.certify else None,
        )
    context.work.write(STAGE, task.shard, pl.DataFrame(found, schema=UNANSWERED))
    return len(found)


def _certifier(task: Task, rows: Sequence[Row]) -> Certifier:
    """One that may use what the chosen rows leave of the files and bytes of their database."""
    context = task.context
    named = sorted({name for row in rows for name in row["instances"]})
    size = sum(instance_file(context.work, name).stat().st_size for name in named)
    profile = context.profile(task.db_id)
    return Certifier(
        context.database(task.db_id),
        profile,
        own_sandbox(LIMITS),
        context.work.root / FOLDER / task.db_id,
        seed_of(context.config.seed, STAGE, task.db_id),
        Budget(files=max(min(MOST_FILES, FILES - len(named)), 1), bytes=max(room(len(profile.tables)) - size, 0)),
        PREFIX,
        context.config.min_kill_rate,
    )


def _read(task: Task) -> list[Path]:
    return running.files(task.context.work, CHOSEN, [task.shard])


def _beside(work: Work, shard: str) -> list[str]:
    """The instances of further readings."""
    return [f"{FOLDER}/{name}" for name in _files(work.read(STAGE, shard))]


def _files(made: pl.DataFrame) -> list[str]:
    further = made.select(pl.col("readings").list.slice(1).alias("reading")).explode("reading").drop_nulls()
    names = further.select(pl.col("reading").struct.field("instances").explode())["instances"]
    return [str(name) for name in names.drop_nulls().unique().sort()]


# --- all together --------------------------------------------------------------------------------------------------


def _made(work: Work, names: Sequence[str]) -> pl.DataFrame:
    frames = [work.read(STAGE, name) for name in names if work.finished(STAGE, name)]
    return pl.concat([pl.DataFrame(schema=UNANSWERED), *frames])


def _taken(
    made: pl.DataFrame, said: pl.DataFrame, wanted: dict[str, int], by_skeleton: bool, context: Context
) -> list[Row]:
    """What is turned: in each split as many of each kind as there are, and no row twice."""
    seed, chosen = context.config.seed, said.select(*KEY, "split", "dialect", "db_id")
    placed = made.join(chosen.drop("db_id"), on=KEY, how="inner", maintain_order="left")
    allowed = _allowed(placed, said, by_skeleton, context)
    ordered = sorted(allowed, key=lambda one: seed_of(seed, one["kind"], *(one[name] for name in KEY)))
    waiting: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for one in reversed(ordered):
        waiting[one["split"], one["kind"]].append(one)
    taken: list[Row] = []
    used: set[tuple[str, ...]] = set()
    for split, count in sorted(wanted.items()):
        left = count
        for kind in cycle(reversed(KINDS)):  # ambiguous ones first: fewest rows can be
            pool = waiting[split, kind]
            while pool and (key := tuple(pool[-1][name] for name in (*KEY, "split"))) in used:
                pool.pop()
            if left and pool:
                used.add(key)
                taken.append({name: value for name, value in pool.pop().items() if name in UNANSWERED})
                left -= 1
            if not left or not any(waiting[split, other] for other in KINDS):
                break
    return taken


def _allowed(placed: pl.DataFrame, said: pl.DataFrame, by_skeleton: bool, context: Context) -> list[Row]:
    """Those that are no duplicates, are not excluded, and share no skeleton with another split."""
    asked = {normal_question(question) for question in said["question"]}
    homes: dict[str, set[str]] = defaultdict(set)
    for skeleton, split in said.select("skeleton", "split").iter_rows():
        homes[skeleton].add(split)
    found: list[Row] = []
    for one in _not_excluded(placed, context).to_dicts():
        if one["kind"] == AMBIGUOUS:
            question = normal_question(one["question"])
            schema = context.profile(one["db_id"]).schema
            skeletons = {sql_facts(reading["sql"], one["dialect"], schema).skeleton for reading in one["readings"]}
            elsewhere = by_skeleton and any(homes[skeleton] - {one["split"]} for skeleton in skeletons)
            if question in asked or elsewhere:
                continue
            asked.add(question)
            for skeleton in skeletons:
                homes[skeleton].add(one["split"])
        found.append(one)
    return found


def _not_excluded(placed: pl.DataFrame, context: Context) -> pl.DataFrame:
    """Without new questions and readings that the files to exclude hold."""
    if not context.config.exclude:
        return placed
    new = placed.filter(pl.col("kind") == AMBIGUOUS)
    texts = new.select(*KEY, "db_id", "question", pl.col("readings").alias("reading")).explode("reading")
    texts = texts.with_columns(sql=pl.col("reading").struct.field("sql"), plausibility=pl.lit(0.0)).drop("reading")
    excluded = exclusion([Path(path) for path in context.config.exclude])
    bad: set[tuple[str, str]] = set()
    for number in range(MOST):  # `decontaminate` knows one SQL of each row
        one = texts.group_by(*KEY, maintain_order=True).agg(pl.all().get(number, null_on_oob=True))
        one = one.drop_nulls("sql")
        bad |= set(one.join(decontaminate(one, excluded).kept, on=KEY, how="anti").select(KEY).iter_rows())
    keep = [row["kind"] != AMBIGUOUS or (row["candidate_id"], row["style"]) not in bad for row in placed.to_dicts()]
    return placed.filter(pl.Series(keep, dtype=pl.Boolean))


def _turned(said: pl.DataFrame, taken: pl.DataFrame) -> pl.DataFrame:
    """`said` with the rows of `taken` in their new form."""
    others = taken.select(*KEY, "kind", "question", "evidence", "hidden", "readings", "clarification")
    joined = said.join(others, on=KEY, how="left", suffix="_new", maintain_order="left")
    is_new, is_ambiguous = pl.col("kind").is_not_null(), pl.col("kind") == AMBIGUOUS
    other_sql = pl.col("readings_new").list.eval(pl.element().struct.field("sql")).list.slice(1)
    changed = [pl.when(is_new).then(pl.col(f"{name}_new")).otherwise(pl.col(name)).alias(name) for name in NEW]
    return joined.with_columns(
        *changed,
        answerable=is_new.not_(),
        alternatives=pl.when(is_ambiguous).then(other_sql).otherwise(pl.col("alternatives")),
    ).select(said.columns)


NEW = ("question", "evidence", "hidden", "readings", "clarification")


def further_readings(work: Work, chosen: pl.DataFrame) -> pl.DataFrame:
    """The certificates of the further readings that `chosen` (`records.SELECTED`) rows have, one row a reading.

    Columns: db_id, example_id (the reading's), instances, digests, mutants.
    """
    made = _made(work, work.shards(STAGE)).filter(pl.col("kind") == AMBIGUOUS)
    whole = chosen.filter(pl.col("readings").list.len() > 0).select(KEY)
    found = made.join(whole, on=KEY, how="semi", maintain_order="left")
    each = found.select("db_id", "readings", "digests", "mutants").explode("readings", "digests", "mutants")
    each = each.with_columns(
        example_id=pl.col("readings").struct.field("reading_id"), instances=pl.col("readings").struct.field("instances")
    )
    columns = each.select("db_id", "example_id", "instances", "digests", "mutants")
    return columns.filter(pl.col("digests").list.len() > 0)  # the first reading's stand with its row

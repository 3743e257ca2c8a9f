"""The stage `certified`: batches of each database's distinct rows, and as many further rows as failed.

A database is cut into batches that run side by side; the files and bytes that its pool may have are shared out among
them. When fewer rows hold than are asked for, databases that can still give are asked for more, which then pass
through the stages before: rows that fail here are made up for as those that fail in `verified` are.
"""

from __future__ import annotations

from math import ceil
from pathlib import Path

import polars as pl

from agro_data.databases.hostile.sandbox import own_sandbox
from agro_data.hashing import seed_of
from agro_data.progress import Reporter
from agro_data.records import CERTIFIED, DISTINCT
from agro_data.stages import generating, running, saying, shares, tally
from agro_data.stages.context import Context
from agro_data.stages.running import StageCounts
from agro_data.stages.shard.certified import certified, uncertified
from agro_data.stages.task import Task
from agro_data.verify.certificates.budget import budget_of
from agro_data.verify.certificates.certifier import Certifier
from agro_data.verify.certificates.pool import LIMITS
from agro_data.work import Work

FOLDER = "instances"  # below the work folder, one folder a database
BATCH = 150  # golds, about; they share files
BATCHES = 8  # of one database, at most: each needs files of its own
ROUNDS = 3  # the first, and what makes up for rows that fail
SHARE = 4  # each round has a fourth of the files that the one before had
SPARE = 1.1  # certified queries for each that is asked for, so that selection has a choice
UNMADE = "unmade"  # below the work folder: instances that could not be made, by shard


def run_certified(context: Context, workers: int, progress: Reporter) -> StageCounts:
    """Certify every distinct row, then make up for those that fail."""
    work = context.work
    problems: list[str] = []
    for number in range(ROUNDS):
        waiting = [task for task in _batches(context, number) if not work.finished("certified", task.shard)]
        problems += running.failures(
            running.run(
                *(_certify, waiting, workers, "certified", "queries", progress, lambda task: task.count),
                reads=_read_to_certify,
                beside=_beside,
            )
        )
        if number == ROUNDS - 1 or not context.config.certify:
            break
        more = generating.planned(context, f"certified.{number:02d}", _top_up)
        if not more:
            break
        problems += _make_up(more, number + 1, workers, progress)
    return StageCounts(
        tally.rows(work, "distinct"),
        tally.rows(work, "certified"),
        tally.reasons(work, "certified"),
        _figures(work),
        problems=problems,
        notes=_unmade(work),
    )


def _unmade(work: Work) -> list[str]:
    files = sorted((work.root / UNMADE).glob("*.json"))
    return [line for file in files for line in work.read_json(f"{UNMADE}/{file.name}")]


# --- batches -------------------------------------------------------------------------------------------------------


def _batches(context: Context, number: int) -> list[Task]:
    """The batches of one round, over all databases."""
    tasks: list[Task] = []
    for db_id in shares.usable(context):
        source = _distinct(db_id, number)
        if context.work.finished("distinct", source):
            held = tally.rows(context.work, "distinct", [source])
            count = min(max(ceil(held / BATCH), 1), BATCHES)
            tasks += [
                Task(context, db_id, f"{db_id}.{number:02d}.{n:03d}", ceil(held / count), (source, str(count)))
                for n in range(count)
            ]
    return tasks


def _distinct(db_id: str, number: int) -> str:
    """The shard of `distinct` that a round certifies."""
    return db_id if number == 0 else f"{db_id}.{number:02d}.more"


def _certify(task: Task) -> int:
    context = task.context
    source, batches = task.parts[0], int(task.parts[1])
    place, number = int(task.shard.rsplit(".", 1)[1]), tally.round_of(task.shard)
    frame = context.work.read("distinct", source).gather_every(batches, place)
    if not context.config.certify:
        context.work.write("certified", task.shard, uncertified(frame))
        return frame.height
    part = (1 - 1 / SHARE) / SHARE**number / batches
    with context.reading(task.db_id) as database:
        profile = context.profile(task.db_id)
        certifier = Certifier(
            database,
            profile,
            own_sandbox(LIMITS),
            context.work.root / FOLDER / task.db_id,
            seed_of(context.config.seed, "certified", task.shard),
            budget_of(len(profile.tables)).part(part),
            f"{number}{place}-",
            context.config.min_kill_rate,
        )
        kept, refused, unmade = certified(frame, certifier)
    if unmade:
        context.work.write_json(f"{UNMADE}/{task.shard}.json", unmade)
    context.work.write("certified", task.shard, kept, refused)
    return kept.height


def _read_to_certify(task: Task) -> list[Path]:
    return running.files(task.context.work, "distinct", [task.parts[0]])


def _beside(work: Work, shard: str) -> list[str]:
    """The files of a finished batch besides its rows: its instances, and the note of those that could not be made."""
    named = work.read("certified", shard, ["instances"])["instances"].explode().drop_nulls().unique().sort()
    unmade = f"{UNMADE}/{shard}.json"
    return [*(f"{FOLDER}/{name}" for name in named), *([unmade] if (work.root / unmade).is_file() else [])]


def instance_file(work: Work, name: str) -> Path:
    """Where the instance `<db_id>/<file>` of a build lies."""
    return work.root / FOLDER / name


# --- making up for rows that fail ----------------------------------------------------------------------------------


def _top_up(context: Context) -> list[Task]:
    """Candidate shards for the databases that lack certified rows and can still give."""
    config, work = context.config, context.work
    wanted = ceil(config.size / config.styles_per_sql * SPARE)
    if tally.rows(work, "certified") >= wanted:
        return []
    by_database = tally.by_database(work, "certified")
    held = {db_id: tally.rows(work, "certified", by_database.get(db_id, [])) for db_id in shares.usable(context)}
    return shares.top_up(context, held, wanted)


def _make_up(tasks: list[Task], number: int, workers: int, progress: Reporter) -> list[str]:
    """The stages before for further candidates, up to a shard of `distinct` for each database."""
    context = tasks[0].context
    work = context.work
    problems = generating.make(tasks, workers, progress)
    made = [task for task in tasks if work.finished("candidates", task.shard)]
    waiting = [task for task in made if not work.finished("verified", task.shard)]
    verified = running.run(
        *(generating.verify, waiting, workers, "verified", "candidates", progress, generating.candidates_in),
        reads=generating.read_to_verify,
    )
    made = [task for task in made if work.finished("verified", task.shard)]
    asked = saying.ask_all([task for task in made if not work.finished("questions", task.shard)], workers, progress)
    made = [task for task in made if work.finished("questions", task.shard)]
    problems += running.failures([*verified, *asked])
    parts: dict[str, list[str]] = {}
    for task in made:
        parts.setdefault(task.db_id, []).append(task.shard)
    cap = saying.most_of_a_skeleton(context)
    further = [Task(context, db_id, _distinct(db_id, number), cap, tuple(found)) for db_id, found in parts.items()]
    waiting = [task for task in further if not work.finished("distinct", task.shard)]
    outcomes = running.run(
        _sift_further, waiting, workers, "distinct", "databases", progress, reads=_read_to_sift_further
    )
    problems += running.failures(outcomes)
    generating.recount(context)
    return problems


def _before(task: Task) -> list[str]:
    """The shards of `distinct` from the earlier rounds that asked this database for more."""
    earlier = (_distinct(task.db_id, number) for number in range(tally.round_of(task.shard)))
    return [shard for shard in earlier if task.context.work.finished("distinct", shard)]


def _read_to_sift_further(task: Task) -> list[Path]:
    work = task.context.work
    return [*running.files(work, "questions", task.parts), *running.files(work, "distinct", _before(task))]


def _sift_further(task: Task) -> int:
    """Store the further rows that say something new beside the earlier rows, which stay as they are; gives their
    number.
    """
    work = task.context.work
    before = pl.concat([pl.DataFrame(schema=DISTINCT), *(work.read("distinct", shard) for shard in _before(task))])
    kept, refused = saying.sift(task, before)
    work.write("distinct", task.shard, kept, refused)
    return kept.height


def _figures(work: Work) -> dict[str, float]:
    """How much of the mutants of all rows that hold was killed."""
    names = ["mutants_total", "mutants_killed", "mutants_equivalent"]
    frames = [work.read("certified", shard, names) for shard in work.shards("certified")]
    sums = pl.concat([pl.DataFrame(schema={n: CERTIFIED[n] for n in names}), *frames]).sum().row(0)
    total, killed, equivalent = (float(value or 0) for value in sums)
    return {
        "mutants": total,
        "kill_rate": round(killed / (total - equivalent), 4) if total > equivalent else 0.0,
        "killed_of_all": round(killed / total, 4) if total else 0.0,
    }

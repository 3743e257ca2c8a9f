"""What each arm of generation gave: how often it was asked, and how many certified rows came of it.

An arm is what makes candidates in a database (`grammar`, or `llm:simple`: a model that was asked for simple queries),
or the style that a model was asked to word a question in. How often it was asked is noted beside the shard.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import polars as pl

from agro_data.stages import tally
from agro_data.stages.shard.phrased import WRITTEN
from agro_data.work import Work

FOLDER = "asked_for"  # below the work folder: requests by arm, by stage and shard
IDENTITY = ["db_id", "candidate_id"]
Arm = tuple[str, str, str]  # stage, database, arm


def note(work: Work, stage: str, shard: str, asked: Mapping[str, int]) -> None:
    """Keep how often each arm was asked for a shard that is about to be stored."""
    if asked:
        work.write_json(_name(stage, shard), dict(sorted(asked.items())))


def beside_candidates(work: Work, shard: str) -> list[str]:
    """What belongs to a shard of `candidates` besides its file."""
    return _there(work, "candidates", shard)


def beside_questions(work: Work, shard: str) -> list[str]:
    """What belongs to a shard of `questions` besides its file."""
    return _there(work, "questions", shard)


def yields(work: Work) -> list[dict[str, Any]]:
    """{stage, db_id, arm, requests, certified}, for the manifest. The requests of the grammar are its candidates."""
    asked = _asked(work)
    if not asked:
        return []
    held = [work.read("certified", shard, IDENTITY) for shard in work.shards("certified")]
    certified = pl.concat(held).unique()
    kept: Counter[Arm] = Counter()
    for stage, column in (("candidates", "generator"), ("questions", "style")):
        made = _made(work, stage, column).join(certified, on=IDENTITY, how="semi")
        counted = made.group_by("db_id", column).len()
        kept.update({(stage, db_id, arm): rows for db_id, arm, rows in counted.iter_rows()})
    return [
        {"stage": arm[0], "db_id": arm[1], "arm": arm[2], "requests": requests, "certified": kept[arm]}
        for arm, requests in sorted(asked.items())
    ]


def _asked(work: Work) -> Counter[Arm]:
    found: Counter[Arm] = Counter()
    for stage in ("candidates", "questions"):
        for shard in work.shards(stage):
            for name in _there(work, stage, shard):
                for arm, requests in work.read_json(name).items():
                    found[stage, tally.database_of(shard), arm] += requests
    return found


def _made(work: Work, stage: str, column: str) -> pl.DataFrame:
    """The rows of a stage that an arm made, each once."""
    written = [] if stage == "candidates" else ["alignment_method"]
    frames = [work.read(stage, shard, [*IDENTITY, column, *written]) for shard in work.shards(stage)]
    rows = pl.concat(frames).unique(IDENTITY, keep="first", maintain_order=True)
    return rows.filter(pl.col("alignment_method") == WRITTEN) if written else rows


def _there(work: Work, stage: str, shard: str) -> list[str]:
    name = _name(stage, shard)
    return [name] if (work.root / name).is_file() else []


def _name(stage: str, shard: str) -> str:
    return f"{FOLDER}/{stage}/{shard}.json"

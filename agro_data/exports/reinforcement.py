"""Forms for reinforcement learning: prompts, golds, and all that a reward needs to execute and compare answers.

The databases and instances come along, so that an export is graded anywhere by `exports.grading`.
"""

from __future__ import annotations

import json
from pathlib import PurePosixPath
from typing import Any

import polars as pl

from agro_data.exports.material import Content, ExportError, Form, Material, counted, messages

ABILITY = "text-to-sql"
DATABASES = "databases.json"
GRADED = ("example_id", "db_id", "sql", "order_matters", "alternatives", "instances")  # what `grading` reads

REWARD = '''"""The reward of this export for verl: custom_reward_function.path=<this file>. Needs agro-sql."""

from pathlib import Path

from agro_data.exports.grading import Grader

GRADER = Grader(Path(__file__).resolve().parent)


def compute_score(data_source, solution_str, ground_truth, extra_info=None):
    """1.0 when the answer is right on the database and on every instance, else 0.0."""
    return GRADER.score(solution_str, {"sql": ground_truth, **extra_info})
'''


def grpo(material: Material) -> Form:
    """`data/<split>.parquet` with a conversational `prompt` for TRL's GRPOTrainer, which hands all other columns to the
    reward function; `exports.grading.Grader(folder).reward` is one.
    """
    files: dict[str, Content] = {
        f"data/{split}.parquet": rows.select(messages("prompt", "user", "prompt"), "question", "hardness", *GRADED)
        for split, rows in material.splits().items()
    }
    return Form(files | graded_on(material), counted(material.rows))


def verl(material: Material) -> Form:
    """`<split>.parquet` with verl's fields `data_source`, `prompt`, `ability`, `reward_model` and `extra_info`, and
    `reward.py`, whose `compute_score` is verl's custom reward function.
    """
    extra = [name for name in GRADED if name != "sql"]
    files: dict[str, Content] = {
        f"{split}.parquet": rows.select(
            pl.lit(f"agro-sql/{material.corpus}").alias("data_source"),
            messages("prompt", "user", "prompt"),
            pl.lit(ABILITY).alias("ability"),
            pl.struct(pl.lit("rule").alias("style"), pl.col("sql").alias("ground_truth")).alias("reward_model"),
            pl.struct(pl.col("position").alias("index"), "split", "question", *extra).alias("extra_info"),
        )
        for split, rows in material.splits().items()
    }
    return Form(files | {"reward.py": REWARD} | graded_on(material), counted(material.rows))


def graded_on(material: Material) -> dict[str, Content]:
    """The databases and instances that the rows are graded on, and `databases.json`, which says where each lies.

    If the version was made from surrogates, the source is left out: answers are graded on the instances alone.
    """
    files: dict[str, Content] = {}
    facts: dict[str, Any] = {}
    for db_id, source in material.sources.items():
        database = source.database
        facts[db_id] = {"dialect": database.dialect, "content_hash": database.content_hash, "path": None}
        facts[db_id]["schema"] = source.profile.schema
        if not material.private:
            place = database_place(db_id, database.layout)
            files[place] = database.path
            facts[db_id] |= {"path": place, "layout": database.layout}
    files |= {f"instances/{name}": material.instances / name for name in _instances(material)}
    bare = material.rows.filter(pl.col("instances").list.len() == 0)
    if material.private and bare.height:
        raise ExportError(
            f"{material.corpus} {material.version}: {bare.height} rows have no instance to be graded on, and the "
            "source of a version with --values synthetic is not given away; build it with certificates (--certify)"
        )
    files[DATABASES] = json.dumps(facts, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    return files


def database_place(db_id: str, layout: str, folder: str = "database") -> str:
    """`database/<db_id>/<db_id>.sqlite` as Spider lays databases out; a folder of files keeps its files."""
    suffix = "" if layout == "files" else f".{layout}"
    return f"{folder}/{db_id}/{db_id}{suffix}"


def _instances(material: Material) -> list[str]:
    names = material.rows["instances"].explode().drop_nulls().unique().sort().to_list()
    for name in names:
        place = PurePosixPath(name)
        if place.is_absolute() or ".." in place.parts:
            raise ExportError(f"{material.corpus} {material.version}: an instance is named {name!r}: damaged")
    return [str(name) for name in names]

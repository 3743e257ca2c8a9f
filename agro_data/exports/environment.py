"""A package that `verifiers` (0.4, its v1 interface) loads as an environment: `vf-run agro-<corpus>`."""

from __future__ import annotations

import re

import polars as pl

from agro_data.exports.material import Content, Form, Material, counted
from agro_data.exports.reinforcement import GRADED, graded_on

_PROJECT = """\
[project]
name = "{dash}"
version = "0.1.0"
description = "Text-to-SQL tasks of {corpus} {version}, graded on all their instances."
requires-python = ">=3.11"
dependencies = ["verifiers>=0.4", "agro-sql"]

[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[tool.hatch.build.targets.wheel]
packages = ["{package}"]
"""

_PACKAGE = '''"""Text-to-SQL tasks; an answer is right when it is right on the database and on every instance."""

from {package}.taskset import SqlTaskset

__all__ = ["SqlTaskset"]
'''

_TASKSET = '''"""Tasks and their reward. The splits are train, validation and test."""

import asyncio
from functools import cache
from pathlib import Path

import polars as pl
import verifiers.v1 as vf
from agro_data.exports.grading import Grader

FOLDER = Path(__file__).resolve().parent


@cache
def grader() -> Grader:
    return Grader(FOLDER)


class SqlData(vf.TaskData):
    """One question: its gold, and what an answer is held against."""

    db_id: str
    sql: str
    order_matters: bool
    alternatives: list[str]
    instances: list[str]


class SqlTask(vf.Task[SqlData]):
    @property
    def key(self) -> str:
        return self.data.id

    @vf.reward(weight=1.0)
    async def right(self, trace: vf.Trace) -> float:
        """1.0 when the last reply's query is right on the database and on every instance."""
        return await asyncio.to_thread(grader().score, trace.last_reply, self.data.model_dump())


class SqlConfig(vf.TasksetConfig):
    split: str = "train"


class SqlTaskset(vf.Taskset[SqlTask, SqlConfig]):
    def load(self) -> list[SqlTask]:
        path = FOLDER / "tasks" / f"{self.config.split}.parquet"
        if not path.is_file():
            there = ", ".join(sorted(file.stem for file in path.parent.glob("*.parquet")))
            raise ValueError(f"no split {self.config.split!r}; there are {there}")
        rows = pl.read_parquet(path).rename({"example_id": "id"}).iter_rows(named=True)
        return [SqlTask(SqlData(**row), self.config.task) for row in rows]
'''


def verifiers(material: Material) -> Form:
    """An installable package `agro_<corpus>`: `pyproject.toml`, a taskset with its reward, and what that grades on.

    Only the last reply is graded. The package needs agro-sql where it runs; `--env.taskset.split` chooses the split.
    """
    package = "agro_" + re.sub(r"\W+", "_", material.corpus.lower()).strip("_")
    names = {"package": package, "dash": package.replace("_", "-")}
    files: dict[str, Content] = {
        "pyproject.toml": _PROJECT.format(**names, corpus=material.corpus, version=material.version),
        f"{package}/__init__.py": _PACKAGE.format(**names),
        f"{package}/taskset.py": _TASKSET,
    }
    for split, rows in material.splits().items():
        files[f"{package}/tasks/{split}.parquet"] = rows.select(pl.col("prompt"), *GRADED)
    files |= {f"{package}/{name}": content for name, content in graded_on(material).items()}
    return Form(files, counted(material.rows))

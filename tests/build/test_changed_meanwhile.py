"""A database that changes while a build goes on: nothing that is read of it is kept under what it was before."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from making import make_school

from agro_data.config import STRUCTURAL, BuildConfig, RunConfig
from agro_data.parallel import ShardsLost
from agro_data.pipeline import STAGES, prepare, run_stage, write_corpus
from agro_data.publish.publication.checks import digests_replay
from agro_data.stages.context import Context

READERS = ("profiles", "verified", "certified", "selection")


def begun(school: Path) -> Context:
    make_school(school)
    config = BuildConfig(databases=str(school), size=12, embedding_model=STRUCTURAL, unanswerable=0.2)
    return prepare(config, RunConfig(out=school.parent / "out", cache=school.parent / "cache"))


def test_what_reads_a_database_refuses_one_that_has_changed(tmp_path: Path) -> None:
    school = tmp_path / "school.sqlite"
    context = begun(school)
    before = school.read_bytes()
    for stage in STAGES:
        if stage in READERS:
            with closing(sqlite3.connect(school)) as connection, connection:
                (table, *_), *_ = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
                connection.execute(f'DELETE FROM "{table}" WHERE rowid % 2')
            with pytest.raises(ShardsLost, match=r"school\.sqlite has changed since the build began"):
                run_stage(stage, context, 1)
            school.write_bytes(before)  # touched, and as it was
        run_stage(stage, context, 1)
    version = write_corpus(context, tmp_path / "out")
    assert digests_replay(version, version.examples().collect(), context.databases()).passed


def test_a_database_that_is_gone_is_no_reason_for_a_version_without_it(tmp_path: Path) -> None:
    context = begun(tmp_path / "school.sqlite")
    for stage in ("profiles", "candidates"):
        run_stage(stage, context, 1)
    (tmp_path / "school.sqlite").unlink()
    with pytest.raises(ShardsLost, match=r"school\.sqlite cannot be read any more"):
        run_stage("verified", context, 1)

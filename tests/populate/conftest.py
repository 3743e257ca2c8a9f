"""Profiles of two small databases: a school, and teams that share their ground with no other."""

from __future__ import annotations

import sqlite3

import pytest
from making import profile_of, run_sqlite
from small_databases import GROUNDS, SCHOOL

from agro_data.profiling.profile import DatabaseProfile


@pytest.fixture(scope="module")
def school(tmp_path_factory: pytest.TempPathFactory) -> DatabaseProfile:
    folder = tmp_path_factory.mktemp("school")
    con = sqlite3.connect(folder / "school.sqlite")
    con.executescript(SCHOOL)
    con.close()
    return profile_of(folder)


@pytest.fixture(scope="module")
def grounds(tmp_path_factory: pytest.TempPathFactory) -> DatabaseProfile:
    folder = tmp_path_factory.mktemp("grounds")
    run_sqlite(folder / "grounds.sqlite", GROUNDS)
    return profile_of(folder)

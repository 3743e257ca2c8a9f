"""What a query reads, said in the words of the schema."""

from __future__ import annotations

import pytest
from making import database_at, make_school

from agro_data.profiling.profile import DatabaseProfile
from agro_data.profiling.profiler import profile_database
from agro_data.sql.names.scope import resolve
from agro_data.sql.parse import parse_select
from agro_train.trajectories.schema_links import schema_links
from agro_train.trajectories.teachers import Habits, plan_trajectory


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> DatabaseProfile:
    return profile_database(database_at(make_school(tmp_path_factory.mktemp("links") / "s.sqlite")))


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("SELECT COUNT(*) FROM teacher", "teacher"),
        ("SELECT NAME FROM School", "school( name)"),
        (
            "SELECT s.name FROM teacher t JOIN school s ON t.school_id = s.school_id WHERE t.salary > 3",
            "teacher( salary, school_id), school( school_id, name)",
        ),
        (
            "SELECT name FROM school WHERE school_id IN (SELECT school_id FROM teacher)",
            "school( school_id, name), teacher( school_id)",
        ),
        (
            "WITH rich AS (SELECT name AS n, salary FROM teacher) SELECT COUNT(n) FROM rich WHERE salary > 3",
            "teacher( name, salary)",
        ),
        ("SELECT 1", ""),
    ],
)
def test_tables_come_as_in_the_query_and_columns_as_in_the_schema(
    profile: DatabaseProfile, sql: str, said: str
) -> None:
    assert schema_links(resolve(parse_select(sql, "sqlite"), "sqlite", profile.schema), profile) == said


def test_a_thought_says_them_before_the_query(profile: DatabaseProfile) -> None:
    row = {
        "example_id": "1",
        "answerable": True,
        "sql": "SELECT name FROM school",
        "steps": [{"name": "answer", "intent": "Give the names.", "sql": "SELECT name FROM school"}],
    }
    quiet = Habits(0, 0, 0)
    assert plan_trajectory(row, profile, 0, quiet).turns[0].thought == "Give the names. school( name)"
    unlinked = plan_trajectory(row, profile, 0, Habits(0, 0, 0, link=0.0))
    assert unlinked.turns[0].thought == "Give the names."

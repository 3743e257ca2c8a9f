"""Rows directed by a query, and by another that it is to be told from."""

from __future__ import annotations

import pytest
from small_databases import OF_ROME, read

from agro_data.populate.instances import instance_schema, witnesses
from agro_data.populate.instances.directed.one_row import with_names_once
from agro_data.profiling.profile import DatabaseProfile


def test_against_adds_rows_for_the_other_query(school: DatabaseProfile) -> None:
    schema = instance_schema(school)
    gold, other = read(school, OF_ROME), read(school, "SELECT name FROM student WHERE home = 'Lima'")
    alone = witnesses(gold, schema, school, 1)
    both = witnesses(gold, schema, school, 1, against=other)
    assert both[: len(alone)] == alone
    assert any(row.cells.get("home") == "Lima" for proposal in both for row in proposal.rows)


def test_the_group_that_is_kept_may_be_that_of_null(school: DatabaseProfile) -> None:
    """Else `COUNT(mentor)` and `WHERE NOT mentor IS NULL` would give what the query gives."""
    schema = instance_schema(school)  # mentor is NULL somewhere, home is not
    for column, held in (("mentor", True), ("home", False)):
        query = read(school, f"SELECT {column}, COUNT(*) FROM student GROUP BY {column} ORDER BY COUNT(*) DESC LIMIT 1")
        largest = [
            max((p.rows for p in witnesses(query, schema, school, seed) if p.kind == "group"), key=len)
            for seed in range(20)
        ]
        unknown = [all(row.cells.get(column, 0) is None for row in rows) for rows in largest]
        assert any(unknown) == held
        assert not all(unknown)


def test_what_misses_a_bound_is_often_the_bound_and_lies_alone_beyond_an_end(school: DatabaseProfile) -> None:
    schema = instance_schema(school)
    gold, other = (read(school, f"SELECT MAX(weight) FROM pet WHERE weight {sign} 4") for sign in (">", ">="))
    at_bound = alone = 0
    for seed in range(40):
        made = witnesses(gold, schema, school, seed, against=other)
        misses = [p for p in made if p.kind == "miss" and p.why == "differs in weight > 4"]
        at_bound += any(row.cells.get("weight") == 4 for p in misses for row in p.rows)
        alone += sum(p.kind == "extreme" for p in made) <= 1
    assert at_bound >= 15
    assert alone >= 10


@pytest.mark.parametrize(
    "query",
    [
        "SELECT name FROM student WHERE mentor > 0 GROUP BY name ORDER BY COUNT(mentor) DESC LIMIT 1",
        "SELECT a.name, COUNT(b.mentor) FROM student AS a JOIN student AS b ON a.id = b.mentor GROUP BY a.name",
        "SELECT mentor, COUNT(mentor) FROM student GROUP BY mentor",
    ],
)
def test_a_counted_column_that_is_asked_about_is_null_in_no_further_row(school: DatabaseProfile, query: str) -> None:
    """Else no value would meet what is asked, or all groups would be that of NULL."""
    schema, gold = instance_schema(school), read(school, query)
    for seed in range(4):
        made = [p.rows for p in witnesses(gold, schema, school, seed) if p.kind == "group"]
        unknown = [rows for rows in made if any(row.cells.get("mentor", 0) is None for row in rows)]
        assert len(made) > 2
        assert len(unknown) <= 1


def test_groups_are_ranked_otherwise_by_what_holds_null(school: DatabaseProfile) -> None:
    """A query that counts a column leaves rows out that one counting all rows counts."""
    schema = instance_schema(school)
    query = "SELECT home FROM student GROUP BY home ORDER BY COUNT({}) DESC LIMIT 1"
    gold, other = read(school, query.format("*")), read(school, query.format("mentor"))
    apart = 0
    for seed in range(10):
        groups = [p.rows for p in witnesses(gold, schema, school, seed, against=other) if p.kind == "group"]
        first = max(groups, key=len)
        apart += sum(row.cells.get("mentor", 0) is None for row in first) > 1
    assert apart > 1


def test_a_count_in_place_of_a_value_is_met_and_just_missed(school: DatabaseProfile) -> None:
    query = read(
        school, "SELECT name FROM student AS s WHERE (SELECT COUNT(*) FROM has_pet WHERE student_id = s.id) >= 3"
    )
    counts = set()
    for seed in range(20):
        for proposal in witnesses(query, instance_schema(school), school, seed):
            if proposal.kind in ("witness", "miss"):
                counts.add((proposal.kind, sum(row.table == "has_pet" for row in proposal.rows)))
    assert counts >= {("witness", 3), ("witness", 4), ("miss", 2)}


def test_groups_by_a_part_of_a_column_agree_in_that_part_alone(school: DatabaseProfile) -> None:
    """Else `GROUP BY SUBSTR(name, 1, 1)` would be GROUP BY name."""
    query = read(school, "SELECT SUBSTR(name, 1, 1), COUNT(*) FROM student GROUP BY SUBSTR(name, 1, 1)")
    several = 0
    for seed in range(20):
        for proposal in witnesses(query, instance_schema(school), school, seed):
            names = {row.cells.get("name") for row in proposal.rows} if proposal.kind == "group" else set()
            texts = [name for name in names if isinstance(name, str)]
            several += len(texts) > 1 and len({text[0] for text in texts}) == 1
    assert several >= 10


@pytest.mark.parametrize(
    ("plain", "bracketed"),
    [
        (
            "SELECT s.name FROM student AS s LEFT JOIN has_pet AS h ON s.id = h.student_id "
            "WHERE s.age > 1 AND s.home = 'Rome' AND h.pet_id IS NULL",
            "SELECT s.name FROM student AS s LEFT JOIN has_pet AS h ON s.id = h.student_id "
            "WHERE s.age > 1 AND (s.home = 'Rome' AND h.pet_id IS NULL)",
        ),
        (
            "SELECT name FROM student WHERE mentor = (SELECT id FROM student WHERE name = 'Ann' AND home = 'Rome')",
            "SELECT name FROM student WHERE mentor = (SELECT id FROM student WHERE (name = 'Ann' AND (home = 'Rome')))",
        ),
    ],
)
def test_conditions_in_brackets_are_conditions(school: DatabaseProfile, plain: str, bracketed: str) -> None:
    """A partner that is missing is met in both, and a name that stands for a row is there once."""
    one, other = read(school, plain), read(school, bracketed)
    schema = instance_schema(school)
    assert with_names_once(schema, one) == with_names_once(schema, other)
    rows = [[p.rows for p in witnesses(query, schema, school, 3) if p.kind == "witness"] for query in (one, other)]
    assert rows[0] == rows[1]

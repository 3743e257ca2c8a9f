"""Rows closed under the constraints of a schema: what shares a key is one row, and every reference has its parent."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import duckdb
from making import profile_of, run_sqlite
from small_databases import GROUNDS, OF_ROME, check, read

from agro_data.databases.types import Cell
from agro_data.populate.instances import compose, focus_of, instance_schema, random_rows
from agro_data.populate.instances.directed.proposal import PartialRow, Proposal
from agro_data.populate.schema import Rows
from agro_data.profiling.profile import DatabaseProfile


def test_a_reference_of_base_rows_that_points_nowhere_is_drawn_again(school: DatabaseProfile) -> None:
    schema = instance_schema(school)
    base: Rows = {
        "student": {"id": [7], "name": ["Eve"], "age": [30], "home": ["Bonn"], "mentor": [99]},
        "has_pet": {"student_id": [7, 8], "pet_id": [50, 51]},
    }
    check(schema, compose(schema, school, base, [], seed=1))


def test_a_proposed_null_is_drawn_where_there_is_none(school: DatabaseProfile) -> None:
    """As where a set operation wants the row of a table with NULL in a table without."""
    schema = instance_schema(school)
    wanted = Proposal("set", "", (PartialRow("student", {"id": 7, "home": None, "mentor": None}),))
    made = compose(schema, school, {}, [wanted], seed=1)
    check(schema, made)
    assert made["student"]["id"] == [7]
    assert made["student"]["mentor"] == [None]


def test_random_rows_obey_the_schema(school: DatabaseProfile) -> None:
    schema = instance_schema(school)
    rows = random_rows(schema, school, 1, 12, focus_of(read(school, OF_ROME), schema))
    check(schema, rows)
    assert len(rows["student"]["id"]) == 12
    assert 19 in rows["student"]["age"] or 20 in rows["student"]["age"]


def test_a_row_that_takes_over_the_key_of_a_third_takes_that_in_too(tmp_path: Path) -> None:
    run_sqlite(
        tmp_path / "team.sqlite",
        "CREATE TABLE player (id INTEGER PRIMARY KEY, name TEXT UNIQUE, goals INT);",
        {"player": [(n, f"n{n}", n) for n in range(9)]},
    )
    profile = profile_of(tmp_path)
    schema = instance_schema(profile)
    cells: list[dict[str, Cell]] = [{"name": "Ann"}, {"id": 71, "goals": 3}, {"id": 71, "name": "Ann"}]
    wanted = Proposal("witness", "", tuple(PartialRow("player", {**row}) for row in cells))
    rows = compose(schema, profile, {}, [wanted], seed=1)
    check(schema, rows)
    assert (71, "Ann", 3) in zip(*rows["player"].values(), strict=True)


def test_what_referred_to_a_row_that_became_another_refers_to_that(grounds: DatabaseProfile) -> None:
    """Else the games of a team that two queries name would be another team's for one of them."""
    schema = instance_schema(grounds)
    readings = [
        Proposal(
            "witness",
            "",
            (
                PartialRow("team", {"team_id": number, "name": "Reds"}),
                PartialRow("game", {"game_id": number, "home": number}),
            ),
        )
        for number in (41, 52, 63)
    ]
    rows = compose(schema, grounds, {}, readings, seed=1)
    check(schema, rows)
    assert rows["team"]["name"] == ["Reds"]
    assert rows["game"]["home"] == rows["team"]["team_id"] * 3


def test_a_row_whose_parent_may_have_no_other_takes_none_that_has_no_child(grounds: DatabaseProfile) -> None:
    """Else every ground that a query is about would have its team, as long as there are teams enough."""
    schema = instance_schema(grounds)
    empty = [PartialRow("ground", {"built": 1800 + number}) for number in range(5)]
    teams = [PartialRow("game", {"goals": 7, "home": 100 + number}) for number in range(20)]
    rows = compose(schema, grounds, {}, [Proposal("noise", "", (*empty, *teams))], seed=1)
    check(schema, rows)
    assert len(rows["team"]["team_id"]) == 20
    built = dict(zip(rows["ground"]["ground_id"], rows["ground"]["built"], strict=True))
    assert not {built[ground] for ground in rows["team"]["ground_id"]} & {1800 + number for number in range(5)}


def test_a_type_with_few_values_and_rows_already_there_cost_no_instance_its_parents(
    grounds: DatabaseProfile, tmp_path: Path
) -> None:
    with closing(duckdb.connect(tmp_path / "small.duckdb")) as con:
        con.execute(GROUNDS.replace("ground_id INT", "ground_id TINYINT").replace("TINYINTEGER", "TINYINT"))
    small = profile_of(tmp_path)
    teams = Proposal("noise", "", tuple(PartialRow("team", {}) for _ in range(200)))
    rows = compose(instance_schema(small), small, {}, [teams], seed=1)
    check(instance_schema(small), rows)
    assert len(rows["team"]["team_id"]) > 100
    schema = instance_schema(grounds)
    base = random_rows(schema, grounds, 1, 12)
    check(schema, compose(schema, grounds, base, [teams], seed=1))

"""Who refers to whom within one table: the manager of Di is not whom Di manages."""

from __future__ import annotations

import pytest
from checked_pairs import checked

from agro_data.pairs.verify import Verified, verify_pairs

SCHEMA = """
CREATE TABLE employee (id INTEGER PRIMARY KEY, name TEXT NOT NULL, manager_id INTEGER REFERENCES employee (id));
CREATE TABLE clerk (id INTEGER PRIMARY KEY, name TEXT NOT NULL, reports_to INTEGER REFERENCES clerk (id));
CREATE TABLE stop (id INTEGER PRIMARY KEY, name TEXT NOT NULL, to_id INTEGER REFERENCES stop (id),
    "hub#(" INTEGER REFERENCES stop (id));
INSERT INTO employee VALUES (1, 'Ann', NULL);
INSERT INTO employee VALUES (2, 'Bo', 1), (3, 'Cy', 1);
INSERT INTO employee VALUES (4, 'Di', 2), (5, 'Ed', 2);
INSERT INTO stop VALUES (1, 'Bo', NULL, NULL);
INSERT INTO stop VALUES (2, 'Ann', 1, 1);
INSERT INTO stop VALUES (3, 'Cy', 2, 2);
INSERT INTO clerk VALUES (1, 'Ann', NULL);
INSERT INTO clerk VALUES (2, 'Bo', 1), (3, 'Cy', 1);
INSERT INTO clerk VALUES (4, 'Di', 2);
"""
RIGHT = "FROM employee AS e JOIN employee AS m ON e.manager_id = m.id"
WRONG = "FROM employee AS e JOIN employee AS m ON m.manager_id = e.id"
CLERKS = "FROM clerk AS e JOIN clerk AS m ON e.reports_to = m.id"
ASKED = {
    "Who is the manager of Bo?": ("SELECT m.name {} WHERE e.name = 'Bo'", True),
    "What is Bo's manager called?": ("SELECT m.name {} WHERE e.name = 'Bo'", True),
    "Which employees does Bo manage?": ("SELECT e.name {} WHERE m.name = 'Bo'", True),
    "Who is managed by Bo?": ("SELECT e.name {} WHERE m.name = 'Bo'", True),
    "How is the employee called whose manager is Bo?": ("SELECT e.name {} WHERE m.name = 'Bo'", True),
    "What are the names of each employee and of their manager?": ("SELECT e.name, m.name {}", True),
    "Which employees share Bo?": ("SELECT e.name {} WHERE m.name = 'Bo'", False),  # nothing is said
}
STOPS = ("to_id", '"hub#("')  # names that say no role
BY_VERB = "SELECT e.name {} WHERE m.name = 'Bo'"


@pytest.fixture(scope="module", params=["sqlite", "duckdb"])
def verified(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Verified:
    asked = [(question, sql.format(join)) for join in (WRONG, RIGHT) for question, (sql, _) in ASKED.items()]
    turned = CLERKS.replace("e.reports_to = m.id", "m.reports_to = e.id")
    asked += [("Which clerks report to Bo?", BY_VERB.format(join)) for join in (turned, CLERKS)]
    asked += [("Who manages whom?", "SELECT e.name FROM employee AS e JOIN clerk ON e.id = reports_to")]  # unqualified
    stops = [link.format(name) for name in STOPS for link in ("m.{} = e.id", "e.{} = m.id")]
    asked += [(f"Which is Bo's by {link}?", BY_VERB.format(f"FROM stop e JOIN stop m ON {link}")) for link in stops]
    return checked(verify_pairs, tmp_path_factory.mktemp("staff"), request.param, SCHEMA, asked)


def test_a_join_that_is_turned_is_told_where_the_question_says_who_is_meant(verified: Verified) -> None:
    told = [[one for one in each.findings if one.kind == "reference_reversed"] for each in verified.checked]
    wrong = [said for _, said in ASKED.values()]
    assert [bool(some) for some in told] == [*wrong, *[False] * len(ASKED), True, False, False, *[False] * 4]
    assert not any(each.unchecked for each in verified.checked)
    assert told[0][0].witness.startswith(
        "SELECT m.name FROM employee AS e JOIN employee AS m ON e.manager_id = m.id WHERE e.name = 'Bo': "
    )

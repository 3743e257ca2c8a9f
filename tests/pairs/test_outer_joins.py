"""LEFT JOINs whose rows without a match are dropped again, or count as a match."""

from __future__ import annotations

import pytest
from checked_pairs import checked

from agro_data.pairs.audit import Audit, audit_pairs
from agro_data.pairs.report import audit_lines

SCHEMA = """
CREATE TABLE town (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE stall (id INTEGER PRIMARY KEY, name TEXT NOT NULL, town_id INTEGER REFERENCES town (id));
CREATE TABLE sale (id INTEGER PRIMARY KEY, stall_id INTEGER NOT NULL REFERENCES stall (id), year INTEGER, note TEXT);
CREATE TABLE desk (stall_id INTEGER PRIMARY KEY, wood TEXT);
CREATE TABLE drawer (id INTEGER PRIMARY KEY, stall_id INTEGER NOT NULL REFERENCES desk (stall_id));
INSERT INTO desk VALUES (1, 'oak'), (2, 'ash');
INSERT INTO drawer VALUES (1, 1), (2, 1);
CREATE TABLE item (id INTEGER PRIMARY KEY, sale_id INTEGER NOT NULL REFERENCES sale (id), price INTEGER);
INSERT INTO town VALUES (1, 'York'), (2, 'Hull'), (3, 'Bath');
INSERT INTO stall VALUES (1, 'A', 1), (2, 'B', 1), (3, 'C', 2), (4, 'D', NULL);
INSERT INTO sale VALUES (1, 1, 2020, NULL), (2, 1, 2021, 'x'), (3, 2, 2021, NULL);
INSERT INTO item VALUES (1, 1, 10), (2, 2, 5);
"""
LEFT = "FROM stall AS s LEFT JOIN sale AS x ON x.stall_id = s.id"
UNDONE = [
    ("How many sales had each stall in 2020?",
     f"SELECT s.name, COUNT(x.id) {LEFT} WHERE x.year = 2020 GROUP BY s.id, s.name",
     f"SELECT s.name, COUNT(x.id) {LEFT} AND x.year = 2020 GROUP BY s.id, s.name"),
    ("Show every stall whose name is not B, with the sales since 2020.",
     f"SELECT s.name, x.id {LEFT} WHERE s.name <> 'B' AND (x.year > 2020 OR x.year = 2020)",
     f"SELECT s.name, x.id {LEFT} AND (x.year > 2020 OR x.year = 2020) WHERE s.name <> 'B'"),
    ("Show each stall with the prices of its items.",
     f"SELECT s.name, i.price {LEFT} JOIN item AS i ON i.sale_id = x.id",
     f"SELECT s.name, i.price {LEFT} LEFT JOIN item AS i ON i.sale_id = x.id"),
]  # fmt: skip
COUNTED = [
    ("How many sales had each stall?", f"SELECT s.name, COUNT(*) {LEFT} GROUP BY s.id, s.name",
     f"SELECT s.name, COUNT(x.stall_id) {LEFT} GROUP BY s.id, s.name"),
    ("How many sales had each stall?", f"SELECT s.name, COUNT(s.id) AS n {LEFT} GROUP BY s.name ORDER BY n, s.name",
     f"SELECT s.name, COUNT(x.stall_id) AS n {LEFT} GROUP BY s.name ORDER BY n, s.name"),
    ("How many drawers has each desk?",
     "SELECT stall_id, COUNT(*) FROM desk LEFT JOIN drawer USING (stall_id) GROUP BY stall_id",
     'SELECT "desk".stall_id, COUNT("drawer"."stall_id") FROM desk LEFT JOIN drawer ON "desk"."stall_id" = '
     '"drawer"."stall_id" GROUP BY "desk".stall_id'),
    ("How many items has each sale?",
     "SELECT sale.id, COUNT(*) FROM sale LEFT JOIN item ON sale.id = item.sale_id GROUP BY sale.id",
     "SELECT sale.id, COUNT(item.sale_id) FROM sale LEFT JOIN item ON sale.id = item.sale_id GROUP BY sale.id"),
    ("Which stalls had less than 2 sales?", f"SELECT s.id {LEFT} GROUP BY s.id HAVING COUNT(1) = 1",
     f"SELECT s.id {LEFT} GROUP BY s.id HAVING COUNT(x.stall_id) = 1"),
]  # fmt: skip
RIGHT = [
    ("How many sales had each stall?", f"SELECT s.name, COUNT(x.id) {LEFT} GROUP BY s.id, s.name"),
    ("Which stalls had sales in 2020?", f"SELECT s.name {LEFT} WHERE x.year = 2020"),  # nobody asks for others
    ("Show each stall without sales.", f"SELECT s.name {LEFT} WHERE x.id IS NULL"),
    ("Show each stall with its sales.", f"SELECT s.name, x.id {LEFT} WHERE x.id IS NOT NULL"),  # as it is meant
    ("Show each stall with no sale after 2020.", f"SELECT s.name {LEFT} WHERE x.year <= 2020 OR x.id IS NULL"),
    ("Show each stall and its sales in 2020.", f"SELECT s.name, x.id {LEFT} AND x.year = 2020"),
    ("How many stalls of each name had no sale?",
     f"SELECT s.name, COUNT(*) {LEFT} WHERE x.id IS NULL GROUP BY s.name"),
    ("How many stalls has each town?",
     "SELECT t.name, COUNT(*) FROM stall AS s LEFT JOIN town AS t ON s.town_id = t.id GROUP BY t.name"),
    ("How many stalls are called by each name?",
     "SELECT s.name, COUNT(*) FROM stall AS s LEFT JOIN town AS t ON s.town_id = t.id GROUP BY s.name"),
    ("How many sales are of each year?", f"SELECT x.year, COUNT(*) {LEFT} GROUP BY x.year"),
    ("What share of each stall's sales is of 2020?",
     f"SELECT s.id, 1.0 * SUM(CASE WHEN x.year = 2020 THEN 1 ELSE 0 END) / COUNT(*) {LEFT} GROUP BY s.id"),
    ("How many sales had each stall with any?",
     "SELECT s.name, COUNT(*) FROM stall AS s JOIN sale AS x ON x.stall_id = s.id GROUP BY s.id, s.name"),
    ("How many sales had the stalls A and B each?",
     f"SELECT s.name, COUNT(*) {LEFT} WHERE s.name IN ('A', 'B') GROUP BY s.id, s.name"),  # both have some
]  # fmt: skip
FAULTY = [*UNDONE, *COUNTED]


@pytest.fixture(scope="module", params=["sqlite", "duckdb"])
def audit(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Audit:
    asked = [*((question, sql) for question, sql, _ in FAULTY), *RIGHT]
    return checked(audit_pairs, tmp_path_factory.mktemp("market"), request.param, SCHEMA, asked)


@pytest.mark.parametrize("number", range(len(FAULTY)), ids=[sql for _, sql, _ in FAULTY])
def test_what_a_left_join_is_not_written_for_is_told(audit: Audit, number: int) -> None:
    kind, other = ("left_join_undone" if number < len(UNDONE) else "none_counted"), FAULTY[number][2]
    (found,) = (
        one for one in audit.verified.checked[number].findings if one.kind in ("left_join_undone", "none_counted")
    )
    assert (found.kind, found.witness.partition(": ")[0]) == (kind, other)


@pytest.mark.parametrize("number", range(len(COUNTED)), ids=[sql for _, sql, _ in COUNTED])
def test_what_counts_as_one_is_mended(audit: Audit, number: int) -> None:
    place = len(UNDONE) + number
    assert audit.verified.checked[place].grave
    assert audit.mended[place].sql == COUNTED[number][2]


@pytest.mark.parametrize("number", range(len(RIGHT)), ids=[f"{question} {sql}" for question, sql in RIGHT])
def test_others_are_not(audit: Audit, number: int) -> None:
    found = audit.verified.checked[len(FAULTY) + number].findings
    assert not {"left_join_undone", "none_counted"} & {one.kind for one in found}


def test_what_is_lost_is_said(audit: Audit) -> None:
    says = next(one.says for one in audit.verified.checked[0].findings if one.kind == "left_join_undone")
    assert says == (
        "The question says 'each'. LEFT JOIN keeps rows without a match in sale, WHERE x.year = 2020 drops them: "
        "with the condition in ON the answer is another."
    )


def test_the_report_says_what_was_done(audit: Audit) -> None:
    assert all(step["did"] for line in audit_lines(audit) if line["repair"] for step in line["repair"]["steps"])

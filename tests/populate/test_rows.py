"""Rows: keys, dates, derived columns and cycles."""

from __future__ import annotations

from datetime import date

import pytest
from making import fan_out

from agro_data.populate.domain import load_domain
from agro_data.populate.guess import guess_hint, words_of
from agro_data.populate.hints import Number, read_table
from agro_data.populate.rows import build_rows
from agro_data.populate.schema import ColumnSpec, PopulateError, read_ddl
from agro_data.populate.writer import write_sqlite

SHOP = """
CREATE TABLE person (id INTEGER PRIMARY KEY, name TEXT NOT NULL, born DATE NOT NULL, hired DATE NOT NULL,
    boss INTEGER REFERENCES person (id), dept INTEGER NOT NULL REFERENCES dept (id));
CREATE TABLE dept (id INTEGER PRIMARY KEY, title TEXT NOT NULL UNIQUE, head INTEGER REFERENCES person (id));
CREATE TABLE project (id INTEGER PRIMARY KEY, title TEXT NOT NULL UNIQUE, cost REAL);
CREATE TABLE work (person INTEGER NOT NULL REFERENCES person (id), project INTEGER NOT NULL REFERENCES project (id),
    hours REAL NOT NULL, rate REAL NOT NULL, pay REAL NOT NULL, PRIMARY KEY (person, project));
"""


def plan(**changes):
    body = {
        "person": {
            "rows": 120,
            "columns": {
                "born": {"dates": [date(1960, 1, 1), date(2000, 1, 1)]},
                "hired": {"after": "born", "days": [6575, 12000], "until": date(2024, 1, 1)},
            },
        },
        "dept": {"rows": 8, "columns": {"head": {"parent": {"match": {"dept": "id"}}, "null": 0}}},
        "project": {"rows": 40, "columns": {"cost": {"rollup": "work.pay"}}},
        "work": {
            "rows": 400,
            "columns": {
                "hours": {"real": [1, 80]},
                "rate": {"money": [10, 90]},
                "pay": {"formula": "hours * rate"},
            },
        },
    }
    body.update(changes)
    return {table: read_table(entry, table) for table, entry in body.items()}


@pytest.fixture(scope="module")
def rows():
    return build_rows(read_ddl("firm", SHOP), plan(), 3)


def test_parents_come_first_and_everything_loads(rows, tmp_path):
    assert list(rows).index("dept") < list(rows).index("person") < list(rows).index("work")
    write_sqlite(read_ddl("firm", SHOP), rows, tmp_path / "firm.sqlite")


def test_no_one_is_hired_before_eighteen(rows):
    for born, hired in zip(rows["person"]["born"], rows["person"]["hired"], strict=True):
        assert int(hired[:4]) - int(born[:4]) >= 18
        assert hired <= "2024-01-01"


def test_chains_of_bosses_end(rows):
    boss = dict(zip(rows["person"]["id"], rows["person"]["boss"], strict=True))
    assert None in boss.values()
    for first in list(boss):
        above, steps = boss[first], 0
        while above is not None:
            above, steps = boss[above], steps + 1
            assert steps <= len(boss)


def test_a_deferred_key_meets_its_match(rows):
    dept = dict(zip(rows["person"]["id"], rows["person"]["dept"], strict=True))
    heads = [(d, h) for d, h in zip(rows["dept"]["id"], rows["dept"]["head"], strict=True) if h is not None]
    assert heads
    assert all(dept[head] == d for d, head in heads)


def test_composite_keys_are_unique_and_derived_columns_add_up(rows):
    work = rows["work"]
    assert len(set(zip(work["person"], work["project"], strict=True))) == len(work["person"]) >= 380
    for hours, rate, pay in zip(work["hours"], work["rate"], work["pay"], strict=True):
        assert pay == round(hours * rate, 2)
    totals = dict.fromkeys(rows["project"]["id"], 0.0)
    for project, pay in zip(work["project"], work["pay"], strict=True):
        totals[project] += pay
    assert rows["project"]["cost"] == pytest.approx(list(totals.values()), abs=0.01)


def test_fan_out_is_skewed(rows):
    schema = read_ddl("firm", SHOP)
    (key,) = [k for k in schema.keys_of("work") if k.ref_table == "project"]
    counts = fan_out(rows, key)
    assert counts[0] >= 2
    assert max(counts) >= 20


def test_a_change_to_one_column_leaves_the_others_alone(rows):
    changed = plan(project={"rows": 40, "columns": {"cost": {"money": [1, 2]}}})
    other = build_rows(read_ddl("firm", SHOP), changed, 3)
    assert other["project"]["title"] == rows["project"]["title"]
    assert other["project"]["cost"] != rows["project"]["cost"]
    assert other["person"] == rows["person"]


@pytest.mark.parametrize(
    ("table", "columns", "message"),
    [
        ("project", {"price": {"money": [1, 2]}}, "project has no column 'price'"),
        ("project", {"cost": {"formula": "pay * 2"}}, "project.cost"),
        ("project", {"title": {"choice": ["a", "b"]}}, "project.title: 40 different values are wanted"),
        ("project", {"cost": {"formula": "import os"}}, "import os"),
        ("project", {"cost": {"formula": "title.upper()"}}, "is not allowed"),
    ],
)
def test_errors_name_table_and_column(table, columns, message):
    with pytest.raises(PopulateError, match=message.replace("(", r"\(").replace(")", r"\)")):
        build_rows(read_ddl("firm", SHOP), plan(**{table: {"rows": 40, "columns": columns}}), 3)


def test_an_unknown_hint_is_named():
    with pytest.raises(PopulateError, match=r"clinic.yml: patient.age: expected exactly one of"):
        read_table({"rows": 3, "columns": {"age": {"intger": [1, 2]}}}, "clinic.yml: patient")


def test_names_are_known_without_their_accents_and_cut_at_none():
    said = ["birth date", "prenom client", "顧客番号"]
    assert list(map(words_of, ("birthDate", "prénom_client", "顧客番号"))) == said
    assert guess_hint("personnes", ColumnSpec("âge", "INTEGER", "integer")).maker == Number(18, 90, "normal")


def test_a_payment_never_precedes_its_order_nor_a_delivery_its_shipment():
    shop = load_domain("web_shop").rows(7)
    ordered = dict(zip(shop["orders"]["order_id"], shop["orders"]["order_date"], strict=True))
    for order, paid in zip(shop["payments"]["order_id"], shop["payments"]["paid_at"], strict=True):
        assert paid[:10] >= ordered[order]
    for shipped, delivered in zip(shop["shipments"]["shipped_on"], shop["shipments"]["delivered_on"], strict=True):
        assert delivered is None or delivered >= shipped
    signup = dict(zip(shop["customers"]["customer_id"], shop["customers"]["signup_date"], strict=True))
    for customer, day in zip(shop["orders"]["customer_id"], shop["orders"]["order_date"], strict=True):
        assert day >= signup[customer]


def test_an_order_costs_what_its_lines_cost():
    shop = load_domain("web_shop").rows(7)
    totals = dict.fromkeys(shop["orders"]["order_id"], 0.0)
    for order, line in zip(shop["order_items"]["order_id"], shop["order_items"]["line_total"], strict=True):
        totals[order] += line
    assert shop["orders"]["total_amount"] == pytest.approx(list(totals.values()), abs=0.01)

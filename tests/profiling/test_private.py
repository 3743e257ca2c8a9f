"""What is private of people is told from what only sounds so; a draft hides it, and a person has the last word."""

from __future__ import annotations

import hashlib
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from agro_data.databases.types import Database
from agro_data.profiling.hidden.private import private_columns
from agro_data.profiling.profiler import profile_database
from agro_data.profiling.side_files.semantics import draft_semantics
from agro_data.profiling.side_files.sources import stated_hiding

PEOPLE = [
    "CREATE TABLE patient (id INTEGER PRIMARY KEY, name TEXT, email TEXT, mobile_no TEXT, home_address TEXT,"
    " date_of_birth TEXT, ssn TEXT, passport TEXT, iban TEXT, card_number TEXT, hiv_status TEXT, nationality TEXT,"
    " website_address TEXT, birth_year INTEGER, has_passport TEXT, email_count INTEGER)",
    "INSERT INTO patient VALUES"
    " (1, 'Ann Lee', 'ann@post.example', '+47 22 86 44 00', '12 High Street', '1980-03-17', '219-09-9999', 'N0087421',"
    " 'GB82 WEST 1234 5698 7654 32', '4111 1111 1111 1111', 'negative', 'NO', 'www.lee.example', 1980, 'yes', 2),"
    " (2, 'Bo Dahl', 'bo@post.example', '(022) 86 44 01', '7 Low Road', '1991-10-02', '078-05-1120', 'P1187422',"
    " 'DE89 3704 0044 0532 0130 00', '5500 0000 0000 0004', 'positive', 'SE', 'www.dahl.example', 1991, 'no', 1)",
    "CREATE TABLE visit (id INTEGER PRIMARY KEY, patient_id INTEGER REFERENCES patient(id), diagnosis TEXT, room TEXT)",
    "INSERT INTO visit VALUES (1, 1, 'flu', 'A'), (2, 2, 'gout', 'B')",
    "CREATE TABLE bill (id INTEGER PRIMARY KEY, visit_id INTEGER REFERENCES visit(id), billing_address TEXT)",
    "INSERT INTO bill VALUES (1, 1, '12 High Street'), (2, 2, '1 Square')",
    "CREATE TABLE staff (id INTEGER PRIMARY KEY, login TEXT, monthly_salary REAL, phone INTEGER)",
    "INSERT INTO staff VALUES (1, 'kim@work.example', 3100, 2211), (2, 'lou@work.example', 2900, 2212)",
]
THINGS = [
    "CREATE TABLE building (id INTEGER PRIMARY KEY, address TEXT, phone TEXT, manager_id INTEGER, income REAL)",
    "INSERT INTO building VALUES (1, '1 Square', '+47 22 86 44 02', 1, 5e5), (2, '9 Yard', '+47 22 86 44 03', 2, 6e5)",
    "CREATE TABLE country (id INTEGER PRIMARY KEY, name TEXT, birth_year INTEGER, capital_address TEXT)",
    "INSERT INTO country VALUES (1, 'Norway', 1814, 'Oslo 1'), (2, 'Chad', 1960, 'Ndjamena 2')",
    "CREATE TABLE dog (id INTEGER PRIMARY KEY, breed TEXT, date_of_birth TEXT)",
    "INSERT INTO dog VALUES (1, 'pug', '2020-03-17'), (2, 'husky', '2021-10-02')",
    "CREATE TABLE product_line (id INTEGER PRIMARY KEY, phone TEXT, mobile TEXT, web_address TEXT)",
    "INSERT INTO product_line VALUES (1, 'Nova 3', 'yes', 'a.example/1'), (2, 'Nova 4', 'no', 'a.example/2')",
    "CREATE TABLE job (id INTEGER PRIMARY KEY, title TEXT, min_salary INTEGER, salary INTEGER)",
    "INSERT INTO job VALUES (1, 'cook', 2000, 2500), (2, 'clerk', 2100, 2600)",
    "CREATE TABLE disease (id INTEGER PRIMARY KEY, name TEXT, disease TEXT)",
    "INSERT INTO disease VALUES (1, 'flu', 'viral'), (2, 'gout', 'metabolic')",
    "CREATE TABLE library_member (id INTEGER PRIMARY KEY, name TEXT, card_number TEXT, ip_address TEXT)",
    "INSERT INTO library_member VALUES (1, 'Ann', 'LE99', '10.0.0.1'), (2, 'Bo', 'LT98', '10.0.0.2')",
]


def database(folder: Path, script: list[str]) -> Database:
    path = folder / "app.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(";".join(script))
    return Database("app", "sqlite", "sqlite", path, hashlib.sha256(path.read_bytes()).hexdigest(), path.name)


def test_what_is_private_of_people_is_told_by_name_owner_and_values(tmp_path: Path) -> None:
    found = private_columns(profile_database(database(tmp_path, PEOPLE)))
    assert found == {
        ("patient", "email"): "mail addresses",
        ("patient", "mobile_no"): "phone numbers",
        ("patient", "home_address"): "home addresses",
        ("patient", "date_of_birth"): "dates of birth",
        ("patient", "ssn"): "social security numbers",
        ("patient", "passport"): "numbers of identity papers",
        ("patient", "iban"): "bank accounts (IBAN)",
        ("patient", "card_number"): "payment cards",
        ("patient", "hiv_status"): "illnesses of people",
        ("visit", "diagnosis"): "illnesses of people",
        ("bill", "billing_address"): "home addresses",
        ("staff", "login"): "mail addresses",  # whatever it is called
        ("staff", "monthly_salary"): "earnings of people",
    }


def test_who_builds_is_told_of_private_columns_until_they_say_what_they_mean(tmp_path: Path) -> None:
    app = database(tmp_path, PEOPLE)
    (told,) = (said for said in profile_database(app).problems if "private" in said)
    assert "patient.email (mail addresses), " in told
    assert " and 9 more;" in told
    assert not any("private" in said for said in profile_database(app, values=False).problems)  # none is shown
    columns = ", ".join(
        f"{name}: {{hidden: false}}" for name in ("email", "mobile_no", "home_address", "date_of_birth")
    )
    side = tmp_path / "app.semantics.yml"
    side.write_text(f"tables: {{patient: {{columns: {{{columns}}}}}}}")
    (told,) = (said for said in profile_database(replace(app, semantics=side)).problems if "private" in said)
    assert "email" not in told
    assert " and 5 more;" in told


def test_what_only_sounds_private_is_none(tmp_path: Path) -> None:
    people = [
        "CREATE TABLE manager (id INTEGER PRIMARY KEY, name TEXT)",
        "INSERT INTO manager VALUES (1, 'Al'), (2, 'Cy')",
    ]
    assert private_columns(profile_database(database(tmp_path, [*THINGS, *people]))) == {}


@pytest.mark.parametrize(("column", "private"), [("email TEXT", True), ("email_sent BOOLEAN", False)])
def test_a_column_without_values_is_judged_by_its_name(column: str, private: bool, tmp_path: Path) -> None:
    found = private_columns(profile_database(database(tmp_path, [f"CREATE TABLE customer (id INTEGER, {column})"])))
    assert bool(found) is private


def test_a_draft_hides_what_is_private_and_keeps_the_keys(tmp_path: Path) -> None:
    script = [
        "CREATE TABLE customer (ssn TEXT PRIMARY KEY, email TEXT, city TEXT)",
        "INSERT INTO customer VALUES ('219-09-9999', 'ann@post.example', 'Oslo'), ('078-05-1120', 'bo@x.org', 'Bern')",
        "CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_ssn TEXT REFERENCES customer(ssn))",
        "INSERT INTO orders VALUES (1, '219-09-9999'), (2, '078-05-1120')",
    ]
    app = database(tmp_path, script)
    draft = draft_semantics(profile_database(app))
    columns = yaml.safe_load(draft)["tables"]["customer"]["columns"]
    assert columns["email"]["hidden"] is True
    assert "hidden" not in columns["ssn"]  # orders are joined by it
    assert "social security numbers, and a key" in draft
    side = tmp_path / "app.semantics.yml"
    side.write_text(draft)
    after = profile_database(replace(app, semantics=side))
    (told,) = after.problems  # the keys are shown
    assert "asked for unless hidden: customer.ssn (social security numbers), orders.customer_ssn (social" in told
    assert [column.name for column in after.table("customer").columns] == ["ssn", "city"]
    assert after.foreign_keys


def test_what_a_person_says_stays_so_in_a_draft(tmp_path: Path) -> None:
    app = database(tmp_path, PEOPLE)
    side = tmp_path / "app.semantics.yml"
    side.write_text(
        "tables: {patient: {columns: {email: {hidden: false}, name: {hidden: true}}}, staff: {hidden: true},"
        " bill: {columns: {id: {hidden: true}, visit_id: {hidden: true}, billing_address: {hidden: true}}}}"
    )
    app = replace(app, semantics=side)
    before = profile_database(app)
    draft = draft_semantics(before, stated_hiding(app))
    columns = yaml.safe_load(draft)["tables"]["patient"]["columns"]
    assert columns["email"]["hidden"] is False
    assert columns["ssn"]["hidden"] is True
    side.write_text(draft)
    after = profile_database(app)
    assert list(after.by_name) == ["patient", "visit"]
    assert "name" not in after.table("patient").by_name

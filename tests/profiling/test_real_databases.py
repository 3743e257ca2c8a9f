"""The Spider training databases, where they are at hand."""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from agro_data.databases.discovery.catalog import find_databases
from agro_data.profiling.cache import decode, encode
from agro_data.profiling.profile import DatabaseProfile
from agro_data.profiling.profiler import profile_database

SPIDER = Path(__file__).resolve().parents[2] / "../shared/data/spider"
pytestmark = [
    pytest.mark.ci,
    pytest.mark.skipif(not SPIDER.is_dir(), reason="the Spider databases are not at hand"),
]


@pytest.fixture(scope="module")
def profiles() -> list[DatabaseProfile]:
    train = {row["db_id"] for row in json.loads((SPIDER / "train.json").read_text(encoding="utf-8"))}
    databases = [d for d in find_databases(SPIDER / "database").databases if d.path.stem in train]
    assert len(databases) == 107
    return [profile_database(database) for database in databases]


def test_names_can_be_said(profiles: list[DatabaseProfile]) -> None:
    for profile in profiles:
        nouns = [table.singular for table in profile.tables]
        assert len(set(nouns)) == len(nouns), profile.db_id
        for table in profile.tables:
            said = [column.phrase for column in table.columns]
            assert len(set(said)) == len(said), (profile.db_id, table.name)
            for phrase in (*said, table.singular, table.plural):
                assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9' -]*", phrase), (profile.db_id, table.name, phrase)


def test_nothing_is_left_out(profiles: list[DatabaseProfile]) -> None:
    said = [(profile.db_id, problem) for profile in profiles for problem in profile.problems]
    assert {db_id for db_id, problem in said if "no foreign key" in problem} == {"student_1"}  # two tables, one number
    texts = {"formula_1", "products_gen_characteristics", "tracking_share_transactions"}
    assert {db_id for db_id, problem in said if "numbers but for" in problem} == texts
    logins = {"customers_and_invoices", "document_management", "e_learning", "student_assessment"}
    assert {db_id for db_id, problem in said if "never asked for" in problem} == logins
    dates = (
        "bike_1 book_2 candidate_poll cinema city_record college_1 debate flight_1 flight_company "
        "formula_1 game_injury inn_1 journal_committee machine_repair music_1 music_4 news_report "
        "performance_attendance pilot_record theme_gallery voter_2 workshop_paper"
    )
    assert {db_id for db_id, problem in said if "never by time" in problem} == {*dates.split()}
    people = (
        "allergy_1 apartment_rentals candidate_poll chinook_1 college_1 company_1 cre_Doc_Tracking_DB "
        "customer_complaints customers_and_addresses customers_and_invoices customers_and_products_contacts "
        "department_store driving_school e_government e_learning entrepreneur flight_1 formula_1 insurance_fnol "
        "scientist_1 store_1 student_assessment twitter_1"
    )
    assert {db_id for db_id, problem in said if "private of people" in problem} == {*people.split()}
    nothing = {"flight_4"}  # an airline -1, "Unknown"
    assert {db_id for db_id, problem in said if "stand for" in problem} == nothing
    assert {db_id for db_id, _ in said} == {"student_1", *texts, *logins, *dates.split(), *people.split(), *nothing}


def test_keys_and_sums_make_sense(profiles: list[DatabaseProfile]) -> None:
    for profile in profiles:
        for key in profile.foreign_keys:
            assert set(key.columns) <= set(profile.table(key.table).by_name)
            assert set(key.ref_columns) <= set(profile.table(key.ref_table).by_name)
        for table in profile.tables:
            for column in table.columns:
                if column.role == "measure" and column.has_values:
                    assert column.kind in ("integer", "real"), (profile.db_id, table.name, column.name)
                    assert column.phrase != "ID", (profile.db_id, table.name, column.name)


def test_keys_that_nobody_declares_are_mostly_found(tmp_path: Path) -> None:
    """Of copies without keys: few keys are inferred that are none, and most of those that there are."""
    found = right = known = 0
    for entry in json.loads((SPIDER / "tables.json").read_text(encoding="utf-8")):
        file = SPIDER / "database" / entry["db_id"] / f"{entry['db_id']}.sqlite"
        if not file.is_file() or file.stat().st_size > 200_000:
            continue
        copy = tmp_path / f"{entry['db_id']}.sqlite"
        with closing(sqlite3.connect(copy)) as connection:
            connection.execute("ATTACH ? AS source", [str(file)])
            for table in (name for name in entry["table_names_original"] if not name.startswith("sqlite_")):
                connection.execute(f'CREATE TABLE "{table}" AS SELECT * FROM source."{table}"')
            connection.commit()
        profile = profile_database(find_databases(copy).databases[0])
        names = [(entry["table_names_original"][t], column) for t, column in entry["column_names_original"]]
        # Keys in a row share a value: two children of one parent refer to each other as well.
        same = {ends: {ends} for ends in names}
        for child, parent in entry["foreign_keys"]:
            both = same[names[child]] | same[names[parent]]
            same |= dict.fromkeys(both, both)
        inferred = [((k.table, k.columns[0]), (k.ref_table, k.ref_columns[0])) for k in profile.foreign_keys]
        found += len(inferred)
        right += sum(parent in same[child] for child, parent in inferred)
        known += len(entry["foreign_keys"])
    assert right >= 0.95 * found
    assert right >= 0.75 * known


def test_profiles_survive_the_cache(profiles: list[DatabaseProfile]) -> None:
    for profile in profiles[::5]:
        assert decode(encode(profile)) == profile

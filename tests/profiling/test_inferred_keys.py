"""Keys where none are declared: by names and values, and of what only links."""

from __future__ import annotations

from pathlib import Path

from profiled_databases import csv_database, sqlite_database

from agro_data.intent.questions.naming.relatives import linked as linked_ends
from agro_data.intent.sampling.atlas import Atlas
from agro_data.profiling.profiler import profile_database


def flights() -> str:
    """Rows of five carriers and a hundred planes."""
    rows = (f"{n},{'ABCDE'[n % 5]}X,N{n % 100:03},{n}" for n in range(400))
    return " ".join(["flight,carrier,tailnum,distance", *rows])


def test_files_without_keys_refer_by_name_and_values(tmp_path: Path) -> None:
    """A few planes are in no register, which the texts of all others outweigh; a number proves nothing."""
    database = csv_database(
        tmp_path / "air",
        flights=flights(),
        airlines=" ".join(["carrier,name", *(f"{letter}X,Air{letter}" for letter in "ABCDE")]),
        planes=" ".join(["tailnum,seats", *(f"N{n:03},{n}" for n in range(85))]),
        gates=" ".join(["distance,wing", *(f"{n},W{n % 3}" for n in range(500))]),
    )
    profile = profile_database(database)
    keys = {(key.table, key.columns): (key.ref_table, key.orphan_share) for key in profile.foreign_keys}
    assert keys == {("flights", ("carrier",)): ("airlines", 0.0), ("flights", ("tailnum",)): ("planes", 0.15)}
    assert len(Atlas(profile).edges) == 2
    assert profile.problems == ()


def test_numbers_refer_only_where_they_are_named_as_keys_are(tmp_path: Path) -> None:
    database = csv_database(
        tmp_path / "shop",
        goods=" ".join(["item_number,weight", *(f"{n},{n % 7}" for n in range(1, 30))]),
        sold=" ".join(["day,item_number,weight", *(f"{n % 5},{n % 20 + 1},{n}" for n in range(100))]),
        trucks=" ".join(["weight,wheels", *(f"{n},{n % 3}" for n in range(200))]),
    )
    keys = [(key.table, key.columns, key.ref_table) for key in profile_database(database).foreign_keys]
    assert keys == [("sold", ("item_number",), "goods")]


def test_keys_of_a_few_letters_are_keys(tmp_path: Path) -> None:
    """What `apid` counts is nothing: it is never summed, and routes start and end at airports."""
    database = csv_database(
        tmp_path / "flights",
        airports=" ".join(["apid,name", *(f"{n},Port{n}" for n in range(1, 40))]),
        airlines=" ".join(["alid,name", *(f"{n},Air{n}" for n in range(1, 9))]),
        routes=" ".join(["alid,src_apid,dst_apid", *(f"{n % 8 + 1},{n % 39 + 1},{n % 7 + 1}" for n in range(200))]),
    )
    profile = profile_database(database)
    assert {(key.columns, key.ref_table) for key in profile.foreign_keys} == {
        (("alid",), "airlines"), (("src_apid",), "airports"), (("dst_apid",), "airports"),
    }  # fmt: skip
    assert len(Atlas(profile).edges) == 3
    assert {c.role for t in profile.tables for c in t.columns if c.name.endswith("id")} == {"identifier"}


def test_numbers_that_stand_for_rows_of_another_table(tmp_path: Path) -> None:
    """An employee and a trainer are numbers that such rows have. Several employees are a quantity."""
    database = csv_database(
        tmp_path / "firm",
        employee_list=" ".join(["emp_no,title", *(f"{n},Title{n % 7}" for n in range(1, 91))]),
        products=" ".join(["nr,label", *(f"{n},Thing{n}" for n in range(100, 190))]),
        leave=" ".join(["emp,trainer,product,budget", *(f"{n % 83 + 1},{n % 50 + 2},{n % 50},7" for n in range(200))]),
        site=" ".join(["town,employees,trainee", *(f"Town{n},{n * 7 % 80 + 1},{n * 5 % 999}" for n in range(60))]),
    )
    profile = profile_database(database)
    roles = {(t.name, c.name): c.role for t in profile.tables for c in t.columns}
    assert (roles["leave", "emp"], roles["leave", "trainer"]) == ("identifier", "identifier")
    assert roles["leave", "product"] == "measure"  # no product has such a number
    assert (roles["site", "employees"], roles["site", "trainee"]) == ("measure", "measure")


def test_a_key_of_more_words_is_referred_to_by_fewer(tmp_path: Path) -> None:
    script = """
    CREATE TABLE "Employee List" ("Emp No" INTEGER PRIMARY KEY, title TEXT);
    CREATE TABLE "Leave" (emp INTEGER, days REAL);
    INSERT INTO "Employee List" VALUES (1, 'a'), (2, 'b'), (3, 'c');
    INSERT INTO "Leave" VALUES (3, 1.5), (1, 2), (3, 4);
    """
    profile = profile_database(sqlite_database(tmp_path / "firm.sqlite", script))
    found = [(key.table, key.columns, key.ref_table, key.ref_columns) for key in profile.foreign_keys]
    assert found == [("Leave", ("emp",), "Employee List", ("Emp No",))]


def test_the_pair_that_a_file_links_is_its_key(tmp_path: Path) -> None:
    """So a monster has types, and no monster types; not where a pair stands twice, or rows are called otherwise."""
    linked = [f"{n},{n % 5}" for n in range(30)]
    tables = {
        "monsters": " ".join(["monster_id,name", *(f"{n},Mon{n}" for n in range(30))]),
        "types": " ".join(["type_id,name", *(f"{n},Kind{n}" for n in range(5))]),
        "monster_types": " ".join(["monster_id,type_id", *linked, "3,4"]),
        "battles": " ".join(["monster_id,type_id", *linked]),
    }
    profile = profile_database(csv_database(tmp_path / "once", **tables))
    assert profile.table("monster_types").primary_key == ("monster_id", "type_id")
    assert profile.table("monster_types").kind == "bridge"
    assert profile.table("battles").primary_key == ()
    assert linked_ends(profile, profile.table("monster_types")).keys() == {"monsters", "types"}
    twice = {**tables, "monster_types": tables["monster_types"] + " 3,4"}
    assert profile_database(csv_database(tmp_path / "twice", **twice)).table("monster_types").primary_key == ()

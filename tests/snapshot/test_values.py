"""Values and types in a snapshot are those of the server, or what is lost is said."""

from __future__ import annotations

from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from uuid import UUID

from snapshot.server import further, rows

from agro_data.snapshot.copying import take_snapshot


def test_values_are_those_of_the_server(url: str, tmp_path: Path) -> None:
    made = take_snapshot(url, tmp_path / "shop.duckdb", only=["customer"])
    first, second, third = rows(made.path, "SELECT * FROM customer ORDER BY id")
    assert first[1:10] == (
        "Ana", "ana@x", "ab", "glad", date(1990, 2, 3), datetime(2024, 1, 1, 10), time(7, 30), Decimal("12.50"),
        Decimal("0.125"),
    )  # fmt: skip
    assert first[10] == 1e60  # more digits than DuckDB holds
    assert first[11] != first[11]
    mark = UUID("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11")
    assert first[12:] == (True, ["a", "b c"], '{"k": [1, 2]}', mark, Decimal("3.50"))
    assert second[1:4] == ('quote " comma , line\nbreak', None, "")
    assert second[4:9] == (None, None, None, None, Decimal("-0.01"))
    assert (third[1], third[3], third[6]) == ("", None, datetime(1999, 12, 31, 23, 59, 59, 123456))


TYPES = """
CREATE DOMAIN amount AS numeric(10, 2);
CREATE DOMAIN price AS amount CHECK (VALUE > 0);
CREATE DOMAIN count AS int;
CREATE DOMAIN pieces AS count;
CREATE TABLE goods (
    price price, pieces pieces, few numeric(50, 10), many numeric(50, 10), none numeric, span interval, mark uuid,
    place inet
);
INSERT INTO goods VALUES
    (1.5, 3, 0.25, 1e39, 'NaN', '20:00', NULL, '10.0.0.1'), (2, 4, 10, 1, 1, '100:00', NULL, '10.1.0.0/16'),
    (3, 5, 1, 1, 2, '1 day', NULL, NULL);
"""


def test_types_are_the_nearest_and_what_is_lost_is_noted(url: str, tmp_path: Path) -> None:
    with further(url, TYPES):
        made = take_snapshot(url, tmp_path / "shop.duckdb", schemas=["further"])
    types = {name: kind for name, kind, *_ in rows(made.path, "DESCRIBE further.goods")}
    assert types == {
        "price": "DECIMAL(10,2)", "pieces": "INTEGER", "few": "DECIMAL(18,10)", "many": "DOUBLE", "none": "DOUBLE",
        "span": "INTERVAL", "mark": "UUID",
        "place": "VARCHAR",
    }  # fmt: skip
    assert rows(made.path, "SELECT place FROM further.goods") == [("10.0.0.1",), ("10.1.0.0/16",), (None,)]
    assert made.notes == [
        "further.goods: kept as text, which compares otherwise than on the server: place (inet)",
        "further.goods: kept as binary numbers, for more than 38 digits or a NaN: many, none",
    ]


def test_numbers_without_a_precision_have_room_for_more(url: str, tmp_path: Path) -> None:
    """With as many digits as the values have, an empty table had a DECIMAL(1,0), which no price fits."""
    sums = """CREATE TABLE sums (paid numeric, none numeric); INSERT INTO sums VALUES (9.5, NULL);
        CREATE TABLE unused (paid numeric)"""
    with further(url, sums):
        made = take_snapshot(url, tmp_path / "sums.duckdb", schemas=["further"])
    kinds = [kind for _, kind, *_ in rows(made.path, "DESCRIBE further.sums")]
    assert kinds == ["DECIMAL(18,1)", "DECIMAL(18,2)"]
    assert [kind for _, kind, *_ in rows(made.path, "DESCRIBE further.unused")] == ["DECIMAL(18,2)"]


def test_moments_before_christ_and_at_no_time_are_kept(url: str, tmp_path: Path) -> None:
    made = take_snapshot(url, tmp_path / "shop.duckdb", only=["late"])
    assert rows(made.path, 'SELECT day::VARCHAR, moment::VARCHAR, "at"::VARCHAR FROM late') == [
        ("0044-03-15 (BC)", "0044-03-15 (BC) 10:00:00.5", "0044-03-15 (BC) 09:00:00"),
        ("infinity", None, "2024-01-01 00:00:00"),
    ]


def test_texts_that_a_file_of_values_could_confuse(url: str, tmp_path: Path) -> None:
    made = take_snapshot(url, tmp_path / "shop.duckdb", only=["word"])
    assert [text for (text,) in rows(made.path, "SELECT said FROM word ORDER BY rowid")] == [
        *(None, "", "\n", r"\.", '"', None, ","),
    ]
    with further(url, "CREATE TABLE mark (said text); INSERT INTO mark VALUES (U&'\\FEFFabc')"):
        made = take_snapshot(url, tmp_path / "mark.duckdb", schemas=["further"])
    assert rows(made.path, "SELECT said FROM further.mark") == [("\ufeffabc",)]


NESTED = r"""
CREATE TYPE mood AS ENUM ('sad', 'ok', 'it''s fine');
CREATE DOMAIN feeling AS mood NOT NULL DEFAULT 'sad';
CREATE DOMAIN felt AS feeling;
CREATE TABLE nested (id int, mood mood, words text[], counts bigint[], parts float8[], grid int[], moods mood[],
    about json, span interval, search tsvector, felt felt);
INSERT INTO nested VALUES
    (1, 'it''s fine', ARRAY['a,b', 'x"y\z', NULL, '[1]', E'new\nline', 'é', ''], '{1,NULL}', '{NaN,1.5,Infinity}',
     '{1,2}', '{ok}', '{"a":  1}', '-1 day +02:03:04.5', 'a:1'),
    (2, 'sad', '{}', NULL, NULL, NULL, NULL, '"s"', '1 year 2 mons -3 days', NULL),
    (3, 'ok', NULL, NULL, NULL, NULL, NULL, NULL, '-00:00:01', NULL);
"""


def test_enums_lists_json_and_intervals_are_those_of_duckdb(url: str, tmp_path: Path) -> None:
    with further(url, NESTED):
        made = take_snapshot(url, tmp_path / "nested.duckdb", schemas=["further"])
    assert {name: kind for name, kind, *_ in rows(made.path, "DESCRIBE further.nested")} == {
        "id": "INTEGER", "mood": "ENUM('sad', 'ok', 'it''s fine')", "words": "VARCHAR[]", "counts": "BIGINT[]",
        "parts": "DOUBLE[]", "grid": "INTEGER[]", "moods": "VARCHAR[]", "about": "JSON", "span": "INTERVAL",
        "felt": "ENUM('sad', 'ok', 'it''s fine')",
    }  # fmt: skip
    assert rows(made.path, "SELECT words, counts, parts::VARCHAR, grid, moods, about FROM further.nested LIMIT 1") == [
        (
            ["a,b", 'x"y\\z', None, "[1]", "new\nline", "é", ""], [1, None], "[nan, 1.5, inf]", [1, 2], ["ok"],
            '{"a":  1}',
        ),
    ]  # fmt: skip
    spans = [span for (span,) in rows(made.path, "SELECT span::VARCHAR FROM further.nested ORDER BY id")]
    assert spans == ["-1 day 02:03:04.5", "1 year 2 months -3 days", "-00:00:01"]
    assert rows(made.path, "SELECT mood FROM further.nested ORDER BY mood DESC") == [("it's fine",), ("ok",), ("sad",)]
    assert made.notes == ["further.nested.search: tsvector is not copied"]


def test_what_duckdb_cannot_nest_stays_text(url: str, tmp_path: Path) -> None:
    """Lists of lists, and JSON with half a character, which PostgreSQL keeps."""
    further_sql = r"""CREATE TABLE grid (id int PRIMARY KEY, cells text[], flags bool[]);
        INSERT INTO grid VALUES (1, '{{a,b},{c,d}}', '{t}');
        CREATE TABLE half (id int PRIMARY KEY REFERENCES grid, about json, flags bool[]);
        INSERT INTO half VALUES (1, '"\ud800"', '{f}')"""
    with further(url, further_sql):
        made = take_snapshot(url, tmp_path / "grid.duckdb", schemas=["further"])
    assert rows(made.path, "SELECT * FROM further.grid") == [(1, "{{a,b},{c,d}}", [True])]
    assert rows(made.path, "SELECT * FROM further.half") == [(1, r'"\ud800"', "{f}")]
    assert made.notes == [
        "further.grid: kept as text, for arrays of several dimensions: cells",
        "further.half: kept as text, as DuckDB refuses a value: about, flags",
    ]

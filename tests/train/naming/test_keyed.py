"""Tables are joined over columns that hold the same key, where they have keys."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from train.in_pieces import write

from agro_data.profiling.keys.same_key import Keys
from agro_train.naming.levels import Names
from agro_train.naming.partial_query import PartialQuery
from agro_train.naming.scopes import Scopes
from agro_train.naming.writing import Written

SCHEMA = {
    "airports": {"Code": "text", "City": "text", "Country": "text"},
    "flights": {"FlightNo": "int", "Airline": "int", "Source": "text", "Dest": "text"},
    "airlines": {"uid": "int", "Airline": "text", "Country": "text"},
    "seats": {"uid": "int", "FlightNo": "int", "Row": "int"},
    "notes": {"uid": "int", "City": "text"},
}
PORT, LINE, FLIGHT = ("airports", "code"), ("airlines", "uid"), ("flights", "flightno")
KEYS = Keys(
    {
        PORT: PORT,
        ("flights", "source"): PORT,
        ("flights", "dest"): PORT,
        LINE: LINE,
        ("flights", "airline"): LINE,
        FLIGHT: FLIGHT,
        ("seats", "flightno"): FLIGHT,
    }
)
NAMES = Names.of(SCHEMA, "sqlite", KEYS)
JOINED = [
    "SELECT T2.City FROM flights AS T1 JOIN airports AS T2 ON T1.Dest = T2.Code WHERE T2.City = 'Rome'",
    "SELECT T2.City FROM flights AS T1 JOIN airports AS T2 ON T2.Code == T1.Source",
    "SELECT City FROM flights JOIN airports ON Dest = Code",
    "SELECT count(*) FROM airports AS a JOIN flights AS f ON a.Code = f.Dest OR a.Code = f.Source AND f.FlightNo > 3",
    "SELECT a.City FROM airports a JOIN flights f ON a.Code = f.Dest JOIN airlines l ON f.Airline = l.uid",
    "SELECT s.Row FROM airlines l JOIN flights f JOIN seats s ON l.uid = f.Airline AND f.FlightNo = s.FlightNo",
    "SELECT f.FlightNo FROM flights f LEFT OUTER JOIN airports a ON f.Source = a.Code WHERE a.City IS NULL",
    "SELECT a.City FROM airports a JOIN airports b ON a.Country = b.Country AND a.Code <> b.Code",
    "SELECT f.FlightNo FROM flights f JOIN flights g ON f.Dest = g.Source",
    "SELECT f.FlightNo FROM flights f JOIN seats s USING (FlightNo)",
    "SELECT 1 FROM flights CROSS JOIN airlines",
    "SELECT 1 FROM airports NATURAL LEFT JOIN airlines",
    "SELECT 1 FROM airports NATURAL LEFT JOIN seats JOIN flights ON flights.FlightNo = seats.FlightNo",
    "SELECT n.uid FROM notes n JOIN airports a ON n.City = a.City",  # notes have no key
    "SELECT a.City FROM airports a JOIN (SELECT Dest, COUNT(*) AS n FROM flights GROUP BY Dest) d ON a.City = d.Dest",
    "SELECT a.City FROM airports a, airlines l WHERE a.Country = l.Country",
    "SELECT City FROM airports WHERE Code IN (SELECT f.Dest FROM flights f JOIN airlines l ON f.Airline = l.uid)",
    "SELECT a.City FROM flights f JOIN airports a ON f.Dest = a.Code INTERSECT "
    "SELECT a.City FROM flights f JOIN airports a ON f.Source = a.Code",
    'SELECT "T2".City FROM flights "T1" JOIN airports "T2" ON "T1"."Dest" = "T2".[Code];',
]
REFUSED = [
    "SELECT T2.City FROM flights AS T1 JOIN airports AS T2 ON T1.Dest = T2.City",
    "SELECT T2.City FROM flights AS T1 JOIN airports AS T2 ON T1.Airline = T2.Code",
    "SELECT T2.City FROM flights AS T1 JOIN airports AS T2 ON T1.Source = T1.Dest",
    "SELECT T2.City FROM flights AS T1 JOIN airports AS T2 ON T1.Dest <> T2.Code",
    "SELECT T2.City FROM flights AS T1 JOIN airports AS T2 ON T1.Dest",
    "SELECT T2.City FROM flights AS T1 JOIN airports AS T2 ON 1 = 1",
    "SELECT T2.City FROM flights AS T1 JOIN airports AS T2 ON LOWER(T1.Dest) = T2.Code",
    "SELECT T2.City FROM flights AS T1 JOIN airports AS T2 ON (T1.Dest = T2.City)",
    "SELECT T2.City FROM flights AS T1 JOIN airports AS T2 ON NOT T1.Dest = T2.City",
    "SELECT City FROM flights JOIN airports ON Airline = Code",
    "SELECT a.City FROM airports a JOIN airlines l ON a.Country = l.Country",  # no key ties them
    "SELECT a.City FROM airports a INNER JOIN seats s",
    "SELECT f.FlightNo FROM airports a JOIN flights f ON a.Code = f.Dest JOIN airlines l ON a.Code = f.Source",
    "SELECT City FROM airports WHERE Code IN (SELECT f.Dest FROM flights f JOIN airlines l ON f.Dest = l.uid)",
    "SELECT a.City FROM airports a EXCEPT SELECT a.City FROM flights f JOIN airports a ON f.Source = a.City",
]


@pytest.mark.parametrize(("sql", "over_a_key"), [*((sql, True) for sql in JOINED), *((sql, False) for sql in REFUSED)])
def test_joins_are_over_keys(sql: str, over_a_key: bool) -> None:
    assert write(sql, NAMES) == write(sql, NAMES, []) == write(sql.upper(), NAMES) == over_a_key
    assert write(sql, Names.of(SCHEMA, "sqlite"))  # but for the key nothing is wrong with any


@given(st.sampled_from(JOINED + REFUSED), st.lists(st.integers(0, 80), max_size=8))
def test_where_the_pieces_end_decides_nothing(sql: str, cuts: list[int]) -> None:
    assert write(sql, NAMES, [cut for cut in cuts if cut < len(sql)]) == (sql in JOINED)


@pytest.mark.parametrize(
    ("begun", "allowed", "refused"),
    [
        ("SELECT T2.City FROM flights AS T1 JOIN airports AS T2 ON T1.", "D So", "Fl C Airline"),
        ("SELECT T2.City FROM flights AS T1 JOIN airports AS T2 ON T1.Dest = ", "T2 Code C", "T1 3 ' Ci"),
        ("SELECT City FROM airports JOIN ", "f airp notes", "airl s"),
    ],
)
def test_a_name_is_refused_where_it_begins(begun: str, allowed: str, refused: str) -> None:
    """Or a model would have to go on with what it began."""
    written = Written(PartialQuery(Scopes(NAMES)), closing="solution").then(begun)
    assert written is not None
    assert all(written.then(piece) is not None for piece in allowed.split())
    assert all(written.then(piece) is None for piece in refused.split())

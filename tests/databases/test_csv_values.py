"""Numbers, dates and amounts that a CSV has as texts, and words for what is missing among them."""

from __future__ import annotations

import csv
from contextlib import closing
from pathlib import Path

import duckdb
import pytest
from csv_folders import parts, read, remarks_on

from agro_data.databases.files.file_tables import create_tables


def test_a_word_for_what_is_missing_is_null_among_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As R writes it. Among texts it may be one (Namibia's code), and codes are no numbers."""
    (tmp_path / "air.csv").write_text("a,b,c,d\n1,0.5,x,NA\nNA,NA,y,NA\n3,2,NA,07\n4,.25,z,08\n")
    rows, _, _ = read(tmp_path, 2**20, monkeypatch)
    described, held = rows["air"]
    assert [str(column[1]) for column in described] == ["BIGINT", "DOUBLE", "VARCHAR", "VARCHAR"]
    assert held == [(1, 0.5, "x", "NA"), (None, None, "y", "NA"), (3, 2.0, "NA", "07"), (4, 0.25, "z", "08")]
    (tmp_path / "air.csv").write_text("a\n" + "1\n" * 3_000 + "NA\nlate\n")
    rows, _, _ = read(tmp_path, 2**20, monkeypatch)
    assert rows["air"][1][-2:] == [("NA",), ("late",)]


@pytest.mark.parametrize("loaded", [2**20, -1])
@pytest.mark.parametrize(
    ("texts", "kind", "days"),
    [
        (["2020-01-01", "n/a", "2022-06-06"], "DATE", ["2020-01-01", None, "2022-06-06"]),
        (["31.12.2020", "-", "01.02.2021"], "DATE", ["2020-12-31", None, "2021-02-01"]),
        (["NA", "1/25/2020", "2/3/2021"], "DATE", [None, "2020-01-25", "2021-02-03"]),
        (["NULL", "1/1/2020", "2/2/2021"], "DATE", [None, "2020-01-01", "2021-02-02"]),
        (["2020-01-01 10:00", "N/A", "", "2022-06-06 00:30"], "TIMESTAMP", ["2020-01-01 10:00:00", None, None]),
        (["1/2/2020", "NA", "2/3/2021"], "VARCHAR", ["1/2/2020", "NA", "2/3/2021"]),  # day and month may be either
        (["2020-01-01", "n/a", "2022-06-06", "soon"], "VARCHAR", ["2020-01-01", "n/a"]),
        (["2020-01-01", "n/a", "2022-06-31"], "VARCHAR", ["2020-01-01", "n/a", "2022-06-31"]),  # there is none
        (["2020-01-01", "n/a", "31.12.2020"], "VARCHAR", ["2020-01-01", "n/a", "31.12.2020"]),
        (["2020-01-01", "n/a", "-", "?", "2022-06-06"], "VARCHAR", ["2020-01-01", "n/a", "-", "?"]),  # they say several
        (["n/a", "2020-01-01", "-"], "VARCHAR", ["n/a", "2020-01-01", "-"]),
    ],
)
def test_a_word_for_what_is_missing_is_null_among_dates(
    texts: list[str],
    kind: str,
    days: list[str | None],
    loaded: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "t.csv").write_text("id,day\n" + "".join(f"{n},{text}\n" for n, text in enumerate(texts)))
    (described, rows), *_ = read(tmp_path, loaded, monkeypatch)[0].values()
    assert str(described[1][1]) == kind
    assert [day and str(day) for _, day in sorted(rows)][: len(days)] == days
    said = [one for one in remarks_on(tmp_path) if "'day'" in one]
    assert said == ["t.csv: a word for what is missing (as n/a) is NULL among the dates of 'day'"] * (
        kind != "VARCHAR"
    ) + [
        "t.csv: column 'day' stays text: its values do not tell day and month apart; write its dates as 2024-12-31"
    ] * ("2/3/2021" in texts and kind == "VARCHAR")


def test_a_word_for_what_is_missing_is_null_among_dates_of_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = parts(tmp_path, "d,v\n20/01/2020,1\n21/01/2020,2\n", "d,v\nn/a,3\n02/03/2020,4\n")
    tables, _, _ = read(folder, 2**20, monkeypatch)
    assert [day and str(day) for day, _ in tables["t"][1]] == ["2020-01-20", "2020-01-21", None, "2020-03-02"]
    assert len(remarks_on(folder)) == 1


NUMBERS = {
    "comma": (["1.234,50", "12,5", "0", "-7"], [1234.5, 12.5, 0, -7]),
    "comma and spaces": (["  1.234,50", "12,5 ", "  0"], [1234.5, 12.5, 0]),
    "comma and gaps": (["1.234.567,5", "..", "12", "3", ""], [1234567.5, None, 12, 3, None]),
    "small": (["0,125", "1,250", "2,375"], [0.125, 1.25, 2.375]),
    "dots": (["1.234.567", "12.000", "900"], [1234567, 12000, 900]),
    "large": (["1.234.567.890.123.456.789.012", "12.000", "900"], [1234567890123456789012.0, 12000, 900]),
    "swiss": (["1'234.50", "99", "1'000"], [1234.5, 99, 1000]),
    "thousands": (["1,234,567", "1,000", "12"], [1234567, 1000, 12]),
    "both": (["1,234.5", "999", "20.25"], [1234.5, 999, 20.25]),
    "beside decimals": (["1,234", "2,000", "999.50", "12"], [1234, 2000, 999.5, 12]),
}
TEXTS = {
    "either": ["1,234", "2,000", "35"],
    "either way": ["1,234", "2,000", "35.125"],
    "several": ["1,2", "1,2,3", "5"],
    "codes": ["012,5", "3,5", "4,5"],
    "mixed": ["1.234,50", "1,234.50", "7"],
    "few": ["1,5", "2,5", "", ""],
    "words": ["1,5", "2,5", "3,5", "none of these"],
    "papers": ["12.345.678-9", "7.654.321-0", "1.111.111-1"],
    "phones": ["555 123 456", "555 123 457", "555 123 458"],
}


@pytest.mark.parametrize("delimiter", [",", ";"])
@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_as_other_countries_write_them_are_numbers(name: str, delimiter: str, tmp_path: Path) -> None:
    texts, numbers = NUMBERS[name]
    with (tmp_path / "t.csv").open("w", newline="") as file:
        csv.writer(file, delimiter=delimiter).writerows([("id", "a"), *enumerate(texts)])
    with closing(duckdb.connect()) as connection:
        remarks = create_tables(connection, tmp_path).remarks
        held = [value for _, value in connection.execute("FROM t ORDER BY id").fetchall()]
    if name == "small" and delimiter == ",":
        assert held == texts  # two values in one cell look the same
    else:
        assert held == numbers
        assert any("are read as the numbers that they are: 'a'" in said for said in remarks)


@pytest.mark.parametrize("delimiter", [",", ";"])
@pytest.mark.parametrize("name", ["swiss", "swiss francs"])
def test_numbers_in_quotes_may_have_apostrophes(name: str, delimiter: str, tmp_path: Path) -> None:
    texts, numbers = {**NUMBERS, "swiss francs": (["1'234.50", "2'000.00", "999.50"], [1234.5, 2000, 999.5])}[name]
    with (tmp_path / "t.csv").open("w", newline="") as file:
        csv.writer(file, delimiter=delimiter, quoting=csv.QUOTE_ALL).writerows([("id", "a"), *enumerate(texts)])
    with closing(duckdb.connect()) as connection:
        assert create_tables(connection, tmp_path).problems == []
        assert [value for _, value in connection.execute("FROM t ORDER BY id").fetchall()] == numbers


AMOUNTS = {
    "dollars": (["$0.05", "$1.20", "-$3", "$ 7.5"], [0.05, 1.2, -3, 7.5], "amounts in $"),
    "whole": (["$5", "n/a", "$10", "$0"], [5, None, 10, 0], "amounts in $"),
    "thousands of pounds": (["£1,234.50", "(£250.00)", "£(2.00)", "£0"], [1234.5, -250, -2, 0], "amounts in £"),
    "euros": (["1.234,50 €", "-7,25 €", "1.000,00 €"], [1234.5, -7.25, 1000], "amounts in €"),
    "brackets": (["(250.00)", "1,000.00", "-", "12.50"], [-250, 1000, None, 12.5], "amounts in brackets"),
}
NO_AMOUNTS = {
    "two currencies": ["$5", "€5", "$6"],
    "some without": ["$5", "6", "$7"],
    "notes": ["(1)", "(2)", "3", "4"],
    "all in brackets": ["(1.50)", "(2.50)", "(3.50)"],
    "errors": ["1.250", "(0.125)", "2.250", "(0.375)"],
    "either way": ["€1.234", "€2.500", "€3.000"],
    "parameters": ["$1", "$2 and $3", "$4"],
    "within": ["1$2", "3$4", "5$6"],
}


@pytest.mark.parametrize("name", AMOUNTS)
def test_amounts_are_numbers(name: str, tmp_path: Path) -> None:
    texts, numbers, said = AMOUNTS[name]
    (tmp_path / "t.csv").write_text("id,a\n" + "".join(f'{n},"{text}"\n' for n, text in enumerate(texts)))
    with closing(duckdb.connect()) as connection:
        remarks = create_tables(connection, tmp_path).remarks
        assert [value for _, value in connection.execute("FROM t ORDER BY id").fetchall()] == numbers
    assert any(one.startswith(f"t.csv: {said}") and one.endswith(" numbers: 'a'") for one in remarks)


@pytest.mark.parametrize("name", NO_AMOUNTS)
def test_what_may_be_no_amount_stays_text(name: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("id,a\n" + "".join(f'{n},"{text}"\n' for n, text in enumerate(NO_AMOUNTS[name])))
    with closing(duckdb.connect()) as connection:
        assert create_tables(connection, tmp_path).remarks == []
        assert [value for _, value in connection.execute("FROM t ORDER BY id").fetchall()] == NO_AMOUNTS[name]


@pytest.mark.parametrize("name", TEXTS)
def test_what_may_be_no_number_or_another_stays_text(name: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("id;a\n" + "".join(f'{n};"{text}"\n' for n, text in enumerate(TEXTS[name])))
    with closing(duckdb.connect()) as connection:
        create_tables(connection, tmp_path)
        held = connection.execute("SELECT coalesce(a, '') FROM t ORDER BY id").fetchall()
    assert [value for (value,) in held] == TEXTS[name]

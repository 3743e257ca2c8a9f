"""A folder of Parquet and CSV files as a database."""

from __future__ import annotations

import gzip
from contextlib import closing
from pathlib import Path

import pytest
from database_files import csv_file, found, parquet_file, tables

from agro_data.databases.errors import DatabaseError
from agro_data.databases.opening import open_duckdb
from agro_data.databases.trusted import apart
from agro_data.databases.trusted.connections import open_database

pytestmark = pytest.mark.ci


def test_a_folder_of_files_is_a_database(tmp_path: Path) -> None:
    csv_file(tmp_path / "shop" / "it's.csv")
    parquet_file(tmp_path / "shop" / "customers.parquet", "SELECT range AS id FROM range(3)")
    with open_database(found(tmp_path / "shop")) as connection:
        shop = tables(connection)
        assert {name: table.is_view for name, table in shop.items()} == {"customers": False, "it's": False}
        assert connection.dialect == "duckdb"
        assert connection.execute("""SELECT count(*) FROM "it's" """) == [(3,)]
        assert connection.execute("SELECT sum(id) FROM customers") == [(3,)]


def test_each_file_is_read_by_itself_wherever_it_lies(tmp_path: Path) -> None:
    """Names that are patterns to DuckDB, a suffix in capitals, a folder that looks like a partition."""
    shop = csv_file(tmp_path / "year=2024" / "a 1.csv", "x\n1\n2\n").parent
    csv_file(shop / "a [1].csv", "x\n3\n")
    csv_file(shop / "a*1.csv", "x\n4\n")
    parquet_file(shop / "P.parquet").rename(shop / "P.PARQUET")
    parquet_file(shop / "q.parquet").rename(shop / "q?[1].parquet")
    with open_database(found(shop)) as connection:
        seen = {name: [column.name for column in table.columns] for name, table in tables(connection).items()}
        assert seen == {"a 1": ["x"], "a [1]": ["x"], "a*1": ["x"], "P": ["a", "b"], "q?[1]": ["a", "b"]}
        assert [connection.execute(f'SELECT x FROM "{name}"') for name in ("a 1", "a [1]", "a*1")] == [
            [(1,), (2,)],
            [(3,)],
            [(4,)],
        ]
        assert connection.problems == []


def load_at_most(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where databases are opened."""
    imported = "from agro_data.databases.files import file_tables; from agro_data.databases.trusted import apart"
    command = f"{imported}; file_tables.CSV_LOADED = {size}; apart.main()"
    monkeypatch.setattr(apart, "COMMAND", command)
    monkeypatch.setattr(apart, "_waiting", [])


def test_large_csv_files_are_views_over_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load_at_most(4, monkeypatch)
    csv_file(tmp_path / "shop" / "t.csv")
    csv_file(tmp_path / "other.txt", "secret\n1\n")
    with open_database(found(tmp_path / "shop")) as connection:
        (table,) = connection.objects()
        assert not table.is_view
        assert connection.execute("SELECT sum(a) FROM t") == [(6,)]
        with pytest.raises(DatabaseError):
            connection.execute(f"SELECT * FROM read_csv('{tmp_path}/other.txt')")


def kinds(folder: Path, settings: dict[str, str]) -> dict[str, str]:
    """Which tables of a folder are loaded, and which are views over the files."""
    connection, problems, _ = open_duckdb(folder, "files", settings)
    with closing(connection):
        assert problems == []
        return dict(connection.execute("SELECT table_name, table_type FROM information_schema.tables").fetchall())


def test_csv_files_are_loaded_as_long_as_all_are_few_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Packed ones by what they are unpacked."""
    monkeypatch.setattr("agro_data.databases.files.file_tables.CSV_LOADED", 3000)
    for name in "cab":
        csv_file(tmp_path / f"{name}.csv", "x\n" + "1\n" * 600)
    (tmp_path / "packed.csv.gz").write_bytes(gzip.compress(b"x\n" + b"1\n" * 5000))
    loaded, viewed = "BASE TABLE", "VIEW"
    assert kinds(tmp_path, {}) == {"a": viewed, "b": viewed, "c": viewed, "packed": viewed}  # the smallest file first
    monkeypatch.setattr("agro_data.databases.files.file_tables.CSV_LOADED", 12_500)
    assert kinds(tmp_path, {}) == {"a": loaded, "b": loaded, "c": viewed, "packed": loaded}


def test_a_csv_for_which_memory_is_short_is_a_view(tmp_path: Path) -> None:
    csv_file(tmp_path / "t.csv", "a,b\n" + "".join(f"{i},{i * 7919 % 1_000_003}\n" for i in range(400_000)))
    assert kinds(tmp_path, {"memory_limit": "8MiB"}) == {"t": "VIEW"}
    assert kinds(tmp_path, {"memory_limit": "1GiB"}) == {"t": "BASE TABLE"}


def test_files_that_are_no_tables_are_reported(tmp_path: Path) -> None:
    shop = csv_file(tmp_path / "shop" / "t.csv").parent
    parquet_file(shop / "T.parquet")
    (shop / "noise.parquet").write_bytes(b"noise")
    (shop / "latin.csv").write_bytes("a,b\n1,é\n".encode("latin-1") * 2000)
    with open_database(found(shop)) as connection:
        assert list(tables(connection)) == ["T"]
        assert connection.problems == []
        assert sorted(reason.split(":")[0] for reason in connection.unread) == [
            "latin.csv",
            "noise.parquet",
            "t.csv",
        ]


_FIGURES = "region,year,deaths\n" + "".join(f"R{n % 4},202{n // 4},{n * 7}\n" for n in range(12))


@pytest.mark.parametrize("loaded", [2**20, 0])
@pytest.mark.parametrize(
    ("above", "below", "told"),
    [
        ("", "\nSource: Office, Table 4.1\n", "last line is"),
        ("", "* provisional\nSource: Office\n", "last 2 lines are"),
        ("", '\n"Source: Office, Table 4, page 1"\n', "last line is"),  # as many commas as a row has
        (
            "Deaths by region, all causes\n\n",
            "\n1) Figures of May, without corrections\n\n(p)\n",
            "last 2 lines are",
        ),
        ("", ",,\n,,\nSource: Office,,\n* provisional,,\n", "last 2 lines are"),
        ("Deaths by region,,\n,,\n", "Source: Office,,\n", "last line is"),
    ],
)
def test_notes_below_the_rows_of_a_csv_are_no_rows(
    loaded: int, above: str, below: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load_at_most(loaded, monkeypatch)
    shop = csv_file(tmp_path / "shop" / "deaths.csv", above + _FIGURES + below).parent
    with open_database(found(shop)) as connection:
        assert connection.execute("SELECT count(*), sum(deaths) FROM deaths") == [(12, 462)]
        assert any(f"its {told} taken for notes below the rows" in said for said in connection.problems)


@pytest.mark.parametrize("below", ["\nSource: Office, Table 4.1\n", ",,\nSource: Office,,\n"])
@pytest.mark.parametrize("suffix", [".csv.gz", ".CSV.GZ"])
def test_notes_below_the_rows_of_a_packed_csv_are_no_rows(suffix: str, below: str, tmp_path: Path) -> None:
    file = tmp_path / "shop" / f"deaths{suffix}"
    file.parent.mkdir()
    file.write_bytes(gzip.compress(f"{_FIGURES}{below}".encode()))
    with open_database(found(file.parent)) as connection:
        assert connection.execute("SELECT count(*), sum(deaths) FROM deaths") == [(12, 462)]


@pytest.mark.parametrize("loaded", [2**20, 0])
@pytest.mark.parametrize("below", ["", ",,\n,,\n"])
@pytest.mark.parametrize(
    "above",
    [
        *("Deaths by region,,\n", "Deaths,,\nall causes,,\n", '"Deaths, by\nregion",,\n,,\n', ",,\n"),
        *("\ufeff,,\n", "\ufeffDeaths,,\n\n", "\nDeaths,,\n,,\n"),
    ],
)
def test_lines_that_a_sheet_pads_are_no_rows_and_no_header(
    loaded: int, above: str, below: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load_at_most(loaded, monkeypatch)
    shop = csv_file(tmp_path / "shop" / "deaths.csv", above + _FIGURES + below).parent
    with open_database(found(shop)) as connection:
        assert connection.execute("SELECT count(*), sum(deaths), min(region) FROM deaths") == [(12, 462, "R0")]
        assert any("for a title or comment above the header" in said for said in connection.problems)


def test_blank_lines_that_a_sheet_pads_are_no_rows_however_many_they_are(tmp_path: Path) -> None:
    shop = csv_file(tmp_path / "shop" / "deaths.csv", _FIGURES + ",,\n" * 2**15).parent
    csv_file(shop / "empty.csv", "region,year\n,\n,\n")
    with open_database(found(shop)) as connection:
        assert connection.execute("SELECT count(*), (SELECT count(*) FROM empty) FROM deaths") == [(12, 0)]


@pytest.mark.parametrize("loaded", [2**20, 0])
@pytest.mark.parametrize("blank", ["\n", ",,\n", ",,\n\n,,\n"])
@pytest.mark.parametrize("below", ["", ",,\nSource: Office,,\n", "\nSource: Office, Table 4.1\n"])
def test_blank_lines_between_rows_are_no_rows_and_no_end(
    loaded: int, blank: str, below: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load_at_most(loaded, monkeypatch)
    shop = csv_file(tmp_path / "shop" / "deaths.csv", _FIGURES.replace("R0,2021", f"{blank}R0,2021") + below).parent
    csv_file(shop / "pairs.csv", "a,b\n1,\n,\n,2\n")  # nothing shows that a row has a value
    with open_database(found(shop)) as connection:
        assert connection.execute("SELECT count(*), sum(deaths), max(year) FROM deaths") == [(12, 462, 2022)]
        assert connection.execute("SELECT count(*) FROM pairs") == [(3,)]
        told = any("hold" in said and "nothing" in said for said in connection.problems)
        assert told == ("," in blank and not below.startswith(","))


@pytest.mark.parametrize("rate", ["1,5", "..", "1.234,5"])
def test_a_padded_title_is_told_by_numbers_in_any_country_s_way(rate: str, tmp_path: Path) -> None:
    rows = "".join(f"R{n};{n},25;{n}\n" for n in range(4))
    shop = csv_file(tmp_path / "shop" / "deaths.csv", f"Deaths;;\nregion;rate;note\nR9;{rate};a\n{rows}").parent
    with open_database(found(shop)) as connection:
        assert connection.execute("SELECT count(*), count(region), min(note) FROM deaths") == [(5, 5, "0")]


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("country,,\nAustria,Vienna,Euro\nFrance,Paris,Euro\nJapan,Tokyo,Yen\n", 3),  # a header of one name
        (_FIGURES + "R9,,\n", 13),  # a row that lacks the rest
        ("name,note\nA,fair\nB,bad\nNote,\nC,\nD,\n", 5),
        ("region,a,b\nR0,,\nR1,,\nR2,1,2\n", 3),
    ],
)
def test_rows_and_headers_that_hold_little_are_not_passed_over(text: str, rows: int, tmp_path: Path) -> None:
    shop = csv_file(tmp_path / "shop" / "t.csv", text).parent
    with open_database(found(shop)) as connection:
        assert connection.execute("SELECT count(*) FROM t") == [(rows,)]


def test_a_packed_csv_that_is_damaged_costs_itself_alone(tmp_path: Path) -> None:
    """To the engine it is a CSV whose rows differ, and who looks for the line finds that its checksum is wrong."""
    packed = bytearray(gzip.compress(f"{_FIGURES}R9\nR9,2024\n".encode()))
    packed[-6] ^= 1
    shop = csv_file(tmp_path / "shop" / "good.csv", "remark\nfair\nbad\n").parent
    (shop / "deaths.csv.gz").write_bytes(packed)
    with open_database(found(shop)) as connection:
        assert list(tables(connection)) == ["good"]
        assert any("deaths.csv.gz" in said and "no whole gzip file" in said for said in connection.unread)


@pytest.mark.parametrize("above", ["", "Deaths,,\n\n", "Deaths by region,,\n"])
@pytest.mark.parametrize("below", ["\nSource: Office, Table 4.1\n", "Source: Office,,\n", "\nSource: Office\n"])
def test_notes_are_found_below_a_few_rows_too(above: str, below: str, tmp_path: Path) -> None:
    few = "region,year,deaths\nR0,2020,1\nR1,2021,2\nR2,2022,4\n"
    shop = csv_file(tmp_path / "shop" / "deaths.csv", above + few + below).parent
    with open_database(found(shop)) as connection:
        assert connection.execute("SELECT count(*), sum(deaths) FROM deaths") == [(3, 7)]


@pytest.mark.parametrize(
    "below", ["Note: by hand, twice, in May\n", ",,\nNote: by hand, in May, twice\n* in part, of both, so far\n"]
)
def test_words_that_commas_cut_into_the_cells_of_a_row_are_notes(below: str, tmp_path: Path) -> None:
    shop = csv_file(tmp_path / "shop" / "deaths.csv", _FIGURES + below).parent
    csv_file(shop / "texts.csv", f"code,name,town\na,Ann,x\nb,Bo,y\nc,Cy,z\n{below}")
    csv_file(shop / "gaps.csv", "code, name, town\na, Ann, x\nb, Bo, y\nNote: c, Cy, z\n")  # as its rows are written
    csv_file(shop / "rows.csv", "code,name,town\na,Ann,x\nb,Bo,y\nSource: c,Cy,z\n")
    with open_database(found(shop)) as connection:
        assert connection.execute("SELECT count(*), sum(deaths) FROM deaths") == [(12, 462)]
        counts = "SELECT (SELECT count(*) FROM texts), (SELECT count(*) FROM gaps), (SELECT count(*) FROM rows)"
        assert connection.execute(counts) == [(3, 3, 3)]


@pytest.mark.parametrize("below", ["\nSource: Office, Table 4.1\n", "\nSource: Office\n", "* provisional\n"])
def test_rows_between_a_title_and_notes_of_one_cell_are_no_single_column(below: str, tmp_path: Path) -> None:
    shop = csv_file(tmp_path / "shop" / "deaths.csv", f"Deaths by region\n\n{_FIGURES}{below}").parent
    csv_file(shop / "remarks.csv", "remark\nfair\nbad, and worse\ngood\n\nNote: as said\n")
    with open_database(found(shop)) as connection:
        assert connection.execute("SELECT count(*), sum(deaths) FROM deaths") == [(12, 462)]
        assert connection.execute("SELECT count(remark) FROM remarks") == [(4,)]


@pytest.mark.parametrize("below", [",,\n,,\n", "Source: Office,,\n", ",,\n* provisional,,\n* of both,,\n"])
def test_rows_with_a_first_cell_alone_stay_above_padded_notes(below: str, tmp_path: Path) -> None:
    headings = _FIGURES.replace("R0,2020", "North,,\nR0,2020").replace("R1,2020", "South,,\nR1,2020")
    shop = csv_file(tmp_path / "shop" / "deaths.csv", headings + below).parent
    with open_database(found(shop)) as connection:
        assert connection.execute("SELECT count(*), count(region), sum(deaths) FROM deaths") == [(14, 14, 462)]


@pytest.mark.parametrize("below", ["R9,2024\n", ",2024\n", "\nR1,2025,8,9\nR2,2025,9,9\n\nR3,2025,1\n", "R9\n"])
def test_rows_that_lack_a_part_are_no_notes(below: str, tmp_path: Path) -> None:
    shop = csv_file(tmp_path / "shop" / "deaths.csv", _FIGURES + below).parent
    csv_file(shop / "good.csv", "remark\nfair\nbad\n")
    with open_database(found(shop)) as connection:
        assert list(tables(connection)) == ["good"]


@pytest.mark.parametrize("loaded", [2**20, 0])
def test_a_csv_with_ragged_rows_is_no_table_of_one_column(
    loaded: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load_at_most(loaded, monkeypatch)
    shop = csv_file(tmp_path / "shop" / "ragged.csv", "id,name\n1,a\n2,b,c\n3,d\n").parent
    csv_file(shop / "good.csv", "remark\nfair, or so\nbad\n")
    with open_database(found(shop)) as connection:
        assert list(tables(connection)) == ["good"]
        (problem,) = connection.unread
        assert problem.startswith("ragged.csv: would be one column with ',' in its name")
        assert "(line 3 is the first that has not 2)" in problem

"""Large CSV files are views that a first look has described: the same rows and types as when they are loaded."""

from __future__ import annotations

import gzip
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pytest
from csv_folders import parts, read, remarks_on

from agro_data.databases.files import file_tables
from agro_data.databases.files.file_tables import create_tables
from agro_data.databases.quoting import quoted

WORLD_BANK = (
    '"Data Source","World Development Indicators",\n\n"Last Updated Date","2024-06-28",\n\n'
    '"Country Name","Country Code","Indicator Name","1960","1961","1962",\n'
    '"Aruba","ABW","Population, total","54608","55811","",\n"Chad","TCD","Population, total","3","4","5",\n'
    '"Fiji","FJI","Population, total","6","7","8",\n'
)
FILES = {
    "quote's [1]": 'id,it\'s,"a ""b""",x\'y\n1,2,3,4\n5,6,7,8\n',
    "semicolons": "a;b\n1,5;2\n2,5;3\n",
    "dates": "d,t\n31.12.2020,2020-01-01 10:00:00\n01.02.2021,2021-01-01 10:00:00\n",
    "american": "d,v\n12/31/2020,1\n01/02/2021,2\n",
    "no header": "1,2\n3,4\n",
    "comments": "# hello\n# more\na,b\n1,2\n",
    "title": "Report of 2020\n\na,b,c\n1,2,3\n4,5,6\n",
    "twice": "a,a,a\n1,2,3\n",
    "cases": "id,Name,name\n1,x,y\n",
    "tabs": 'a\tb\n1\t"x\ty"\n',
    "windows": 'a,b\r\n1,"x\r\ny"\r\n2,z\r\n',
    "pipes": "a|b\nx|1\ny|2\n",
    "nothing": "",
    "header": "a,b,c\n",
    "gaps": "a,b\n,NA\n3,\n",
    "missing": "a,b,c,d\n1,0.5,x,NA\nNA,NA,y,NA\n3,2,NA,07\n4,.25,z,08\n",
    "mark": "\ufeffa,b\n1,ä\n",
    "one column": "name\nx\ny\n",
    "truth": "t,f\ntrue,false\nfalse,true\n",
    "late text": "a,b\n" + "1,2\n" * 30_000 + "x,3.5\n",
    "late quote": "a,b\n" + "1,2\n" * 30_000 + '"x,""y",3.5\n',
    "größen": "größe,näme\n1,x\n",
    "year=2020": "a,b\n1,2\n",
    "two lines": '"a\nb",c\n1,2\n',
    "no name": "a,,c\n1,2,3\n",
    "world bank": "\ufeff" + WORLD_BANK,
    "backslash": 'a,b\n"x\\"y",2\n"z",3\n',
}


def test_a_view_over_a_csv_has_the_rows_and_types_of_the_loaded_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in FILES.items():
        (tmp_path / f"{name}.csv").write_bytes(text.encode())
    (tmp_path / "packed.csv.gz").write_bytes(gzip.compress(FILES["dates"].encode()))
    loaded, none, problems = read(tmp_path, 2**20, monkeypatch)
    assert (none, problems) == ([], [])
    assert loaded.keys() == {*FILES, "packed"}
    views, files, problems = read(tmp_path, -1, monkeypatch)
    assert (len(files), problems) == (len(loaded), [])
    assert {name for name in loaded if views[name] != loaded[name]} == set()


def test_a_view_over_a_csv_does_not_look_again_at_how_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_tables, "CSV_LOADED", -1)
    (tmp_path / "t.csv").write_text(FILES["late text"])
    with closing(duckdb.connect()) as connection:
        create_tables(connection, tmp_path)
        (written,) = connection.execute("SELECT sql FROM duckdb_views() WHERE view_name = 't'").fetchall()[0]
        assert "auto_detect = false" in written
        assert "a := 'VARCHAR'" in written


@pytest.mark.parametrize("loaded", [2**20, -1])
@pytest.mark.parametrize(
    ("text", "rows", "columns"),
    [
        ("text\n" + "line\n" * 50 + "a;b\n" * 3, 53, ["text"]),
        ("number,title,who\n#1,a,x\n#2,b,x\n#3,a,y\n#4,b,x\n17,c,f\n", 5, ["number", "title", "who"]),
        ("code,name\n#1,a\n#2,b\n3,c\n", 3, ["code", "name"]),
        ("# t\na,b\n1,C#\n2,F# x\n", 2, ["a", "b"]),
        ("\n\na,b\n1,2\n\n3,4\n", 2, ["a", "b"]),
        ("text\none\ntwo\nthree\na;b\nc;d\n", 5, ["text"]),
    ],
)
def test_no_row_of_a_csv_is_skipped(
    text: str, rows: int, columns: list[str], loaded: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "t.csv").write_text(text)
    read_rows, _, problems = read(tmp_path, loaded, monkeypatch)
    described, held = read_rows["t"]
    assert (problems, len(held), [name for name, *_ in described]) == ([], rows, columns)


@pytest.mark.parametrize(
    "text",
    [
        "id,v\n" + "".join(f"{i},x{i}\n" for i in range(100)) + "".join(f"{i},x{i},9\n" for i in range(10)),
        "id,name\n1,a\n2,b\n3,c,d\n",
        "name,city\nann,bonn\n" + "bob,oslo,x\n" * 5,
        "a,b\n1,2\n# note\n3,4\n",
    ],
)
def test_rows_that_cannot_be_told_are_no_table(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "t.csv").write_text(text)
    tables, _, (problem,) = read(tmp_path, 2**20, monkeypatch)
    assert not tables
    assert problem.startswith("t.csv: would be one column with ',' in its name")


@pytest.mark.parametrize("header", ["a|b", "\ufeffa;b", '"a"\t"b"', "Some title\n\na|b"])
def test_a_header_with_another_delimiter_than_the_rows_is_no_title(
    header: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "t.csv").write_text(f"{header}\n1,2\n3,4\n5,6\n")
    (tmp_path / "title.csv").write_text("Report; final\n1,2\n3,4\n5,6\n")
    tables, _, (problem,) = read(tmp_path, 2**20, monkeypatch)
    assert list(tables) == ["title"]
    assert "between the names of its header and ',' in its rows; write both with one" in problem


def test_lines_above_a_header_are_told(tmp_path: Path) -> None:
    for name in ("title", "comments", "header"):
        (tmp_path / f"{name}.csv").write_text(FILES[name])
    assert remarks_on(tmp_path) == [
        "comments.csv: its first 2 lines are taken for a title or comment above the header, and no row",
        "title.csv: its first line is taken for a title or comment above the header, and no row",
    ]
    (tmp_path / "title.csv").write_text("Report\nof all\nfor us\na;b\n1;2\n")
    assert remarks_on(tmp_path)[1:] == [
        "title.csv: each line is one cell, though those below line 3 could be cut into 2"
    ]


def test_a_title_with_cells_ends_at_a_blank_line_and_years_are_a_header(tmp_path: Path) -> None:
    """As the World Bank publishes its tables."""
    (tmp_path / "population.csv").write_text(WORLD_BANK, encoding="utf-8-sig")
    (tmp_path / "area.csv").write_text("country,2019,2020,2021\nAruba,180,180,180\nChad,1284,1284,1284\n")
    (tmp_path / "rows.csv").write_text("a,2019,2020,2022\nb,180,180,180\n")  # no years behind each other
    with closing(duckdb.connect()) as connection:
        made = create_tables(connection, tmp_path)
        names = {name: connection.sql(f"FROM {quoted(name)}").columns[:4] for name in made.tables}
        first = connection.execute("FROM population").fetchall()[0]
    assert first == ("Aruba", "ABW", "Population, total", 54608, 55811, None, None)
    assert names["population"] == ["Country Name", "Country Code", "Indicator Name", "1960"]
    assert names["area"] == ["country", "2019", "2020", "2021"]
    assert names["rows"][0] == "column0"
    assert made.remarks == [
        "population.csv: its first 2 lines are taken for a title or comment above the header, and no row"
    ]


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("Norway,2001,2002,2003\nPeru,1998,2004,2011\nChad,,1999,2000\n", "column0"),
        ("Norway;2001;2002;2003\nPeru;1998;2000;2011\n", "column0"),
        ("country,2001,2002,2003\nNorway,1998,2004,2011\nPeru,1998,2004,2210\n", "country"),
        ("country,2001,2002,2003\nNorway,1998.5,2004,2011\n", "country"),
        ("country,2001,2002,2003\nNorway,,,\n", "country"),
        ("country,2001,2002,2003\n", "country"),
    ],
)
def test_a_text_and_years_above_nothing_but_years_are_a_row(text: str, first: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(text)
    with closing(duckdb.connect()) as connection:
        create_tables(connection, tmp_path)
        table = connection.sql("FROM t")
        assert table.columns[0] == first
        assert len(table.fetchall()) == text.count("\n") - (first == "country")


@pytest.mark.parametrize("loaded", [2**20, -1])
@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["01/02/2024", "03/04/2024"], "VARCHAR"),
        (["01/02/2024", "02/01/2024"], "VARCHAR"),
        (["01/02/24", "03/04/24"], "VARCHAR"),
        (["01/02/2024 10:00:00", "03/04/2024 11:00:00"], "VARCHAR"),
        (["01/02/2024", "25/04/2024"], "DATE"),
        (["01/02/2024", "04/25/2024"], "DATE"),
        (["01/01/2024", "02/02/2024"], "DATE"),
        (["2024-01-02", "2024-03-04"], "DATE"),
    ],
)
def test_a_date_that_may_be_two_stays_text(
    values: list[str], kind: str, loaded: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "t.csv").write_text("d,v\n" + "".join(f"{value},1\n" for value in values) + ",2\n")
    tables, _, _ = read(tmp_path, loaded, monkeypatch)
    described, rows = tables["t"]
    assert str(described[0][1]) == kind
    if kind == "VARCHAR":
        assert [value for value, _ in rows] == [*values, None]
    assert [remark.partition(": its values")[0] for remark in remarks_on(tmp_path)] == (
        ["t.csv: column 'd' stays text"] if kind == "VARCHAR" else []
    )


def test_a_date_that_is_told_by_another_column(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "t.csv").write_text("d,e,f\n01/02/2024,25/03/2024,2024-01-01\n03/04/2024,26/04/2024,2024-01-02\n")
    tables, _, _ = read(tmp_path, 2**20, monkeypatch)
    assert [str(kind) for _, kind, *_ in tables["t"][0]][:2] == ["DATE", "DATE"]


@pytest.mark.parametrize("loaded", [2**20, -1])
def test_parts_write_dates_in_one_way(loaded: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = parts(tmp_path, "d,v\n01/02/2024,1\n", "v,d,w\n2,01/25/2024,x\n", "", "d;v\n02/03/2024;3\n")
    tables, _, problems = read(folder, loaded, monkeypatch)
    assert problems == []
    assert sorted(str(day) for day, *_ in tables["t"][1]) == ["2024-01-02", "2024-01-25", "2024-02-03"]
    (tmp_path / "t" / "part-1.csv").write_text("v,d\n2,25/01/2024\n")
    (tmp_path / "t" / "part-4.csv").write_text("v,d\n2,01/25/2024\n")
    tables, _, _ = read(folder, loaded, monkeypatch)
    assert sorted(day for day, *_ in tables["t"][1]) == ["01/02/2024", "01/25/2024", "02/03/2024", "25/01/2024"]
    assert len(remarks_on(folder)) == 1


@pytest.mark.parametrize("loaded", [2**20, -1])
def test_numbers_of_parts_are_numbers(loaded: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = "".join(f"x;{n},5;{n}\n" for n in range(12))
    folder = parts(tmp_path, f"kind;price;stock\n{rows}", 'kind,price,stock\ny,"1.234,50",NA\ny,"7,25",3\n')
    tables, _, problems = read(folder, loaded, monkeypatch)
    assert problems == []
    assert sum(price for _, price, _ in tables["t"][1]) == sum(range(12)) + 6 + 1234.5 + 7.25
    assert [stock for kind, _, stock in tables["t"][1] if kind == "y"] == [None, 3]
    assert len(remarks_on(folder)) == 2


SWISS = 'a,b\n1,"1\'234.50"\n2,"99"\n3,"2\'000.00"\n'


@pytest.mark.parametrize(
    ("other", "held"),
    [
        (SWISS, [1234.5, 99, 2000]),
        ("a,b\n4,5\n5,7\n", [5, 7]),
        ('a,b\n4,5"\n5,9"9\n6,"\n', ['5"', '9"9', '"']),  # no row is lost to quotes that are none
        ("a,b\n4,'x'\n5,'y,z'\n", ["x", "y,z"]),
    ],
)
def test_numbers_of_parts_may_have_apostrophes_in_quotes(
    other: str, held: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables, _, problems = read(parts(tmp_path, SWISS, other), 2**20, monkeypatch)
    described, rows = tables["t"]
    assert (problems, [column[0] for column in described]) == ([], ["a", "b"])
    assert [value for _, value in rows[3:]] == held
    if not isinstance(held[0], str):
        assert [value for _, value in rows[:3]] == [1234.5, 99, 2000]


@pytest.mark.parametrize("loaded", [2**20, -1])
def test_a_blank_line_in_a_part_is_no_row(loaded: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = "id,price\n1,NA\n,\n3,4\n7,9\n", "id,price,kind\n,,\n5,,x\n6,1,\n"
    for year, text in enumerate(texts, 2023):
        (tmp_path / "t" / f"year={year}").mkdir(parents=True)
        (tmp_path / "t" / f"year={year}" / "a.csv").write_text(text)
    tables, _, problems = read(tmp_path, loaded, monkeypatch)
    assert problems == []
    assert sorted((key, price, year) for key, price, _, year in tables["t"][1]) == [
        (1, None, 2023),
        (3, 4, 2023),
        (5, None, 2024),
        (6, 1, 2024),
        (7, 9, 2023),
    ]
    assert "t: its 2 lines that hold nothing are taken for no row" in remarks_on(tmp_path)
    (tmp_path / "t" / "year=2024" / "a.csv").write_text("id,price\n,7\n8,\n")  # no column has a value in each
    assert len(read(tmp_path, loaded, monkeypatch)[0]["t"][1]) == 6


@pytest.mark.parametrize(
    ("second", "said"),
    [
        ("3,4\n5,6\n", "t: part-1.csv has no header as part-0.csv has; give each part the same header"),
        ("x,y\nu,v\n", "t: part-1.csv has no column that part-0.csv has"),
        ("a,b\n1,2\n3,4,5\n", "t: part-1.csv would be one column with ',' in its name"),
    ],
)
def test_parts_of_another_kind_are_refused(
    second: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables, _, (problem,) = read(parts(tmp_path, "a,b\n1,2\n", second), 2**20, monkeypatch)
    assert not tables
    assert problem.startswith(said)


def test_parts_by_year_are_read_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts, a part without rows, and columns of the folders."""
    for year, text in (("2023", "name,city\nann,bonn\n"), ("2024", "name,city\nbob,oslo\ncy,rome\n"), ("2025", "")):
        (tmp_path / "t" / f"year={year}").mkdir(parents=True)
        (tmp_path / "t" / f"year={year}" / "a.csv").write_text(text)
    for loaded in (2**20, -1):
        tables, _, problems = read(tmp_path, loaded, monkeypatch)
        assert problems == []
        assert sorted(tables["t"][1]) == [("ann", "bonn", 2023), ("bob", "oslo", 2024), ("cy", "rome", 2024)]


def test_parts_keep_rows_that_begin_with_a_hash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tables, _, problems = read(parts(tmp_path, "a,b\n#1,2\n3,4\n", "a,b\n#5,6\n#7,8\n9,1\n"), 2**20, monkeypatch)
    assert (problems, len(tables["t"][1])) == ([], 5)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("a,b\n1,é\n".encode("latin-1"), "it is not UTF-8; save it as CSV in UTF-8"),
        (b"a,b\n1," + b"x" * 3_000_000 + b"\n", "it has a row of more than 2 MB"),
        (b"a,b\n1,2\r3,4\r\n5,6\n", "no delimiter, quote and end of line fit all of its lines"),
    ],
)
def test_what_is_wrong_with_a_csv_is_told(
    content: bytes, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "t.csv").write_bytes(content)
    (tmp_path / "u").mkdir()
    (tmp_path / "u" / "part-0.csv.gz").write_bytes(gzip.compress(b"a,b\n1,2\n" * 9999)[:-20])
    tables, _, problems = read(tmp_path, 2**20, monkeypatch)
    assert not tables
    assert problems[0].startswith(f"t.csv: cannot be read as a table: {said}")
    assert problems[1].startswith("u: cannot be read as a table: it is no whole gzip file")


def test_a_packed_csv_without_end_costs_itself_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its folder took over two minutes to read, and was left out."""
    monkeypatch.setattr(file_tables, "UNPACKED", 2**20)
    (tmp_path / "bomb.csv.gz").write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 2**19))
    (tmp_path / "long.csv.gz").write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 2**17))
    (tmp_path / "small.csv").write_text("a,b\n1,2\n")
    tables, _, (problem,) = read(tmp_path, 2**20, monkeypatch)
    assert tables.keys() == {"long", "small"}
    assert problem.startswith("bomb.csv.gz: unpacks to more than")


def test_a_csv_that_takes_too_much_memory_is_not_said_to_be_no_utf8(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n" + "1,2\n" * 400_000)
    with closing(duckdb.connect(config={"memory_limit": "1MiB", "threads": "1"})) as connection:
        (problem,) = create_tables(connection, tmp_path).problems
    assert problem.endswith("it takes more memory than DuckDB is given here; give it as Parquet")

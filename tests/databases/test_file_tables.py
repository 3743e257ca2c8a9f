"""Large CSV files are views that a first look has described: the same rows and types as when they are loaded."""

from __future__ import annotations

import gzip
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pytest

from agro_data.databases import file_tables
from agro_data.databases.file_tables import create_tables
from agro_data.databases.quoting import quoted

FILES = {
    "quote's [1]": 'id,it\'s,"a ""b""",x\'y\n1,2,3,4\n5,6,7,8\n',
    "semicolons": "a;b\n1,5;2\n2,5;3\n",
    "dates": "d,t\n31.12.2020,2020-01-01 10:00:00\n01.02.2021,2021-01-01 10:00:00\n",
    "american": "d,v\n12/31/2020,1\n01/02/2021,2\n",
    "no header": "1,2\n3,4\n",
    "comments": "# hello\n# more\na,b\n1,2\n",
    "title": "Report of 2020\n\na,b,c\n1,2,3\n4,5,6\n",
    "twice": "a,a,a\n1,2,3\n",
    "tabs": 'a\tb\n1\t"x\ty"\n',
    "windows": 'a,b\r\n1,"x\r\ny"\r\n2,z\r\n',
    "pipes": "a|b\nx|1\ny|2\n",
    "nothing": "",
    "header": "a,b,c\n",
    "gaps": "a,b\n,NA\n3,\n",
    "mark": "\ufeffa,b\n1,ä\n",
    "one column": "name\nx\ny\n",
    "truth": "t,f\ntrue,false\nfalse,true\n",
    "late text": "a,b\n" + "1,2\n" * 30_000 + "x,3.5\n",
    "late quote": "a,b\n" + "1,2\n" * 30_000 + '"x,""y",3.5\n',
    "größen": "größe,näme\n1,x\n",
    "year=2020": "a,b\n1,2\n",
    "two lines": '"a\nb",c\n1,2\n',
    "no name": "a,,c\n1,2,3\n",
    "backslash": 'a,b\n"x\\"y",2\n"z",3\n',
}


def read(folder: Path, loaded: int, monkeypatch: pytest.MonkeyPatch) -> tuple[dict[str, Any], list[Path], list[str]]:
    monkeypatch.setattr(file_tables, "CSV_LOADED", loaded)
    with closing(duckdb.connect()) as connection:
        tables, read_later, problems = create_tables(connection, folder)
        rows = {
            name: (
                connection.sql(f"FROM {quoted(name)}").description,
                connection.sql(f"FROM {quoted(name)}").fetchall(),
            )
            for name in tables
        }
        return rows, read_later, problems


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

"""Folders of CSV files for tests, and what is read of them."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pytest

from agro_data.databases.files import file_tables
from agro_data.databases.files.file_tables import create_tables
from agro_data.databases.quoting import quoted


def read(folder: Path, loaded: int, monkeypatch: pytest.MonkeyPatch) -> tuple[dict[str, Any], list[Path], list[str]]:
    monkeypatch.setattr(file_tables, "CSV_LOADED", loaded)
    with closing(duckdb.connect()) as connection:
        tables, read_later, problems, _ = create_tables(connection, folder)
        rows = {
            name: (
                connection.sql(f"FROM {quoted(name)}").description,
                connection.sql(f"FROM {quoted(name)}").fetchall(),
            )
            for name in tables
        }
        return rows, read_later, problems


def remarks_on(folder: Path) -> list[str]:
    with closing(duckdb.connect()) as connection:
        return create_tables(connection, folder).remarks


def parts(folder: Path, *texts: str) -> Path:
    (folder / "t").mkdir()
    for number, text in enumerate(texts):
        (folder / "t" / f"part-{number}.csv").write_text(text)
    return folder

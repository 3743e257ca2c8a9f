"""A small certified corpus, built once."""

from __future__ import annotations

import duckdb
import pytest
from making import build_corpus, make_school

from agro_data.publish.read import Version

SHOP = """
CREATE TABLE customer (customer_id INTEGER PRIMARY KEY, name VARCHAR NOT NULL, city VARCHAR NOT NULL);
CREATE TABLE purchase (
    purchase_id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL REFERENCES customer (customer_id), total DOUBLE);
INSERT INTO customer
    SELECT i, 'Customer ' || chr((64 + i)::INTEGER), ['Oslo', 'Lyon', 'Graz'][1 + i % 3] FROM range(1, 25) r(i);
INSERT INTO purchase SELECT i, 1 + (i * i) % 23, i * 7.35 FROM range(1, 121) r(i);
"""


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Version:
    folder = tmp_path_factory.mktemp("exports")
    make_school(folder / "school.sqlite")
    return build_corpus(folder, folder / "school.sqlite", size=24).version


@pytest.fixture(scope="session")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Version:
    """An SQLite school and a DuckDB shop, so that forms for SQLite leave rows out."""
    folder = tmp_path_factory.mktemp("mixed")
    (folder / "databases").mkdir()
    make_school(folder / "databases" / "school.sqlite")
    with duckdb.connect(folder / "databases" / "shop.duckdb") as connection:
        connection.execute(SHOP)
    return build_corpus(folder, folder / "databases", size=24).version

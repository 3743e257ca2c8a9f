"""The shop as a warehouse in DuckDB, for queries as analysts write them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import duckdb
import pytest
from intent import shop

from agro_data.intent.sampling.atlas import Atlas


@pytest.fixture(scope="module")
def atlas() -> Atlas:
    return Atlas(shop.profile("duckdb"))


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with closing(shop.build_duckdb()) as opened:
        yield opened

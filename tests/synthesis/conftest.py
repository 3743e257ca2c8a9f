"""The shop that queries are read, varied and taken apart on."""

from __future__ import annotations

from pathlib import Path

import pytest
from intent import shop

from agro_data.intent.sampling.atlas import Atlas


@pytest.fixture(scope="module")
def atlas() -> Atlas:
    return Atlas(shop.profile())


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("shop") / "shop.sqlite"
    shop.build_sqlite(path).close()
    return path

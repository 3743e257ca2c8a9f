"""A small certified corpus, built once."""

from __future__ import annotations

import pytest
from making import make_school

import agro_data
from agro_data.publish.read import Version


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Version:
    folder = tmp_path_factory.mktemp("exports")
    make_school(folder / "school.sqlite")
    run = agro_data.RunConfig(out=folder / "out", cache=folder / "cache", workers=1)
    return agro_data.build(folder / "school.sqlite", size=24, embedding_model="structural", run=run).version

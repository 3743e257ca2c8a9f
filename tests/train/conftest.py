"""What several tests of training work with."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from train.tiny import make_tiny_model

from agro_data.databases.hostile.sandbox import Sandbox

if TYPE_CHECKING:
    from agro_train.language_model.loading import LanguageModel


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox(workers=1) as one:
        yield one


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> LanguageModel:
    from agro_train.language_model.loading import load

    return load(str(make_tiny_model(tmp_path_factory.mktemp("tiny"))), Path("unused"))

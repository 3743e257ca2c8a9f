"""What tests of GRPO train: a tiny model on a real corpus."""

from __future__ import annotations

from pathlib import Path

import pytest
from train.small import grpo_config, make_corpus, make_writer, prompts_of

from agro_data.publish.read import Version
from agro_train.reinforcement.config import GrpoConfig


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Version:
    return make_corpus(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="module")
def writer(corpus: Version, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_writer(tmp_path_factory.mktemp("writer"), prompts_of(corpus))


@pytest.fixture
def config(corpus: Version, writer: Path, tmp_path: Path) -> GrpoConfig:
    return grpo_config(corpus, writer, tmp_path / "models")

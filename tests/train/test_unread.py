"""Databases that the cold start leaves are those that GRPO learns about."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from train.small import cold_start_config, grpo_config, make_split_corpus
from train.tiny import make_tiny_model

from agro_data.publish.read import Version
from agro_train import cold_start, grpo
from agro_train.cold_start import ColdStartConfig
from agro_train.programs.settings import SettingsError
from agro_train.reinforcement.config import GrpoConfig
from agro_train.runs.store import ModelRun

SCHOOLS = ["academy", "school"]


@pytest.fixture
def corpus(tmp_path: Path) -> Version:
    """Its train split asks about both databases."""
    version = make_split_corpus(tmp_path)
    train, test = (version.path / "data" / f"{split}-00000.parquet" for split in ("train", "test"))
    both = pl.concat([pl.read_parquet(train), pl.read_parquet(test).with_columns(split=pl.lit("train"))])
    both.write_parquet(train)
    return version


@pytest.fixture
def config(tmp_path: Path, corpus: Version) -> ColdStartConfig:
    return replace(cold_start_config(corpus, make_tiny_model(tmp_path / "tiny")), leave=0.5, check_questions=0)


@pytest.fixture
def learner(tmp_path: Path, corpus: Version) -> GrpoConfig:
    return replace(grpo_config(corpus, Path("cold-start"), tmp_path / "models"), steps=1, allow_evaluated=True)


def read(run: ModelRun) -> list[str]:
    return [fact["db_id"] for fact in run.manifest["databases"]]


def test_what_the_cold_start_leaves_grpo_learns_about(config: ColdStartConfig, learner: GrpoConfig) -> None:
    start = cold_start.train(config)
    (left,) = set(SCHOOLS) - set(read(start))
    trajectories = pl.read_parquet(Path(config.trajectories) / start.manifest["trajectories"] / "data" / "*.parquet")
    assert left not in trajectories["db_id"]
    asked = grpo._questions(learner, Version(Path(learner.corpus)), start)
    assert {row["db_id"] for row in asked.rows} == {left}
    assert read(grpo.train(learner)) == SCHOOLS  # what it and its parent have read


def test_all_may_be_asked_about(config: ColdStartConfig, learner: GrpoConfig) -> None:
    start, version = cold_start.train(config), Version(Path(learner.corpus))
    every = grpo._questions(replace(learner, unread=False), version, start)
    assert {row["db_id"] for row in every.rows} == set(SCHOOLS)
    whole = cold_start.train(replace(config, leave=0.0, examples=100))
    assert read(whole) == SCHOOLS
    assert grpo._questions(learner, version, whole).rows == every.rows  # nothing is left to prefer
    assert grpo._questions(learner, version, None).rows == every.rows


def test_one_database_is_always_learnt_from(config: ColdStartConfig) -> None:
    assert len(read(cold_start.train(replace(config, leave=0.99)))) == 1
    with pytest.raises(SettingsError, match="leave=1: expected a share of the databases"):
        replace(config, leave=1.0)


def test_the_seed_says_which_are_left(config: ColdStartConfig) -> None:
    left = {tuple(read(cold_start.train(replace(config, seed=seed, examples=4)))) for seed in range(4)}
    assert left == {("academy",), ("school",)}

"""Databases that the cold start leaves are those that GRPO learns about."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from pathlib import Path

import polars as pl
import pytest
from train.small import cold_start_config, grpo_config, make_split_corpus
from train.tiny import make_tiny_model

from agro_data.publish.read import Version
from agro_train import cold_start, grpo, teach
from agro_train.cold_start import ColdStartConfig
from agro_train.programs.settings import SettingsError
from agro_train.questions import questions_of_version
from agro_train.reinforcement.config import GrpoConfig
from agro_train.runs.store import ModelRun

pytestmark = pytest.mark.ci

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


def candidates(config: GrpoConfig, parent: ModelRun | None) -> list[str]:
    """The databases that candidates are about, in their order."""
    version = Version(Path(config.corpus))
    questions = questions_of_version(version, Path(config.databases), Path(config.cache), "train")
    about = {row["example_id"]: row["db_id"] for row in questions.rows}
    return [about[key] for key in grpo._candidates(config, parent, questions)]


def read(run: ModelRun) -> list[str]:
    return [fact["db_id"] for fact in run.manifest["databases"]]


def test_what_the_cold_start_leaves_grpo_learns_about(config: ColdStartConfig, learner: GrpoConfig) -> None:
    start = cold_start.train(config)
    (left,) = set(SCHOOLS) - set(read(start))
    trajectories = pl.read_parquet(Path(config.trajectories) / start.manifest["trajectories"] / "data" / "*.parquet")
    assert left not in trajectories["db_id"]
    tried = candidates(learner, start)
    assert [name for name, _ in groupby(tried)] == [left, *read(start)]
    run = grpo.train(learner)
    assert read(run) == SCHOOLS  # what it and its parent have read
    assert run.manifest["selection"]["unread"] == run.manifest["selection"]["kept"] == learner.prompts


def test_all_may_be_asked_about(config: ColdStartConfig, learner: GrpoConfig) -> None:
    start = cold_start.train(config)
    mixed = candidates(replace(learner, unread=False), start)
    assert len(list(groupby(mixed))) > 2
    whole = cold_start.train(replace(config, leave=0.0, examples=100))
    assert read(whole) == SCHOOLS
    assert candidates(learner, whole) == candidates(learner, None) == mixed  # nothing is left to prefer


def test_what_is_learnt_from_again_is_known_by_what_it_was_made_of(config: ColdStartConfig) -> None:
    """Whatever the settings of the training would have left."""
    stored = {seed: teach.make(replace(config, seed=seed, examples=4)).stored for seed in range(4)}
    for seed, folder in stored.items():
        run = cold_start.train(replace(config, seed=seed + 1, learn_from=str(folder), examples=4))
        trajectories = pl.read_parquet(Path(str(folder)) / "data" / "*.parquet")
        assert read(run) == sorted(set(trajectories["db_id"]))


def test_one_database_is_always_learnt_from(config: ColdStartConfig) -> None:
    assert len(read(cold_start.train(replace(config, leave=1.0)))) == 1
    with pytest.raises(SettingsError, match=r"leave=1.5: expected a share between 0 and 1"):
        replace(config, leave=1.5)


def test_the_seed_says_which_are_left(config: ColdStartConfig) -> None:
    left = {tuple(read(cold_start.train(replace(config, seed=seed, examples=4)))) for seed in range(4)}
    assert left == {("academy",), ("school",)}

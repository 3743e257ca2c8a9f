"""Trajectories that are read again: of the same corpus, read alike, and with all that they were made of named."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from train.small import cold_start_config, make_split_corpus
from train.tiny import make_tiny_model

from agro_data.publish.read import Version
from agro_train.cold_start import ColdStartConfig
from agro_train.programs.settings import SettingsError
from agro_train.teach import make
from agro_train.trajectories import material
from agro_train.trajectories.material import Material, read_material, sources_of
from agro_train.trajectories.teachers import RESPELT


@pytest.fixture
def corpus(tmp_path: Path) -> Version:
    return make_split_corpus(tmp_path)


@pytest.fixture
def config(tmp_path: Path, corpus: Version) -> ColdStartConfig:
    return replace(cold_start_config(corpus, make_tiny_model(tmp_path / "tiny")), examples=6)


@pytest.fixture
def pairs(tmp_path: Path) -> str:
    file = tmp_path / "people.json"
    row = {"db_id": "academy", "question": "Who is there?", "query": "SELECT name FROM school"}
    file.write_text(json.dumps([row]), encoding="utf-8")
    return str(file)


def read(config: ColdStartConfig, corpus: Version, made: Material, **changes: Any) -> Material:
    assert made.stored is not None
    return read_material(made.stored, replace(config, **changes), corpus)


def test_what_was_made_is_read_again(config: ColdStartConfig, corpus: Version, pairs: str) -> None:
    made = make(config)
    again = read(config, corpus, made)
    assert again.trajectories.equals(made.trajectories.sort("trajectory_id"))
    assert replace(again, trajectories=made.trajectories) == made
    with pytest.raises(SettingsError, match=r"made with \{'style': .*'turns': 4\}, but the settings say .*'turns': 3"):
        read(config, corpus, made, turns=3)
    with pytest.raises(SettingsError, match=r"made without pairs .* leave `pairs` empty"):
        read(config, corpus, made, pairs=pairs)
    with pytest.raises(SettingsError, match=r"school/v\S+: holds no trajectories; `python -m agro_train.teach`"):
        read_material(corpus.path, config, corpus)


def test_prompts_that_were_written_otherwise_are_refused(
    config: ColdStartConfig, corpus: Version, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = make(config)
    monkeypatch.setattr(material, "PROTOCOL", material.PROTOCOL + 1)
    with pytest.raises(SettingsError, match=r"its prompts are of .*, today's of .*; make it anew"):
        read(config, corpus, made)


def test_databases_of_pairs_are_not_forgotten(config: ColdStartConfig, corpus: Version, pairs: str) -> None:
    made = make(replace(config, pairs=pairs, examples=20))
    assert set(made.trajectories["db_id"]) == {"school", "academy"}
    with pytest.raises(SettingsError, match="made with pairs that people wrote; give the same file as `pairs`"):
        read(config, corpus, made)
    assert read(config, corpus, made, pairs=pairs).trajectories.height == made.trajectories.height


def test_pairs_have_the_hardness_and_the_steps_of_their_sql(config: ColdStartConfig, tmp_path: Path) -> None:
    """So that they are chosen as those of a corpus are, and thoughts say what is asked."""
    file = tmp_path / "pairs.json"
    extra = "SELECT city FROM school WHERE founded > 1900 GROUP BY city HAVING COUNT(*) > 0 ORDER BY city LIMIT 3"
    odd = "SELECT name FROM school WHERE founded > (SELECT MAX(founded) FROM school WHERE city = 'Oslo')"
    sqls = ("SELECT name FROM school", extra, odd, "SELECT (")
    file.write_text(json.dumps([{"db_id": "academy", "question": f"Who {sql}?", "query": sql} for sql in sqls]))
    [read] = sources_of(replace(config, corpus="", pairs=str(file)), None)
    assert [row["hardness"] for row in read.rows] == ["easy", "extra", "hard", ""]
    assert [" ".join(step["intent"] for step in row["steps"]) for row in read.rows] == [
        "Give the name.",
        "Find city of school where founded > 1900. "
        "Of these, find city for each city, keeping those with COUNT(*) > 0, smallest city first, only the first 3.",
        "Find MAX(founded) of school where city = 'Oslo'. "
        "Find name of school where founded > (SELECT MAX(founded) FROM school WHERE city = 'Oslo').",
        "",
    ]


def test_a_question_is_learnt_with_its_names_and_with_others(config: ColdStartConfig) -> None:
    changed = replace(config, examples=8, pool=1.0, respell=1.0, respell_beside=True, selection="random")
    both = make(changed).trajectories
    often = both.group_by("example_id").len()["len"].to_list()
    assert both.height == 8
    assert often == [2] * 4
    assert both["features"].list.contains(RESPELT).sum() == 4
    with pytest.raises(SettingsError, match="respell_beside is set and respell is 0"):
        replace(config, respell_beside=True)

"""Tasks of a version: what stands in a prompt is the version's, wherever its databases lie now."""

from __future__ import annotations

from pathlib import Path

import pytest
from train.small import make_corpus

from agro_data.profiling.serialising.serialise import SerialiserMismatch, serialiser
from agro_train.questions import COLUMNS, plain_row, questions_of_version
from agro_train.tasks import NoTask, PromptFormat


def test_a_database_that_was_renamed_is_asked_about_under_the_name_that_it_had(tmp_path: Path) -> None:
    version, databases = make_corpus(tmp_path), tmp_path / "databases"

    def prompts() -> list[str]:
        questions = questions_of_version(version, databases, tmp_path / "cache", "train")
        return [task.prompt for task in questions.tasks(PromptFormat("mschema"))]

    before = prompts()
    assert "[DB_ID] school" in before[0]
    (databases / "school.sqlite").rename(databases / "another name.sqlite")
    assert prompts() == before
    (databases / "another name.sqlite").unlink()
    with pytest.raises(NoTask, match="database school as it was when the corpus was made is not below"):
        prompts()


@pytest.mark.parametrize("stored", [{"name": "mschema", "version": 0}, {"name": "poem", "version": 1}, {}, None])
def test_a_version_of_another_serialiser_is_refused(tmp_path: Path, stored: object) -> None:
    """Also one whose style is not known here any more."""
    version = make_corpus(tmp_path, schema_serialiser=stored)
    with pytest.raises(SerialiserMismatch, match=r"^school v0001-00000000: made with schema serialiser "):
        questions_of_version(version, tmp_path / "databases", tmp_path / "cache", "train")
    (tmp_path / "as_now").mkdir()
    as_now = make_corpus(tmp_path / "as_now", schema_serialiser=serialiser("ddl"))
    assert questions_of_version(as_now, tmp_path / "as_now" / "databases", tmp_path / "cache", "train").rows


def test_no_value_is_shown_of_databases_whose_values_a_version_was_made_without(tmp_path: Path) -> None:
    """Its manifest names the sources by content, not their stand-ins."""
    version = make_corpus(tmp_path, config={"values": "synthetic"})
    with pytest.raises(NoTask, match="--values synthetic"):
        questions_of_version(version, tmp_path / "databases", tmp_path / "cache", "train")
    assert not (tmp_path / "cache").exists()


def test_a_question_of_which_nothing_is_known_has_every_column() -> None:
    row = plain_row(example_id="1", db_id="school", question="Which?", place="line 1")
    assert set(row) == {*COLUMNS, "place"}

"""People's pairs of question and SQL as rows of a corpus: what trajectories are made of has steps, and a hardness."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from agro_data.intent.sampling.atlas import Atlas
from agro_data.sql.difficulty import hardness_of
from agro_data.sql.parse import SqlRefused, parse_select
from agro_data.synthesis.decomposition import steps_in_words
from agro_train.questions import Questions


def as_of_corpus(pairs: Questions) -> Questions:
    """The pairs with the columns beside `COLUMNS` that a corpus' rows have: hardness, by which they are chosen, and
    steps are told by their SQL. SQL that cannot be read has none; its trajectory will be dropped, with the reason.
    """
    atlases = {name: Atlas(source.profile) for name, source in pairs.sources.items()}
    return replace(pairs, rows=tuple(_as_of_corpus(row, atlases[row["db_id"]]) for row in pairs.rows))


def _as_of_corpus(row: Mapping[str, Any], atlas: Atlas) -> dict[str, Any]:
    found: dict[str, Any] = {"steps": [], "split": "train", "hardness": ""}
    with suppress(SqlRefused):
        found["hardness"] = hardness_of(parse_select(row["sql"], atlas.profile.dialect))
        steps = steps_in_words(row["sql"], atlas)
        found["steps"] = [{"name": step.name, "intent": step.intent, "sql": step.sql} for step in steps]
    return {**row, **found}

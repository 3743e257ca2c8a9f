"""Rows that changed, held to those that stand: in their database, and where splits are by skeleton in all."""

from __future__ import annotations

import polars as pl

from agro_data.diversity.decontamination import Exclusion
from agro_data.stages.newcomers import Homes, refusals

NOTHING = Exclusion([])


def row(name: str, db_id: str, question: str, skeleton: str, split: str) -> dict[str, str]:
    sql = f"SELECT {skeleton} FROM t"
    said = {"example_id": name, "db_id": db_id, "question": question, "sql": sql, "skeleton": skeleton}
    return said | {"hardness": "hard", "split": split}


def frame(*rows: dict[str, str]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=dict.fromkeys(row("", "", "", "", ""), pl.String))


def test_what_other_databases_say_counts_as_they_say_it_now() -> None:
    others = frame(row("1", "gym", "Who swims?", "a", "test"), row("2", "gym", "Who runs?", "a", "test"))
    changed = frame(row("3", "zoo", "Who flies?", "a", "train"))
    elsewhere = Homes()
    elsewhere.add(others)
    assert refusals(changed, frame(), NOTHING, None) == [None]  # splits by database
    [(reason, detail)] = [found for found in refusals(changed, frame(), NOTHING, elsewhere) if found]
    assert reason == "split_leak"
    assert "skeleton a" in detail
    elsewhere.remove(others.head(1))
    assert refusals(changed, frame(), NOTHING, elsewhere) != [None]  # one such row is still there
    elsewhere.remove(others.tail(1))
    assert refusals(changed, frame(), NOTHING, elsewhere) == [None]


def test_they_join_one_after_the_other() -> None:
    changed = frame(
        row("3", "zoo", "Who flies?", "a", "train"),
        row("4", "zoo", "who flies", "b", "train"),
        row("5", "zoo", "Who sleeps?", "a", "test"),
        row("6", "zoo", "Who eats?", "c", "test"),
    )
    standing = frame(row("1", "zoo", "Who eats?", "d", "test"))
    found = refusals(changed, standing, NOTHING, Homes())
    assert [reason and reason[0] for reason in found] == [None, "same_question", "split_leak", "same_question"]

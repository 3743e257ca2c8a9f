"""What distinguishes two versions: which rows stand for each other, and what the figures say."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import polars as pl
import publish_samples as samples
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agro_data.publish.difference import KINDS, Difference, compare, paired_rows, shares, summary
from agro_data.publish.read import Version, open_version
from agro_data.publish.version import write_version

ROWS = (  # each question and each SQL once
    samples.examples(60)
    .with_columns(pl.format("{} ({})", "question", "seed").alias("question"))
    .with_columns(pl.format("{} -- {}", "sql", "seed").alias("sql"))
    .sort("example_id")
)


def other_id(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def with_ids(frame: pl.DataFrame) -> pl.DataFrame:
    """Ids that follow the question and SQL, as a build's do."""
    ids = [other_id(f"{row['sql']}|{row['question']}") for row in frame.iter_rows(named=True)]
    return frame.with_columns(pl.Series("example_id", ids))


def kinds(before: pl.DataFrame, after: pl.DataFrame) -> dict[str, int]:
    return dict(paired_rows(before, after)["kind"].value_counts().iter_rows())


def test_the_same_rows_in_another_order_are_the_same() -> None:
    assert kinds(ROWS, ROWS.reverse()) == {"same": 60}


def test_each_kind_of_difference_is_told() -> None:
    first = ROWS.row(0, named=True)
    changed = ROWS.with_columns(
        split=pl.when(pl.col("example_id") == first["example_id"]).then(pl.lit("other")).otherwise(pl.col("split"))
    )
    found = paired_rows(ROWS, changed).filter(pl.col("kind") == "changed")
    assert found.select("before", "columns").rows() == [(first["example_id"], ["split"])]
    reworded = ROWS.with_columns(question=pl.col("question") + " Say it.").pipe(with_ids)
    assert kinds(ROWS, reworded) == {"reworded": 60}
    rewritten = ROWS.with_columns(sql=pl.col("sql") + " LIMIT 5").pipe(with_ids)
    assert kinds(ROWS, rewritten) == {"rewritten": 60}
    moved = ROWS.with_columns(example_id=pl.col("example_id").str.reverse())
    assert kinds(ROWS, moved) == {"data": 60}
    assert kinds(ROWS.head(40), ROWS.tail(40)) == {"same": 20, "removed": 20, "added": 20}


def test_a_null_is_equal_to_a_null_and_to_nothing_else() -> None:
    hinted = ROWS.with_columns(evidence=pl.lit("a hint"))
    assert kinds(hinted, hinted) == {"same": 60}
    found = paired_rows(ROWS, hinted)
    assert set(found["kind"]) == {"changed"}
    assert found["columns"].to_list() == [["evidence"]] * 60


def test_lists_and_steps_are_compared_by_what_they_hold() -> None:
    stepless = ROWS.with_columns(steps=pl.col("steps").list.head(1))
    assert paired_rows(ROWS, stepless)["columns"].to_list() == [["steps"]] * 60


@settings(deadline=None, max_examples=25)
@given(old=st.sets(st.integers(0, 59)), new=st.sets(st.integers(0, 59)), reworded=st.sets(st.integers(0, 59)))
def test_every_row_of_either_side_is_told_once(old: set[int], new: set[int], reworded: set[int]) -> None:
    places = pl.Series(range(60))
    before = ROWS.filter(places.is_in(list(old)))
    after = ROWS.filter(places.is_in(list(new))).with_columns(
        question=pl.when(pl.col("seed").is_in(list(reworded))).then(pl.col("question") + "?").otherwise("question"),
        example_id=pl.when(pl.col("seed").is_in(list(reworded)))
        .then(pl.col("example_id").str.reverse())
        .otherwise("example_id"),
    )
    found = paired_rows(before, after)
    assert sorted(found["before"].drop_nulls()) == sorted(before["example_id"])
    assert sorted(found["after"].drop_nulls()) == sorted(after["example_id"])
    assert set(found["kind"]) <= set(KINDS)
    turned = paired_rows(after, before)["kind"].value_counts()
    told = {"added": "removed", "removed": "added"}
    assert {told.get(kind, kind): n for kind, n in turned.iter_rows()} == kinds(before, after)


def test_shares_are_of_the_rows_of_each_version() -> None:
    easy = ROWS.filter(pl.col("hardness") == "easy")
    found = shares(ROWS, easy).filter(pl.col("label") == "hardness")
    assert found["value"].to_list() == ["easy", "medium", "hard", "extra"]
    assert found.row(0, named=True) == {
        "label": "hardness", "value": "easy", "before": 15, "after": 15, "points": 75.0
    }  # fmt: skip
    assert found["points"].sum() == pytest.approx(0)


def written(folder: Path, frame: pl.DataFrame, digit: str, **manifest: object) -> Version:
    return open_version(
        write_version(
            folder,
            "shop",
            fingerprint=digit * 64,
            examples=frame,
            rejected=samples.rejected(3),
            manifest=samples.manifest(**manifest),
        )
    )


@pytest.fixture(scope="module")
def difference(tmp_path_factory: pytest.TempPathFactory) -> Difference:
    folder = tmp_path_factory.mktemp("out")
    old = written(folder, ROWS.head(50), "a")
    graded = ROWS.tail(50).with_columns(
        mutants_total=pl.lit(10), mutants_killed=pl.lit(8), mutants_equivalent=pl.lit(1)
    )
    databases = samples.manifest()["databases"]
    databases[0] |= {"content_hash": "f" * 64}
    new = written(folder, graded, "b", config={"databases": "samples", "size": 50, "seed": 7}, databases=databases)
    return compare(old, new)


def test_manifests_are_compared(difference: Difference) -> None:
    assert difference.settings == {"size": (100, 50)}
    assert difference.databases == {"added": [], "removed": [], "changed": ["db_0"]}
    assert difference.figures["kill rate"] == (None, round(8 / 9, 6))
    assert difference.figures["examples"] == (50, 50)
    assert difference.funnel.row(0) == ("candidates", 200, 200)
    assert difference.counts["changed"] == 40
    assert set(difference.changed_columns) == {"mutants_total", "mutants_killed", "mutants_equivalent"}


def test_the_summary_is_json(difference: Difference) -> None:
    said = json.loads(json.dumps(summary(difference)))
    assert said["rows"]["changed"] == 40
    assert {one["value"] for one in said["shares"]["hardness"]} == {"easy", "medium", "hard", "extra"}

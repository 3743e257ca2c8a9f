from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agro_data.diversity.embeddings import embed
from agro_data.diversity.selection import Quotas, select

Make = Callable[..., pl.DataFrame]
quick = settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@quick
@given(rows=st.integers(1, 120), databases=st.integers(1, 6), size=st.integers(0, 150), seed=st.integers(0, 9))
def test_size_is_what_was_asked_or_all_there_is(
    questions: Make, rows: int, databases: int, size: int, seed: int
) -> None:
    frame = questions(rows, databases, seed)
    selected, report = select(frame, embed(frame, None), size, seed)
    assert selected.height == report.given == min(size, rows)
    assert bool(report.limiting) == (rows < size)
    assert selected["candidate_id"].is_unique().all()
    for quota in report.of("database"):
        assert quota.given <= quota.available
    counts = dict(selected.group_by("db_id").len().iter_rows())
    available = dict(frame.group_by("db_id").len().iter_rows())
    short = [counts.get(db_id, 0) for db_id in available if counts.get(db_id, 0) < available[db_id]]
    assert not short or max(counts.values(), default=0) - min(short) <= 1


@pytest.mark.ci
@quick
@given(st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_nothing(questions: Make, random: object) -> None:
    frame = questions(150, 3)
    order = list(range(frame.height))
    random.shuffle(order)  # type: ignore[attr-defined]
    shuffled = frame[order]
    one, first = select(frame, embed(frame, None), 70, 5)
    two, second = select(shuffled, embed(shuffled, None), 70, 5)
    assert one.equals(two)
    assert first == second


def test_another_seed_gives_another_sample(questions: Make) -> None:
    frame = questions(400, 3).with_columns(plausibility=pl.lit(0.5))
    one, _ = select(frame, embed(frame, None), 100, 1, Quotas(coverage=False, construct_share=0.0))
    two, _ = select(frame, embed(frame, None), 100, 2, Quotas(coverage=False, construct_share=0.0))
    assert one["candidate_id"].to_list() != two["candidate_id"].to_list()


def test_every_table_column_and_construct_is_kept_and_each_hardness_has_a_tenth(questions: Make) -> None:
    frame = questions(3_000, 4)
    rare = frame.head(1).with_columns(
        candidate_id=pl.lit("rare"),
        constructs=pl.lit(["full_moon"], dtype=pl.List(pl.String)),
        columns=pl.lit(["table_0.only_here"], dtype=pl.List(pl.String)),
        plausibility=pl.lit(0.0),
    )
    frame = pl.concat([frame, rare])
    selected, report = select(frame, embed(frame, None), 1_000, 3)
    for kind in ("table", "column"):
        (coverage,) = report.of(kind)
        assert coverage.given == coverage.available
    assert "rare" in selected["candidate_id"]
    assert all(quota.given >= min(quota.asked, quota.available) for quota in report.of("construct"))
    assert all(quota.given >= 0.1 * selected.height for quota in report.of("hardness"))
    assert all(abs(quota.given - quota.asked) <= 30 for quota in report.of("style"))


def test_a_database_with_few_rows_gives_its_share_to_the_others(questions: Make) -> None:
    frame = questions(400, 2)
    small = frame.filter(pl.col("db_id") == "db_000").head(10)
    frame = pl.concat([small, frame.filter(pl.col("db_id") == "db_001")])
    _, report = select(frame, embed(frame, None), 100, 3)
    assert {quota.name: quota.given for quota in report.of("database")} == {"db_000": 10, "db_001": 90}


def test_diverse_covers_more_closely_than_random(questions: Make) -> None:
    frame = questions(4_000, 1)
    quotas = Quotas(coverage=False, construct_share=0.0, plausibility=0.0)
    _, report = select(frame, embed(frame, None), 200, 3, quotas)
    assert report.radius.largest < report.random_radius.largest
    assert report.radius.percentile_95 < report.random_radius.percentile_95


def test_blocks_are_bounded(questions: Make) -> None:
    frame = questions(600, 1)
    one, _ = select(frame, embed(frame, None), 200, 3, replace(Quotas(), block_rows=50))
    assert one.height == 200
    with pytest.raises(ValueError, match="block_rows"):
        Quotas(block_rows=30_000)

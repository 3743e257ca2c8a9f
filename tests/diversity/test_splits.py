from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agro_data.databases.discovery.catalog import find_databases
from agro_data.diversity.cutting import Row, cut
from agro_data.diversity.embeddings import embed
from agro_data.diversity.sampling import sample
from agro_data.diversity.similarity import Sketch, clusters
from agro_data.diversity.splits import assign_splits, leaks, sketch
from agro_data.profiling.profiler import profile_database

Make = Callable[..., pl.DataFrame]
DATA = Path(__file__).resolve().parents[2] / "../shared/data"
quick = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])

rows = st.lists(
    st.builds(
        Row,
        group=st.integers(0, 8).map(str),
        keys=st.lists(st.tuples(st.sampled_from("ql"), st.integers(0, 12)), max_size=3).map(tuple),
        stratum=st.sampled_from(["easy", "hard"]),
    ),
    min_size=1,
    max_size=60,
)


@quick
@given(rows, st.integers(0, 5))
def test_no_key_and_no_group_stands_in_two_parts(made: list[Row], seed: int) -> None:
    labels = cut(made, seed)
    places: dict[object, set[str]] = {}
    for row, label in zip(made, labels, strict=True):
        for key in (row.group, *row.keys):
            if label is not None:
                places.setdefault(key, set()).add(label)
    assert all(len(parts) == 1 for parts in places.values())
    assert any(label is not None for label in labels)


@quick
@given(st.integers(3, 80), st.integers(0, 5))
def test_groups_without_common_keys_lose_nothing_and_fill_three_parts(groups: int, seed: int) -> None:
    labels = cut([Row(str(number), (("question", number),)) for number in range(groups)], seed)
    assert None not in labels
    assert set(labels) == {"train", "validation", "test"}


def test_one_database_gives_three_splits_without_leak_and_loses_little(questions: Make) -> None:
    frame = questions(2_400, 1)
    kept, rejected, report = assign_splits(frame, [], seed=1)
    assert leaks(kept).is_empty()
    assert report.method == "skeleton"
    assert report.mark == "same-database"
    assert report.dropped == rejected.height == frame.height - kept.height
    assert report.dropped < 0.25 * frame.height
    for split, share in {"train": 0.8, "validation": 0.1, "test": 0.1}.items():
        assert abs(report.counts[split] / kept.height - share) < 0.03
    assert set(rejected["reason"]) == {"split_leak"}
    assert assign_splits(frame.sample(fraction=1, shuffle=True, seed=3), [], seed=1).kept.equals(kept)


def test_leaks_names_what_stands_in_two_splits(questions: Make) -> None:
    frame = questions(2, 1).with_columns(
        sql=pl.Series(["SELECT a FROM t WHERE b = 'Rock'", "SELECT c FROM t WHERE b = 'rock' LIMIT 3"]),
        skeleton=pl.Series(["x", "y"]),
        split=pl.Series(["train", "test"]),
    )
    assert leaks(frame).rows() == [("literals", "('rock',)", ["test", "train"])]
    assert leaks(frame.with_columns(split=pl.lit("train"))).is_empty()


def test_alike_databases_stay_together(questions: Make) -> None:
    frame = questions(1_000, 20)
    names = [frozenset({f"t{n}", *(f"t{n}.c{i}" for i in range(9))}) for n in range(20)]
    sketches = [Sketch(f"db_{n:03d}", names[n]) for n in range(20)]
    sketches[7] = Sketch("db_007", names[3] | {"extra", "extra.c1"})
    sketches[8] = Sketch("db_008", names[8], frozenset(range(100)))
    sketches[9] = Sketch("db_009", names[9], frozenset(range(40, 120)))
    kept, rejected, report = assign_splits(frame, sketches, seed=1)
    assert report.method == "database"
    assert ("db_003", "db_007") in report.clusters
    assert ("db_008", "db_009") in report.clusters
    assert len(report.clusters) == 18
    assert rejected.is_empty()
    assert kept.height == frame.height
    assert kept.group_by("db_id").agg(pl.col("split").n_unique())["split"].to_list() == [1] * 20
    assert report.counts == {"train": 800, "validation": 100, "test": 100}


@pytest.mark.parametrize(("databases", "method"), [(2, "skeleton"), (3, "database")])
def test_fewer_than_three_unlike_databases_are_split_by_skeleton(questions: Make, databases: int, method: str) -> None:
    report = assign_splits(questions(300, databases), [], seed=1).report
    assert report.method == method
    assert all(report.counts.values())


def test_what_was_asked_for_by_name_is_done(questions: Make) -> None:
    frame = questions(300, 5)
    assert assign_splits(frame, [], 1, "skeleton").report.mark == "same-database"
    report = assign_splits(frame.filter(pl.col("db_id") < "db_002"), [], 1, "database").report
    assert "2 groups" in report.note
    with pytest.raises(ValueError, match="'auto', 'database' or 'skeleton'"):
        assign_splits(frame, [], 1, "rows")  # type: ignore[arg-type]


@settings(quick, max_examples=8)
@given(size=st.integers(0, 200), databases=st.sampled_from([1, 2, 5]), seed=st.integers(0, 3))
def test_a_sample_has_its_size_its_splits_and_no_leak(questions: Make, size: int, databases: int, seed: int) -> None:
    frame = questions(300, databases)
    sampled = sample(frame, embed(frame, None), [], size, seed)
    assert sampled.kept.height == size
    assert sum(sampled.splits.counts.values()) == size
    if databases < 3:
        assert leaks(sampled.kept).is_empty()
        assert Counter(sampled.kept["split"]) == {k: v for k, v in sampled.splits.counts.items() if v}
        assert sum(quota.given for quota in sampled.selection.of("split")) == size
        if size >= 100:
            assert abs(sampled.splits.counts["test"] - 0.1 * size) <= 2
    assert sampled.kept.equals(sample(frame.reverse(), embed(frame.reverse(), None), [], size, seed).kept)


def test_spider_databases_fall_into_many_clusters_and_versions_of_one_stay_together() -> None:
    if not (DATA / "spider").is_dir():
        pytest.skip("no Spider databases beside the repository")
    folders = ["college_1", "college_2", "concert_singer", "singer", "pets_1", "flight_1", "flight_2", "car_1"]
    catalogs = [find_databases(DATA / "spider/database" / name / f"{name}.sqlite") for name in folders if
                (DATA / "spider/database" / name).is_dir()]  # fmt: skip
    sketches = [sketch(profile_database(catalog.databases[0])) for catalog in catalogs]
    groups = clusters(sketches)
    assert len(groups) >= 0.7 * len(sketches)
    twin = Sketch("twin", frozenset(), sketches[0].values)
    assert [sketches[0].db_id, "twin"] in clusters([*sketches, twin])

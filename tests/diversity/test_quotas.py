from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from agro_data.diversity.quotas import fit_table, water_fill

counts = st.lists(st.integers(0, 50), min_size=1, max_size=12)


@given(counts, st.integers(0, 400))
def test_water_fill_gives_all_it_can_and_never_more_than_there_is(capacity: list[int], total: int) -> None:
    shares = water_fill(total, capacity)
    assert shares.sum() == min(total, sum(capacity))
    assert (shares <= capacity).all()


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 5), st.floats(0, 10)), min_size=1), st.integers(0, 900))
def test_water_fill_keeps_its_sum_under_any_weights_and_floors(kinds: list[tuple[int, int, float]], total: int) -> None:
    capacity, floor, weight = ([kind[i] for kind in kinds] for i in range(3))
    lowest = [min(a, b) for a, b in zip(floor, capacity, strict=True)]
    shares = water_fill(total, capacity, weight, floor)
    assert shares.sum() == max(sum(lowest), min(total, sum(capacity)))
    assert (shares <= capacity).all()
    assert (shares >= lowest).all()


@given(counts, st.integers(0, 400))
def test_water_fill_is_even_but_for_those_that_have_too_few(capacity: list[int], total: int) -> None:
    shares = water_fill(total, capacity)
    unfilled = [int(s) for s, c in zip(shares, capacity, strict=True) if s < c]
    assert not unfilled or max(shares) - min(unfilled) <= 1


def test_water_fill_follows_weights_floors_and_turns() -> None:
    assert water_fill(100, [100, 100], [1.0, 3.0]).tolist() == [25, 75]
    assert water_fill(10, [100, 2, 100]).tolist() == [4, 2, 4]
    assert water_fill(6, [9, 9, 9], floor=[4, 0, 0]).tolist() == [4, 1, 1]
    assert water_fill(1, [5, 5], order=[1, 0]).tolist() == [0, 1]


@given(st.data())
def test_table_keeps_its_rows_exactly(data: st.DataObject) -> None:
    rows = data.draw(st.integers(1, 6))
    capacity = np.array(
        [data.draw(st.lists(st.integers(0, 20), min_size=4, max_size=4)) for _ in range(rows)], dtype=np.int64
    )
    totals = np.array([data.draw(st.integers(0, int(row.sum()))) for row in capacity], dtype=np.int64)
    table = fit_table(totals, np.array([0.2, 0.3, 0.25, 0.25]), np.zeros_like(capacity), capacity)
    assert (table.sum(axis=1) == totals).all()
    assert ((table >= 0) & (table <= capacity)).all()


def test_table_of_many_small_rows_still_gives_the_mix() -> None:
    table = fit_table(
        np.ones(1000, dtype=np.int64),
        np.array([0.2, 0.3, 0.25, 0.25]),
        np.zeros((1000, 4), dtype=np.int64),
        np.full((1000, 4), 5, dtype=np.int64),
    )
    assert np.abs(table.sum(axis=0) - [200, 300, 250, 250]).max() <= 2

"""Folds of questions by database: each database is asked about once, by who has not learnt from it."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from bench.folds import fold


@given(st.lists(st.integers(1, 5), min_size=3, max_size=12), st.integers(2, 3), st.integers(1, 3), st.integers(0, 9))
def test_each_database_is_asked_about_once_and_never_learnt_there(
    sizes: list[int], folds: int, each: int, seed: int
) -> None:
    pairs = [
        {"db_id": f"d{name}", "question": f"q{name} {number}"}
        for name, size in enumerate(sizes)
        for number in range(size)
    ]
    dealt = [fold(pairs, number, folds, each, seed) for number in range(folds)]
    asked = Counter(pair["db_id"] for _, about in dealt for pair in about)
    assert asked == {f"d{name}": min(size, each) for name, size in enumerate(sizes)}
    for learnt, about in dealt:
        own = {pair["db_id"] for pair in about}
        assert learnt == [pair for pair in pairs if pair["db_id"] not in own]
    counts = [len({pair["db_id"] for pair in about}) for _, about in dealt]
    assert max(counts) - min(counts) <= 1
    # the order of the file's rows decides only in which order they are given
    assert [sorted(map(str, about)) for _, about in dealt] == [
        sorted(map(str, fold(pairs[::-1], number, folds, each, seed)[1])) for number in range(folds)
    ]

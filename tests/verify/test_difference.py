from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agro_data.verify.difference import first_difference, shown
from agro_data.verify.equivalence import Rows, strict

ROWS = st.lists(st.tuples(st.sampled_from([None, 0, 1, 2.5, "a"]), st.sampled_from(["x", "y"])), max_size=5)


@pytest.mark.parametrize(
    ("gold", "predicted", "ordered", "says"),
    [
        ([(1, "a"), (2, "b")], [(1, "a"), (2, "c")], True, "row 2: expected (2, 'b'), got (2, 'c')"),
        ([(1,), (2,)], [(1,)], True, "expected 2 rows, got 1; row 2 is missing: (2)"),
        ([(1,)], [(1,), (2,)], True, "expected 1 row, got 2; row 2 is not expected: (2)"),
        ([(1,), (2,)], [(3,), (1,)], False, "row 1: got (3), which is not expected; (2) is missing"),
        ([(1,), (1,)], [(1,)], False, "expected 2 rows, got 1; expected (1) (2 times, found 1) is missing"),
        ([(1,)], [(1,), (1,)], False, "expected 1 row, got 2; row 1: (1) is not expected more than 1 times"),
        ([(1,)], [], False, "no row came out, expected 1 row; the first: (1)"),
        ([], [(1,)], False, "expected no row, got 1 row; the first: (1)"),
        ([(1,)], [(1, 2)], False, "expected 1 column, got 2 columns; row 1: (1, 2)"),
        ([(0.1 + 0.2,), (5.0,)], [(0.3,), (6.0,)], False, "row 2: got (6.0), which is not expected; (5.0) is missing"),
        (
            [("x", 0.1 + 0.2), ("y", 5)],
            [("x", 0.3), ("y", 5), ("z", 7)],
            False,
            "expected 2 rows, got 3; row 3: ('z', 7) is not expected",
        ),
        (
            [("x", 0.1 + 0.2), ("y", 5)],
            [("x", 0.3)],
            False,
            "expected 2 rows, got 1; expected ('y', 5) is missing",
        ),
        (
            [(0.3,), (0.3,)],
            [(0.3,), (0.1 + 0.2,)],
            False,
            "row 2: got (0.30000000000000004), which is not expected; (0.3) is missing",
        ),
        ([(None,)], [(b"\x01",)], True, "row 1: expected (NULL), got (x'01')"),
        # Apart in the last digits only, which Spider's and BIRD's metrics count.
        ([(0.25,)], [(0.25000001,)], True, "row 1: got (0.25000001), which is not expected; (0.25) is missing"),
    ],
)
def test_sentences(gold: Rows, predicted: Rows, ordered: bool, says: str) -> None:
    assert first_difference(gold, predicted, ordered=ordered) == says


@settings(deadline=None)
@given(ROWS, ROWS, st.booleans())
def test_whatever_differs_is_put_into_one_line(gold: Rows, predicted: Rows, ordered: bool) -> None:
    if not strict(gold, predicted, ordered=ordered).equal:
        text = first_difference(gold, predicted, ordered=ordered)
        assert "expected" in text
        assert "\n" not in text


def test_long_texts_and_wide_rows_are_cut() -> None:
    text = shown(tuple(["line\n" * 50] * 20))
    assert len(text) < 500
    assert "12 more" in text
    assert "\n" not in text

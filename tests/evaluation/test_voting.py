"""A vote among attempts by what they give."""

from __future__ import annotations

import pytest

from agro_data.evaluation.voting import Given, elected

ROWS, BACK, OTHER = ("a", "a1"), ("a", "a2"), ("b", "b1")


@pytest.mark.parametrize(
    ("results", "votes", "chosen"),
    [
        ([ROWS, OTHER, OTHER], [1, 1, 1], 1),
        ([ROWS, OTHER, OTHER], [6, 1, 1], 0),
        ([ROWS, BACK, BACK], [1, 1, 1], 1),
        ([OTHER, BACK, ROWS, OTHER, BACK], [1, 1, 1, 1, 1], 1),  # the rows first, then the order of most
        ([BACK, ROWS, OTHER, OTHER], [1, 1, 1, 1], 0),  # as many votes: the earlier, though its order has one
        ([BACK, ROWS], [1, 1], 0),
        ([None, None, OTHER], [4, 4, 1], 2),
        ([None, None], [1, 1], None),
        ([], [], None),
    ],
)
def test_the_rows_of_most_win_and_then_the_order_of_most(
    results: list[Given | None], votes: list[int], chosen: int | None
) -> None:
    assert elected(results, votes) == chosen

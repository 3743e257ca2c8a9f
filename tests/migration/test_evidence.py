"""Values as text that outlives a change of type."""

from __future__ import annotations

import pytest

from agro_data.databases.types import Cell
from agro_data.migration.evidence import plain


@pytest.mark.parametrize("same", [(5, 5.0, "5", "5.0", "05"), (0.25, "0.25", ".25"), (1234.567, 1234.5671), ("", "")])
def test_a_value_is_the_same_in_every_type(same: tuple[Cell, ...]) -> None:
    assert len({plain(value) for value in same}) == 1


@pytest.mark.parametrize(
    "different",
    [
        ("1_000", 1000),
        ("a", "A"),
        (b"a", "a"),
        (" 5", "5"),
        (float("nan"), float("inf")),
        (1e300, "1e301"),
        ("", "0"),
    ],
)
def test_other_values_stay_others(different: tuple[Cell, ...]) -> None:
    assert len({plain(value) for value in different}) == len(different)

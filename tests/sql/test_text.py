"""The text of a tree, and whether making it changes the tree."""

from __future__ import annotations

import pytest

from agro_data.databases.types import Dialect
from agro_data.sql.forms.canonical import sql_text, unchanged_by_text
from agro_data.sql.parse import parse_select

QUALIFIED = "SELECT id FROM c QUALIFY ROW_NUMBER() OVER (ORDER BY id) = 1"


@pytest.mark.parametrize(("dialect", "unchanged"), [("sqlite", False), ("duckdb", True)])
def test_a_clause_that_the_dialect_lacks_is_rewritten(dialect: Dialect, unchanged: bool) -> None:
    tree = parse_select(QUALIFIED, "duckdb")
    assert unchanged_by_text(tree, dialect) is unchanged
    assert sql_text(tree, "duckdb") == QUALIFIED, "asking leaves the tree as it was"


def test_a_limited_branch_stays_a_child_of_its_set_operation() -> None:
    """Rendering puts it into brackets, which then hold it: whoever asks for its parent would leave the tree."""
    branch = "SELECT name FROM c ORDER BY id LIMIT 3"
    assert not unchanged_by_text(parse_select(f"{branch} INTERSECT {branch}", "sqlite"), "sqlite")
    assert unchanged_by_text(parse_select("SELECT name FROM c INTERSECT SELECT name FROM d", "sqlite"), "sqlite")

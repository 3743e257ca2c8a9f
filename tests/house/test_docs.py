"""What a user can set, read or call is in the reference, and the reference is what the code says now."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from agro_train.reference import PAGES, declared
from agro_train.reinforcement.credit import ESTIMATORS
from agro_train.rewards import PRESETS

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.mark.parametrize("name", PAGES)
def test_the_reference_is_what_the_code_says(name: str) -> None:
    written = (DOCS / "reference" / name).read_text(encoding="utf-8")
    assert written == PAGES[name](), (
        "write it anew, and commit it with what changed it: python -m agro_train.reference docs/reference"
    )


def test_no_page_is_left_of_what_is_no_longer_written() -> None:
    assert {path.name for path in (DOCS / "reference").iterdir()} == set(PAGES)


def test_the_reasons_of_every_stage_are_explained() -> None:
    """The reasons stand in the code of several stages; the page that explains them is written by hand."""
    explained = (DOCS / "reference.md").read_text(encoding="utf-8")
    for stage in ("candidates", "verified", "questions", "distinct", "certified", "selection"):
        assert f"| `{stage}` |" in explained


def test_the_terms_of_every_reward_are_explained_with_their_weights() -> None:
    explained = (DOCS / "reference.md").read_text(encoding="utf-8")
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in explained.splitlines() if line.startswith("|")]
    head = next(row for row in rows if row[0] == "term")
    for preset in PRESETS.values():
        column = head.index(f"`{preset.name}`")
        for term in preset.terms:
            row = next(row for row in rows if f"`{term.name}`" in row[0] and len(row) == len(head))
            assert float(row[column]) == term.weight, (preset.name, term.name)


def test_every_estimator_of_credit_is_explained() -> None:
    explained = (DOCS / "reference.md").read_text(encoding="utf-8")
    for estimator in ESTIMATORS:
        assert f"| `{estimator}` |" in explained


@dataclass(frozen=True)
class Said:
    size: int = 3  # rows
    name: str = ""  # of it


@dataclass(frozen=True)
class Unsaid:
    size: int = 3


def test_a_setting_without_a_meaning_is_refused() -> None:
    assert list(declared(Said)) == [("size", "whole number", "`3`", "rows"), ("name", "text", "–", "of it")]
    with pytest.raises(ValueError, match=r"Unsaid\.size: say what it means"):
        list(declared(Unsaid))

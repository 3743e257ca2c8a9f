"""A database's candidates: as people's questions come, with a bounded share kept for templates that are new."""

from __future__ import annotations

from agro_data.stages.candidates import NEW_TEMPLATES, _varied


def drawn(templates: str) -> list[dict[str, object]]:
    return [{"candidate_id": str(place), "template": name} for place, name in enumerate(templates)]


def test_most_rows_are_kept_in_the_order_they_came() -> None:
    rows = drawn("a" * 90 + "bcdefghij" * 10)
    kept = _varied(rows, 100)
    assert len(kept) == 100
    assert kept[:60] == rows[:60]
    assert [int(str(row["candidate_id"])) for row in kept] == sorted(int(str(row["candidate_id"])) for row in kept)


def test_the_rest_brings_new_templates_first() -> None:
    rows = drawn("a" * 120 + "bcdefghij" + "k" * 20)
    kept = _varied(rows, 100)
    assert {row["template"] for row in kept} == set("abcdefghijk")
    assert sum(row["template"] != "a" for row in kept) == 10 < NEW_TEMPLATES * 100


def test_few_rows_are_all_kept() -> None:
    rows = drawn("abc")
    assert _varied(rows, 100) == rows
    assert _varied(rows, 3) == rows
    assert _varied([], 5) == []

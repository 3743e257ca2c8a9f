"""A database's candidates: as people's questions come, with a bounded share kept for templates that are new."""

from __future__ import annotations

from pathlib import Path

from making import run_sqlite

from agro_data.config import STRUCTURAL, BuildConfig, RunConfig
from agro_data.pipeline import prepare
from agro_data.stages.shard.candidates import NEW_TEMPLATES, _varied
from agro_data.stages.shard.synthesised import made


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


def test_views_are_asked_about_where_the_settings_say_so(tmp_path: Path) -> None:
    run_sqlite(
        tmp_path / "shop.sqlite",
        """
            CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT, price INTEGER);
            INSERT INTO item VALUES (1, 'bolt', 2), (2, 'nut', 1), (3, 'saw', 20), (4, 'axe', 30), (5, 'pin', 1);
            CREATE VIEW cheap AS SELECT * FROM item WHERE price < 10;
        """,
    )

    def asked(views: bool) -> bool:
        config = BuildConfig(str(tmp_path / "shop.sqlite"), embedding_model=STRUCTURAL, views=views)
        context = prepare(config, RunConfig(out=tmp_path / "out"))
        found, _ = made(context, "shop", "shop-0", 60)
        return any("cheap" in sql for sql in found["sql"])

    assert not asked(False)
    assert asked(True)

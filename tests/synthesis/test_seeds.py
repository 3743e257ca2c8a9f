"""Seeds of a log: without its values, ranked by how often they were asked and what they bring; values drawn anew."""

from __future__ import annotations

import re
from collections import Counter
from itertools import islice
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from intent import shop
from synthesis.running import rows
from synthesis.school_log import LOG, SECRETS

from agro_data.intent.logs.query_log import Logged, read_log
from agro_data.intent.rendering.to_sql import render_sql
from agro_data.intent.sampling.atlas import Atlas
from agro_data.intent.sampling.prior import default_prior
from agro_data.intent.tree import Intent
from agro_data.synthesis.ideas import ideas_of_log
from agro_data.synthesis.literals import Elsewhere, anonymised, redrawn
from agro_data.synthesis.seeds import Seed, ranked, seeds_of

SCHOOL = {
    "school": {"school_id": "INTEGER", "name": "TEXT", "city": "TEXT", "founded": "INTEGER"},
    "teacher": {"teacher_id": "INTEGER", "name": "TEXT", "subject": "TEXT", "salary": "REAL", "school_id": "INTEGER"},
    "lesson": {"lesson_id": "INTEGER", "teacher_id": "INTEGER", "room": "TEXT", "day": "TEXT", "pupils": "INTEGER"},
}
ASKED = (
    "SELECT name FROM customers WHERE city = 'Lyon' AND birth_year > 1980",
    "SELECT COUNT(*) FROM \"order\" WHERE STRFTIME('%Y', ordered) = '2020' AND status IN ('paid', 'open')",
    "SELECT COUNT(*) FROM \"order\" WHERE STRFTIME('%Y', DATE(ordered)) > '2019' AND total > 40",
    "SELECT title FROM products WHERE title LIKE 'Red%' AND \"unit price\" BETWEEN 10 AND 50.5",
    "SELECT c.name, o.total FROM customers c JOIN \"order\" o ON o.customer_id = c.customer_id WHERE c.city = 'Oslo'",
    "SELECT UPPER(last_name) FROM employees WHERE LOWER(city) = 'oslo' AND salary > -5",
)  # fmt: skip


def test_a_log_gives_its_queries_once_and_none_of_its_values(tmp_path: Path) -> None:
    (tmp_path / "log.sql").write_text(LOG)
    found = seeds_of(read_log(tmp_path / "log.sql", "sqlite").queries, "sqlite", SCHOOL)
    assert [seed.count for seed in found.seeds if "city = '?'" in seed.sql] == [3]
    assert not [secret for secret in SECRETS for seed in found.seeds if secret in seed.sql]
    assert dict(found.refused) == {"text_elsewhere": 1, "unknown_table": 1}


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT name FROM teacher WHERE name GLOB 'Zq*'",
        "SELECT name FROM teacher LIMIT 1e400",
        "SELECT salary * 1e999 FROM teacher",
        "SELECT salary * 4711980211471198 FROM teacher",
    ],
)
def test_texts_elsewhere_and_numbers_out_of_bounds_refuse_a_query_and_no_other(sql: str) -> None:
    with pytest.raises(Elsewhere):
        anonymised(sql, "sqlite", SCHOOL)
    found = seeds_of([Logged(sql, "list"), Logged("SELECT name FROM teacher", "list")], "sqlite", SCHOOL)
    assert [seed.sql for seed in found.seeds] == ["SELECT name FROM teacher"]
    assert found.refused == (("text_elsewhere", 1),)


@pytest.mark.parametrize(
    "sql",
    [
        'WITH "Zq Smith" AS (SELECT DISTINCT name FROM teacher) SELECT name FROM "Zq Smith"',
        'WITH a("Zq Smith") AS (SELECT DISTINCT name FROM teacher) SELECT * FROM a',
        'SELECT MAX(salary) AS "Zq Smith", name AS name_1 FROM teacher GROUP BY name ORDER BY "Zq Smith", name_1',
        'SELECT "Zq Smith".name FROM teacher AS "Zq Smith" WHERE "zq smith".salary > 3',
        'SELECT SUM(salary) OVER "Zq w" FROM teacher WINDOW "Zq w" AS (ORDER BY salary)',
    ],
)
def test_names_that_are_texts_are_others_in_a_seed(sql: str) -> None:
    [seed] = seeds_of([Logged(sql, "list")], "sqlite", SCHOOL).seeds
    assert "zq" not in seed.sql.lower()


def test_of_a_type_only_what_it_means_is_kept() -> None:
    [seed] = seeds_of([Logged('SELECT CAST(name AS "Zq Smith") FROM teacher', "list")], "sqlite", SCHOOL).seeds
    assert seed.sql == "SELECT CAST(name AS NUMERIC) FROM teacher"


def test_a_statement_of_a_thousand_conditions_costs_itself_and_not_the_log(tmp_path: Path) -> None:
    long = "SELECT name FROM teacher WHERE " + " OR ".join(["salary = 1"] * 2_000)
    (tmp_path / "log.sql").write_text(f"{long};\nSELECT name FROM teacher;")
    reading = read_log(tmp_path / "log.sql", "sqlite")
    assert [one.sql for one in reading.queries] == ["SELECT name FROM teacher"]
    assert reading.ignored == 1


@settings(max_examples=40)
@given(st.text(st.characters(codec="utf-8", exclude_characters="'\0%_"), min_size=4), st.integers(1_000, 10**12))
def test_no_value_that_is_compared_is_kept(text: str, number: int) -> None:
    for sql in (
        f"SELECT name FROM teacher WHERE name = 'x{text}x' OR salary <> {number}.5",
        f"SELECT name FROM teacher WHERE name LIKE '%x{text}x%' AND NOT salary BETWEEN {number} AND -{number}",
        f"SELECT COUNT(*) FROM teacher GROUP BY subject HAVING MAX(name) IN ('x{text}x')",
        f"SELECT 'x{text}x' FROM teacher",
        f"SELECT subject FROM teacher GROUP BY subject HAVING SUM(salary) > {number}",
    ):
        try:
            kept = anonymised(sql, "sqlite", SCHOOL)
        except Elsewhere:
            continue
        assert f"x{text}x" not in kept
        assert str(number) not in kept or len(str(number).rstrip("0")) == 1


def test_the_worth_of_a_seed_is_how_often_and_how_new() -> None:
    def seed(sql: str, count: int, *columns: str) -> Seed:
        return Seed(sql, "list", count, columns, ())

    often, rare, wide = seed("a", 8, "t.a"), seed("b", 1, "t.a"), seed("c", 1, "t.b", "t.c", "t.d", "t.e", "t.f")
    assert ranked([rare, often, wide]) == [wide, often, rare]
    assert ranked([wide, rare, often]) == [wide, often, rare]


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(1, 64), st.sets(st.sampled_from("abcdefgh"))), max_size=9))
def test_a_queue_of_old_worths_finds_what_asking_all_again_does(given: list[tuple[int, set[str]]]) -> None:
    seeds = [Seed(f"{n:03}", "list", count, tuple(sorted(columns)), ()) for n, (count, columns) in enumerate(given)]
    order, left, covered = [], list(seeds), set[str]()
    while left:
        best = min(left, key=lambda one: (-(one.count.bit_length() - 1 + len(set(one.columns) - covered)), one.sql))
        left.remove(best)
        order.append(best)
        covered |= set(best.columns)
    powers = [one for one in seeds if one.count & (one.count - 1)]
    if not powers:  # whole logarithms: no rounding
        assert ranked(seeds) == order
    assert Counter(ranked(seeds)) == Counter(seeds)


@pytest.mark.parametrize("sql", ASKED)
def test_values_drawn_anew_have_an_answer(sql: str, atlas: Atlas, database: Path) -> None:
    blank = anonymised(sql, "sqlite", atlas.profile.schema)
    drawn = [redrawn(blank, atlas, Random(n)) for n in range(20)]
    made = [one for one in drawn if one is not None]
    assert len(set(made)) > 2
    answered = [one for one in made if rows(database, one) not in ([], [(0,)])]
    assert len(answered) >= 0.6 * len(made), made


def test_ideas_of_a_log_differ_run_and_come_again_the_same(atlas: Atlas, database: Path) -> None:
    seeds = seeds_of((Logged(sql, "list") for sql in ASKED), "sqlite", atlas.profile.schema).seeds
    ideas = list(islice(ideas_of_log(seeds, atlas, default_prior(), 5), 120))
    assert ideas == list(islice(ideas_of_log(seeds, atlas, default_prior(), 5), 120))
    texts = [render_sql(i.query, atlas.profile) if isinstance(i.query, Intent) else i.query for i in ideas]
    assert len(set(texts)) == len(texts) == 120
    kinds = Counter(idea.generator for idea in ideas)
    assert len(kinds) >= 5, kinds
    answered = sum(rows(database, sql) not in ([], [(0,)], [(None,)]) for sql in texts)
    assert answered >= 0.6 * len(texts)


def test_bands_of_a_log_keep_neither_their_names_nor_their_bounds() -> None:
    sql = "SELECT CASE WHEN salary < 1234 THEN 'Zq low' WHEN salary < 5678 THEN 'mid' ELSE 'Zq' END AS b, COUNT(*)"
    [seed] = seeds_of([Logged(f"{sql} FROM teacher GROUP BY b", "buckets")], "sqlite", SCHOOL).seeds
    assert not [said for said in ("Zq", "mid", "1234", "5678") if said in seed.sql]
    odd = "SELECT CASE WHEN salary < 9 THEN 'odd' WHEN salary < 99 THEN 'usual' ELSE 'odd' END AS b FROM teacher"
    assert re.findall("'(.)'", anonymised(odd, "sqlite", SCHOOL)) == ["A", "B", "A"]


def test_drawn_bounds_of_bands_rise() -> None:
    atlas = Atlas(shop.profile())
    case = "CASE WHEN salary < 0 THEN 'A' WHEN salary < 0 THEN 'B' ELSE 'C' END"
    drawn = redrawn(f"SELECT {case}, COUNT(*) FROM employees GROUP BY 1", atlas, Random(3))
    assert drawn is not None
    low, high = (float(one) for one in re.findall(r"< ([\d.]+)", drawn)[:2])
    assert low < high

"""The human-likeness bench on hand-made people: it finds a habit, finds none where there is none, and says which."""

from __future__ import annotations

import json
import random
import sqlite3
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.feature_extraction.text import HashingVectorizer

from bench import human_likeness as bench
from bench.parts.telling_apart import (
    Pair,
    distinct_ngrams,
    giveaways,
    masked,
    matched,
    telling_apart,
    typographic,
    wordings,
)

pytestmark = pytest.mark.ci

ROOT = Path(__file__).resolve().parents[2]
NOUNS = ("singer", "nurse", "plane", "player", "driver", "library", "invoice", "meter", "claim", "parcel")
FACTS = ("name", "age", "weight", "city", "price", "colour", "owner", "rank")
PLAIN = ("what is the {f} of each {n}", "show the {f} of every {n}", "which {n} has the highest {f}")
STIFF = ("kindly report the {f} pertaining to each {n}", "kindly report which {n} attains the highest {f}")


def encode(texts: list[str]) -> NDArray[np.float32]:
    return HashingVectorizer(n_features=64).transform(texts).toarray().astype(np.float32)


def spoken(forms: tuple[str, ...], seed: int, count: int = 300) -> list[Pair]:
    rng = random.Random(seed)
    pairs = []
    for i in range(count):
        noun, fact = NOUNS[i % len(NOUNS)], rng.choice(FACTS)
        question = rng.choice(forms).format(f=fact, n=noun)
        pairs.append(Pair(f"{noun}_db", question, f"SELECT {fact} FROM {noun} WHERE id = {i}"))
    return pairs


def test_one_way_of_speaking_cannot_be_told_from_itself() -> None:
    found = telling_apart(spoken(PLAIN, 1), spoken(PLAIN, 2), encode, seed=0)
    assert 0.4 < found["auc"] < 0.6
    assert found["interval"][0] <= found["auc"] <= found["interval"][1]
    assert found["databases"] == 10


def test_a_habit_is_found_and_named() -> None:
    ours, people = spoken(STIFF, 1), spoken(PLAIN, 2)
    assert telling_apart(ours, people, encode, seed=0)["auc"] > 0.95
    marks = giveaways(ours, people, limit=5)
    assert {"kindly", "kindly report"} <= {row["ngram"] for row in marks["left"]}
    assert marks["left"][0]["left"] > marks["left"][0]["right"] == 0.0
    assert all(row["z"] < 0 for row in marks["right"])


def test_a_word_of_one_database_is_no_habit() -> None:
    ours = [Pair(p.db_id, p.question + " quickly" * (p.db_id == "nurse_db"), p.sql) for p in spoken(PLAIN, 1)]
    marks = giveaways(ours, spoken(PLAIN, 2))
    assert not any("quickly" in row["ngram"] for row in marks["left"])


def test_too_few_databases_to_hold_any_out_are_refused() -> None:
    few = [pair for pair in spoken(PLAIN, 1) if pair.db_id == "nurse_db"]
    with pytest.raises(ValueError, match="only 1 databases have questions on both sides; at least 5"):
        telling_apart(few, few, encode, seed=0)


LENGTHS = st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 30)), max_size=40)


@settings(max_examples=60, deadline=None)
@given(LENGTHS, LENGTHS, st.integers(0, 9))
def test_matching_pairs_like_with_like_and_uses_nothing_twice(
    left: list[tuple[str, int]], right: list[tuple[str, int]], seed: int
) -> None:
    sides = [
        [Pair(db, " ".join(["w"] * length), f"{side}{i}") for i, (db, length) in enumerate(given_side)]
        for side, given_side in (("l", left), ("r", right))
    ]
    one, two = matched(*sides, seed=seed)
    assert matched(*sides, seed=seed) == (one, two)
    assert len(set(one)) == len(one) == len(two) == len(set(two))
    for a, b in zip(one, two, strict=True):
        assert a.db_id == b.db_id
        size = len(a.question.split())
        assert abs(size - len(b.question.split())) <= max(1, round(0.15 * size))


def test_typography_and_values_do_not_count_as_wording() -> None:
    assert typographic("How many are older than 56 ?") == typographic("how many are older than 56?")
    assert typographic("Who is “Ann” ?") == typographic('who is "ann"')
    assert masked("Who made more than 1,200.50 at 'Red Rocks' ?") == "who made more than _number at _value"
    assert masked("the singer's songs") == "the singer's songs"


def test_distinct_ngrams_of_repetition_and_of_nothing() -> None:
    same = [Pair("a", "one two three four", "")] * 4
    assert distinct_ngrams(same) == 0.25
    assert distinct_ngrams([]) == 0.0


def test_wordings_are_pairs_of_one_sql() -> None:
    human = [Pair("a", q, s) for q, s in (("x", "1"), ("y", "1"), ("z", "2"), ("u", "3"), ("v", "3"), ("w", "3"))]
    assert wordings(human) == ([human[0]], [human[1]])


def test_template_shares_count_kinds_and_rows() -> None:
    assert bench.overlap(["a", "a", "a", "b"], ["a", "c"]) == {"distinct": 0.5, "rows": 0.75}
    assert bench.overlap([], ["a"]) == {"distinct": 0.0, "rows": 0.0}
    human = [(Pair(f"d{i}", "", ""), t) for i, t in enumerate("aabbcc")]
    ours = [(Pair(f"d{i}", "", ""), t) for i, t in enumerate("aaazzz")]
    found = bench.template_shares(ours, human, seed=0)
    assert found["ours_used_by_humans"] == {"distinct": 0.5, "rows": 0.5}
    assert found["humans_covered_by_ours"] == {"distinct": 0.3333, "rows": 0.3333}
    assert found["most_common_not_used_by_humans"] == [["z", 3]]
    assert found["most_common_human_not_covered"] == [["b", 2], ["c", 2]]
    assert set(found["equal_halves"]) == {"human_precision", "human_recall", "our_precision", "our_recall"}


def test_names_and_literals_do_not_make_a_template(tmp_path: Path) -> None:
    file = tmp_path / "shop.sqlite"
    connection = sqlite3.connect(file)
    connection.executescript("CREATE TABLE item (id INTEGER, price REAL); CREATE VIEW cheap AS SELECT * FROM item")
    connection.close()
    before = file.read_bytes()
    schema = bench.read_schema(file)
    assert schema == {"item": {"id": "INTEGER", "price": "REAL"}, "cheap": {"id": "INTEGER", "price": "REAL"}}
    assert file.read_bytes() == before
    pairs = [
        Pair("shop", "", "SELECT id FROM item WHERE price > 5"),
        Pair("shop", "", "select  T1.price from item as T1 where T1.id > 'x'"),
        Pair("shop", "", "DELETE FROM item"),
    ]
    found, refused = bench.read(pairs, {"shop": schema})
    assert len(found) == 2
    assert found[0][1].template == found[1][1].template
    assert sum(refused.values()) == 1


def test_the_share_of_each_construct() -> None:
    schema = {"item": {"id": "INTEGER", "price": "REAL"}}
    asked = ["SELECT id FROM item ORDER BY price LIMIT 1", "SELECT COUNT(*) FROM item AS a, item AS b"]
    found, _ = bench.read([Pair("shop", "", sql) for sql in asked], {"shop": schema})
    shares = bench.construct_shares(found)
    assert {name: shares[name] for name in ("limit", "order_by", "join", "join_2", "aggregate")} == {
        "limit": 0.5, "order_by": 0.5, "join": 0.5, "join_2": 0.5, "aggregate": 0.5
    }  # fmt: skip
    assert "having" not in shares


def test_the_draw_is_blind_and_repeatable(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "ours.jsonl"
    rows = [{"db_id": p.db_id, "question": p.question, "query": p.sql, "style": "formal"} for p in spoken(PLAIN, 1)]
    file.write_text("\n".join(map(json.dumps, rows)))
    assert bench.main([str(file), "--draw", "20", "--seed", "4"]) == 0
    text = capsys.readouterr().out
    assert text.count("natural [ ]") == 20
    assert "formal" not in text
    assert bench.main([str(file), "--draw", "20", "--seed", "4"]) == 0
    assert capsys.readouterr().out == text


def test_bad_input_is_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "ours.json"
    file.write_text(json.dumps([{"db_id": "a", "question": "q", "sql": "SELECT 1"}, {"db_id": "a"}]))
    assert bench.main([str(file), "--draw", "1"]) == 2
    assert "row 2 lacks db_id, question, or sql" in capsys.readouterr().err


def test_all_figures_on_human_questions_of_real_databases() -> None:
    data = ROOT / "../shared/data/spider"
    if not (data / "train.json").is_file():
        pytest.skip("the Spider questions are not on this machine")
    human = bench.read_pairs(data / "train.json")
    chosen = sorted({pair.db_id for pair in human})[:12]
    human = [pair for pair in human if pair.db_id in chosen]
    schemas = {name: bench.read_schema(data / "database" / name / f"{name}.sqlite") for name in chosen}
    ours = [Pair(p.db_id, f"kindly {p.question}", p.sql) for p in human]
    figures = bench.measure(ours, human, schemas, encode, seed=0)
    assert figures["ours_against_human"]["auc"] > 0.95
    assert figures["human_against_human"]["random_halves"]["auc"] < 0.65
    assert figures["templates"]["ours_used_by_humans"] == {"distinct": 1.0, "rows": 1.0}
    text = bench.as_text(figures)
    assert "kindly" in text
    assert "ours against human" in text

"""Every class of findings on a market: the pair that has the fault, and one like it that has not."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import polars as pl
import pytest
from pairs.market import duckdb_market, sqlite_market, write_pairs

from agro_data import verify_pairs
from agro_data.config import ConfigError
from agro_data.databases.digest import result_digest
from agro_data.pairs.finding import KINDS
from agro_data.pairs.verify import Verified

# class, faulty pair, sound twin
CASES: list[tuple[str, tuple[str, str], tuple[str, str]]] = [
    ("syntax", ("Names?", "SELECT name FROM WHERE"), ("Names?", "SELECT name FROM stall")),
    ("not_a_query", ("Names?", "DELETE FROM stall"), ("Names?", "SELECT name FROM stall")),
    ("not_a_query", ("Names?", "SELECT name FROM stall; SELECT 1"), ("Names?", "SELECT name FROM stall;")),
    ("unknown_name", ("Names?", "SELECT nane FROM stall"), ("Names?", "SELECT NAME FROM STALL")),
    ("unknown_name", ("Names?", "SELECT name FROM stalls"), ("Names?", "SELECT name FROM stall")),
    ("does_not_run", ("Names?", "SELECT no_such(name) FROM stall"), ("Names?", "SELECT upper(name) FROM stall")),
    ("reads_clock", ("Today?", "SELECT date('now'), name FROM stall"), ("Days?", "SELECT date(day) FROM sale")),
    (
        "empty",
        ("Stalls opened before 1900?", "SELECT name FROM stall WHERE opened < 1900"),
        ("Stalls opened before 2000?", "SELECT name FROM stall WHERE opened < 2000"),
    ),
    ("null_only", ("Notes?", "SELECT note FROM sale"), ("Days?", "SELECT day FROM sale")),
    (
        "zero",
        ("How many sales above 500?", "SELECT count(*) FROM sale WHERE amount > 500"),
        ("How many sales above 8?", "SELECT count(*) FROM sale WHERE amount > 8"),
    ),
    (
        "tie_at_limit",
        ("The largest sale's day?", "SELECT sale_id FROM sale ORDER BY amount DESC LIMIT 1"),
        ("The smallest sale's day?", "SELECT sale_id FROM sale ORDER BY amount LIMIT 1"),
    ),
    (
        "tie_in_order",
        ("Stalls by opening year?", "SELECT name FROM stall ORDER BY opened"),
        ("Stalls by name?", "SELECT name FROM stall ORDER BY name"),
    ),
    (
        "tie_in_order",  # what is beyond the LIMIT is in no answer
        ("Stalls by opening year, three?", "SELECT name FROM stall ORDER BY opened LIMIT 3"),
        ("The two smallest sales?", "SELECT sale_id FROM sale ORDER BY amount LIMIT 2"),
    ),
    (
        "unordered_limit",
        ("Three stalls?", "SELECT name FROM stall LIMIT 3"),
        ("Three stalls by name?", "SELECT name FROM stall ORDER BY name LIMIT 3"),
    ),
    (
        "bare_column",
        ("Days by stall?", "SELECT stall_id, day, count(*) FROM sale GROUP BY stall_id"),
        ("Days by stall?", "SELECT stall_id, max(day), count(*) FROM sale GROUP BY stall_id"),
    ),
    (
        "bare_extreme",
        ("Last day of each stall?", "SELECT stall_id, amount, max(day) FROM sale GROUP BY stall_id"),
        ("Last day of each stall?", "SELECT stall_id, max(day) FROM sale GROUP BY stall_id"),
    ),
    (
        "unlinked_join",
        ("Sales with stalls?", "SELECT T1.name, T2.day FROM stall AS T1 JOIN sale AS T2"),
        ("Sales with stalls?", "SELECT T1.name, T2.day FROM stall AS T1, sale AS T2 WHERE T1.stall_id = T2.stall_id"),
    ),
    (
        "join_without_key",
        ("Sales of stalls?", "SELECT T1.name, T2.day FROM stall AS T1 JOIN sale AS T2 ON T1.stall_id = T2.sale_id"),
        ("Sales of stalls?", "SELECT T1.name, T2.day FROM stall AS T1 JOIN sale AS T2 ON T1.stall_id = T2.stall_id"),
    ),
    (
        "useless_distinct",
        ("Not sold?", "SELECT stall_id FROM stall EXCEPT SELECT DISTINCT stall_id FROM sale"),
        ("Not sold?", "SELECT stall_id FROM stall EXCEPT SELECT stall_id FROM sale"),
    ),
    (
        "useless_join",
        ("Amounts?", "SELECT T1.amount FROM sale AS T1 JOIN stall AS T2 ON T1.stall_id = T2.stall_id"),
        ("Amounts?", "SELECT T1.amount, T2.name FROM sale AS T1 JOIN stall AS T2 ON T1.stall_id = T2.stall_id"),
    ),
    (
        "useless_predicate",
        ("Which stalls?", "SELECT name FROM stall WHERE stall_id IS NOT NULL"),
        ("Which stalls?", "SELECT name FROM stall WHERE opened > 2000 OR town = 'York'"),
    ),
    (
        "untested_distinct",
        ("Which names?", "SELECT DISTINCT name FROM stall"),
        ("Which stalls sold?", "SELECT DISTINCT stall_id FROM sale"),
    ),
    (
        "untested_predicate",
        ("Towns of Okafor in Leeds?", "SELECT town FROM stall WHERE name = 'Okafor' AND town = 'Leeds'"),
        ("Town of Okafor?", "SELECT town FROM stall WHERE name = 'Okafor'"),
    ),
    (
        "untested_join",
        ("Which of the first two?", "SELECT DISTINCT T2.name FROM sale AS T1 JOIN stall AS T2 "
         "ON T1.stall_id = T2.stall_id WHERE T2.opened < 2002"),
        ("Towns?", "SELECT DISTINCT T2.town FROM sale AS T1 JOIN stall AS T2 ON T1.stall_id = T2.stall_id"),
    ),
    (
        "literal_other_case",
        ("Stalls in hull?", "SELECT name FROM stall WHERE town = 'hull' OR town = 'York'"),
        ("Stalls in Hull?", "SELECT name FROM stall WHERE town = 'Hull' OR town = 'York'"),
    ),
    (
        "literal_misspelt",
        ("Town of Pearsen or Novak?", "SELECT town FROM stall WHERE name IN ('Pearsen', 'Novak')"),
        ("Town of Pearson or Novak?", "SELECT town FROM stall WHERE name IN ('Pearson', 'Novak')"),
    ),
    (
        "literal_absent",
        ("Town of Quimby or Novak?", "SELECT town FROM stall WHERE name IN ('Quimby', 'Novak')"),
        ("Town of Daan or Novak?", "SELECT town FROM stall WHERE name IN ('Daan', 'Novak')"),
    ),
    (
        "value_differs",
        ("Which town is Dean in?", "SELECT town FROM stall WHERE name = 'Daan'"),
        ("Which town is Daan in?", "SELECT town FROM stall WHERE name = 'Daan'"),
    ),
    (
        "number_differs",
        ("Stalls opened after 2004?", "SELECT name FROM stall WHERE opened > 2000"),
        ("Stalls opened after 2000?", "SELECT name FROM stall WHERE opened > 2000"),
    ),
    (
        "bound_differs",
        ("Stalls opened in 2001 or later, at least 2001?", "SELECT name FROM stall WHERE opened > 2001"),
        ("Stalls opened in 2001 or later, at least 2001?", "SELECT name FROM stall WHERE opened >= 2001"),
    ),
    (
        "number_not_used",
        ("Stalls with 17 chairs?", "SELECT name FROM stall"),
        ("Stalls opened from 2001?", "SELECT name FROM stall WHERE opened > 2000"),
    ),
    (
        "number_not_asked",
        ("Which stalls?", "SELECT name FROM stall WHERE opened > 2000"),
        ("Which stalls opened after two thousand?", "SELECT name FROM stall WHERE opened > 2000"),
    ),
    (
        "value_not_used",
        ('Stalls in "Bradford"?', "SELECT name FROM stall"),
        ('Stalls in "York"?', "SELECT name FROM stall WHERE town = 'York'"),
    ),
    (
        "value_as_code",
        ("Stalls of 'northern kind'?", "SELECT name FROM stall WHERE town = 'York'"),
        ("Stalls of 'york' kind?", "SELECT name FROM stall WHERE town = 'York'"),
    ),
    (
        "value_not_asked",
        ("Which stalls?", "SELECT name FROM stall WHERE town = 'York'"),
        ("Which stalls in York?", "SELECT name FROM stall WHERE town = 'York'"),
    ),
    (
        "limit_not_asked",
        ("The first names?", "SELECT name FROM stall ORDER BY name LIMIT 3"),
        ("The first three names?", "SELECT name FROM stall ORDER BY name LIMIT 3"),
    ),
    (
        "order_reversed",
        ("Names in descending order?", "SELECT name FROM stall ORDER BY name"),
        ("Names in ascending order?", "SELECT name FROM stall ORDER BY name"),
    ),
    (
        "extreme_reversed",
        ("The sale of the lowest amount?", "SELECT day FROM sale ORDER BY amount DESC LIMIT 1"),
        ("The sale of the lowest amount?", "SELECT day FROM sale ORDER BY amount LIMIT 1"),
    ),
    (
        "extreme_reversed",  # what comes after the first key settles ties
        ("The sale of the lowest amount?", "SELECT day FROM sale ORDER BY amount DESC, day LIMIT 1"),
        ("The sale of the lowest amount?", "SELECT day FROM sale ORDER BY amount, day DESC LIMIT 1"),
    ),
    (
        "extreme_reversed",
        ("The oldest?", "SELECT name FROM (SELECT name, 2020 - opened AS age FROM stall) ORDER BY age, name LIMIT 1"),
        ("The oldest?", "SELECT name FROM stall ORDER BY opened, name LIMIT 1"),
    ),
    (
        "extreme_reversed",
        ("What is the smallest amount?", "SELECT max(amount) FROM sale"),
        ("What is the smallest amount?", "SELECT min(amount) FROM sale"),
    ),
    (
        "extreme_reversed",
        ("The day of the largest sale?", "SELECT day FROM sale WHERE amount = (SELECT min(amount) FROM sale)"),
        ("Which day has the largest number?", "SELECT min(day_rank) FROM (SELECT sale_id AS day_rank FROM sale)"),
    ),
    (
        "extreme_reversed",
        ("The minimum?", "SELECT max(amount) FROM sale"),
        ("The minimum of the maximum?", "SELECT max(top) FROM (SELECT amount AS top FROM sale)"),
    ),
    (
        "average_missing",
        ("What is the average amount?", "SELECT amount FROM sale"),
        ("What is the average amount?", "SELECT avg(amount) FROM sale"),
    ),
    (
        "count_missing",
        ("How many stalls are there?", "SELECT name FROM stall"),
        ("How many stalls are there?", "SELECT count(*) FROM stall"),
    ),
    (
        "count_not_asked",
        ("What are the towns?", "SELECT count(DISTINCT town) FROM stall"),
        ("How many towns?", "SELECT count(DISTINCT town) FROM stall"),
    ),
    (
        "integer_division",
        ("What share of sales is of stall 1?", "SELECT SUM(stall_id = 1) / COUNT(*) FROM sale"),
        ("What share of sales is of stall 1?", "SELECT SUM(stall_id = 1) * 1.0 / COUNT(*) FROM sale"),
    ),
    (
        "integer_division",
        ("Sales per stall?", "SELECT (SELECT COUNT(*) FROM sale) / COUNT(*) FROM stall"),
        ("Amount per sale?", "SELECT SUM(amount) / COUNT(*) FROM sale"),  # of reals
    ),
    (
        "integer_division",
        ("Sales per stall?", "SELECT COUNT(*) / COUNT(DISTINCT stall_id) * 100 FROM sale"),
        ("Decades?", "SELECT DISTINCT opened / 10 * 10, CAST(opened / stall_id AS INTEGER) FROM stall"),
    ),
    (
        "extreme_missing",
        ("Which stall is the oldest?", "SELECT name FROM stall"),
        ("Which stall is the oldest?", "SELECT name FROM stall ORDER BY opened LIMIT 1"),
    ),
    (
        "extreme_missing",
        ("What are the amounts above the maximum?", "SELECT amount FROM sale"),
        ("What are the maximum amounts?", "SELECT max_amount FROM (SELECT amount AS max_amount FROM sale)"),
    ),
    (
        "negation_missing",
        ("Which stalls are not in York?", "SELECT name FROM stall WHERE town = 'York'"),
        ("Which stalls are not in York?", "SELECT name FROM stall WHERE town <> 'York'"),
    ),
    (
        "negation_missing",
        ("Which stalls have never sold?", "SELECT name FROM stall JOIN sale USING (stall_id)"),
        ("Which stalls have never sold?", "SELECT name FROM stall LEFT JOIN sale USING (stall_id) GROUP BY name"),
    ),
    (
        "negation_missing",
        ("Which stalls are without a town?", "SELECT name FROM stall"),
        ("Which stall is called Without?", "SELECT name FROM stall WHERE name = 'Without'"),
    ),
    (
        "negation_missing",
        ("Which stalls haven't sold?", "SELECT name FROM stall NATURAL JOIN sale"),
        ("Stalls with sales? Ignore those who haven't any.", "SELECT DISTINCT name FROM stall NATURAL JOIN sale"),
    ),
    (
        "negation_missing",
        ("How many are not in York?", "SELECT count(*) FROM stall"),
        ("How many are in York and how many are not?", "SELECT town, count(*) FROM stall GROUP BY town"),
    ),
    (
        "extreme_missing",
        ("Which is the minimum amount?", "SELECT day FROM sale"),
        ("What are the maximum amounts of stalls?", "SELECT amount FROM sale"),
    ),
    (
        "value_left_out",
        ("Which stalls are in York or Leeds?", "SELECT name FROM stall WHERE town = 'York'"),
        ("Which stalls are in York or Leeds?", "SELECT name FROM stall WHERE town IN ('York', 'Leeds')"),
    ),
    (
        "value_left_out",
        ("Which stalls of York or Hull?", 'SELECT name FROM stall WHERE town = "York"'),
        ("Which stall of York, Leeds' rival?", "SELECT name FROM stall WHERE town = 'York' AND name <> 'Leeds'"),
    ),
]  # fmt: skip
IDS = [f"{kind}-{number}" for number, (kind, _, _) in enumerate(CASES)]


@pytest.fixture(scope="module")
def market(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sqlite_market(tmp_path_factory.mktemp("databases"))


@pytest.fixture(scope="module")
def check(market: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Verified]:
    folder = tmp_path_factory.mktemp("checks")

    def run(asked: list[tuple[str, str]]) -> Verified:
        return verify_pairs(write_pairs(folder / "pairs.json", asked), market, cache=folder / "cache", workers=1)

    return run


@pytest.fixture(scope="module")
def all_faulty(check: Callable[..., Verified]) -> Verified:
    return check([faulty for _, faulty, _ in CASES])


@pytest.fixture(scope="module")
def all_sound(check: Callable[..., Verified]) -> Verified:
    return check([sound for _, _, sound in CASES])


@pytest.mark.parametrize("number", range(len(CASES)), ids=IDS)
def test_the_fault_is_found(all_faulty: Verified, number: int) -> None:
    kind, (question, sql), _ = CASES[number]
    found = [finding.kind for finding in all_faulty.checked[number].findings]
    assert kind in found, (question, sql, found)


@pytest.mark.parametrize("number", range(len(CASES)), ids=IDS)
def test_the_sound_twin_does_not_have_it(all_sound: Verified, number: int) -> None:
    kind, _, (question, sql) = CASES[number]
    found = [finding.kind for finding in all_sound.checked[number].findings]
    assert kind not in found, (question, sql)


def test_every_finding_has_a_class_and_a_sentence(all_faulty: Verified) -> None:
    for one in all_faulty.checked:
        for finding in one.findings:
            assert finding.kind in KINDS
            assert finding.says.endswith(".")
            assert finding.says[0].isupper() or finding.says[0] in "'\"0123456789", finding.says


def test_pairs_against_each_other(check: Callable[..., Verified]) -> None:
    asked = [
        ("Towns of stalls?", "SELECT town FROM stall"),
        ("towns of  stalls", "select T.town from stall as T"),
        ("Towns of stalls?", "SELECT town FROM stall WHERE opened > 1900"),
        ("Towns of stalls?", "SELECT name FROM stall"),
        ("Towns?", "SELECT town FROM stall"),
    ]
    kinds = [[finding.kind for finding in one.findings] for one in check(asked).checked]
    assert kinds[0] == []
    assert kinds[1] == ["duplicate"]
    assert "same_question" in kinds[2]
    assert kinds[3] == ["contradiction"]
    assert kinds[4] == []


def test_a_question_in_two_splits(market: Path, tmp_path: Path) -> None:
    rows = [
        {"db_id": "market", "question": "Towns?", "query": "SELECT town FROM stall", "split": split}
        for split in ("train", "dev")
    ]
    (tmp_path / "a.json").write_text(json.dumps(rows), encoding="utf-8")
    found = verify_pairs(tmp_path / "a.json", market, cache=tmp_path / "cache", workers=1)
    assert [f.kind for f in found.checked[1].findings] == ["split_leak", "duplicate"]
    assert not found.checked[0].findings
    assert found.sound == 0.5


def test_a_missing_database_is_a_finding_and_an_unreadable_row_a_problem(market: Path, tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    good = {"db_id": "MARKET", "question": "Towns?", "query": "SELECT town FROM stall"}
    file.write_text("\n".join([json.dumps(good), "{", json.dumps({**good, "db_id": "zoo"})]), encoding="utf-8")
    found = verify_pairs(file, market, cache=tmp_path / "cache", workers=1)
    assert [[f.kind for f in one.findings] for one in found.checked] == [[], ["no_database"]]
    assert len(found.problems) == 1
    assert found.sound == pytest.approx(1 / 3)


def test_evidence_counts_as_said(market: Path, tmp_path: Path) -> None:
    sql = "SELECT name FROM stall WHERE town = 'York' AND opened > 1980"
    row = {"db_id": "market", "question": "Old northern stalls?", "SQL": sql, "evidence": "northern: York; old: 1980"}
    (tmp_path / "dev.json").write_text(json.dumps([row]), encoding="utf-8")
    found = verify_pairs(tmp_path / "dev.json", market, cache=tmp_path / "cache", workers=1)
    assert not {f.kind for f in found.checked[0].findings} & {"value_not_asked", "number_not_asked"}


def test_what_is_accepted_beside_the_gold_must_run(market: Path, tmp_path: Path) -> None:
    file = tmp_path / "pairs.json"
    golds = ["SELECT name FROM stall", "SELECT nane FROM stall", "SELECT stall_id FROM stall WHERE opened < 1900"]
    file.write_text(json.dumps([{"db_id": "market", "question": "Names?", "query": golds}]), encoding="utf-8")
    [checked] = verify_pairs(file, market, workers=1).checked
    [found] = checked.findings
    assert found.kind == "unknown_name"
    assert found.says.startswith("Accepted SQL 2 of 3: No column nane")
    assert not found.mended


def test_a_question_without_an_answer_is_not_checked(market: Path, tmp_path: Path) -> None:
    rows = [
        {"db_id": "market", "question": "Names?", "query": "SELECT name FROM stall", "is_impossible": False},
        {"db_id": "market", "question": "Weather?", "query": "null", "is_impossible": True},
        {"db_id": "market", "question": "Rain?", "query": "", "is_impossible": True},
    ]
    (tmp_path / "pairs.json").write_text(json.dumps(rows), encoding="utf-8")
    found = verify_pairs(tmp_path / "pairs.json", market, workers=1)
    assert [one.findings for one in found.checked] == [()]
    assert not found.problems
    assert "2 rows without SQL, since no SQL answers the question: not checked" in found.notes


@pytest.mark.parametrize(
    ("sql", "kind", "says"),
    [
        (
            "SELECT name FROM stall WHERE opened > ALL (SELECT 1)",
            "syntax",
            'The engine says: near "ALL": syntax error.',
        ),
        ("SELECT name FROM stall WHERE opened =", "syntax", "Something is missing. Line 1, Col: "),
        ("SELECT 1; SELECT 2", "not_a_query", "If each is a right answer, give them as a list in place of the text."),
        ("SELECT CAST(julianday('now') - opened AS INTEGER) FROM stall", "reads_clock", "Function julianday reads the"),
        ("SELECT strftime('%Y', 'now') - opened FROM stall", "reads_clock", "Function strftime reads the clock."),
    ],
)
def test_sentences(market: Path, tmp_path: Path, sql: str, kind: str, says: str) -> None:
    [checked] = verify_pairs(write_pairs(tmp_path / "pairs.json", [("Names?", sql)]), market, workers=1).checked
    [found] = [one for one in checked.findings if one.kind == kind]
    assert says in found.says


def test_rows_without_a_database_are_about_the_one_that_is_given(market: Path, tmp_path: Path) -> None:
    rows = [{"question": "Names?", "query": "SELECT name FROM stall"}, {"question": "All?", "query": "SELECT 1"}]
    file = tmp_path / "pairs.json"
    file.write_text(json.dumps(rows), encoding="utf-8")
    one = market / "market" / "market.sqlite"
    found = verify_pairs(file, one, workers=1)
    assert [[finding.kind for finding in checked.findings] for checked in found.checked] == [[], ["no_table"]]
    with pytest.raises(ConfigError, match="no database field"):
        verify_pairs(file, market, workers=1)  # a folder may hold several
    file.write_text(json.dumps([{**rows[0], "db_id": "market"}, rows[1]]), encoding="utf-8")
    assert len(verify_pairs(file, one, workers=1).problems) == 1  # one row names it: the other lacks it
    (tmp_path / "gold.sql").write_text("SELECT name FROM stall\n", encoding="utf-8")
    assert not verify_pairs(tmp_path / "gold.sql", one, workers=1).checked[0].findings


def test_duckdb(tmp_path: Path) -> None:
    place = duckdb_market(tmp_path / "databases")
    asked = [
        ("Which town is Dean in?", "SELECT town FROM stall WHERE name = 'Daan'"),
        ("Stalls in hull?", "SELECT name FROM stall WHERE town = 'hull' OR town = 'York'"),
        ("The largest sale?", "SELECT sale_id FROM sale ORDER BY amount DESC LIMIT 1"),
        ("Names?", "SELECT nane FROM stall"),
        ("Names?", "SELECT name FROM stall"),
    ]
    found = verify_pairs(write_pairs(tmp_path / "a.json", asked), place, cache=tmp_path / "cache", workers=1)
    kinds = [[finding.kind for finding in one.findings] for one in found.checked]
    assert kinds[0] == ["value_differs"]
    assert "literal_other_case" in kinds[1]
    assert kinds[2] == ["tie_at_limit"]
    assert kinds[3] == ["unknown_name"]


def test_certificates_and_their_instances(market: Path, tmp_path: Path) -> None:
    asked = [
        ("Which stalls opened after 2000?", "SELECT name FROM stall WHERE opened > 2000"),
        ("Town of Okafor in Leeds?", "SELECT town FROM stall WHERE name = 'Okafor' AND town = 'Leeds'"),
        ("Names?", "SELECT nane FROM stall"),
    ]
    pairs = write_pairs(tmp_path / "a.json", asked)
    found = verify_pairs(pairs, market, cache=tmp_path / "cache", instances=tmp_path / "instances", workers=1)
    first, second, failing = found.checked
    assert failing.certificate is None
    index = pl.read_parquet(tmp_path / "instances" / "index.parquet")
    for one in (first, second):
        assert one.certificate is not None
        assert 0 < one.certificate.mutants_killed <= one.certificate.mutants_total
        assert set(one.certificate.instances) <= set(index["file"])
        for name, digest in zip(one.certificate.instances, one.certificate.digests, strict=True):
            with closing(sqlite3.connect(tmp_path / "instances" / name)) as connection:
                rows = connection.execute(one.pair.sql).fetchall()
            assert result_digest(1, rows, ordered=False) == digest
    told = [finding.says for finding in second.findings if finding.kind == "untested_predicate"]
    assert any("tells them apart" in says and "No instance" not in says for says in told), told


def test_instances_never_take_the_place_of_a_database(market: Path, tmp_path: Path) -> None:
    """Nor of other files: an instance is named `01.sqlite`, as a database may be."""
    pairs = write_pairs(tmp_path / "a.json", [("Names?", "SELECT name FROM stall")])
    own, other = tmp_path / "databases" / "market" / "market.sqlite", tmp_path / "other" / "market" / "17.sqlite"
    content = next(market.rglob("market.sqlite")).read_bytes()
    for path in (own, other):
        path.parent.mkdir(parents=True)
        path.write_bytes(content)
    for folder, said in (("databases", "itself lies"), ("other", "has databases in it")):
        with pytest.raises(ConfigError, match=said):
            verify_pairs(pairs, own, cache=tmp_path / "cache", instances=tmp_path / folder, workers=1)
    assert own.read_bytes() == other.read_bytes() == content
    assert sorted(path.name for path in tmp_path.glob("*/market/*")) == [other.name, own.name]


def test_parts_of_a_whole_name_and_of_a_zero_are_not_told_one_by_one(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "staff.sqlite")) as connection:
        connection.executescript(
            """CREATE TABLE member (id INTEGER PRIMARY KEY, first_name TEXT, last_name TEXT, town TEXT, age INTEGER);
            INSERT INTO member VALUES (1, 'Ada', 'Byron', 'London', 36), (2, 'Alan', 'Turing', 'London', 41),
                                      (3, 'Grace', 'Hopper', 'Arlington', 85), (4, 'Kurt', 'Adler', 'Brno', 71);"""
        )
    where = {
        "the whole name": "first_name = 'Ada' AND last_name = 'Byron'",
        "the town too": "first_name = 'Ada' AND last_name = 'Byron' AND town = 'London'",
        "no name": "age = 36 AND town = 'London'",
        "one or the other": "first_name = 'Ada' OR last_name = 'Byron'",
    }
    asked = [(f"How old, given {said}?", f"SELECT age FROM member WHERE {sql}") for said, sql in where.items()]
    asked.append(("How many of age 36 in Brno?", "SELECT count(*) FROM member WHERE age = 36 AND town = 'Brno'"))
    file = tmp_path / "a.json"
    file.write_text(json.dumps([{"db_id": "staff", "question": q, "query": s} for q, s in asked]), encoding="utf-8")
    found = verify_pairs(file, tmp_path, cache=tmp_path / "cache", workers=1)
    idle = [
        [f.says.split("without ")[1] for f in one.findings if f.kind.startswith("untested_")] for one in found.checked
    ]
    assert idle[0] == []
    assert idle[1] == ["WHERE town = 'London'."]
    assert "WHERE town = 'London'." in idle[2]
    assert idle[3] == ["WHERE first_name = 'Ada'.", "WHERE last_name = 'Byron'."]
    assert [f.kind for f in found.checked[4].findings] == ["zero"]


def test_workers_do_not_change_what_is_found(tmp_path: Path) -> None:
    place = sqlite_market(tmp_path / "one")
    with closing(sqlite3.connect(place / "other.sqlite")) as connection:
        connection.executescript("CREATE TABLE t (a INTEGER); INSERT INTO t VALUES (1), (2);")
    rows = [{"db_id": "other", "question": "Which a?", "sql": "SELECT a FROM t LIMIT 1"}]
    rows += [{"db_id": "market", "question": q, "sql": s} for _, (q, s), _ in CASES]
    (tmp_path / "a.json").write_text(json.dumps(rows), encoding="utf-8")
    alone, two = (verify_pairs(tmp_path / "a.json", place, cache=tmp_path / f"cache{n}", workers=n) for n in (1, 2))
    assert alone == two


def test_no_databases(tmp_path: Path) -> None:
    pairs = write_pairs(tmp_path / "a.json", [("q", "SELECT 1")])
    with pytest.raises(ConfigError, match="no such file or folder"):
        verify_pairs(pairs, tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ConfigError, match="empty: holds no database"):
        verify_pairs(pairs, tmp_path / "empty")

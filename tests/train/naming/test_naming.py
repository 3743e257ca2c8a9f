"""SQL that names what the schema has can be written piece by piece, and SQL that names anything else cannot."""

from __future__ import annotations

import json
import math
import sqlite3
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from train.in_pieces import write
from train.tiny import make_tiny_model
from transformers import DynamicCache

from agro_train.language_model.loading import load, load_tokenizer
from agro_train.naming.levels import Names
from agro_train.naming.partial_query import PartialQuery
from agro_train.naming.scopes import Scopes
from agro_train.naming.writing import NamesOnly, Written
from agro_train.sampling.module import ModuleSampler
from agro_train.sampling.token_mask import Held

SCHEMA = {
    "singer": {"Singer_ID": "int", "Name": "text", "Age": "int", "Song_Name": "text"},
    "concert": {"concert_ID": "int", "Theme": "text", "Year": "text", "Stadium_ID": "int"},
    "cars_data": {"Id": "int", "Weight": "int", "free meals (%)": "int"},
}
NAMES = Names.of(SCHEMA, "sqlite")
WRITABLE = [
    "SELECT count(*) FROM singer",
    "SELECT T1.Name, T2.theme FROM singer AS T1 JOIN concert AS T2 ON T1.Singer_ID = T2.Concert_ID WHERE T2.Year > 3",
    "SELECT Name, Theme FROM singer JOIN concert ON Singer_ID = concert_ID",
    "SELECT Name FROM singer WHERE Name NOT IN (SELECT Theme FROM concert WHERE concert_ID = Singer_ID)",
    "SELECT s.Name FROM singer AS s WHERE NOT EXISTS (SELECT 1 FROM concert AS c WHERE c.concert_ID = s.Singer_ID)",
    "SELECT Name, COUNT(*) AS many FROM singer GROUP BY Name HAVING many > 1 ORDER BY many DESC LIMIT 3",
    "WITH old AS (SELECT Name, Age AS years FROM singer) SELECT Name FROM old WHERE years > 3",
    "SELECT Name FROM (SELECT Name, RANK() OVER (ORDER BY Age) AS rnk FROM singer) AS r WHERE rnk < 2",
    "SELECT Name FROM singer UNION SELECT Theme FROM concert ORDER BY Name",
    "SELECT CASE WHEN Age < 3 THEN 'it''s' ELSE \"b\" END AS band, CAST(Age AS REAL) FROM singer",
    'SELECT "free meals (%)", [free meals (%)], `Id` FROM cars_data',
    "SELECT Weight FROM cars_data WHERE Weight BETWEEN 1 AND 2 AND Id <> -1 OR Id IS NOT NULL;",
    "SELECT (SELECT max(Age) FROM singer) - (SELECT min(Age) FROM singer)",
    "SELECT CASE Age WHEN 1 THEN CASE WHEN 1 > 2 THEN 2 END ELSE 3 END b, sum(CASE WHEN 1 THEN Age END) FROM singer",
    "SELECT Name FROM singer NATURAL LEFT OUTER JOIN concert CROSS JOIN cars_data",
    "SELECT Name FROM singer s1 JOIN concert AS concerts ON Singer_ID = concert_ID, cars_data c",
    "SELECT Name FROM singer JOIN concert JOIN cars_data ON Singer_ID = concert_ID WHERE Age < 12345678.123456789",
    f"SELECT {'abs(' * 11}Age{')' * 11} FROM singer",
    "SELECT j.Theme FROM singer AS jc JOIN concert AS j ON jc.Singer_ID = j.concert_ID",
    "SELECT Name FROM singer UNION ALL SELECT Theme FROM concert",
    "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 5) SELECT x FROM n",
    "SELECT COUNT(*) FILTER (WHERE Age > .5 AND Age < 1e-3) FROM singer",
    "SELECT SUM(Age) OVER w, MIN(Age) OVER v FROM singer WINDOW w AS (PARTITION BY Name), v AS (ORDER BY Age)",
    "SELECT T1.* FROM singer AS T1",
    "SELECT Name, (SELECT count(*) FROM concert WHERE Year = T1.Age) FROM singer AS T1",
    'SELECT "Age" FROM singer WHERE "Name" = "Joe" AND Name IN ("a", "b") OR Name LIKE ("c%") ORDER BY "Age"',
    'SELECT count("Age"), strftime("%Y", "b"), max(CASE WHEN Age > 2 THEN "old" ELSE "b" END) FROM singer',
    "SELECT count(*) n, max(Age) max_age FROM singer",
]
UNWRITABLE = [
    "SELECT count(*) FROM cars",
    "SELECT Package_Choice FROM singer",
    "SELECT Name FROM singer WHERE Year > 2013",
    "SELECT Name, Theme FROM singer",
    "SELECT T1.Theme FROM singer AS T1 JOIN concert AS T2 ON T1.Singer_ID = T2.concert_ID",
    "SELECT T2.Name FROM singer AS T1",
    "SELECT T1.Name FROM singer AS T1 JOIN concert AS T2 ON T1.Weight = T2.Year",
    "SELECT median_of(Age) FROM singer",
    "SELECT Name FROM singer WHERE Age = (SELECT max(Weight) FROM singer)",
    "SELECT `Nom` FROM singer",
    "SELECT count(*) FROM singer -- all",
    "SELECT (SELECT count(*) FROM singer",
    "SELECT Song Name FROM singer",
    "SELECT !",
    "SELECT Name FROM singer WHERE | 3",
    "SELECT Name FROM (SELECT Age FROM singer) AS s",
    "SELECT Name FROM singer WHERE Age > 3 END",
    "SELECT T2.* FROM singer AS T1",
    "SELECT Name, (SELECT count(*) FROM concert WHERE Year = T2.Age) FROM singer AS T1",
    "SELECT Name, (SELECT count(*) FROM concert WHERE Year = Weight) FROM singer",
    "SELECT Name FROM singer WHERE Age WHEN 3 THEN 4",
    "SELECT CASE WHEN Age > 3 THEN Name FROM singer",
    "SELECT (CASE WHEN Age > 3 THEN Name) FROM singer",
    "SELECT Name FROM singer ASOF JOIN concert",
    "SELECT Name FROM singer CROSS CROSS JOIN concert",
    "SELECT Name FROM singer ON Age = 3",
    "SELECT Name FROM singer JOIN concert ON Singer_ID = concert_ID ON Age = 3",
    "SELECT Name FROM singer, concert ON Singer_ID = concert_ID",
    "SELECT Name FROM singer singers",
    "SELECT Name FROM singer grouping JOIN concert ON Singer_ID = concert_ID",
    'SELECT "Names" FROM singer',
    'SELECT Name, "Names" FROM singer',
    'SELECT "Theme" FROM singer',
    'SELECT count("Names") FROM singer',
    'SELECT count(DISTINCT "Names") FROM singer',
    'SELECT Name FROM singer WHERE "Nam" = "Joe"',
    'SELECT Name FROM singer WHERE Age = 1 AND ("Nam" = 2)',
    'SELECT Name FROM singer ORDER BY "Names"',
    'SELECT Name FROM singer GROUP BY Name, "Names"',
    "SELECT count(*) FROMsinger",
    "SELECT count(*) singers FROM singer",
    f"SELECT Name FROM singer WHERE Age = 4.{'0' * 20}",
    f"SELECT {'abs(' * 12}Age{')' * 12} FROM singer",
    f"SELECT Name FROM {'(SELECT Name FROM ' * 4}singer{')' * 4}",
    f"SELECT Name FROM singer WHERE {'Age > (SELECT Age FROM singer WHERE ' * 4}Age{')' * 4}",
    f"SELECT a.Name FROM singer AS a{''.join(f' JOIN singer AS a{n} ON a{n}.Age = a.Age' for n in range(8))}",
]


@pytest.mark.parametrize("sql", WRITABLE)
def test_queries_of_the_schema_can_be_written_letter_by_letter(sql: str) -> None:
    assert write(sql, NAMES)
    assert write(sql.upper().replace('"B"', "'b'"), NAMES)


@pytest.mark.parametrize("sql", UNWRITABLE)
def test_other_names_cannot(sql: str) -> None:
    assert not write(sql, NAMES)
    assert not write(sql, NAMES, [])


ABROAD = {"Straße": {"Ärger": "int", 'a"b': "int"}, "城市": {"名": "text"}}


@pytest.mark.parametrize(
    ("sql", "writable"),
    [
        ("SELECT DATE '2020-01-31' - INTERVAL '3' DAY, Ärger // 2 FROM Straße WHERE 1 < INTERVAL 1 MONTH", True),
        ("SELECT 名, GROUPING(名), count(*) FROM 城市 GROUP BY ROLLUP (名)", True),
        ("SELECT 名 FROM 城市 WHERE 名 = ANY (SELECT Ärger FROM Straße)", True),
        ("SELECT 名 FROM 城市 WHERE 名 = ANY (SELECT Ärger FROM 城市)", False),
        ("SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY Ärger) FROM Straße", True),
        ('SELECT "a""b", 名 FROM "Straße", 城市', True),
        ('SELECT "a""c" FROM Straße', False),
        ("SELECT ärger FROM Straße", False),  # engines fold ASCII only
    ],
)
def test_names_and_words_of_duckdb(sql: str, writable: bool) -> None:
    names = Names.of(ABROAD, "duckdb")
    assert write(sql, names) == write(sql, names, []) == writable


def test_a_letter_of_several_tokens_can_be_written(tmp_path: Path) -> None:
    tokenizer = load(str(make_tiny_model(tmp_path / "tiny")), Path("unused")).tokenizer
    sql = "<sql>SELECT Ärger FROM Straße, 城市 WHERE 名 = 'é'</sql>"
    ids = tokenizer(sql, add_special_tokens=False)["input_ids"]
    held, turn = Held(tokenizer), NamesOnly(Names.of(ABROAD, "duckdb"))
    for written, token in enumerate(ids):
        assert held.allows(turn, token, held.begun(ids[:written])), tokenizer.decode(ids[: written + 1])
        turn.go_on(tokenizer.decode(ids[: written + 1]))
    [first, *rest] = tokenizer("ß", add_special_tokens=False)["input_ids"]
    assert rest
    turn.go_on("<sql>SELECT Ärger FROM Stra")
    assert held.allows(turn, first)
    [same, other] = tokenizer("ä", add_special_tokens=False)["input_ids"]
    assert held.begun([*ids, same]) == (first,)
    assert [held.allows(turn, last, (first,)) for last in (*rest, other)] == [True, False]
    turn.go_on("<sql>SELECT Ärger FROM Straße WHERE Ärger < 1 AN")
    assert not held.allows(turn, first)


@given(st.sampled_from(WRITABLE + UNWRITABLE), st.lists(st.integers(0, 60), max_size=8))
def test_where_the_pieces_end_decides_nothing(sql: str, cuts: list[int]) -> None:
    assert write(sql, NAMES, [cut for cut in cuts if cut < len(sql)]) == (sql in WRITABLE)


@given(st.text(st.characters(blacklist_characters="\ufffd"), max_size=40) | st.sampled_from(["Name", "Age FRO", "x ("]))
def test_any_text_is_read(text: str) -> None:
    turn = NamesOnly(NAMES)
    turn.go_on("<think>so</think>\n<sql>SELECT ")
    assert turn.active
    allowed = turn.allows(text)
    turn.go_on(f"<think>so</think>\n<sql>SELECT {text}")
    assert turn.active == allowed  # behind what should not have been written nothing is held


def test_sql_and_thoughts_are_held(tmp_path: Path) -> None:
    turn = NamesOnly(NAMES)
    turn.go_on("<think>cars are few")
    assert turn.active
    assert turn.allows(" (they say)")
    turn.go_on("<think>cars are few</think>\n")
    assert not turn.active
    turn.go_on("<think>cars are few</think>\n<sql>SELECT count(*) FROM ")
    assert turn.active
    assert not turn.allows("cars ")
    assert turn.allows("cars_")
    turn.go_on("<think>cars are few</think>\n<sql>SELECT count(*) FROM singer</sql>")
    assert not turn.active


@pytest.mark.parametrize(("temperature", "beams"), [(0.0, 1), (0.0, 3), (1.0, 1)])
def test_a_random_model_writes_only_names_of_the_schema(tmp_path: Path, temperature: float, beams: int) -> None:
    model = load(str(make_tiny_model(tmp_path / "tiny")), Path("unused"))
    sampler = ModuleSampler(model.network, model.tokenizer)
    turns = [NamesOnly(NAMES) for _ in range(3)]
    for one in turns:
        one.go_on("<sql>")  # the tag was the prefix's: what is sampled stands behind it

    class Behind:
        """A turn whose first tag stands in the prefix."""

        def __init__(self, inner: NamesOnly) -> None:
            self.inner = inner

        @property
        def active(self) -> bool:
            return self.inner.active

        def allows(self, piece: str) -> bool:
            return self.inner.allows(piece)

        def go_on(self, text: str) -> None:
            self.inner.go_on("<sql>" + text)

        def copy(self) -> Behind:
            return Behind(self.inner.copy())

    prefixes = [[5, 6, 7], [5, 6, 7], [8, 9]]
    held = [Behind(one) for one in turns]
    sampled = sampler.within(held, prefixes, temperature=temperature, max_tokens=25, seeds=[1, 2, 3], beams=beams)
    free = sampler(prefixes, temperature=temperature, max_tokens=25, seeds=[1, 2, 3])
    assert [one.ids for one in sampled] != [one.ids for one in free]
    assert sampler.held.dead_ends == 0
    assert sampler.held.refused > 0
    for turn in sampled:
        text = model.tokenizer.decode(turn.ids)
        written = Written(PartialQuery(Scopes(NAMES)), closing="sql").then(text)
        assert written is not None, text
        assert all(score <= 1e-6 for score in turn.logprobs)
        assert bool(turn.turned) == (temperature > 0)
    if temperature:
        own = torch.log_softmax(model.network(torch.tensor([prefixes[2] + sampled[2].ids])).logits[0].float(), dim=-1)
        for place, token in enumerate(sampled[2].ids):
            policy = own[len(prefixes[2]) - 1 + place, token].item()
            if place in sampled[2].turned:
                assert sampled[2].logprobs[place] > policy  # a share of less than all
            else:
                assert sampled[2].logprobs[place] == pytest.approx(policy, abs=1e-4)


def test_what_is_refused_is_drawn_again_among_the_allowed(tmp_path: Path) -> None:
    """Two of four tokens are allowed: each is drawn as often as its share of the two says."""

    class Even:
        """Allows a and c alone."""

        active = True

        def allows(self, piece: str) -> bool:
            return piece in ("a", "c")

        def go_on(self, text: str) -> None:
            assert text in ("a", "c")

        def copy(self) -> Even:
            return self

    tokenizer = load_tokenizer(make_tiny_model(tmp_path / "tiny"))
    letters = [tokenizer.convert_tokens_to_ids(letter) for letter in "abcd"]
    chances = dict(zip(letters, (0.3, 0.4, 0.1, 0.2), strict=True))

    class Same(torch.nn.Module):
        """Always the same chances."""

        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.full((len(tokenizer),), -1e9))
            self.weight.data[list(chances)] = torch.tensor([*chances.values()]).log()

        def forward(self, input_ids: torch.Tensor, **_: Any) -> Any:
            logits = self.weight.expand(*input_ids.shape, -1)
            return SimpleNamespace(logits=logits, past_key_values=DynamicCache())

    sampler = ModuleSampler(Same(), tokenizer, 1_000)
    many = 4_000
    held = [Even() for _ in range(many)]
    turns = sampler.within(held, [[5]] * many, temperature=1.0, max_tokens=1, seeds=list(range(many)))
    drawn = Counter(turn.ids[0] for turn in turns)
    assert set(drawn) == {letters[0], letters[2]}
    assert drawn[letters[0]] / many == pytest.approx(0.75, abs=0.03)
    turned = [turn for turn in turns if turn.turned]
    assert len(turned) / many == pytest.approx(0.6, abs=0.03)  # b and d
    assert {round(math.exp(turn.logprobs[0]), 4) for turn in turned} == {0.75, 0.25}
    assert {round(math.exp(turn.logprobs[0]), 4) for turn in turns if not turn.turned} == {0.3, 0.1}


def schema_of(file: Path) -> dict[str, dict[str, str]]:
    with sqlite3.connect(f"file:{file}?immutable=1", uri=True) as connection:
        tables = [
            name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")
        ]
        return {
            table: {row[1]: row[2] for row in connection.execute(f'PRAGMA table_info("{table}")')} for table in tables
        }


@pytest.mark.parametrize("file", ["dev", pytest.param("train", marks=pytest.mark.slow)])
def test_what_people_wrote_can_be_written(shared_data: Path, file: str) -> None:
    questions = json.loads((shared_data / "spider" / f"{file}.json").read_text(encoding="utf-8"))
    by_database: dict[str, set[str]] = {}
    for row in questions:
        by_database.setdefault(row["db_id"], set()).add(row["query"])
    refused, tried = [], 0
    for name, golds in by_database.items():
        database = shared_data / "spider" / "database" / name / f"{name}.sqlite"
        names = Names.of(schema_of(database), "sqlite")
        with sqlite3.connect(f"file:{database}?immutable=1", uri=True) as connection:
            for gold in golds:
                try:
                    connection.execute(f"EXPLAIN {gold}")
                except sqlite3.Error:
                    continue
                tried += 1
                written: Written | None = Written(PartialQuery(Scopes(names)), closing="solution")
                text = f"{gold}</solution>"
                for start in range(0, len(text), 3):
                    written = written and written.then(text[start : start + 3])
                if written is None or not written.ended:
                    refused.append((name, gold))
    assert tried > 200
    assert refused == []

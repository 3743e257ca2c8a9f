"""Questions over real databases: every intent its own question, every literal in it, no identifier, and quickly."""

from __future__ import annotations

import hashlib
import itertools
import re
from pathlib import Path

import pytest

from agro_data.databases.types import Database
from agro_data.intent.questions import STYLES, Question, render_question
from agro_data.intent.sampling.sample import sample_intents
from agro_data.intent.tree import Intent, Value, walk
from agro_data.profiling.profile import DatabaseProfile
from agro_data.profiling.profiler import profile_database

SPIDER = Path(__file__).resolve().parents[2] / "../shared/data/spider"
IDS = ("small_bank_1", "entertainment_awards", "flight_company", "club_1", "insurance_fnol", "program_share")
Rendered = list[tuple[Intent, Question]]

pytestmark = pytest.mark.skipif(not SPIDER.is_dir(), reason="the Spider databases are not beside this checkout")


def profile_of(db_id: str) -> DatabaseProfile:
    path = SPIDER / "database" / db_id / f"{db_id}.sqlite"
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return profile_database(Database(db_id, "sqlite", "sqlite", path, digest, db_id, SPIDER / "tables.json"))


@pytest.fixture(scope="module")
def corpus() -> list[tuple[DatabaseProfile, Rendered]]:
    found = []
    for db_id in IDS:
        profile = profile_of(db_id)
        intents = itertools.islice(sample_intents(profile, 7), 200)
        asked = [(i, render_question(i, profile, STYLES[n % len(STYLES)], 7)) for n, i in enumerate(intents)]
        found.append((profile, asked))
    return found


def test_two_intents_of_one_database_never_share_a_question(corpus: list[tuple[DatabaseProfile, Rendered]]) -> None:
    for _, asked in corpus:
        seen: dict[str, Intent] = {}
        for intent, question in asked:
            other = seen.setdefault(question.text.lower(), intent)
            assert other.query == intent.query, question.text


def test_one_style_alone_keeps_them_apart_too(corpus: list[tuple[DatabaseProfile, Rendered]]) -> None:
    for profile, asked in corpus[:3]:
        for style in STYLES:
            texts = {render_question(intent, profile, style, 1).text.lower() for intent, _ in asked}
            assert len(texts) == len(asked)


def test_literals_stand_in_the_question_verbatim(corpus: list[tuple[DatabaseProfile, Rendered]]) -> None:
    checked = 0
    for profile, asked in corpus:
        for intent, question in asked:
            for value in walk(intent.query):
                if isinstance(value, Value) and isinstance(value.value, str) and value.column is not None:
                    table, column = value.column
                    if profile.table(table).column(column).role != "date":
                        assert value.value in question.text
                        checked += 1
    assert checked > 100


def test_no_identifier_and_no_slip_of_the_pen(corpus: list[tuple[DatabaseProfile, Rendered]]) -> None:
    for _, asked in corpus:
        for intent, question in asked:
            text = question.text
            for value in walk(intent.query):
                if isinstance(value, Value) and isinstance(value.value, str):
                    text = text.replace(value.value, "X")
            assert "_" not in text
            assert not re.search(r"\b(SELECT|GROUP BY|ORDER BY|HAVING|JOIN|COUNT|NULL)\b", text)
            assert "  " not in text
            assert " ," not in text
            assert not re.search(r"\b(the|of|a|and|with|for|is|are) \1\b", text), text
            assert text[0].isupper() or text[0].isdigit()


def test_no_opening_dominates(corpus: list[tuple[DatabaseProfile, Rendered]]) -> None:
    texts = [question.text for _, asked in corpus for _, question in asked]
    openings = [" ".join(t.split()[:2]) for t in texts]
    assert max(map(openings.count, set(openings))) < 0.3 * len(texts)
    assert len(set(openings)) > 60

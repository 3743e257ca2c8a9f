"""Results of golds on disk: found again only for the same content, text, limits and engine."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from making import run_sqlite

from agro_data.databases.discovery.content import content_hash
from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.databases.types import Database, Limits, Result
from agro_data.verify.gold_cache import FILE, GoldCache, _sources
from agro_data.verify.golds import Case, GoldResults
from agro_data.verify.grade import grade_many

GOLD = "SELECT name FROM pet WHERE age > 3"
LIMITS = Limits()


@pytest.fixture
def database(tmp_path: Path) -> Database:
    path = tmp_path / "pets.sqlite"
    run_sqlite(path, "CREATE TABLE pet (name TEXT, age INTEGER)", {"pet": [("Bo", 4), ("Al", 2), ("Cy", 9)]})
    return Database("pets", "sqlite", "sqlite", path, content_hash(path, "sqlite"), path.name)


def test_what_one_process_found_another_recalls(database: Database, tmp_path: Path) -> None:
    mean = "SELECT avg(age) FROM pet"
    with Sandbox(1, LIMITS) as sandbox:
        result, floats = sandbox.run(database, [GOLD, mean])
    assert (result.floats, floats.floats) == (False, True)
    GoldCache(tmp_path).keep([((database, GOLD), result), ((database, mean), floats)], LIMITS)
    found = GoldCache(tmp_path).recall([(database, GOLD), (database, mean), (database, "SELECT 1")], LIMITS)
    assert found == {
        (database, GOLD): replace(result, columns=()),
        (database, mean): replace(floats, columns=()),
    }
    other = replace(database, content_hash="0" * 64)
    assert GoldCache(tmp_path).recall([(other, GOLD)], LIMITS) == {}
    assert GoldCache(tmp_path).recall([(database, GOLD)], replace(LIMITS, rows=1)) == {}


def test_failures_are_not_kept(database: Database, tmp_path: Path) -> None:
    GoldCache(tmp_path).keep([((database, GOLD), Result("timeout", error="over 5 s"))], LIMITS)
    assert GoldCache(tmp_path).recall([(database, GOLD)], LIMITS) == {}


def test_more_pairs_than_one_statement_asks_for(database: Database, tmp_path: Path) -> None:
    digest = "ab" * 32
    found = [((database, f"SELECT {n}"), Result("ok", (), (), n, 1, digest, digest)) for n in range(1203)]
    cache = GoldCache(tmp_path)
    cache.keep(found, LIMITS)
    assert cache.recall([pair for pair, _ in found], LIMITS) == dict(found)


def test_a_file_that_is_no_cache_is_made_anew(database: Database, tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"not a database, but long enough to be taken for a header" * 40)
    assert GoldCache(tmp_path).recall([(database, GOLD)], LIMITS) == {}


def test_a_gold_that_is_known_is_not_run(database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = "SELECT name FROM pet WHERE age > 4"
    cases = [Case(GOLD, "SELECT name FROM pet WHERE NOT age <= 3", (database,)), Case(GOLD, wrong, (database,))]
    asked: list[str] = []
    with Sandbox(1, LIMITS) as sandbox:
        run_many = sandbox.run_many

        def counted(pairs: list[tuple[Database, str]], want: str = "digest") -> list[Result]:
            asked.extend(sql for _, sql in pairs if want == "digest")
            return run_many(pairs, want)  # type: ignore[arg-type]

        monkeypatch.setattr(sandbox, "run_many", counted)
        grades = [grade_many(cases, sandbox, GoldResults(GoldCache(tmp_path))) for _ in range(2)]
    assert asked == [GOLD]
    assert [grade.score for grade in grades[0]] == [1, 0]
    assert grades[0] == grades[1]


def test_all_that_decides_how_files_are_read_decides_what_a_result_is_found_by() -> None:
    names = [source.name for source in _sources()]
    assert {"digest.py", "guards.py", "csv_reading.py", "csv_numbers.py", "csv_dates.py"} <= {*names}
    assert all(source.is_file() for source in _sources())

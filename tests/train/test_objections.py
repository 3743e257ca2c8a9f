"""What speaks against answers, and what of it decides which of several is the better one."""

from __future__ import annotations

from pathlib import Path

from making import run_sqlite

from agro_data.databases.discovery.catalog import find_databases
from agro_data.databases.hostile.sandbox import own_sandbox
from agro_data.evaluation.loaded import Pair
from agro_data.pairs.finding import gravity
from agro_data.pairs.verify import SOURCE
from agro_data.profiling.profiler import profile_database
from agro_train.objections import Answered, objections, weight


def test_what_the_data_bring_with_them_speaks_for_no_other_answer(tmp_path: Path) -> None:
    run_sqlite(
        tmp_path / "cars.sqlite",
        """CREATE TABLE car (model TEXT, days TEXT);
            INSERT INTO car VALUES ('amc', '7'), ('ford', '40'), ('opel', '112'), ('saab', '1285');""",
    )
    (database,) = find_databases(tmp_path).databases
    profile = profile_database(database)
    asked = "Which model has been held for the most days?"
    held = "SELECT model FROM car ORDER BY {} DESC LIMIT 1"
    answers = (held.format("days"), held.format("model"), "SELECT model FROM car WHERE days = 'all'")
    answered = [Answered(Pair("", "cars", asked, sql), database, profile) for sql in answers]
    found = objections(answered, own_sandbox(SOURCE))
    assert [finding.kind for finding in found[0]] == ["text_as_number"]
    assert [gravity(findings) for findings in found] == [2, 0, 2]
    assert [weight(findings) for findings in found] == [0, 0, 2]

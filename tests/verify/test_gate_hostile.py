"""The gate attacked: what the sandbox must stop, the gate refuses before, or leaves to the engine knowingly."""

from __future__ import annotations

from time import perf_counter

import pytest
from hostile_corpus import hostile

from agro_data.databases.types import Dialect
from agro_data.verify.gate import check_statement

SCHEMA = {"t": {"a": "INTEGER", "b": "TEXT"}}
# Reads nothing but the data, and fails: the engine's own prepare step or its arithmetic is the judge.
LEFT_TO_THE_ENGINE = {
    "SELECT 'x' REGEXP '(a+)+$'",
    "SELECT 'x' MATCH 'y'",
    "SELECT a FROM other.t",
    "SELECT a FROM temp.t",
    "SELECT abs(-9223372036854775808)",
    "SELECT sum(9223372036854775807) FROM t",
    "SELECT error('boom')",
    "SELECT 1::INTEGER[1000000000]",
}
SECONDS = 20.0  # a bound, no pace: 10 MB are refused by their length; what is parsed has at most 20,000 characters


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
def test_hostile_statements_are_refused_or_only_slow(dialect: Dialect) -> None:
    passed = set()
    for case in hostile(dialect):
        started = perf_counter()
        gate = check_statement(case.sql, dialect, SCHEMA)
        assert perf_counter() - started < SECONDS, case
        assert gate.ok == (not gate.reason), case
        if gate.ok and not case.slow:
            passed.add(case.sql)
    assert passed <= LEFT_TO_THE_ENGINE

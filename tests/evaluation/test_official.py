from __future__ import annotations

import json
from pathlib import Path

import pytest

from agro_data.evaluation.evaluate import evaluate
from agro_data.evaluation.load import load_predictions
from agro_data.evaluation.official import spider_ordered, spider_prediction, spider_statement


def test_the_script_turns_value_into_one_wherever_it_stands() -> None:
    assert spider_prediction("SELECT market_value FROM t WHERE a = value\tdb") == "SELECT market_1 FROM t WHERE a = 1"


@pytest.mark.parametrize(
    ("sql", "run"),
    [
        ("SELECT DISTINCT a FROM t", "SELECT  a FROM t"),
        ("SELECT count(distinct a) FROM t", "SELECT count( a) FROM t"),
        ("SELECT a FROM t WHERE b = 'Distinct'", "SELECT a FROM t WHERE b = 'Distinct'"),
        ('SELECT "distinct" FROM t', 'SELECT "distinct" FROM t'),
        ("SELECT distinctive FROM t", "SELECT distinctive FROM t"),
        ("SELECT 1; SELECT 2", "SELECT 1;"),
        ("SELECT ';' ; x", "SELECT ';' ;"),
        ("a > = 1 AND b ! = 2", "a >= 1 AND b != 2"),
        ("x = YEAR ( CURDATE ( ) ) ", "x = 2020"),
    ],
)
def test_statements_as_the_script_runs_them(sql: str, run: str) -> None:
    assert spider_statement(sql) == run


def test_order_by_anywhere_makes_a_list() -> None:
    assert spider_ordered("SELECT a FROM (SELECT a FROM t ORDER BY a)")
    assert not spider_ordered("SELECT a FROM t")


@pytest.mark.parametrize(
    ("field", "metric"), [("spider_ex", "spider-ex"), ("bird_ex", "bird-ex"), ("bird_soft_f1", "soft-f1")]
)
def test_official_verdicts_on_one_database_are_reproduced(shared_data: Path, field: str, metric: str) -> None:
    file = shared_data / "predictions/spider_dev/codes-1b.json"
    found = evaluate(load_predictions(file).predictions, shared_data / "spider/database", metric=metric)
    official = [row[field] for row in json.loads(file.read_text("utf-8"))]
    assert [verdict.score for verdict in found.verdicts] == pytest.approx(official, abs=1e-4)


@pytest.mark.slow
def test_official_test_suite_verdicts_are_reproduced(shared_data: Path) -> None:
    file = shared_data / "predictions/spider_dev/codes-1b.json"
    found = evaluate(
        load_predictions(file).predictions,
        shared_data / "spider/database",
        metric="spider-ts",
        instances=shared_data / "spider_testsuite",
    )
    assert [v.score for v in found.verdicts] == [row["spider_ts"] for row in json.loads(file.read_text("utf-8"))]

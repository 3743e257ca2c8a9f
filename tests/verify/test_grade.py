"""One verifier: right only if right on every instance, and why not, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from making import run_sqlite
from verify_shop import CUSTOMERS, PURCHASES, TABLES, as_database

from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.databases.types import Database, Dialect, Limits, Result, Trial, TrialResult
from agro_data.verify.equivalence import Mode
from agro_data.verify.failures import failure_class
from agro_data.verify.golds import Case, GoldResults
from agro_data.verify.grade import grade_many
from agro_data.verify.ordering import order_keys, orders

NAMES = "SELECT name FROM customer WHERE city = 'Oslo'"
PAIRS = "SELECT name, age FROM customer WHERE city = 'Oslo' ORDER BY id"


class Counting(Sandbox):
    """A sandbox that remembers how many executions it was asked for at most."""

    asked = 0

    def run_until_different(self, trials: Sequence[Trial], want: str = "digest") -> list[TrialResult]:
        self.asked += len(trials)
        return super().run_until_different(trials, want)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Counting]:
    with Counting(1, Limits(seconds=5.0)) as pool:
        yield pool


@pytest.fixture(scope="module")
def instances(tmp_path_factory: pytest.TempPathFactory) -> tuple[Database, ...]:
    """The shop, the shop with one more in Oslo, and the shop with nobody there."""
    folder = tmp_path_factory.mktemp("instances")
    more = [(7, "Gus", "Oslo", 70, None)]
    found = []
    for name, customers in (
        ("a", CUSTOMERS),
        ("b", [*CUSTOMERS, *more]),
        ("c", [c for c in CUSTOMERS if c[2] != "Oslo"]),
    ):
        path = folder / f"{name}.sqlite"
        run_sqlite(path, TABLES.format(collate=""), {"customer": customers, "purchase": PURCHASES})
        found.append(as_database(path, "sqlite"))
    return tuple(found)


def test_the_score_is_the_minimum_and_the_file_is_named(sandbox: Sandbox, instances: tuple[Database, ...]) -> None:
    lucky = NAMES + " AND age < 60"
    right, wrong = grade_many([Case(NAMES, NAMES, instances), Case(NAMES, lucky, instances)], sandbox, GoldResults())
    assert (right.score, right.agreed) == (1.0, 3)
    assert (wrong.score, wrong.agreed, wrong.place, wrong.error_class) == (0.0, 1, "b.sqlite", "wrong_rows")
    assert wrong.reason == "expected 4 rows, got 3; expected ('Gus') is missing"


@pytest.mark.parametrize(
    ("mode", "predicted", "score"),
    [
        ("strict", "SELECT age, name FROM customer WHERE city = 'Oslo' ORDER BY id", 0),
        ("spider", "SELECT age, name FROM customer WHERE city = 'Oslo' ORDER BY id", 1),
        ("intent", "SELECT id, age, name FROM customer WHERE city = 'Oslo' ORDER BY id", 1),
        ("intent", "SELECT age, name FROM customer WHERE city = 'Oslo' ORDER BY id DESC", 0),
        ("bird", "SELECT name, age FROM customer WHERE city = 'Oslo' UNION ALL SELECT 'Ada', 30 WHERE 0", 1),
    ],
)
def test_modes(sandbox: Sandbox, instances: tuple[Database, ...], mode: Mode, predicted: str, score: int) -> None:
    (grade,) = grade_many([Case(PAIRS, predicted, instances)], sandbox, GoldResults(), mode)
    assert grade.score == score


@pytest.mark.parametrize(("mode", "score"), [("strict", 1), ("intent", 1), ("spider", 0), ("bird", 0)])
def test_the_benchmarks_modes_know_no_tolerance(
    sandbox: Sandbox, instances: tuple[Database, ...], mode: Mode, score: int
) -> None:
    """0.1 + 0.2 is not 0.3 to the official scripts, though both round to one digest."""
    cases = [Case("SELECT 0.1 + 0.2 AS n FROM customer", "SELECT 0.3 FROM customer", instances)] * 2
    golds = GoldResults()
    for _ in range(2):
        assert [grade.score for grade in grade_many(cases, sandbox, golds, mode)] == [score, score]


@pytest.mark.parametrize(("mode", "right"), [("strict", True), ("intent", True), ("spider", False), ("bird", False)])
def test_the_highest_of_nothing_is_nothing_however_it_is_asked(
    sandbox: Sandbox, instances: tuple[Database, ...], mode: Mode, right: bool
) -> None:
    """Nobody lives in Oslo on the third instance: one query gives NULL there, the other no row."""
    highest = "SELECT MAX(age) FROM customer WHERE city = 'Oslo'"
    first = "SELECT age FROM customer WHERE city = 'Oslo' ORDER BY age DESC LIMIT 1"
    cases = [Case(highest, first, instances), Case(first, highest, instances)]
    assert [grade.right for grade in grade_many(cases, sandbox, GoldResults(), mode)] == [right, right]
    count = Case(highest.replace("MAX(age)", "COUNT(*)"), f"{NAMES} AND 0", instances[2:])
    assert not grade_many([count], sandbox, GoldResults(), mode)[0].right


def test_columns_are_blamed_only_for_their_own_order(sandbox: Sandbox, instances: tuple[Database, ...]) -> None:
    sums, digits = ("SELECT name, 0.1 + 0.2 FROM customer", "SELECT name, 0.3 FROM customer")
    turned = "SELECT 0.3, name FROM customer"
    cases: list[tuple[Mode, str, str, str]] = [
        ("spider", PAIRS, f"{PAIRS} DESC", "order"),
        ("strict", PAIRS, f"{PAIRS} DESC", "order"),
        ("spider", sums, digits, "wrong_rows"),
        ("spider", sums, turned, "wrong_rows"),
        ("bird", sums, digits, "wrong_rows"),
        ("bird", sums, turned, "columns"),
        ("strict", sums, turned, "columns"),
    ]
    for mode, gold, predicted, kind in cases:
        (grade,) = grade_many([Case(gold, predicted, instances)], sandbox, GoldResults(), mode)
        assert grade.error_class == kind, (mode, predicted, grade)


@pytest.mark.parametrize("mode", ["strict", "spider"])
def test_grades_do_not_depend_on_how_many_go_together(
    sandbox: Sandbox, instances: tuple[Database, ...], mode: Mode, monkeypatch: pytest.MonkeyPatch
) -> None:
    ages = [f"{NAMES} AND age < {age}" for age in range(0, 90, 5)]
    cases = [Case(NAMES, sql, instances) for sql in (*ages, NAMES + " ORDER BY id DESC", "SELECT", "SELECT 1.5")]
    together = grade_many(cases, sandbox, GoldResults(), mode)
    for name, value in (("grade._FEW", 3), ("grade._MANY", 4), ("grade._CELLS", 2), ("golds.KEPT_CELLS", 1)):
        monkeypatch.setattr(f"agro_data.verify.{name}", value)
    golds = GoldResults()
    assert grade_many(cases, sandbox, golds, mode) == together
    assert golds._cells <= 1


@pytest.mark.ci
@pytest.mark.parametrize("mode", ["strict", "intent", "spider", "bird"])
def test_rows_are_not_fetched_where_their_number_decides(instances: tuple[Database, ...], mode: Mode) -> None:
    """More than `FEW_CELLS` cells: their number tells them from the gold's, or the statement runs again for them."""
    many = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT {}) SELECT {} FROM n ORDER BY id"
    gold, wide = many.format(110_000, "-i AS id"), many.format(60_000, "i, -i AS id")
    fetched: list[Result] = []

    class Watched(Sandbox):
        def run_until_different(self, trials: Sequence[Trial], want: str = "digest") -> list[TrialResult]:
            found = super().run_until_different(trials, want)  # type: ignore[arg-type]
            fetched.extend(one.different for one in found if one.different is not None and one.different.rows)
            return found

    counting = [Case("SELECT count(*) FROM customer", wide, instances[:1]), Case(NAMES, wide, instances[:1])]
    with Watched(1, Limits(rows=200_000, bytes=2**25)) as pool:
        one, two = grade_many(counting, pool, GoldResults(), mode)
        wrong = "columns" if mode == "strict" else "wrong_rows"
        assert (one.score, one.error_class, two.error_class) == (0.0, wrong, wrong)
        assert one.reason == "expected 1 row of 1 column, got 60,000 rows of 2 columns"
        long = Case("SELECT count(*) FROM customer", "SELECT 1, hex(zeroblob(1500000)) FROM customer", instances[:1])
        assert grade_many([long], pool, GoldResults(), mode)[0].score == 0.0
        (short,) = grade_many([Case(gold, NAMES, instances[:1])], pool, GoldResults(), "strict")
        assert short.reason == "expected 110,000 rows of 1 column, got 3 rows of 1 column"
        assert [len(result.rows) for result in fetched] == [3]
        fetched.clear()
        same = many.format(110_000, "-i AS id, 1") if mode == "intent" else gold.replace("-i", "-i + 0")
        right, other = (Case(gold, sql, instances[:1]) for sql in (same, gold.replace("-i", "-i * 2")))
        assert [grade.score for grade in grade_many([right, other], pool, GoldResults(), mode)] == [1.0, 0.0]


def test_only_intent_heeds_alternatives(sandbox: Sandbox, instances: tuple[Database, ...]) -> None:
    case = Case(NAMES, "SELECT id FROM customer WHERE city LIKE 'Oslo'", instances)
    known = Case(NAMES, case.predicted, instances, alternatives=("SELECT id FROM customer WHERE city = 'Oslo'",))
    golds = GoldResults()
    assert [grade_many([one], sandbox, golds, "intent")[0].score for one in (case, known)] == [0, 1]
    assert grade_many([known], sandbox, golds, "strict")[0].score == 0


def test_order_counts_iff_the_gold_orders_or_the_case_says_so(
    sandbox: Sandbox, instances: tuple[Database, ...]
) -> None:
    turned = PAIRS + " DESC"
    cases = [Case(PAIRS, turned, instances), Case(PAIRS, turned, instances, ordered=False)]
    grades = grade_many(cases, sandbox, GoldResults())
    assert [(grade.score, grade.error_class) for grade in grades] == [(0, "order"), (1, "")]
    assert grades[0].reason.startswith("row 1: expected ('Ada', 30)")


@pytest.mark.parametrize(
    ("sql", "dialect", "ordered"),
    [
        (PAIRS, "sqlite", True),
        ("SELECT * FROM (SELECT 1 ORDER BY 1)", "sqlite", False),
        ("SELECT SUM(x) OVER (ORDER BY y) FROM t -- ORDER BY x", "sqlite", False),
        ("SELECT 'ORDER BY 1', [order by] FROM t", "sqlite", False),
        ("SELECT x FROM t ORDER BY json_extract(j, '$.a');", "sqlite", True),  # what the gate refuses, engines run
        ("SELECT x FROM t WHERE j <> x'41' ORDER BY y DESC", "sqlite", True),
        ("SELECT id, unnest(l) FROM t ORDER BY id", "duckdb", True),
        ("((SELECT x FROM t ORDER BY y))", "duckdb", True),
        ("(SELECT x FROM t ORDER BY y LIMIT 1) UNION (SELECT x FROM t ORDER BY y LIMIT 1)", "duckdb", False),
        ("SELECT string_agg(x ORDER BY x) FROM t", "duckdb", False),
        ("SELECT 'a", "sqlite", False),
        ("", "sqlite", False),
        (")) ORDER BY (", "sqlite", False),
    ],
)
def test_which_queries_order_their_rows(sql: str, dialect: Dialect, ordered: bool) -> None:
    assert orders(sql, dialect) is ordered


@pytest.mark.parametrize(
    ("sql", "keys"),
    [
        ("SELECT name, age FROM t ORDER BY age DESC", (1,)),
        ("SELECT t.name FROM t ORDER BY t.name", (0,)),
        ("SELECT name, count(*) FROM t GROUP BY name ORDER BY count(*), 1", (1, 0)),
        ("SELECT name AS n FROM t ORDER BY N", (0,)),
        ("SELECT age AS name, name AS age FROM t ORDER BY name", (0,)),  # the output comes first
        ('SELECT age AS "Ä", name AS "ä" FROM t ORDER BY "ä"', (1,)),  # engines fold ASCII letters only
        ("SELECT name FROM t ORDER BY age", None),  # whether rows tie cannot be seen in the answer
        ("SELECT * FROM t ORDER BY age", None),
        ("SELECT name FROM t", None),
        ("SELECT", None),
    ],
)
def test_the_columns_a_gold_orders_by(sql: str, keys: tuple[int, ...] | None) -> None:
    assert order_keys(sql, "sqlite") == keys


def test_intent_takes_ties_in_any_order(sandbox: Sandbox, instances: tuple[Database, ...]) -> None:
    gold = "SELECT age, name FROM customer ORDER BY age, name"
    tied = "SELECT age, name FROM customer ORDER BY age, name DESC"
    by_age = "SELECT age, name FROM customer ORDER BY age"
    cases = [Case(gold, tied, instances), Case(by_age, tied, instances)]
    assert [grade.score for grade in grade_many(cases, sandbox, GoldResults(), "intent")] == [0, 1]


def test_the_same_statement_spelled_otherwise_is_run_once(sandbox: Counting, instances: tuple[Database, ...]) -> None:
    golds = GoldResults()
    grade_many([Case(NAMES, NAMES, instances)], sandbox, golds)
    before = sandbox.asked
    texts = [NAMES.lower().replace("oslo", "Oslo"), NAMES + ";", NAMES.replace(" ", "  ")]
    assert all(grade.right for grade in grade_many([Case(NAMES, t, instances) for t in texts], sandbox, golds))
    assert sandbox.asked == before
    twice = [Case(NAMES, NAMES + " AND age > 0", instances), Case(NAMES, NAMES + " and AGE > 0", instances)]
    assert all(grade.right for grade in grade_many(twice, sandbox, golds))
    assert sandbox.asked == before + 1


@pytest.mark.parametrize("space", ["\u00a0", "\u2003", "\u2028", "\x0b"])
def test_what_is_no_space_to_the_engine_is_not_passed_unrun(
    sandbox: Sandbox, instances: tuple[Database, ...], space: str
) -> None:
    (grade,) = grade_many([Case(NAMES, NAMES.replace(" FROM", f"{space}FROM"), instances)], sandbox, GoldResults())
    assert grade.score == 0.0
    assert grade.error_class in ("syntax", "schema")


def test_what_cannot_be_graded_says_so(sandbox: Sandbox, instances: tuple[Database, ...]) -> None:
    nothing = "SELECT name FROM customer WHERE city = 'Paris'"
    cases = [Case("SELECT x FROM customer", NAMES, instances), Case(NAMES, NAMES, ()), Case(NAMES, "  ", instances)]
    classes = [grade.error_class for grade in grade_many(cases, sandbox, GoldResults())]
    assert classes == ["gold_failed", "no_database", "missing"]
    (guarded,) = grade_many([Case(nothing, nothing, instances)], sandbox, GoldResults(), guarded=True)
    assert guarded.error_class == "ungradable"
    (plain,) = grade_many([Case(nothing, nothing, instances)], sandbox, GoldResults())
    assert plain.right


@pytest.mark.parametrize("mode", ["strict", "intent"])
def test_a_gold_that_only_the_engine_can_read_stops_nothing(
    sandbox: Sandbox, instances: tuple[Database, ...], mode: Mode
) -> None:
    gold = "VALUES (6)"
    said = [gold, "SELECT 6", "SELECT COUNT(*) - 0 * MAX(age) FROM customer", NAMES]
    cases = [*(Case(gold, sql, instances[:1]) for sql in said), Case(NAMES, NAMES, instances)]
    classes = [one.error_class for one in grade_many(cases, sandbox, GoldResults(), mode, guarded=True)]
    assert classes == ["refused", "constant", "", "wrong_rows", ""]


@pytest.mark.parametrize(
    ("status", "error", "kind"),
    [
        ("error", "no such column: x", "schema"),
        ("error", "Binder Error: Referenced column", "schema"),
        ("error", 'near "FROM": syntax error', "syntax"),
        ("error", "Parser Error: syntax error", "syntax"),
        ("error", "not authorized", "refused"),
        ("error", "integer overflow", "execution"),
        ("timeout", "over 5 s", "time_limit"),
        ("too_large", "more than 10 rows", "too_large"),
        ("crashed", "its process ended", "execution"),
    ],
)
def test_failures_have_classes(status: str, error: str, kind: str) -> None:
    assert failure_class(Result(status, error=error))[0] == kind  # type: ignore[arg-type]

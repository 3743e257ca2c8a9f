"""The one verifier: a prediction is right if it gives the gold's answer on every instance that is valid for the gold.

Factory, reward and evaluator grade with it. The score is the minimum over the instances, never their mean, and a
prediction is run up to the first instance that tells it apart.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache

import duckdb
from sqlglot import exp

from agro_data.databases.sandbox import Sandbox
from agro_data.databases.types import Database, Dialect, Result, Trial
from agro_data.sql.parse import SqlRefused, parse_select
from agro_data.sql.scope import Schema
from agro_data.verify.difference import first_difference
from agro_data.verify.equivalence import Comparison, Mode, Rows, compare
from agro_data.verify.gate import check_statement

ERROR_CLASSES = (
    "missing",  # no prediction
    "syntax",  # the engine cannot parse it
    "schema",  # a table or column that is not there
    "refused",  # not one read-only SELECT, or one whose answer is chance
    "constant",  # an answer that is read from no table
    "execution",  # it parses, and fails when run
    "time_limit",
    "too_large",
    "empty",  # no row where rows are expected
    "columns",  # another number of columns
    "wrong_rows",
    "order",  # the rows are right, their order is not
    "gold_failed",  # the gold does not run: nothing can be right
    "ungradable",  # the gold is empty on every instance: nothing can be told from it
    "no_database",
)
_COMPARED = {"column_count": "columns", "row_count": "wrong_rows", "values": "wrong_rows", "order": "order"}
KEPT_ROWS = 4_096  # results whose rows a `GoldResults` keeps


@dataclass(frozen=True)
class Case:
    """A prediction and what it is held against. `databases` are the instances that are valid for the gold.

    `ordered` says whether the order of rows counts; None: iff the gold orders at top level. `alternatives` is SQL
    known to be right too; only `intent` heeds it. With `schema` a guarded grade checks names against it.
    """

    gold: str
    predicted: str
    databases: tuple[Database, ...]
    ordered: bool | None = None
    alternatives: tuple[str, ...] = ()
    schema: Schema | None = None


@dataclass(frozen=True)
class Grade:
    """`error_class` is "" when the prediction is right, else one of `ERROR_CLASSES`; `reason` is for a person.

    `place` names the file that told the prediction apart, `agreed` counts those that did not.
    """

    score: float
    reason: str = ""
    error_class: str = ""
    place: str = ""
    agreed: int = 0

    @property
    def right(self) -> bool:
        return self.score == 1.0


@dataclass
class GoldResults:
    """Results of golds, each run once: by (database content, SQL text, engine version). One for a whole training."""

    _digests: dict[tuple[str, str, str], Result] = field(default_factory=dict)
    _rows: dict[tuple[str, str, str], Result] = field(default_factory=dict)
    _accepted: dict[tuple[Mode, bool, tuple[str, str, str]], dict[str, None]] = field(default_factory=dict)

    def fetch(self, pairs: Iterable[tuple[Database, str]], sandbox: Sandbox) -> None:
        """Run those that have not been run."""
        new = {_key(*pair): pair for pair in pairs if _key(*pair) not in self._digests}
        for key, result in zip(new, sandbox.run_many(list(new.values())), strict=True):
            self._digests[key] = result

    def digest(self, database: Database, sql: str) -> Result:
        """What `fetch` has run, without rows."""
        return self._digests[_key(database, sql)]

    def rows(self, pairs: Iterable[tuple[Database, str]], sandbox: Sandbox) -> list[Result]:
        """Results with rows, in order; the last `KEPT_ROWS` are kept."""
        asked = [(_key(*pair), pair) for pair in pairs]
        new = {key: pair for key, pair in asked if key not in self._rows}
        found = dict(zip(new, sandbox.run_many(list(new.values()), want="rows"), strict=True))
        results = [found[key] if key in found else self._rows[key] for key, _ in asked]
        self._rows |= found
        while len(self._rows) > KEPT_ROWS:
            del self._rows[next(iter(self._rows))]
        return results

    def accepted(self, mode: Mode, ordered: bool, database: Database, sqls: Sequence[str]) -> tuple[str, ...]:
        """Digests known to be right on a database: those of the golds, and of what was compared and found equal."""
        known: dict[str, None] = {}
        for sql in sqls:
            result = self.digest(database, sql)
            if result.ok:
                known[result.ordered_digest if ordered else result.digest] = None
        return tuple(known | self._accepted.get((mode, ordered, _key(database, sqls[0])), {}))

    def accept(self, mode: Mode, ordered: bool, database: Database, sql: str, result: Result) -> None:
        """Remember that a result was compared with the gold's and found equal."""
        digest = result.ordered_digest if ordered else result.digest
        self._accepted.setdefault((mode, ordered, _key(database, sql)), {})[digest] = None


@dataclass
class _Open:
    """A case on its way: the databases on which its gold runs, and how many have agreed."""

    case: Case
    ordered: bool
    golds: tuple[str, ...]
    databases: tuple[Database, ...] = ()
    agreed: int = 0
    grade: Grade | None = None


def grade_many(
    cases: Sequence[Case], sandbox: Sandbox, golds: GoldResults, mode: Mode = "strict", *, guarded: bool = False
) -> list[Grade]:
    """One grade for each case, in order. Cases that say the same are run once; a wrong one costs one execution.

    `guarded` adds what a reward needs so that nothing but an answer earns: what is right must also pass the
    statement gate, must read a table if the gold does, and its gold must not be empty on every instance.
    """
    opened: dict[Case, _Open] = {}
    for case in cases:
        if case not in opened:
            alternatives = case.alternatives if mode == "intent" else ()
            ordered = orders(case.gold, _dialect(case)) if case.ordered is None else case.ordered
            opened[case] = _Open(case, ordered, (case.gold, *alternatives))
    waiting = list(opened.values())
    golds.fetch([(d, sql) for one in waiting for d in one.case.databases for sql in one.golds], sandbox)
    for one in waiting:
        _start(one, golds, guarded)
    while waiting := [one for one in waiting if one.grade is None]:
        _run(waiting, sandbox, golds, mode)
    if guarded:
        for one in opened.values():
            _guard(one)
    return [_graded(opened[case]) for case in cases]


def _graded(one: _Open) -> Grade:
    assert one.grade is not None
    return one.grade


def _start(one: _Open, golds: GoldResults, guarded: bool) -> None:
    case = one.case
    if not case.databases:
        one.grade = Grade(0.0, "no database to grade on", "no_database")
        return
    results = {database: golds.digest(database, case.gold) for database in case.databases}
    one.databases = tuple(database for database, result in results.items() if result.ok)
    if not one.databases:
        failed = results[case.databases[0]]
        one.grade = Grade(0.0, f"the gold does not run: {failed.error or failed.status}", "gold_failed")
    elif not case.predicted.strip():
        one.grade = Grade(0.0, "no prediction", "missing")
    elif guarded and not any(results[database].row_count for database in one.databases):
        one.grade = Grade(0.0, "the gold is empty on every instance: any empty result would match it", "ungradable")


def _run(waiting: Sequence[_Open], sandbox: Sandbox, golds: GoldResults, mode: Mode) -> None:
    """Each case up to the next database where its digest is not known to be right; there the rows are compared."""
    trials = []
    for one in waiting:
        left = one.databases[one.agreed :]
        expected = tuple([golds.accepted(mode, one.ordered, database, one.golds) for database in left])
        trials.append(Trial(one.case.predicted, left, expected, one.ordered))
    outcomes = sandbox.run_until_different(trials, want="rows")
    apart: list[tuple[_Open, Database, Result]] = []
    for one, outcome in zip(waiting, outcomes, strict=True):
        one.agreed += outcome.agreed
        if outcome.different is None:
            one.grade = Grade(1.0, agreed=one.agreed)
        elif not outcome.different.ok:
            database = one.databases[one.agreed]
            kind, reason = failure_class(outcome.different)
            one.grade = Grade(0.0, reason, kind, _name(database), one.agreed)
        else:
            apart.append((one, one.databases[one.agreed], outcome.different))
    rows = iter(golds.rows([(database, sql) for one, database, _ in apart for sql in one.golds], sandbox))
    for one, database, result in apart:
        right = [next(rows).rows for _ in one.golds]
        found = compare(mode, right[0], result.rows, ordered=one.ordered, alternatives=right[1:])
        if found.equal:
            golds.accept(mode, one.ordered, database, one.case.gold, result)
            one.agreed += 1
            if one.agreed == len(one.databases):
                one.grade = Grade(1.0, agreed=one.agreed)
        else:
            one.grade = _wrong(one, database, right[0], result, found)


def _wrong(one: _Open, database: Database, gold: Rows, result: Result, found: Comparison) -> Grade:
    kind = "empty" if gold and not result.rows else _COMPARED[found.reason]
    reason = first_difference(gold, result.rows, ordered=one.ordered)
    return Grade(0.0, reason, kind, _name(database), one.agreed)


def _guard(one: _Open) -> None:
    """Take back what a right answer has earned if it is not an answer that was asked of the data."""
    case, grade = one.case, one.grade
    if grade is None or not grade.right:
        return
    dialect = _dialect(case)
    if case.schema is not None:
        gate = check_statement(case.predicted, dialect, case.schema)
        if not gate.ok:
            one.grade = Grade(0.0, gate.detail, _GATED.get(gate.reason, "refused"), agreed=grade.agreed)
            return
        reads = bool(gate.names and gate.names.tables)
    else:
        try:
            reads = _reads_a_table(case.predicted, dialect)
        except SqlRefused as refusal:
            one.grade = Grade(0.0, refusal.detail, _GATED.get(refusal.reason, "refused"), agreed=grade.agreed)
            return
    if not reads and _reads_a_table(case.gold, dialect):
        one.grade = Grade(0.0, "the answer is written out and read from no table", "constant", agreed=grade.agreed)


_GATED = {
    "syntax": "syntax",
    "unknown_table": "schema",
    "unknown_column": "schema",
    "ambiguous_column": "schema",
    "too_long": "too_large",
}


def _reads_a_table(sql: str, dialect: Dialect) -> bool:
    tree = parse_select(sql, dialect)
    ctes = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    return any(table.name.lower() not in ctes for table in tree.find_all(exp.Table))


@cache
def orders(sql: str, dialect: Dialect) -> bool:
    """Whether a query orders its rows at top level; one that cannot be parsed does not."""
    try:
        return parse_select(sql, dialect).args.get("order") is not None
    except SqlRefused:
        return False


# --- failures in words -------------------------------------------------------------------------------------------


def failure_class(result: Result) -> tuple[str, str]:
    """Error class and reason of a result that is not "ok", from either engine's message."""
    error = result.error or result.status
    if result.status == "timeout":
        return "time_limit", f"stopped: {error}"
    if result.status == "too_large":
        return "too_large", error
    if result.status == "crashed":
        return "execution", error
    lowered = error.lower()
    return next((name for name, test in _SAYS if test(lowered)), "execution"), error


def _says(*words: str) -> Callable[[str], bool]:
    return lambda text: any(word in text for word in words)


_SAYS: tuple[tuple[str, Callable[[str], bool]], ...] = (
    ("refused", _says("not authorized", "one select statement is allowed", "not a select", "one statement at a time")),
    ("schema", _says("no such column", "no such table", "ambiguous column", "catalog error", "binder error")),
    ("syntax", _says("syntax error", "incomplete input", "unrecognized token", "parser error", "no tables specified")),
    ("schema", _says("no such function", "cannot join using column")),
)


def _name(database: Database) -> str:
    return database.relative_path or database.path.name


def _dialect(case: Case) -> Dialect:
    return case.databases[0].dialect if case.databases else "sqlite"


def _key(database: Database, sql: str) -> tuple[str, str, str]:
    return database.content_hash, sql, _engine(database.dialect)


@cache
def _engine(dialect: Dialect) -> str:
    return f"duckdb {duckdb.__version__}" if dialect == "duckdb" else f"sqlite {sqlite3.sqlite_version}"

"""The checks of a statement in the order of their cost, over many statements at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.databases.types import Database, Result
from agro_data.sql.names.resolution import Resolution
from agro_data.sql.names.scope import Schema
from agro_data.verify.chance.shuffled_copy import reference
from agro_data.verify.chance.ties import MOST, chance_in, probes_of, too_many
from agro_data.verify.equivalence import strict
from agro_data.verify.execution import COUNTS_NOTHING, execute, failure
from agro_data.verify.gate import check_statement
from agro_data.verify.informative import drop_variants

CHECKS = ("gate", "ties", "execution", "not_empty", "row_order", "informative")


@dataclass(frozen=True)
class StatementVerdict:
    """`checks` are those passed, of `CHECKS`. `reason` is "" or a class: one of the gate's, `execution_error`,
    `timeout`, `too_large`, `crashed`, `empty`, `null_only`, `unordered_limit`, `unordered_window`,
    `unordered_aggregate`, `tie`, `bare_column`, `scalar_rows`, `row_order`, `undecided`, `uninformative`.
    """

    ok: bool
    reason: str = ""
    detail: str = ""
    result: Result | None = None
    checks: tuple[str, ...] = ()
    names: Resolution | None = field(default=None, compare=False, repr=False)  # of a statement that passed the gate


@dataclass
class _Case:
    """A statement on its way through the checks."""

    sql: str
    names: Resolution | None = None
    reason: str = ""
    detail: str = ""
    result: Result | None = None
    passed: list[str] = field(default_factory=list)

    @property
    def open(self) -> bool:
        return not self.reason

    def reject(self, reason: str, detail: str) -> None:
        if not self.reason:
            self.reason, self.detail = reason, detail


def verify_statements(
    database: Database,
    schema: Schema,
    statements: Sequence[str],
    sandbox: Sandbox,
    shuffled: Database | None = None,
    *,
    informative: bool = True,
    any_cut: bool = False,
) -> list[StatementVerdict]:
    """One verdict for each statement, in order. A statement that fails one check is not run for the next.

    `schema` is `{table: {column: type}}`. `shuffled` is the copy that `shuffled_copy` made; without it
    the row-order check is left out. `informative=False` leaves out the dropped conditions; with `any_cut`, a LIMIT
    between rows that tie is a tie even if they show the same. All executions of one kind
    go to the sandbox together: four rounds, however many statements.
    """
    cases = [_Case(sql) for sql in statements]
    for case in cases:
        _read(case, database, schema)
    _run(cases, database, sandbox)
    _probe(cases, database, sandbox, any_cut)
    if shuffled is not None:
        _reorder(cases, reference(database, shuffled), database, shuffled, sandbox)
    if informative:
        _drop_conditions(cases, database, sandbox)
    return [StatementVerdict(c.open, c.reason, c.detail, c.result, tuple(c.passed), c.names) for c in cases]


def _read(case: _Case, database: Database, schema: Schema) -> None:
    gate = check_statement(case.sql, database.dialect, schema)
    if not gate.ok or gate.names is None:
        case.reject(gate.reason, gate.detail)
        return
    case.names = gate.names
    case.passed.append("gate")
    chance = chance_in(gate.names)
    if chance is not None:
        case.reject(chance.reason, chance.detail)


def _run(cases: Sequence[_Case], database: Database, sandbox: Sandbox) -> None:
    waiting = [case for case in cases if case.open]
    for case, result in zip(waiting, execute([(database, c.sql) for c in waiting], sandbox), strict=True):
        case.result = result
        if not result.ok:
            case.reject(*failure(result))
            continue
        case.passed.append("execution")
        if result.row_count == 0:
            case.reject("empty", "no row comes out")
        elif result.all_null:
            case.reject("null_only", "every cell is NULL")
        elif result.digest == COUNTS_NOTHING:
            case.reject("empty", "the one value that comes out is 0: as a count, nothing was found")
        else:
            case.passed.append("not_empty")


def _probe(cases: Sequence[_Case], database: Database, sandbox: Sandbox, any_cut: bool) -> None:
    for case in cases:
        if case.open and case.names is not None and too_many(case.names):
            case.reject("undecided", f"it orders rows in more than {MOST} places")
    waiting = [case for case in cases if case.open]
    probes = [
        (case, probe)
        for case in waiting
        if case.names is not None
        for probe in probes_of(case.names, database.dialect, any_cut=any_cut)
    ]
    results = execute([(database, probe.sql) for _, probe in probes], sandbox, "rows")
    for (case, probe), result in zip(probes, results, strict=True):
        if not result.ok:
            case.reject("undecided", f"the {probe.reason} probe did not run: {result.error or result.status}")
        elif detail := probe.judge(result.rows):
            case.reject(probe.reason, detail)
    for case in waiting:
        if case.open:
            case.passed.append("ties")


def _reorder(
    cases: Sequence[_Case], original: Database, database: Database, shuffled: Database, sandbox: Sandbox
) -> None:
    waiting = [case for case in cases if case.open]
    base = [case.result for case in waiting]
    if original is not database:  # the copy is a sample: compare it with the sample in its own order
        base = [*execute([(original, case.sql) for case in waiting], sandbox)]
    again = execute([(shuffled, case.sql) for case in waiting], sandbox)
    unlike: list[_Case] = []
    for case, first, second in zip(waiting, base, again, strict=True):
        if first is None or not (first.ok and second.ok):
            failed = second if first is not None and first.ok else first
            case.reject("undecided", f"the run on reordered rows failed: {failed.error if failed else 'not run'}")
        elif _same(first, second, _is_ordered(case)):
            case.passed.append("row_order")
        else:
            unlike.append(case)
    pairs = [(place, case.sql) for case in unlike for place in (original, shuffled)]
    rows = iter(execute(pairs, sandbox, "rows"))
    for case in unlike:
        first, second = next(rows), next(rows)
        # sums of floats depend on the order of rows in their last digits, and may straddle a rounding boundary
        if first.ok and second.ok and strict(first.rows, second.rows, ordered=_is_ordered(case)).equal:
            case.passed.append("row_order")
        else:
            case.reject("row_order", "the answer differs when the same rows are stored in another order")


def _same(first: Result, second: Result, ordered: bool) -> bool:
    return first.digest_if(ordered) == second.digest_if(ordered)


def _is_ordered(case: _Case) -> bool:
    return case.names is not None and case.names.ordered


def _drop_conditions(cases: Sequence[_Case], database: Database, sandbox: Sandbox) -> None:
    waiting = [case for case in cases if case.open]
    variants = [
        (case, variant)
        for case in waiting
        for variant in (drop_variants(case.names, database.dialect) if case.names is not None else ())
    ]
    results = execute([(database, variant.sql) for _, variant in variants], sandbox)
    for (case, variant), result in zip(variants, results, strict=True):
        # a variant that fails or is too large is not the answer: the condition matters
        if result.ok and case.result is not None and result.digest == case.result.digest:
            case.reject("uninformative", f"the answer is the same without {variant.name}")
    for case in waiting:
        if case.open:
            case.passed.append("informative")

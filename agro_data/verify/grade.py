"""The one verifier: a prediction is right if it gives the gold's answer on every instance that is valid for the gold.

Factory, reward and evaluator grade with it. The score is the minimum over the instances, never their mean, and a
prediction is run up to the first instance that tells it apart.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from sqlglot import exp

from agro_data.databases.hostile.sandbox import FEW_CELLS, Sandbox
from agro_data.databases.quoting import folded
from agro_data.databases.types import Database, Dialect, Result, Trial
from agro_data.sql.forms.spelling import spelling
from agro_data.sql.parse import SqlRefused, parse_select
from agro_data.verify.difference import count_difference, first_difference, shown
from agro_data.verify.equivalence import Comparison, Mode, Rows, Size, apart_by_size, compare, intent, strict
from agro_data.verify.failures import failure_class
from agro_data.verify.gate import check_statement
from agro_data.verify.golds import Case, GoldResults, Grade, Standard, cells_of, file_of
from agro_data.verify.hedging import hedges
from agro_data.verify.ordering import has_open_order

_COMPARED = {"column_count": "columns", "row_count": "wrong_rows", "values": "wrong_rows", "order": "order"}
# Cases whose rows are fetched together: a few at first, more while they come to few cells.
_FEW, _MANY, _CELLS = 8, 128, 1_000_000


@dataclass
class _Open:
    """A case on its way, and how many databases have agreed."""

    case: Case
    standard: Standard
    spelled: str
    agreed: int = 0
    grade: Grade | None = None

    @property
    def database(self) -> Database:
        """The one that is next."""
        return self.standard.databases[self.agreed]


def grade_many(
    cases: Sequence[Case], sandbox: Sandbox, golds: GoldResults, mode: Mode = "strict", *, guarded: bool = False
) -> list[Grade]:
    """One grade for each case, in order. Cases that say the same are run once; a wrong one costs one execution.

    `guarded` adds what a reward needs so that nothing but an answer earns: what is right must also pass the
    statement gate, must read a table if the gold does, must say an order if the order of its rows counts (an index may
    have given it), and its gold must not be empty on every instance. `intent`,
    which allows further columns, asks for a table in any case, and that it is no choice among answers.
    """
    opened: dict[tuple[int, str], _Open] = {}
    places: list[_Open] = []
    for case, standard in zip(cases, golds.standards(cases, sandbox, mode), strict=True):
        key = id(standard), spelling(case.predicted)
        if key not in opened:
            opened[key] = _Open(case, standard, key[1])
        places.append(opened[key])
    for one in opened.values():
        one.grade = _at_once(one, guarded)
    _run([one for one in opened.values() if one.grade is None], sandbox, golds, mode)
    if guarded or mode == "intent":
        for one in opened.values():
            _guard(one, mode, guarded)
    grades = [(one.grade, one.standard.idle) for one in places if one.grade is not None]
    return [replace(grade, idle=idle) if idle else grade for grade, idle in grades]


def _at_once(one: _Open, guarded: bool) -> Grade | None:
    """The grade of what need not be run."""
    if one.standard.refusal is not None:
        return one.standard.refusal
    if not one.spelled:
        return Grade(0.0, "no prediction", "missing")
    if guarded and one.standard.always_empty:
        return Grade(0.0, "the gold is empty on every instance: any empty result would match it", "ungradable")
    if one.spelled == one.standard.spelled:
        return Grade(1.0, agreed=len(one.standard.databases))
    return None


def _run(waiting: Sequence[_Open], sandbox: Sandbox, golds: GoldResults, mode: Mode) -> None:
    """Grade all cases, so many together that the rows of wrong ones, however many, do not fill the memory."""
    queue, together = deque(waiting), _FEW
    while queue:
        some = [queue.popleft() for _ in range(min(together, len(queue)))]
        cells = _advance(some, sandbox, golds, mode)
        queue.extendleft(one for one in reversed(some) if one.grade is None)
        together = max(1, together // 2) if cells > _CELLS else min(2 * together, _MANY)


def _advance(some: Sequence[_Open], sandbox: Sandbox, golds: GoldResults, mode: Mode) -> int:
    """Each case up to the first database where its digest is not known to be right; there the rows are compared.

    Few rows are fetched at once. Many rows are fetched only if their number and the number of columns agree with the
    gold's. Gives the number of cells of small results that were fetched.
    """
    trials = [
        Trial(
            one.case.predicted,
            one.standard.databases[one.agreed :],
            tuple(one.standard.expected[one.agreed :]),
            one.standard.ordered,
            one.standard.exact,
        )
        for one in some
    ]
    apart: list[tuple[_Open, Result]] = []
    for one, outcome in zip(some, sandbox.run_until_different(trials, want="few"), strict=True):
        one.agreed += outcome.agreed
        if outcome.different is None:
            one.grade = Grade(1.0, agreed=one.agreed)
        else:
            apart.append((one, outcome.different))
    few: list[tuple[_Open, Result]] = []
    many: list[tuple[_Open, Result]] = []
    for one, result in apart:
        rights = [golds.shape(one.database, sql) for sql in one.standard.golds]
        if not result.ok or (_has_rows(result) and all(_all_cells(right) <= FEW_CELLS for right in rights)):
            few.append((one, result))
        elif rights[0].ok and all(apart_by_size(mode, _size(right), _size(result)) for right in rights if right.ok):
            why = apart_by_size(mode, _size(rights[0]), _size(result))
            kind = "empty" if result.row_count == 0 else _COMPARED[why]
            told = count_difference(_size(rights[0]), _size(result))
            one.grade = Grade(0.0, told, kind, file_of(one.database), one.agreed)
        else:
            many.append((one, result))
    _compare(few, sandbox, golds, mode)
    for one, result in many:  # one at a time: a result may fill much of the memory
        whole = result if _has_rows(result) else sandbox.run(one.database, [one.case.predicted], "rows")[0]
        _compare([(one, whole)], sandbox, golds, mode)
    return sum(cells_of(result) for _, result in few)


def _compare(apart: Sequence[tuple[_Open, Result]], sandbox: Sandbox, golds: GoldResults, mode: Mode) -> None:
    """Hold results against the gold's rows, each on the database that is next for its case."""
    asked = [(one.database, sql) for one, result in apart if result.ok for sql in one.standard.golds]
    rows = iter(golds.rows(asked, sandbox))
    for one, result in apart:
        right = [next(rows) for _ in one.standard.golds] if result.ok else []
        if not result.ok:
            kind, reason = failure_class(result)
            one.grade = Grade(0.0, reason, kind, file_of(one.database), one.agreed)
        elif not right[0].ok:  # it ran before: the machine is out of time or memory
            why = f"the gold does not run again: {right[0].error or right[0].status}"
            one.grade = Grade(0.0, why, "gold_failed", file_of(one.database), one.agreed)
        else:
            _judge(one, result, right, mode)


def _judge(one: _Open, result: Result, right: Sequence[Result], mode: Mode) -> None:
    gold, *others = [answer.rows for answer in right if answer.ok]
    found = compare(mode, gold, result.rows, ordered=one.standard.ordered, alternatives=others, keys=one.standard.keys)
    if not found.equal:
        one.grade = _wrong(one, gold, result, found, mode)
        return
    one.standard.accept(one.agreed, result)
    one.agreed += 1
    if one.agreed == len(one.standard.databases):
        one.grade = Grade(1.0, agreed=one.agreed)


def _wrong(one: _Open, gold: Rows, result: Result, found: Comparison, mode: Mode) -> Grade:
    kind = "empty" if gold and not result.rows else _COMPARED[found.reason]
    if gold and found.reason == "values" and len(gold[0]) > 1 and _permuted(gold, result.rows, mode):
        told = f"the same columns in another order: expected row 1 {shown(gold[0])}, got row 1 {shown(result.rows[0])}"
        return Grade(0.0, told, "columns", file_of(one.database), one.agreed)
    reason = first_difference(gold, result.rows, ordered=one.standard.ordered)
    return Grade(0.0, reason, kind, file_of(one.database), one.agreed)


def _permuted(gold: Rows, predicted: Rows, mode: Mode) -> bool:
    """Whether the order of columns is what differs: nothing to `spider`, and not so where only last digits do.

    `spider` would look for it for any time, `intent` does not.
    """
    if mode == "spider" or strict(gold, predicted, ordered=False).equal:
        return False
    return intent(gold, predicted, ordered=False).equal and len(gold[0]) == len(predicted[0])


def _guard(one: _Open, mode: Mode, guarded: bool) -> None:
    """Take back what a right answer has earned if it is not an answer that was asked of the data."""
    case, grade = one.case, one.grade
    if grade is None or not grade.right:
        return
    if not guarded and one.spelled == one.standard.spelled:
        return  # others' golds are right as they are
    dialect = case.dialect
    try:
        predicted, reads = _read(case, dialect, guarded)
    except SqlRefused as refusal:
        one.grade = Grade(0.0, refusal.detail, _GATED.get(refusal.reason, "refused"), agreed=grade.agreed)
        return
    counts = guarded and mode != "bird" and one.standard.ordered and one.standard.several_rows  # the order of rows
    if counts and has_open_order(predicted):
        told = "the rows came in the right order by chance: the query does not say one"
        one.grade = Grade(0.0, told, "order", agreed=grade.agreed)
        return
    if reads and mode != "intent":
        return
    golds = _readable(one.standard.golds, dialect)
    if not reads and (not golds or _reads_a_table(golds[0])):
        one.grade = Grade(0.0, "the answer is written out and read from no table", "constant", agreed=grade.agreed)
    elif mode == "intent" and golds:
        found = [hedges(gold, predicted, dialect) for gold in golds]
        if all(found):
            one.grade = Grade(0.0, found[0], "columns", agreed=grade.agreed)


def _read(case: Case, dialect: Dialect, guarded: bool) -> tuple[exp.Query, bool]:
    """The tree of a prediction, and whether it reads a table. Raises `SqlRefused` for what the gate refuses."""
    if case.schema is None or not guarded:
        tree = parse_select(case.predicted, dialect)
        return tree, _reads_a_table(tree)
    gate = check_statement(case.predicted, dialect, case.schema)
    if not gate.ok or gate.tree is None or gate.names is None:
        raise SqlRefused(gate.reason, gate.detail)
    return gate.tree, bool(gate.names.tables)


_GATED = {
    "syntax": "syntax",
    "unknown_table": "schema",
    "unknown_column": "schema",
    "ambiguous_column": "schema",
    "too_long": "too_large",
}


def _readable(golds: Sequence[str], dialect: Dialect) -> list[exp.Query]:
    """The trees of golds; of others' golds some are read by their engine alone."""
    trees: list[exp.Query] = []
    for sql in golds:
        with suppress(SqlRefused):
            trees.append(parse_select(sql, dialect))
    return trees


def _reads_a_table(tree: exp.Query) -> bool:
    ctes = {folded(cte.alias) for cte in tree.find_all(exp.CTE)}
    tables = (table for table in tree.find_all(exp.Table) if isinstance(table.this, exp.Identifier))
    return any(folded(table.name) not in ctes for table in tables)


def _has_rows(result: Result) -> bool:
    """Whether its rows were fetched."""
    return len(result.rows) == result.row_count


def _size(result: Result) -> Size:
    return result.row_count, result.column_count


def _all_cells(result: Result) -> int:
    """Cells of a result, fetched or not."""
    return result.row_count * result.column_count

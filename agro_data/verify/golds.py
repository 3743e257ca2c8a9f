"""What predictions are graded by: cases, grades, and the results of golds, each run once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from agro_data.databases.discovery.content import is_as_found
from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.databases.types import Database, Dialect, Result
from agro_data.sql.forms.spelling import spelling
from agro_data.sql.names.scope import Schema
from agro_data.verify.equivalence import Mode
from agro_data.verify.gold_cache import GoldCache
from agro_data.verify.ordering import order_keys, orders

_EXACT = ("spider", "bird")  # modes that tell 0.1 + 0.2 from 0.3, and 1 from 1.0, which a digest does not
KEPT_CELLS = 1_000_000  # of golds' results, that a `GoldResults` keeps


@dataclass(frozen=True)
class Case:
    """A prediction and the gold with which it is compared. `databases` are the instances that are valid for the gold.

    `ordered` says whether the order of rows counts; None: iff the gold orders at top level. `alternatives` is SQL
    known to be right too; only `intent` heeds it. With `schema` a guarded grade checks names against it.
    """

    gold: str
    predicted: str
    databases: tuple[Database, ...]
    ordered: bool | None = None
    alternatives: tuple[str, ...] = ()
    schema: Schema | None = None

    @property
    def dialect(self) -> Dialect:
        return self.databases[0].dialect if self.databases else "sqlite"


@dataclass(frozen=True)
class Grade:
    """`error_class` is "" when the prediction is right, else one of `failures.ERROR_CLASSES`; `reason` is for a person.

    `place` names the file that told the prediction apart, `agreed` counts those that did not, and `idle` are those on
    which the gold does not run, each with the reason: they say nothing.
    """

    score: float
    reason: str = ""
    error_class: str = ""
    place: str = ""
    agreed: int = 0
    idle: tuple[tuple[str, str], ...] = ()

    @property
    def right(self) -> bool:
        return self.score == 1.0


@dataclass
class Standard:
    """The standard for predictions of one gold: the databases on which the gold runs, and digests known to be right.

    `expected` grows as results are compared and found equal. `refusal` is set when nothing can be graded.
    """

    golds: tuple[str, ...]  # the gold, then its alternatives
    spelled: str
    ordered: bool
    databases: tuple[Database, ...]
    expected: list[tuple[str, ...]]
    refusal: Grade | None = None
    always_empty: bool = False
    several_rows: bool = False  # on some database
    keys: tuple[int, ...] | None = None  # columns that it orders by: `intent` lets rows that tie in them change places
    exact: bool = False  # equal digests show nothing where there are floats
    idle: tuple[tuple[str, str], ...] = ()  # databases on which it does not run, and why

    def accept(self, place: int, result: Result) -> None:
        """Remember that a result on the database at `place` was compared and found equal."""
        if not (self.exact and result.floats):
            self.expected[place] = (*self.expected[place], result.digest_if(self.ordered))


@dataclass
class GoldResults:
    """Results of golds, each run once: by (database content, SQL text). One for a whole training.

    With `remembered`, results outlive the process.
    """

    remembered: GoldCache | None = None
    _results: dict[tuple[str, str], Result] = field(default_factory=dict)  # without rows
    _rows: dict[tuple[str, str], Result] = field(default_factory=dict)
    _cells: int = 0  # in `_rows`
    _standards: dict[tuple[object, ...], Standard] = field(default_factory=dict)

    def standards(self, cases: Sequence[Case], sandbox: Sandbox, mode: Mode) -> list[Standard]:
        """The standard of each case, in order. Golds that have not been run are run, all in one call."""
        keys = [_standard_key(case, mode) for case in cases]
        new = {key: case for key, case in zip(keys, cases, strict=True) if key not in self._standards}
        wanted = [(d, sql) for case in new.values() for d in case.databases for sql in _golds(case, mode)]
        missing = {_key(*pair): pair for pair in wanted if _key(*pair) not in self._results}
        if self.remembered is not None:
            known = self.remembered.recall(list(missing.values()), sandbox.limits)
            self._results |= {_key(*pair): result for pair, result in known.items()}
            missing = {key: pair for key, pair in missing.items() if pair not in known}
        found = dict(zip(missing.values(), sandbox.run_many(list(missing.values())), strict=True))
        self._results |= {_key(*pair): result for pair, result in found.items()}
        if self.remembered is not None:
            self.remembered.keep(_lasting(found), sandbox.limits)
        for key, case in new.items():
            self._standards[key] = self._standard(case, mode)
        return [self._standards[key] for key in keys]

    def _standard(self, case: Case, mode: Mode) -> Standard:
        golds = _golds(case, mode)
        ordered = orders(case.gold, case.dialect) if case.ordered is None else case.ordered
        results = [self._results[_key(database, case.gold)] for database in case.databases]
        runs = tuple(d for d, result in zip(case.databases, results, strict=True) if result.ok)
        exact = mode in _EXACT
        expected = []
        for database in runs:
            right = [result for sql in golds if (result := self._results[_key(database, sql)]).ok]
            expected.append(tuple([r.digest_if(ordered) for r in right if not (exact and r.floats)]))
        standard = Standard(golds, spelling(case.gold), ordered, runs, expected, exact=exact)
        judged = zip(case.databases, results, strict=True)
        standard.idle = tuple((file_of(d), result.error or result.status) for d, result in judged if not result.ok)
        if mode == "intent":
            standard.keys = order_keys(case.gold, case.dialect)
        standard.always_empty = not any(result.row_count for result in results)
        standard.several_rows = any(result.row_count > 1 for result in results)
        if not case.databases:
            standard.refusal = Grade(0.0, "no database to grade on", "no_database")
        elif not runs:
            why = f"the gold does not run: {results[0].error or results[0].status}"
            standard.refusal = Grade(0.0, why, "gold_failed", file_of(case.databases[0]))
        return standard

    def shape(self, database: Database, sql: str) -> Result:
        """The result of a gold that has been run, without its rows."""
        return self._results[_key(database, sql)]

    def rows(self, pairs: Iterable[tuple[Database, str]], sandbox: Sandbox) -> list[Result]:
        """Results with rows, in order; the last are kept, up to `KEPT_CELLS`."""
        asked = [(_key(*pair), pair) for pair in pairs]
        new = {key: pair for key, pair in asked if key not in self._rows}
        found = dict(zip(new, sandbox.run_many(list(new.values()), want="rows"), strict=True))
        results = [found[key] if key in found else self._rows[key] for key, _ in asked]
        self._rows |= found
        self._cells += sum(map(cells_of, found.values()))
        while self._cells > KEPT_CELLS:
            self._cells -= cells_of(self._rows.pop(next(iter(self._rows))))
        return results


def _lasting(found: Mapping[tuple[Database, str], Result]) -> list[tuple[tuple[Database, str], Result]]:
    """Results on files that hold what their content hash says: others' would be found again under that hash."""
    holding: dict[Database, bool] = {}
    for database, _ in found:
        if database not in holding:
            holding[database] = is_as_found(database)
    return [(pair, result) for pair, result in found.items() if holding[pair[0]]]


def file_of(database: Database) -> str:
    """The file of a database, as a grade names it."""
    return database.relative_path or database.path.name


def _golds(case: Case, mode: Mode) -> tuple[str, ...]:
    return (case.gold, *case.alternatives) if mode == "intent" else (case.gold,)


def _standard_key(case: Case, mode: Mode) -> tuple[object, ...]:
    databases = tuple([database.content_hash for database in case.databases])
    return mode, case.gold, case.ordered, case.alternatives if mode == "intent" else (), databases


def cells_of(result: Result) -> int:
    """Cells of rows that were fetched."""
    return len(result.rows) * max(1, result.column_count)


def _key(database: Database, sql: str) -> tuple[str, str]:
    return database.content_hash, sql

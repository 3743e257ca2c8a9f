"""`agro audit`: what `agro verify` finds, and the SQL as it should be, where that follows and holds when it is checked.

The checks that found a fault also test its repair: the new SQL must run, the fault must be gone, and there may be no
finding that the old SQL did not have. Faults are repaired one at a time, until none with a repair is left; then useless
parts are taken out, unless a fault stays. Ties come last, and only if asked for, since no question says which of equal
rows it means. In the end each new SQL is certified on instances of its own (`verify.certificates`), and proofs are
tested on them: SQL without a useless part must give the old answer on every instance.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from agro_data.databases.discovery.catalog import usable_databases
from agro_data.databases.hostile.sandbox import own_sandbox
from agro_data.databases.types import Database, Dialect
from agro_data.evaluation.load import load_pairs, only_database
from agro_data.evaluation.loaded import Loaded, Pair
from agro_data.pairs.finding import FOLLOWS, KINDS, TIES, Checked, Finding, counts_against
from agro_data.pairs.verify import INSTANCE, OF_PAIRS, Verified, verify_pairs
from agro_data.progress import Reporter, silent
from agro_data.verify.golds import Case, GoldResults
from agro_data.verify.grade import grade_many

ROUNDS = 8  # faults of one statement that are mended one after another
BETWEEN = frozenset({"duplicate", "contradiction", "same_question", "split_leak"})  # of a pair and another
PROVED = frozenset({"useless_predicate", "useless_join", "useless_distinct"})
UNSETTLED = {
    "uncertifiable": "its answer cannot be settled on any instance",
    "unexamined": "it could not be examined on instances",
}
WORSE = frozenset({"zero", "not_analysed"})  # notes that a repair may not bring
# Findings from the text of the SQL: the repair of another fault may hide them, but does not mend them.
STAYING = frozenset({"order_reversed", "extreme_reversed", "limit_not_asked"}) | frozenset(
    {"average_missing", "total_missing", "count_missing", "count_not_asked", "text_as_number", "bound_differs"}
    | {"extreme_missing", "negation_missing", "value_left_out"}
)


@dataclass(frozen=True)
class Repair:
    """One fault mended: the finding, and the whole statement after this step."""

    finding: Finding
    sql: str


@dataclass(frozen=True)
class Refused:
    """A repair that did not hold: its pair and finding, the SQL that was tried, and why it failed."""

    number: int
    kind: str
    sql: str
    why: str


@dataclass(frozen=True)
class Mended:
    """A pair whose SQL was repaired, step by step. `checked` is the verdict on the last."""

    repairs: tuple[Repair, ...]
    checked: Checked

    @property
    def sql(self) -> str:
        return self.repairs[-1].sql


@dataclass(frozen=True)
class Audit:
    """All findings, and the repairs by the number of the pair. `refused` are repairs that did not hold."""

    verified: Verified
    mended: Mapping[int, Mended]
    refused: tuple[Refused, ...] = ()

    @property
    def changed(self) -> dict[str, str]:
        """New SQL by the place of the row."""
        return {self.verified.checked[number].pair.place: one.sql for number, one in self.mended.items()}


def audit_pairs(
    pairs: Path | str | Loaded,
    databases: Path | str,
    *,
    cache: Path | None = None,
    instances: Path | None = None,
    leave: Sequence[str] = (),
    mend_ties: bool = False,
    workers: int = 2,
    progress: Reporter = silent,
) -> Audit:
    """Check pairs as `pairs.verify.verify_pairs` does, and mend what can be mended for sure.

    With `instances`, repaired SQL is certified on databases that are written there, and dropped where its answer cannot
    be settled. Classes in `leave` are reported and not mended, and so are ties, unless `mend_ties`. Raises what
    `verify_pairs` raises.
    """
    loaded = pairs if isinstance(pairs, Loaded) else load_pairs(pairs, only_database(databases))
    catalog = usable_databases(databases, OF_PAIRS)  # found once: each look hashes all of them

    def check(some: Mapping[int, Pair], folder: Path | None = None) -> dict[int, Checked]:
        """The verdict on each pair that could be checked."""
        these = Loaded(tuple(some.values()))
        found = verify_pairs(these, databases, cache=cache, instances=folder, workers=workers, catalog=catalog)
        return {number: one for number, one in zip(some, found.checked, strict=True) if not one.unchecked}

    verified = verify_pairs(loaded, databases, cache=cache, workers=workers, progress=progress, catalog=catalog)
    steps: dict[int, list[Repair]] = {}
    state = dict(enumerate(verified.checked))
    tried: set[tuple[int, str]] = set()
    refused: list[Refused] = []
    left = frozenset(leave) | (frozenset() if mend_ties else TIES)
    for _ in range(ROUNDS):
        offered = {number: _next(one, number, tried, left) for number, one in state.items()}
        open_ = {number: finding for number, finding in offered.items() if finding is not None}
        if not open_:
            break
        tried |= {(number, finding.mended) for number, finding in open_.items()}
        again = check({n: replace(state[n].pair, sql=f.mended) for n, f in open_.items()})
        for number, finding in open_.items():
            if number in again and _is_found_again(state[number], again[number], finding.kind):
                continue  # nothing to tell: the finding is there
            if finding.kind in PROVED and number in again and _is_at_fault(again[number]):
                continue  # it would mean the same, and be as wrong, and be counted as mended
            why = objection(state[number], again[number], finding) if number in again else "it could not be checked"
            if why:
                refused.append(Refused(number, finding.kind, finding.mended, why))
            else:
                steps.setdefault(number, []).append(Repair(finding, finding.mended))
                state[number] = again[number]
    mended = {number: Mended(tuple(some), state[number]) for number, some in sorted(steps.items())}
    if instances is not None and mended:
        again = check({n: one.checked.pair for n, one in mended.items()}, instances)
        mended, more = _certified(mended, again, verified, instances)
        refused += more
    return Audit(verified, mended, tuple(refused))


def objection(before: Checked, after: Checked, mended: Finding) -> str:
    """Why a repair is none, "" if it is one: the fault is found as often as before, another has come, or one that it
    does not mend is no longer seen. A tie may come with the repair of a graver fault, and has a repair of its own.
    """
    if _is_found_again(before, after, mended.kind):
        return f"{mended.kind} is found again"
    had, has = _kinds(before), _kinds(after)
    lesser = frozenset() if mended.kind in TIES | PROVED else TIES
    lesser |= FOLLOWS.get(mended.kind, frozenset())  # was there before, and not told
    new = [kind for kind in has if kind not in had and kind not in lesser and (counts_against(kind) or kind in WORSE)]
    if new:
        return f"then {', '.join(new)} is found"
    hidden = [kind for kind in had if kind in STAYING and kind not in has and kind != mended.kind]
    return f"then {', '.join(hidden)} is not seen any more, and not mended" if hidden else ""


def _is_found_again(before: Checked, after: Checked, kind: str) -> bool:
    return _kinds(after)[kind] >= _kinds(before)[kind]


def _is_at_fault(one: Checked) -> bool:
    """Whether more is found than notes, other pairs and ties."""
    return any(KINDS[kind].severity != "note" and kind not in TIES for kind in _kinds(one))


def _kinds(one: Checked) -> Counter[str]:
    return Counter(finding.kind for finding in one.findings if finding.kind not in BETWEEN)


def _next(one: Checked, number: int, tried: set[tuple[int, str]], left: Collection[str]) -> Finding | None:
    """The first finding whose repair has not been tried; ties after all others: settled for the wrong end, they would
    be settled for good. Useless parts when what is wrong has been mended: they go from no SQL that stays at fault.
    """
    for finding in sorted(one.findings, key=lambda finding: (finding.kind in TIES, finding.kind in PROVED)):
        if finding.mended and finding.kind not in left and (number, finding.mended) not in tried:
            return finding
    return None


# --- certificates ------------------------------------------------------------------------------------------------


def _certified(
    mended: Mapping[int, Mended], again: Mapping[int, Checked], verified: Verified, folder: Path
) -> tuple[dict[int, Mended], list[Refused]]:
    """Repairs with the certificate of the new SQL, from `again`, without those that none holds for."""
    same = [n for n, one in mended.items() if n in again and all(r.finding.kind in PROVED for r in one.repairs)]
    apart = _told_apart({n: (verified.checked[n].pair, again[n]) for n in same}, folder)
    kept: dict[int, Mended] = {}
    refused: list[Refused] = []
    for number, one in mended.items():
        kinds = [finding.kind for finding in again[number].findings] if number in again else ["unexamined"]
        why = apart.get(number) or next((UNSETTLED[kind] for kind in kinds if kind in UNSETTLED), "")
        if why:
            refused.append(Refused(number, one.repairs[0].finding.kind, one.sql, why))
        else:
            kept[number] = replace(one, checked=again[number])
    return kept, refused


def _told_apart(proved: Mapping[int, tuple[Pair, Checked]], folder: Path) -> dict[int, str]:
    """Where SQL that is proved to mean the same as before gives another answer: nowhere, if proofs are right."""
    cases: dict[int, Case] = {}
    for number, (original, checked) in proved.items():
        files = checked.certificate.instances if checked.certificate is not None else ()
        if files:
            places = tuple(_instance(original.db_id, folder, file) for file in files)
            cases[number] = Case(checked.pair.sql, original.sql, places)
    grades = grade_many(list(cases.values()), own_sandbox(INSTANCE), GoldResults())
    return {n: grade.reason for n, grade in zip(cases, grades, strict=True) if not grade.right}


def _instance(db_id: str, folder: Path, file: str) -> Database:
    dialect: Dialect = "duckdb" if file.endswith(".duckdb") else "sqlite"
    return Database(db_id, dialect, dialect, folder / file, content_hash=file, relative_path=file)

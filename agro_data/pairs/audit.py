"""`agro audit`: what `agro verify` finds, and the SQL as it should be, where that follows and holds when it is checked.

A repair is tried by the checks that found the fault: the new SQL must run, the fault must be gone, and nothing else may
be found against it that was not found against the old. It is tried one fault at a time, until none is left that has a
repair. In the end each new SQL is certified on instances of its own (`verify.certificate`), and what a proof says is
held against them: SQL without a useless part must give the old answer on every one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from agro_data.databases.sandbox import own_sandbox
from agro_data.databases.types import Database, Dialect
from agro_data.evaluation.load import load_pairs
from agro_data.evaluation.loaded import Loaded, Pair
from agro_data.pairs.finding import Checked, Finding, counts_against
from agro_data.pairs.verify import INSTANCE, Verified, catalog_at, verify_pairs
from agro_data.progress import Reporter, silent
from agro_data.verify.grade import Case, GoldResults, grade_many

ROUNDS = 8  # faults of one statement that are mended one after another
BETWEEN = frozenset({"duplicate", "contradiction", "same_question", "split_leak"})  # of a pair and another
PROVED = frozenset({"useless_predicate", "useless_join", "useless_distinct"})
UNSETTLED = frozenset({"uncertifiable"})
WORSE = frozenset({"zero", "not_analysed"})  # notes that a repair may not bring


@dataclass(frozen=True)
class Repair:
    """One fault mended: the finding, and the whole statement after this step."""

    finding: Finding
    sql: str


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
    """What was found, and by the number of the pair what was mended. `refused` are repairs that did not hold."""

    verified: Verified
    mended: Mapping[int, Mended]
    refused: tuple[str, ...] = ()

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
    workers: int = 2,
    progress: Reporter = silent,
) -> Audit:
    """Check pairs as `pairs.verify.verify_pairs` does, and mend what can be mended for sure.

    With `instances`, repaired SQL is certified on databases that are written there, and dropped where its answer cannot
    be settled. Classes in `leave` are reported and not mended. Raises what `verify_pairs` raises.
    """
    loaded = pairs if isinstance(pairs, Loaded) else load_pairs(pairs)
    catalog = catalog_at(databases)  # found once: each look hashes all of them

    def check(some: Mapping[int, Pair], folder: Path | None = None) -> dict[int, Checked]:
        """The verdict on each pair that could be checked."""
        these = Loaded(tuple(some.values()))
        found = verify_pairs(these, databases, cache=cache, instances=folder, workers=workers, catalog=catalog)
        return {number: one for number, one in zip(some, found.checked, strict=True) if not one.unchecked}

    verified = verify_pairs(loaded, databases, cache=cache, workers=workers, progress=progress, catalog=catalog)
    steps: dict[int, list[Repair]] = {}
    state = dict(enumerate(verified.checked))
    tried: set[tuple[int, str]] = set()
    refused: list[str] = []
    for _ in range(ROUNDS):
        offered = {number: _next(one, number, tried, leave) for number, one in state.items()}
        open_ = {number: finding for number, finding in offered.items() if finding is not None}
        if not open_:
            break
        tried |= {(number, finding.mended) for number, finding in open_.items()}
        again = check({n: replace(state[n].pair, sql=f.mended) for n, f in open_.items()})
        for number, finding in open_.items():
            why = objection(state[number], again[number], finding) if number in again else "it could not be checked"
            if why:
                refused.append(f"{state[number].pair.place}: {finding.kind}: not mended: {why}")
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
    """Why a repair is none, "" if it is one: the fault is found as often as before, or another has come."""
    had, has = ([f.kind for f in one.findings if f.kind not in BETWEEN] for one in (before, after))
    if has.count(mended.kind) >= had.count(mended.kind):
        return f"{mended.kind} is found again"
    new = [kind for kind in dict.fromkeys(has) if kind not in had and (counts_against(kind) or kind in WORSE)]
    return f"then {', '.join(new)} is found" if new else ""


def _next(one: Checked, number: int, tried: set[tuple[int, str]], leave: Sequence[str]) -> Finding | None:
    """The first finding whose repair has not been tried."""
    for finding in one.findings:
        if finding.mended and finding.kind not in leave and (number, finding.mended) not in tried:
            return finding
    return None


# --- certificates ------------------------------------------------------------------------------------------------


def _certified(
    mended: Mapping[int, Mended], again: Mapping[int, Checked], verified: Verified, folder: Path
) -> tuple[dict[int, Mended], list[str]]:
    """Repairs with the certificate of the new SQL, from `again`, without those that none holds for."""
    same = [n for n, one in mended.items() if n in again and all(r.finding.kind in PROVED for r in one.repairs)]
    apart = _told_apart({n: (verified.checked[n].pair, again[n]) for n in same}, folder)
    kept: dict[int, Mended] = {}
    refused: list[str] = []
    for number, one in mended.items():
        kinds = {finding.kind for finding in again[number].findings} if number in again else UNSETTLED
        why = apart.get(number) or ("its answer cannot be settled on any instance" if kinds & UNSETTLED else "")
        if why:
            refused.append(f"{one.checked.pair.place}: {one.repairs[0].finding.kind}: not mended: {why}")
        else:
            kept[number] = replace(one, checked=again[number])
    return kept, refused


def _told_apart(proved: Mapping[int, tuple[Pair, Checked]], folder: Path) -> dict[int, str]:
    """Where SQL of which a proof says that it is the same as before gives another answer: none, if proofs are right."""
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

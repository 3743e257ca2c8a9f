"""All checks of pairs that others made, database by database, in worker processes."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any

from agro_data.config import ConfigError, RunConfig, cache_folder
from agro_data.databases.discovery.catalog import usable_databases
from agro_data.databases.discovery.identity import meant
from agro_data.databases.hostile.sandbox import own_sandbox
from agro_data.databases.types import STEPS, Catalog, Database, Dialect, Limits
from agro_data.evaluation.instances import INDEX, SUFFIXES
from agro_data.evaluation.load import load_pairs, only_database, pairs_in
from agro_data.evaluation.loaded import Loaded, Pair
from agro_data.evaluation.missing import said_of, why_missing
from agro_data.files import atomic_path
from agro_data.folders import kept_in
from agro_data.pairs.certifying import certificates, instance_index, summarised, with_certificate
from agro_data.pairs.checking import check_pairs
from agro_data.pairs.duplicates import check_duplicates
from agro_data.pairs.finding import KINDS, Certified, Checked, Finding
from agro_data.parallel import run_shards
from agro_data.profiling.cache import cached_profile
from agro_data.progress import Reporter, counting, silent
from agro_data.sql.forms.canonical import canonical_sql
from agro_data.sql.names.resolution import Resolution
from agro_data.verify.certificates.pool import LIMITS
from agro_data.verify.chance.shuffled_copy import shuffled_or_none
from agro_data.words import capital, counted

# A gold is not at fault for being long.
SOURCE = Limits(seconds=5.0, rows=500_000, bytes=64 * 2**20, steps=STEPS)
INSTANCE = replace(SOURCE, steps=LIMITS.steps)
_QUERY = re.compile(r"\s*(?:select|with|values)\b|\s*\(", re.IGNORECASE)
OF_PAIRS = "--databases names the databases of the pairs"


@dataclass(frozen=True)
class Verified:
    """Every pair with its findings, in the order of the source. `problems` are rows that could not be checked, each
    once: what could not be read is not among the pairs, all others are (`Checked.unchecked`).
    """

    checked: tuple[Checked, ...]
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def unread(self) -> int:
        """Rows that are no pair, since they could not be read."""
        return len(self.problems) - sum(bool(one.unchecked) for one in self.checked)

    @property
    def sound(self) -> float:
        """Share of all rows, those that could not be checked included, with nothing certain and grave; 0 to 1."""
        tried = [one for one in self.checked if not one.unchecked]
        whole = len(tried) + len(self.problems)
        return sum(not one.grave for one in tried) / whole if whole else 0.0

    @property
    def counts(self) -> dict[str, int]:
        """Pairs with a finding, by class; in the order of `finding.KINDS`."""
        found = Counter(kind for one in self.checked for kind in dict.fromkeys(f.kind for f in one.findings))
        return {kind: found[kind] for kind in KINDS if found[kind]}


@dataclass(frozen=True)
class _Task:
    database: Database
    pairs: tuple[Pair, ...]
    cache: Path
    instances: Path | None  # where certificates put their instances; None: no certificates


@dataclass(frozen=True)
class _Answer:
    """Findings of each pair of a task, and by place what was raised in checking one; canonical text, result digest and
    certificate by SQL; and what was not read of the database.
    """

    findings: tuple[tuple[Finding, ...], ...]
    faults: dict[int, str]
    canonical: dict[str, str]
    digests: dict[str, str]
    certificates: dict[str, Certified]
    remarks: tuple[str, ...] = ()


@dataclass
class _Found:
    """What the tasks have given: findings by number of the pair, or why it has none, the rest by (db_id, sql)."""

    findings: dict[int, list[Finding]] = field(default_factory=lambda: defaultdict(list))
    unchecked: dict[int, str] = field(default_factory=dict)
    canonical: dict[tuple[str, str], str] = field(default_factory=dict)
    digests: dict[tuple[str, str], str] = field(default_factory=dict)
    certificates: dict[tuple[str, str], Certified] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)

    def add(self, numbers: Sequence[int], pairs: Sequence[Pair], answer: _Answer) -> None:
        self.unchecked |= {numbers[place]: f"a fault of agro: {said}" for place, said in answer.faults.items()}
        for number, pair, findings in zip(numbers, pairs, answer.findings, strict=True):
            self.findings[number] += findings
            key = (pair.db_id, pair.sql)
            if pair.sql in answer.canonical:
                self.canonical[key] = answer.canonical[pair.sql]
            if pair.sql in answer.digests:
                self.digests[key] = answer.digests[pair.sql]
            if pair.sql in answer.certificates:
                self.certificates[key] = answer.certificates[pair.sql]


def verify_pairs(
    pairs: Path | str | Loaded | Iterable[Mapping[str, Any]],
    databases: Path | str,
    *,
    cache: Path | None = None,
    instances: Path | None = None,
    workers: int = 2,
    progress: Reporter = silent,
    catalog: Catalog | None = None,
) -> Verified:
    """Check pairs of question and SQL (a file or folder, see `evaluation.load.load_pairs`, or rows as a file holds
    them) on their databases.

    `cache` keeps profiles and shuffled copies (default as for a build), where it can be written. With `instances`, each
    gold gets a certificate: instances that tell it from its mutants are written in `instances/<db_id>/`, with an index
    beside them. `catalog` is what was found at `databases` before. Raises `UnreadableInput` when there are no pairs,
    `ConfigError` when there is no database. What is wrong with one row or one database is a finding.
    """
    loaded = _with_sql(_loaded(pairs, only_database(databases)))
    catalog = catalog or usable_databases(databases, OF_PAIRS)
    known = {database.db_id.lower(): database for database in catalog.databases}
    called = {name: one.db_id for name, one in meant(catalog.databases, {one.db_id for one in loaded.pairs}).items()}
    numbers: dict[str, list[int]] = defaultdict(list)
    for number, pair in enumerate(loaded.pairs):
        numbers[called.get(pair.db_id, pair.db_id).lower()].append(number)
    if instances is not None:
        _make_room(instances, [known[db_id] for db_id in sorted(set(numbers) & set(known))])  # before the work
    found = _Found()
    for db_id in sorted(set(numbers) - set(known)):
        why = why_missing(db_id, catalog)
        closed = any(problem.left_out for problem in said_of(db_id, catalog))
        for number in numbers[db_id]:
            says = f"no database {loaded.pairs[number].db_id} under {databases}: {why}"
            if closed:  # locked or damaged: no fault of the pair
                found.unchecked[number] = says
            else:
                found.findings[number].append(Finding("no_database", f"{capital(says)}."))
    with kept_in(cache or cache_folder(RunConfig())) as (folder, unkept):
        tasks = [
            _Task(known[db_id], tuple(loaded.pairs[number] for number in numbers[db_id]), folder, instances)
            for db_id in sorted(set(numbers) & set(known))
        ]
        _run(tasks, numbers, found, workers, progress)
    for number, more in check_duplicates(loaded.pairs, found.canonical, found.digests).items():
        found.findings[number] += more
    checked = tuple(
        Checked(
            pair,
            tuple(found.findings[number]),
            found.certificates.get((pair.db_id, pair.sql)),
            found.unchecked.get(number, ""),
        )
        for number, pair in enumerate(loaded.pairs)
    )
    if instances is not None:
        _write_index(instances / INDEX, checked)
    unread = _left_out(catalog, [known[db_id] for db_id in sorted(set(numbers) & set(known))])
    failed = (f"{one.pair.place}: {one.unchecked}" for one in checked if one.unchecked)
    return Verified(
        checked, (*map(str, loaded.problems), *failed), (*unkept, *loaded.notes, *unread, *sorted(found.remarks))
    )


def _left_out(catalog: Catalog, databases: Sequence[Database]) -> list[str]:
    """What was not read of these databases: a table that a pair does not find may be there."""
    folders = [database.relative_path for database in databases if database.layout == "files"]
    return [
        str(problem)
        for problem in catalog.problems
        if problem.left_out and any(PurePosixPath(problem.path).is_relative_to(folder) for folder in folders)
    ]


def _loaded(pairs: Path | str | Loaded | Iterable[Mapping[str, Any]], database: str) -> Loaded:
    if isinstance(pairs, Loaded):
        return pairs
    return load_pairs(pairs, database) if isinstance(pairs, Path | str) else pairs_in(pairs, database)


def _with_sql(loaded: Loaded) -> Loaded:
    """Without the rows that say that no SQL answers them, and have none; a note counts them."""
    pairs = tuple(pair for pair in loaded.pairs if pair.answerable or _QUERY.match(pair.sql))
    without = len(loaded.pairs) - len(pairs)
    if not without:
        return loaded
    said = f"{counted(without, 'rows')} without SQL, since no SQL answers the question: not checked"
    return replace(loaded, pairs=pairs, notes=(*loaded.notes, said))


def _make_room(folder: Path, databases: Sequence[Database]) -> None:
    """A folder for the instances of databases, with an index that lists nothing while they are being made.

    Raises `ConfigError` where files lie there that are none of ours, which instances would take the place of.
    """
    index = folder / INDEX
    for database in databases:
        place = folder / database.db_id
        if database.path.resolve().is_relative_to(place.resolve()):
            raise ConfigError(f"{place} is where {database.db_id} itself lies: give another folder for its instances")
        if not index.exists() and place.is_dir() and any(file.suffix in SUFFIXES for file in place.iterdir()):
            raise ConfigError(f"{place} has databases in it, and {index} is not there: give another folder")
    folder.mkdir(parents=True, exist_ok=True)
    _write_index(index, ())


def _write_index(index: Path, checked: Sequence[Checked]) -> None:
    with atomic_path(index) as temporary:
        instance_index(checked).write_parquet(temporary)


def _run(
    tasks: Sequence[_Task], numbers: dict[str, list[int]], found: _Found, workers: int, progress: Reporter
) -> None:
    """Check all databases and add what is found."""
    add = counting(progress, "verify", sum(len(task.pairs) for task in tasks), "pairs")
    # The largest first, so that no worker is left alone with it at the end.
    ordered = sorted(tasks, key=lambda task: (-len(task.pairs), task.database.db_id))
    for outcome in run_shards(_check, ordered, workers, lambda outcome: add(len(outcome.task.pairs))):
        db_id, answer = outcome.task.database.db_id, outcome.answer
        if answer is None:
            found.unchecked |= dict.fromkeys(numbers[db_id.lower()], f"database {db_id}: {outcome.error}")
        else:
            found.add(numbers[db_id.lower()], outcome.task.pairs, answer)
            found.remarks += [f"{db_id}: {remark}" for remark in answer.remarks]


def _check(task: _Task) -> _Answer:
    """All findings of the pairs of one database."""
    database = task.database
    profile = cached_profile(database, task.cache / "profiles")
    shuffled = shuffled_or_none(database, task.cache / "shuffled", seed=0)
    found = check_pairs(database, profile, task.pairs, own_sandbox(SOURCE), shuffled)
    results, names, findings = found.results, found.names, found.findings
    certified: dict[str, Certified] = {}
    if task.instances is not None:
        golds = [sql for sql in names if sql in results]
        made = certificates(database, profile, golds, own_sandbox(INSTANCE), task.instances)
        certified = {sql: summarised(one) for sql, one in made.items()}
        findings = tuple(
            tuple(with_certificate(told, made[pair.sql])) if pair.sql in made else told
            for pair, told in zip(task.pairs, findings, strict=True)
        )
    digests = {sql: result.digest_if(sql in names and names[sql].ordered) for sql, result in results.items()}
    canonical = _canonical(names, database.dialect)
    return _Answer(findings, found.faults, canonical, digests, certified, profile.faults)


def _canonical(names: Mapping[str, Resolution], dialect: Dialect) -> dict[str, str]:
    """The canonical text by SQL, of which the trees are consumed; SQL that sqlglot cannot write is like no other."""
    found: dict[str, str] = {}
    for sql, resolved in names.items():
        with suppress(Exception):
            found[sql] = canonical_sql(resolved, dialect)
    return found

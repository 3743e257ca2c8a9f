"""The instances of one database and what they certify: files, the choice among them for each gold, and the index.

A pool serves all golds of its database (DESIGN section 4). A gold's instances are chosen by greedy set cover over the
mutants that they kill, then filled up with instances that answer differently, because a wrong prediction is not one of
our mutants.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from agro_data.databases.discovery.content import instance_at, written_hash
from agro_data.databases.types import Database, Limits
from agro_data.populate.schema import Rows, Schema
from agro_data.populate.writer import write_duckdb, write_sqlite
from agro_data.verify.chance.shuffled_copy import written_copy

FILES = 64  # a database (DESIGN section 4)
BYTES = 20 * 2**20  # a database
A_TABLE = 600 * 2**10  # bytes for each table of a database, where that is more: each takes some of every file
PER_GOLD = 10  # instances a prediction is graded on
LIMITS = Limits(seconds=5.0, steps=3_000_000)  # of a statement on an instance: small files, about a tenth of a second

Outcome = Literal["killed", "equivalent", "undecided"]


@dataclass(frozen=True)
class Instance:
    """One augmented database: its file, and the same rows in another order. `shuffled` is needed only to certify."""

    database: Database
    shuffled: Database
    size: int  # bytes

    @property
    def name(self) -> str:
        """The file's name in the index: `<db_id>/<file>`."""
        return f"{self.database.db_id}/{self.database.path.name}"


@dataclass(frozen=True)
class MutantFate:
    """What became of one mutant.

    `by` is the file that killed it or the rule that proves it equivalent, "" if it is undecided. `difference` (the
    first row that differs) is kept for a few of the killed.
    """

    kind: str
    what: str
    sql: str
    outcome: Outcome
    by: str = ""
    difference: str = ""


@dataclass(frozen=True)
class Certificate:
    """What is known of one gold; `detail` says to a person what `reason` does. That is "", `uncertifiable`, `weak`, or
    `unexamined`: this code failed on it, which says nothing against the gold.

    `instances` are names of files on which the gold's answer is unambiguous and a prediction must agree, at most
    `PER_GOLD`; `digests` are the gold's result digests there (`ordered_digest` where it orders at top level).
    """

    sql: str
    reason: str = ""
    detail: str = ""
    instances: tuple[str, ...] = ()
    digests: tuple[str, ...] = ()
    mutants: tuple[MutantFate, ...] = ()

    @property
    def ok(self) -> bool:
        return not self.reason

    @property
    def total(self) -> int:
        return len(self.mutants)

    def count(self, outcome: Outcome) -> int:
        return sum(fate.outcome == outcome for fate in self.mutants)

    @property
    def kill_rate(self) -> float:
        """Killed of all that are not proved equivalent; 1 where there is nothing to kill."""
        open_ = self.total - self.count("equivalent")
        return self.count("killed") / open_ if open_ else 1.0

    @property
    def survivors(self) -> tuple[MutantFate, ...]:
        return tuple(fate for fate in self.mutants if fate.outcome == "undecided")


@dataclass(frozen=True)
class Pool:
    """The certificates of the golds, in their order, and the instances that they name, by name."""

    certificates: tuple[Certificate, ...]
    instances: Mapping[str, Database]
    problems: tuple[str, ...] = ()  # instances that could not be made

    def databases(self, certificate: Certificate) -> list[Database]:
        """The instances on which a prediction for this gold is graded."""
        return [self.instances[name] for name in certificate.instances]


def room(tables: int) -> int:
    """The bytes that the instances of a database with so many tables may have."""
    return max(BYTES, tables * A_TABLE)


def write_instance(source: Database, schema: Schema, rows: Rows, name: str, *, folder: Path, scratch: Path) -> Instance:
    """Write `rows` as `folder/<name>.<dialect>`, and its reordered copy in `scratch`.

    Raises `PopulateError` when the rows break the schema.
    """
    path = folder / f"{name}.{source.dialect}"
    if source.dialect == "sqlite":
        database = instance_at(source, write_sqlite(schema, rows, path))
    else:
        database = instance_at(source, write_duckdb(schema, rows, path, bare=True), written_hash(path))
    return Instance(database, written_copy(database, scratch, seed=0), path.stat().st_size)


def choose(
    order: Sequence[str],
    kills: Mapping[str, Set[int]],
    digests: Mapping[str, str],
    most: int = PER_GOLD,
    *,
    kept: Sequence[str] = (),
    own: Set[str] = frozenset(),
) -> tuple[str, ...]:
    """Instances for one gold, at most `most`, in the order given: `kept`, whatever they kill, and others.

    First by greedy set cover: the instance that kills the most mutants not yet killed, the earlier of equals. Then: (1)
    the gold's `own` instances, made to tell it from similar queries, (2) instances with a new answer (`digests`), (3)
    more of its own with an answer already seen.
    """
    chosen: list[str] = list(kept[:most])
    left: set[int] = set().union(*(kills.get(name, set()) for name in order))  # others may kill more: not to be had
    left -= set().union(*(kills.get(name, set()) for name in chosen))
    while left and len(chosen) < most:
        best = max(order, key=lambda name: (len(left & kills.get(name, set())), -order.index(name)))
        left -= kills.get(best, set())
        chosen.append(best)
    seen = {digests[name] for name in chosen}
    for wanted, known in ((own, False), (set(order), False), (own, True)):
        for name in order:
            if len(chosen) < most and name not in chosen and name in wanted and (known or digests[name] not in seen):
                seen.add(digests[name])
                chosen.append(name)
    return tuple(name for name in order if name in chosen)

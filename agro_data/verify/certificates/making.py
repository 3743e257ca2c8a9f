"""The files of a pool in the making: shared files, and files of one gold's own."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agro_data.databases.errors import discreet_line
from agro_data.databases.types import Cell, Database
from agro_data.hashing import seed_of, stable_hash
from agro_data.populate.dag import fill_order
from agro_data.populate.instances import Focus, PartialRow, Proposal, compose, focus_of
from agro_data.populate.schema import PopulateError, Rows, Schema
from agro_data.profiling.profile import DatabaseProfile
from agro_data.sql.names.resolution import Place
from agro_data.verify.certificates.answers import Gold
from agro_data.verify.certificates.pool import Instance, write_instance
from agro_data.words import counted

FEW = 3  # instances in which no parent has children, at most, and rows of each parent


@dataclass
class Files:
    """Instances of one database, numbered as they are made, and why some could not be.

    At most `most` of them and `most_bytes` together, where these are given, without those that were withdrawn.
    """

    database: Database
    profile: DatabaseProfile
    schema: Schema
    folder: Path
    scratch: Path
    seed: int
    prefix: str
    most: int | None
    most_bytes: int | None
    made: list[Instance] = field(default_factory=list)  # withdrawn ones, too: a number stays what it is
    _withdrawn: set[int] = field(default_factory=set)
    _reasons: Counter[str] = field(default_factory=Counter)  # of those that could not be made
    _of_gold: Counter[str] = field(default_factory=Counter)  # files tried for one gold

    @property
    def problems(self) -> list[str]:
        """Why instances could not be made, a line for each reason."""
        return [
            f"{self.database.db_id}: {counted(count, 'instances')} could not be made: {why}"
            for why, count in self._reasons.items()
        ]

    @property
    def kept(self) -> list[int]:
        """The numbers of those that are still there."""
        return [number for number in range(len(self.made)) if number not in self._withdrawn]

    @property
    def full(self) -> bool:
        """Whether nothing further may be made."""
        kept = self.kept
        if self.most is not None and len(kept) >= self.most:
            return True
        return self.most_bytes is not None and sum(self.made[number].size for number in kept) >= self.most_bytes

    def withdraw(self, number: int) -> None:
        """Remove an instance that nothing is graded on."""
        self._withdrawn.add(number)
        for database in (self.made[number].database, self.made[number].shuffled):
            database.path.unlink(missing_ok=True)

    def shared(self, golds: Sequence[Gold], proposals: Sequence[Proposal], noise: int) -> int | None:
        """One more instance with these rows and `noise` others a table; None when there is no room or none can be."""
        if self.full:
            return None
        alone = self.most is None and len(golds) == 1
        name = self._own_name(golds[0]) if alone else self._next_name()
        rest = [PartialRow(table.name, {}) for table in self.schema.tables for _ in range(noise)]
        return self._composed(name, golds, [*proposals, Proposal("noise", "", tuple(rest))])

    def sparse(self, share: float) -> int | None:
        """An instance with one row in this share of the tables: what does a query say that finds next to nothing?"""
        rng = random.Random(seed_of(self.seed, "sparse", self._next_name()))
        return self._only([table.name for table in self.schema.tables if rng.random() < share], 1)

    def childless(self) -> list[int]:
        """Instances with rows in parents alone: tables that refer to none, then those that refer to these, too."""
        levels: dict[str, int] = {}  # how many references lead on from a table, one behind the other
        for name in fill_order(self.schema).tables:
            parents = [levels[key.ref_table] for key in self.schema.keys_of(name) if key.ref_table in levels]
            levels[name] = max(parents, default=-1) + 1
        names = [table.name for table in self.schema.tables]
        deep = min(max(levels.values()), FEW)
        made = [self._only([name for name in names if levels[name] <= n], FEW) for n in range(deep)]
        return [number for number in made if number is not None]

    def _only(self, tables: Sequence[str], count: int) -> int | None:
        if self.full:
            return None
        rows = [PartialRow(table, {}) for table in tables for _ in range(count)]
        return self._composed(self._next_name(), (), [Proposal("noise", "", tuple(rows))])

    def _composed(self, name: str, golds: Sequence[Gold], proposals: Sequence[Proposal]) -> int | None:
        try:
            focus = _focus([focus_of(gold.asked, self.schema) for gold in golds])
            own = seed_of(self.seed, "instance", name)
            rows = compose(self.schema, self.profile, {}, proposals, own, focus)
        except Exception as error:  # what cannot be made of these golds costs one instance
            self._reasons[_why(error, self.database.db_id)] += 1
            return None
        return self._write(name, rows)

    def own(self, gold: Gold, rows: Rows) -> int | None:
        """One more instance for `gold` alone."""
        if self.full:
            return None
        return self._write(self._own_name(gold), rows)

    def _next_name(self) -> str:
        return f"{self.prefix}{len(self.made):02d}"

    def _own_name(self, gold: Gold) -> str:
        """The same in whatever company the gold is certified."""
        stem = f"{self.prefix}{stable_hash(gold.sql)[:8]}"
        self._of_gold[stem] += 1
        return f"{stem}-{self._of_gold[stem] - 1:02d}"

    def _write(self, name: str, rows: Rows) -> int | None:
        try:
            made = write_instance(self.database, self.schema, rows, name, folder=self.folder, scratch=self.scratch)
        except OSError:
            raise  # no room, or no right to write: nothing is wrong with the golds
        except Exception as error:
            self._reasons[_why(error, self.database.db_id)] += 1
            return None
        self.made.append(made)
        return len(self.made) - 1


def _why(error: Exception, db_id: str) -> str:
    """An error in one line that quotes no value."""
    line = discreet_line(error)
    return line.removeprefix(f"{db_id}: ") if isinstance(error, PopulateError) else f"{type(error).__name__}: {line}"


def _focus(parts: Sequence[Focus]) -> Focus:
    """What several queries look at."""
    literals: dict[Place, tuple[Cell, ...]] = {}
    for part in parts:
        for place, values in part.literals.items():
            literals[place] = tuple(dict.fromkeys((*literals.get(place, ()), *values)))
    ordered = frozenset(place for part in parts for place in part.ordered)
    return Focus(literals, ordered, frozenset(place for part in parts for place in part.averaged))

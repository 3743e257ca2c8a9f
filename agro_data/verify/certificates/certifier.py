"""Certificates: every mutant of a gold is killed on some instance, proved equivalent, or named as a survivor.

Golds have instances of their own, or the golds of a batch share files, since the size of a corpus is bounded: each file
then carries the witness rows of several golds. Each gold is graded where its answer is unambiguous. Mutants that
survive direct further rows, until all are told apart or the budget ends. Mutation analysis as the measure of a test
suite: Zhong et al. (arXiv 2010.02840) distil test suites for SQL the same way; witness rows and proofs are ours
(METHODS 1.1).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

from agro_data.config import BuildConfig, ConfigError
from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.databases.scratch import ScratchFolder
from agro_data.databases.types import Database
from agro_data.populate.instances import instance_schema
from agro_data.profiling.profile import DatabaseProfile
from agro_data.verify.certificates.answers import Gold, Unreadable, read_gold
from agro_data.verify.certificates.batch import Batch, over_tables
from agro_data.verify.certificates.budget import DEDICATED, Budget
from agro_data.verify.certificates.homes import find_instances
from agro_data.verify.certificates.making import Files
from agro_data.verify.certificates.outcome import certificate, choose_instances, differences, keep_used
from agro_data.verify.certificates.pending import PendingGold
from agro_data.verify.certificates.pool import Certificate, Pool
from agro_data.verify.certificates.pursuit import pursue_mutants
from agro_data.verify.certificates.views import View, views_of

COMPUTED = "v"  # begins the names of instances on which views that compute are tables


@dataclass(frozen=True)
class Certifier:
    """How the golds of a database are certified. `sandbox` should bound the steps of a statement: its limits are what a
    mutant may take.

    Views are views in instances, too. Only for golds that ask a view which computes, as by GROUP BY, such views are
    tables there: rows behind them that tell a query from its mutants are seldom found.

    Instances are written in `folder`. Files that golds share are named `<prefix><number>.<dialect>`, a gold's own
    `<prefix><8 hex>-<number>.<dialect>` after its SQL, so that they are the same in whatever company it is certified.
    """

    database: Database
    profile: DatabaseProfile
    sandbox: Sandbox
    folder: Path
    seed: int = 0
    budget: Budget = DEDICATED
    prefix: str = ""
    min_kill_rate: float = BuildConfig.min_kill_rate

    def certify(self, golds: Sequence[str]) -> Pool:
        """A certificate for each gold, and the instances that they name; instances of an earlier call are removed.

        Golds that cannot be certified have a reason; nothing about a gold raises.
        """
        self._make_room()
        certificates: dict[int, Certificate] = {}
        parts: dict[str, dict[int, Gold]] = {"": {}, COMPUTED: {}}
        views = views_of(self.profile)
        plain = tuple(view for view in views if view.plain)
        computed = {view.spec.name for view in views if not view.plain}
        for place, sql in enumerate(golds):
            try:
                gold = read_gold(sql, self.database.dialect, self.profile.schema)
                parts[COMPUTED if gold.names.tables & computed else ""][place] = gold
            except Unreadable as error:
                certificates[place] = Certificate(sql, "uncertifiable", str(error))
        made: dict[str, Database] = {}
        problems: list[str] = []
        for part, known in (("", views), (COMPUTED, plain)):
            if parts[part]:
                pool = self._certify(parts[part], self.prefix + part, known)
                certificates |= dict(zip(parts[part], pool.certificates, strict=True))
                made |= pool.instances
                problems += pool.problems
        return Pool(tuple(certificates[place] for place in range(len(golds))), made, tuple(problems))

    def _certify(self, golds: Mapping[int, Gold], prefix: str, views: tuple[View, ...]) -> Pool:
        """The same for golds of one kind, on instances that have these `views`."""
        budget, schema = self.budget, instance_schema(self.profile, [view.spec for view in views])
        most, most_bytes = (None, None) if budget.own else (budget.files, budget.bytes)
        cases = [
            PendingGold(place, replace(gold, asked=over_tables(gold.names, views, schema, self.profile)))
            for place, gold in golds.items()
        ]
        with ScratchFolder("reordered") as scratch:
            where = (self.folder, Path(scratch), self.seed, prefix)
            files = Files(self.database, self.profile, schema, *where, most, most_bytes)
            batch = Batch(self.database, self.profile, schema, views, self.sandbox, files, self.seed, budget)
            childless = find_instances(batch, cases)
            answered = [case for case in cases if case.full]
            pursue_mutants(batch, answered, childless)
            for case in answered:
                choose_instances(batch, case)
            shown = differences(cases, self.sandbox)
            certificates = {case.place: certificate(files, case, shown, self.min_kill_rate) for case in cases}
            kept = keep_used(files, certificates)
        return Pool(tuple(certificates[place] for place in golds), kept, tuple(files.problems))

    def _make_room(self) -> None:
        if self.database.path.resolve().is_relative_to(self.folder.resolve()):
            raise ConfigError(f"{self.database.path} lies where its instances would be written")
        self.folder.mkdir(parents=True, exist_ok=True)
        for part, name in product(("", COMPUTED), ("[0-9][0-9]", "[0-9]" * 3, "[0-9a-f]" * 8 + "-[0-9][0-9]")):
            for stale in self.folder.glob(f"{self.prefix}{part}{name}.{self.database.dialect}"):
                stale.unlink()

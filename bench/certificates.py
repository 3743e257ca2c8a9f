"""Certificates: what share of mutants is killed, beside what the one source database kills, and what that costs.

    python -m bench.certificates ../shared/data/spider/train.json --databases ../shared/data/spider/database
    python -m bench.certificates datasets/corpus --databases ../shared/data/spider/database

The golds are those of a file of questions, or of a corpus. The cost of a database's certificates is the CPU time of
this process and of the sandbox, shared out among its golds.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agro_data.databases.discovery.catalog import find_databases
from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.databases.types import Database, Trial
from agro_data.profiling.profile import DatabaseProfile
from agro_data.profiling.profiler import profile_database
from agro_data.publish.read import open_version
from agro_data.stages.certifying import BATCH
from agro_data.verify.certificates.answers import Unreadable, digest_of, read_gold
from agro_data.verify.certificates.budget import DEDICATED, Budget
from agro_data.verify.certificates.certifier import Certifier
from agro_data.verify.certificates.pool import LIMITS, Certificate
from bench.parts.machine import cpu_seconds, description
from bench.parts.tables import show

SHOWN = 12


@dataclass
class Found:
    """What the certificates of some databases say, added up."""

    golds: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    survivors: Counter[str] = field(default_factory=Counter)
    single: int = 0  # mutants that the source database alone tells from their gold
    single_left: int = 0  # of the golds whose answer on the source is sound
    instances: list[int] = field(default_factory=list)
    files: list[int] = field(default_factory=list)
    bytes: list[int] = field(default_factory=list)
    milliseconds: list[float] = field(default_factory=list)  # of each gold
    named: list[tuple[str, str, str]] = field(default_factory=list)  # some survivors


def main() -> None:
    """Print the figures as tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("golds", type=Path, help="a JSON list of questions with db_id and query, or a corpus version")
    parser.add_argument("--databases", type=Path, required=True)
    parser.add_argument("--only", nargs="+", help="use only these databases")
    parser.add_argument("--every", type=int, default=1, help="every so many golds of the file")
    parser.add_argument("--limit", type=int, default=0, help="at most this many golds a database")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--own", action="store_true", help="each gold has files of its own, as `agro evaluate` makes them"
    )
    parser.add_argument("--list", type=Path, help="write every survivor to this file, one a line")
    arguments = parser.parse_args()
    by_database = read(arguments.golds, arguments.every)
    found = Found()
    for database in find_databases(arguments.databases).databases:
        golds = by_database.get(database.db_id, [])[: arguments.limit or None]
        if golds and (not arguments.only or database.db_id in arguments.only):
            measure(database, golds, arguments.seed, DEDICATED if arguments.own else Budget(), found)
    print(description())
    tell(found)
    if arguments.list:
        arguments.list.write_text("".join("\t".join(line) + "\n" for line in found.named), encoding="utf-8")


def read(path: Path, every: int) -> dict[str, list[str]]:
    """Distinct gold SQL by database, one in `every` of a file of questions or of a corpus."""
    if path.is_dir():
        rows = open_version(path).examples().select("db_id", "sql").collect().rows()
    else:
        rows = [(row["db_id"], row["query"]) for row in json.loads(path.read_text(encoding="utf-8"))]
    found: dict[str, dict[str, None]] = {}
    for db_id, sql in rows[::every]:
        found.setdefault(db_id, {})[sql] = None
    return {db_id: list(golds) for db_id, golds in found.items()}


def measure(database: Database, golds: Sequence[str], seed: int, budget: Budget, found: Found) -> None:
    """Certify the golds of one database in batches, and add what came of it to `found`."""
    profile = profile_database(database)
    for start in range(0, len(golds), BATCH):
        batch = golds[start : start + BATCH]
        with tempfile.TemporaryDirectory() as folder:
            before = cpu_seconds()
            with Sandbox(workers=1, limits=LIMITS) as sandbox:
                pool = Certifier(database, profile, sandbox, Path(folder), seed, budget).certify(batch)
            cost = (cpu_seconds() - before) * 1000 / len(batch)
            found.files.append(len(pool.instances))
            found.bytes.append(sum(path.stat().st_size for path in Path(folder).iterdir()))
        found.milliseconds += [cost] * len(batch)
        _add(database, pool.certificates, found)
        _alone(database, profile, pool.certificates, found)


def _add(database: Database, certificates: Sequence[Certificate], found: Found) -> None:
    found.golds += len(certificates)
    for certificate in certificates:
        found.reasons[certificate.reason or "certified"] += 1
        found.outcomes.update(fate.outcome for fate in certificate.mutants)
        found.survivors.update(fate.kind for fate in certificate.survivors)
        found.named += [(database.db_id, fate.what, certificate.sql) for fate in certificate.survivors]
        if certificate.instances:
            found.instances.append(len(certificate.instances))


def _alone(database: Database, profile: DatabaseProfile, certificates: Sequence[Certificate], found: Found) -> None:
    """How many of the same mutants the source database kills."""
    with Sandbox(workers=1, limits=LIMITS) as sandbox:
        for certificate in certificates:
            try:
                gold = read_gold(certificate.sql, database.dialect, profile.schema)
            except Unreadable:
                continue
            right = sandbox.run(database, [certificate.sql])[0]
            tried = [fate for fate in certificate.mutants if fate.outcome != "equivalent"]
            if not right.ok or not tried:
                continue
            trials = [Trial(f.sql, (database,), ((digest_of(right, gold),),), gold.ordered) for f in tried]
            results = sandbox.run_until_different(trials)
            found.single_left += len(tried)
            found.single += sum(r.different is not None and r.different.status in ("ok", "too_large") for r in results)


def tell(found: Found) -> None:
    """Print the tables."""
    total = sum(found.outcomes.values())
    killed, equivalent = found.outcomes["killed"], found.outcomes["equivalent"]
    costs = sorted(found.milliseconds)
    show(
        f"{found.golds:,} golds, {total:,} mutants",
        ["figure", "measured", "goal"],
        [
            ["killed of those not proved equivalent", _share(killed, total - equivalent), "0.97"],
            ["killed of all", _share(killed, total), ""],
            ["the source alone kills, of those not proved equivalent", _share(found.single, found.single_left), ""],
            ["proved equivalent", equivalent, ""],
            ["undecided", found.outcomes["undecided"], ""],
            ["CPU milliseconds a gold, mean", round(sum(costs) / len(costs), 1), "180"],
            ["CPU milliseconds a gold, median", round(costs[len(costs) // 2], 1), "50"],
            ["CPU milliseconds a gold, 95th percentile", round(costs[int(len(costs) * 0.95)], 1), "500"],
            ["instances a gold, mean", round(sum(found.instances) / max(len(found.instances), 1), 1), "at most 10"],
            ["files a batch, most", max(found.files), "64"],
            ["megabytes a batch, most", round(max(found.bytes) / 2**20, 1), "20"],
        ],
    )
    show("Golds", ["outcome", "golds"], [list(pair) for pair in found.reasons.most_common()])
    show("Survivors by kind", ["kind", "mutants"], [list(pair) for pair in found.survivors.most_common(SHOWN)])


def _share(part: int, whole: int) -> float:
    return round(part / whole, 4) if whole else 0.0


if __name__ == "__main__":
    main()

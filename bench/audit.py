"""What `agro verify` finds in questions that people wrote, how long it takes, and whether it is so.

python -m bench.audit ../shared/data/spider/train.json --databases ../shared/data/spider/database
python -m bench.audit ... --sample number_differs   fifty findings of a class, to be read one by one
python -m bench.audit ... --repairs                 thirty repairs of `agro audit`, and all of seldom classes

What concerns answers is confirmed without our own code: each statement, and the one that the finding offers as its
witness, runs again on plain sqlite3, and the two are compared.
"""

from __future__ import annotations

import argparse
import json
import random
import sqlite3
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import sqlglot
from sqlglot import exp

from agro_data.databases.discovery.catalog import find_databases
from agro_data.evaluation.loaded import Pair
from agro_data.pairs.audit import Audit, audit_pairs
from agro_data.pairs.finding import KINDS, Finding
from agro_data.pairs.verify import Verified, verify_pairs
from bench.parts.machine import Usage, description
from bench.parts.tables import show

SAMPLE, REPAIRS = 50, 30
SELDOM = 20  # repairs of a class, up to which all are read
Rows = list[tuple[Any, ...]]
Run = Callable[[str], Rows]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("questions", type=Path)
    parser.add_argument("--databases", type=Path, required=True)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--sample", metavar="CLASS", choices=sorted(KINDS))
    parser.add_argument("--repairs", action="store_true")
    arguments = parser.parse_args()
    if arguments.repairs:
        with tempfile.TemporaryDirectory() as cache:
            repairs(audit_pairs(arguments.questions, arguments.databases, cache=Path(cache), workers=arguments.workers))
        return
    with tempfile.TemporaryDirectory() as cache, Usage() as usage:
        start = time.perf_counter()
        verified = verify_pairs(arguments.questions, arguments.databases, cache=Path(cache), workers=arguments.workers)
        seconds, cpu_seconds = time.perf_counter() - start, usage.cpu_seconds
    if arguments.sample:
        sample(verified, arguments.sample)
        return
    print(description())
    confirmed = confirm(verified, arguments.databases)
    counts = verified.counts
    rows = [
        [
            name,
            KINDS[name].severity + ("" if KINDS[name].certain else ", possible"),
            counts[name],
            confirmed.get(name, ""),
        ]
        for name in counts
    ]
    show(f"Findings in {arguments.questions.name}", ["class", "severity", "pairs", "confirmed by plain sqlite3"], rows)
    show(
        "The whole",
        ["figure", "measured"],
        [
            ["pairs", len(verified.checked)],
            ["seconds, profiles and shuffled copies included", round(seconds, 1)],
            ["CPU seconds of the whole process tree", round(cpu_seconds, 1)],
            ["share without a certain error or warning", round(verified.sound, 4)],
            ["pairs without any finding", sum(not one.findings for one in verified.checked)],
        ],
    )


def sample(verified: Verified, kind: str) -> None:
    """Print up to fifty findings of a class, chosen by seed."""
    found = [(one.pair, f) for one in verified.checked for f in one.findings if f.kind == kind]
    chosen = random.Random(kind).sample(found, min(SAMPLE, len(found)))
    for number, (pair, finding) in enumerate(chosen, 1):
        print(f"{number}. {pair.place}, {pair.db_id}\n   {pair.question}\n   {' '.join(pair.sql.split())}")
        print(f"   {json.dumps(finding.says, ensure_ascii=False)} {finding.witness}\n")


def repairs(audit: Audit) -> None:
    """Print thirty pairs that were mended, chosen by seed, and all with a repair of a class that is seldom mended."""
    mended = list(audit.mended.items())
    drawn = random.Random("repairs").sample(mended, min(REPAIRS, len(mended)))
    common = {
        kind for kind, count in Counter(r.finding.kind for _, m in mended for r in m.repairs).items() if count > SELDOM
    }
    rare = [(number, one) for number, one in mended if any(r.finding.kind not in common for r in one.repairs)]
    print(f"{len(mended)} mended; drawn {len(drawn)}, of seldom classes {len(rare)}\n")
    for place, (number, one) in enumerate([*drawn, *rare], 1):
        pair = audit.verified.checked[number].pair
        print(f"{place}. {pair.place}, {pair.db_id}\n   {pair.question}\n   {' '.join(pair.sql.split())}\n   {one.sql}")
        print(f"   {', '.join(repair.finding.kind for repair in one.repairs)}\n")


def confirm(verified: Verified, databases: Path) -> dict[str, str]:
    """By class, how many findings hold on plain sqlite3, as "n of m"; what no statement can confirm is absent."""
    places = {database.db_id: database.path for database in find_databases(databases).databases}
    held: Counter[str] = Counter()
    tried: Counter[str] = Counter()
    for one in verified.checked:
        if one.pair.db_id not in places:
            continue
        with closing(sqlite3.connect(f"file:{places[one.pair.db_id]}?mode=ro", uri=True)) as connection:
            connection.text_factory = lambda data: data.decode("utf-8", "replace")
            for finding in one.findings:
                verdict = _holds(finding, one.pair, lambda sql, c=connection: c.execute(sql).fetchall())  # type: ignore[misc]
                if verdict is not None:
                    tried[finding.kind] += 1
                    held[finding.kind] += verdict
    return {kind: f"{held[kind]} of {tried[kind]}" for kind in tried}


def _holds(finding: Finding, pair: Pair, run: Run) -> bool | None:
    kind = finding.kind
    if kind in ("unknown_name", "does_not_run", "syntax"):
        return _fails(pair.sql, run)
    if kind == "empty":
        return not run(pair.sql)
    if kind == "null_only":
        return all(cell is None for row in run(pair.sql) for cell in row)
    if kind == "zero":
        return run(pair.sql) == [(0,)]
    if kind.startswith("untested_") or kind.startswith("useless_"):
        return _sorted(run(pair.sql)) == _sorted(run(finding.witness))
    if kind in ("literal_other_form", "counted_again", "distinct_missing", "none_counted", "left_join_undone"):
        return _sorted(run(pair.sql)) != _sorted(run(finding.witness.partition(": ")[0]))
    if kind.startswith("literal_"):
        return not run(finding.witness)
    if kind == "text_as_number":
        return _numbers(run(pair.sql)) != _numbers(run(finding.witness))
    if kind in ("tie_at_limit", "tie_in_order"):
        return _tied(pair.sql, run, at_limit=kind == "tie_at_limit")
    return None


def _fails(sql: str, run: Run) -> bool:
    try:
        run(sql)
    except sqlite3.Error:
        return True
    return False


def _sorted(rows: Rows) -> Rows:
    return sorted(rows, key=repr)


def _numbers(rows: Rows) -> Rows:
    """Rows with numbers as numbers, also those that are texts."""
    return [tuple(_number(cell) for cell in row) for row in rows]


def _number(cell: Any) -> Any:
    try:
        return round(float(cell), 6)
    except (TypeError, ValueError):
        return cell


def _tied(sql: str, run: Run, *, at_limit: bool) -> bool | None:
    """Whether rows that differ share their keys: at the cut, or anywhere among the rows that are kept."""
    tree = sqlglot.parse_one(sql, read="sqlite")
    ordered = [node for node in tree.find_all(exp.Select) if node.args.get("order") is not None]
    node = next((one for one in ordered if (one.args.get("limit") is not None) == at_limit), None) or ordered[0]
    if node.args.get("distinct") is not None or node.find_ancestor(exp.SetOperation) is not None:
        return None  # added keys would change its rows
    limit = node.args.get("limit")
    kept = int(limit.expression.this) if limit is not None else None
    probe, width = node.copy(), len(node.expressions)
    probe.set("limit", None)
    for number, key in enumerate(node.args["order"].expressions):
        probe.args["expressions"].append(exp.alias_(key.this.copy(), f"bench_key_{number}"))
    rows = run(probe.sql(dialect="sqlite"))
    if at_limit:
        return kept is not None and len({row[:width] for row in rows if row[width:] == rows[kept - 1][width:]}) > 1
    keys: dict[tuple[Any, ...], set[tuple[Any, ...]]] = {}
    for row in rows[:kept]:
        keys.setdefault(row[width:], set()).add(row[:width])
    return any(len(outputs) > 1 for outputs in keys.values())


if __name__ == "__main__":
    main()

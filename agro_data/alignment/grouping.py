"""Candidates for one question, grouped by what they answer on every instance."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from agro_data.alignment.example import Example
from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.verify.execution import execute, failure
from agro_data.verify.gate import check_statement


@dataclass(frozen=True)
class Group:
    """Candidates with one answer; `members` are their places among those that were given, `sql` is the shortest."""

    sql: str
    members: tuple[int, ...]
    signature: tuple[str, ...]  # the digest on each instance


@dataclass(frozen=True)
class Grouped:
    """Groups, the largest first and then by their first member; `dropped` says why the others stand in none."""

    groups: tuple[Group, ...]
    dropped: tuple[tuple[int, str], ...]


def group(asked: Sequence[tuple[Example, Sequence[str]]], sandbox: Sandbox) -> list[Grouped]:
    """The candidates of each example by result. One that the gate refuses, or that fails anywhere, is dropped.

    All are run in one call, each distinct text once.
    """
    kept: list[list[int]] = []
    dropped: list[list[tuple[int, str]]] = []
    for example, candidates in asked:
        refused = {place: why for place, sql in enumerate(candidates) if (why := _refusal(example, sql))}
        kept.append([place for place in range(len(candidates)) if place not in refused])
        dropped.append(list(refused.items()))
    pairs = [
        (database, candidates[place])
        for (example, candidates), places in zip(asked, kept, strict=True)
        for place in places
        for database in example.places
    ]
    results = iter(execute(pairs, sandbox))
    found: list[Grouped] = []
    for (example, candidates), places, out in zip(asked, kept, dropped, strict=True):
        alike: dict[tuple[str, ...], list[int]] = defaultdict(list)
        ordered = example.in_order
        for place in places:
            given = list(islice(results, len(example.places)))
            failed = next((result for result in given if not result.ok), None)
            if failed is not None:
                out.append((place, ": ".join(failure(failed))))
            else:
                alike[tuple(result.digest_if(ordered) for result in given)].append(place)
        groups = [
            Group(min((candidates[place] for place in members), key=lambda sql: (len(sql), sql)), tuple(members), key)
            for key, members in alike.items()
        ]
        groups.sort(key=lambda one: (-len(one.members), one.members))
        found.append(Grouped(tuple(groups), tuple(sorted(out))))
    return found


def _refusal(example: Example, sql: str) -> str:
    if not sql.strip():
        return "missing: no query"
    gate = check_statement(sql, example.database.dialect, example.schema)
    return "" if gate.ok else f"{gate.reason}: {gate.detail}"

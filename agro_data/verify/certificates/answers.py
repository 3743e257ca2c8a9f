"""What a gold answers on instances, and where that answer is unambiguous."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.databases.types import Dialect, Result
from agro_data.populate.surrogate import is_text_instead
from agro_data.sql.names.joined_on import joined_on
from agro_data.sql.names.resolution import Resolution
from agro_data.sql.names.scope import Schema
from agro_data.verify.certificates.pool import Instance
from agro_data.verify.chance.ties import Probe, chance_in, probes_of
from agro_data.verify.equivalence import strict
from agro_data.verify.execution import COUNTS_NOTHING, execute, failure
from agro_data.verify.gate import check_statement

_ADDING = (exp.Sum, exp.Avg, exp.Stddev, exp.StddevPop, exp.StddevSamp, exp.Variance, exp.VariancePop)


@dataclass(frozen=True)
class Gold:
    """A gold that has been read once. `ordered`: the order of its rows is part of the answer. `adds`: it adds up
    numbers, so that the last digits of a float depend on the order in which an engine reads the rows. `asked`: its
    names over tables alone, for whom rows are made (`views.without_views`).
    """

    sql: str
    names: Resolution
    asked: Resolution
    ordered: bool
    adds: bool
    probes: tuple[Probe, ...]


@dataclass(frozen=True)
class Answer:
    """`reason` is "" where the answer is unambiguous, else a class of `check.Verdict`. `empty`: it says nothing, for it
    has no row, only NULL, or counts nothing.
    """

    digest: str = ""
    rows: int = 0
    reason: str = ""
    empty: bool = False


Pair = tuple[Gold, Instance]


class Unreadable(ValueError):
    """A gold that the gate refuses, that leaves its answer open whatever the data, or that no instance can serve."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail


def read_gold(sql: str, dialect: Dialect, schema: Schema) -> Gold:
    """Parse and resolve a gold. Raises `Unreadable`."""
    gate = check_statement(sql, dialect, schema)
    if not gate.ok or gate.names is None:
        raise Unreadable(gate.reason, gate.detail)
    names = joined_on(gate.names, dialect, schema)
    chance = chance_in(names)
    if chance is not None:
        raise Unreadable(chance.reason, chance.detail)
    other = _held_otherwise(names, dialect, schema)
    if other:
        raise Unreadable("held_otherwise", f"it computes with {other}, in whose place instances have text")
    return Gold(
        sql=sql,
        names=names,
        asked=names,
        ordered=names.ordered,
        adds=any(_adds(node) for node in names.tree.walk()),
        probes=tuple(probes_of(names, dialect, any_cut=True)),
    )


def _held_otherwise(names: Resolution, dialect: Dialect, schema: Schema) -> str:
    """The first column that is more than shown and that instances hold as text, or ""."""
    for node in names.tree.find_all(exp.Column):
        place = names.place(node)
        if place is None:
            continue
        table, column = place
        shown = isinstance(node.parent, (exp.Select, exp.Alias))
        if not shown and is_text_instead(schema[table][column], dialect):
            return f"{table}.{column} ({schema[table][column]})"
    return ""


def _adds(node: exp.Expr) -> bool:
    return isinstance(node, _ADDING) or (isinstance(node, exp.Anonymous) and node.name.lower() == "total")


def digest_of(result: Result, gold: Gold) -> str:
    """The digest that counts for this gold."""
    return result.digest_if(gold.ordered)


def ask(pairs: Sequence[Pair], sandbox: Sandbox) -> list[Answer]:
    """What each gold answers on its instance, in order; `reason` says where it fails."""
    results = execute([(instance.database, gold.sql) for gold, instance in pairs], sandbox)
    return [_said(gold, result) for (gold, _), result in zip(pairs, results, strict=True)]


def doubt(pairs: Sequence[Pair], given: Sequence[Answer], sandbox: Sandbox) -> list[Answer]:
    """The answers `given`, those with a reason why they are ambiguous that a probe for ties or reordered rows show.

    Two rounds in the sandbox, however many pairs.
    """
    found = list(given)
    _reorder(pairs, found, sandbox)
    _probe(pairs, found, sandbox)
    return found


def _said(gold: Gold, result: Result) -> Answer:
    if not result.ok:
        return Answer(reason=failure(result)[0])
    empty = result.row_count == 0 or result.all_null or result.digest == COUNTS_NOTHING
    return Answer(digest_of(result, gold), result.row_count, empty=empty)


def _reorder(pairs: Sequence[Pair], found: list[Answer], sandbox: Sandbox) -> None:
    waiting = [place for place, answer in enumerate(found) if not answer.reason]
    again = execute([(pairs[place][1].shuffled, pairs[place][0].sql) for place in waiting], sandbox)
    doubted: list[int] = []
    for place, result in zip(waiting, again, strict=True):
        gold = pairs[place][0]
        if result.ok and digest_of(result, gold) == found[place].digest:
            continue
        if result.ok and gold.adds:
            doubted.append(place)
        else:
            found[place] = Answer(reason="row_order")
    rows = iter(
        execute(
            [(side, pairs[p][0].sql) for p in doubted for side in (pairs[p][1].database, pairs[p][1].shuffled)],
            sandbox,
            "rows",
        )
    )
    for place in doubted:
        first, second = next(rows), next(rows)
        if not strict(first.rows, second.rows, ordered=pairs[place][0].ordered).equal:
            found[place] = Answer(reason="row_order")


def _probe(pairs: Sequence[Pair], found: list[Answer], sandbox: Sandbox) -> None:
    asked = [
        (place, probe) for place, answer in enumerate(found) if not answer.reason for probe in pairs[place][0].probes
    ]
    results = execute([(pairs[place][1].database, probe.sql) for place, probe in asked], sandbox, "rows")
    for (place, probe), result in zip(asked, results, strict=True):
        if not result.ok or probe.judge(result.rows):
            found[place] = Answer(reason=probe.reason if result.ok else "undecided")

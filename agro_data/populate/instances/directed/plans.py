"""A query as the proposals see it: its conditions, and readings of it from which rows are made."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from sqlglot import exp

from agro_data.populate.instances.directed.proposal import PartialRow
from agro_data.populate.instances.directed.tableau import ATOMS, Frame, Missed, Tableau
from agro_data.populate.schema import Schema
from agro_data.profiling.profile import DatabaseProfile
from agro_data.sql.constructs import number_of
from agro_data.sql.names.resolution import Resolution, Scope, Source
from agro_data.sql.names.visible import gives_rows
from agro_data.sql.walks import leftmost, local_nodes

Make = Callable[[random.Random], "tuple[PartialRow, ...] | None"]
ALONE = 0.5  # share of witness rows that alone show what they show
_WAYS: Mapping[type[exp.Expr], int] = {exp.Intersect: 2, exp.Except: 2, exp.Union: 3}


@dataclass(frozen=True)
class Plan:
    """A proposal that is not made yet: `make` gives its rows, or None where its conditions cannot be met."""

    kind: str
    why: str
    make: Make


@dataclass(frozen=True, eq=False)
class Query:
    """A resolved query on a database with a known schema and profile."""

    found: Resolution
    schema: Schema
    profile: DatabaseProfile
    apart: frozenset[str] = frozenset()  # text of what another query says too: nothing of it need be missed

    @property
    def tree(self) -> exp.Query:
        return self.found.tree

    @cached_property
    def asked(self) -> frozenset[str]:
        """What a row may fail, in words: conditions and set operations, and that a column which is counted is known."""
        counted = (node for node in self.tree.find_all(exp.Count) if isinstance(node.this, exp.Column))
        return frozenset((*(name for name, _ in self.missable), *(node.sql() for node in counted)))

    def tableau(self, rng: random.Random) -> Tableau:
        return Tableau(self.found, self.schema, self.profile, rng)

    def whole(self, missed: Missed) -> Make:
        """Rows that meet all conditions but those in `missed`; half of the time they alone show what they show."""
        grouped = leftmost(self.tree).args.get("group") is not None

        def make(rng: random.Random) -> tuple[PartialRow, ...] | None:
            tableau = self.tableau(rng)
            frame = tableau.query(self.tree, missed)
            if not grouped and rng.random() < ALONE:  # groups of one row would tie for the smallest
                tableau.stand_alone(frame.outputs)
                tableau.stand_alone(inner for _, other in tableau.frames for inner in other.outputs[:1])
            return tableau.partial_rows()

        return make

    @cached_property
    def missable(self) -> list[tuple[str, Missed]]:
        """Every condition and set operation, in words, with the ways in which it can be met otherwise."""
        out: list[tuple[str, Missed]] = []
        for node in self.tree.find_all(*ATOMS, exp.SetOperation, exp.Or):
            if isinstance(node, exp.SetOperation):
                out += [(node.key.upper(), {id(node): way}) for way in range(1, _WAYS[type(node)] + 1)]
            elif node.find_ancestor(exp.Having) is not None:
                continue  # of groups, not of rows
            elif isinstance(node, exp.Or):
                out += [(node.sql(), {id(node): way}) for way in range(2)]
                atoms: Iterator[exp.Expr] = node.find_all(*ATOMS)
                out.append((f"all of {node.sql()}", {id(part): 1 for part in atoms}))
            else:
                out.append((node.sql(), {id(node): 1}))
        return [entry for entry in out if entry[0] not in self.apart] or out

    def missable_in(self, scope: Scope) -> list[tuple[str, Missed]]:
        """Those of `missable` that stand in the WHERE or ON of one SELECT."""
        clauses = [scope.select.args.get("where"), *(scope.select.args.get("joins") or ())]
        inside = {id(node) for clause in clauses if clause is not None for node in local_nodes(clause)}
        return [entry for entry in self.missable if inside & entry[1].keys()]


def share_rows(tableau: Tableau, source: Source, columns: tuple[str, ...], frames: list[Frame]) -> None:
    """Let several readings have one row of `source`: equal in `columns`, which are a key of its table."""
    for column in columns:
        name = next(name for name, spelled in source.columns.items() if spelled == column)
        cells = [tableau.column(source, name, frame) for frame in frames]
        for other in cells[1:]:
            tableau.equate(cells[0], other)


def cut_after_first(select: exp.Select, found: Resolution) -> bool:
    """Whether a LIMIT or OFFSET of rows that are shown falls behind the first: where two tie there, it is open whether
    an answer shows both.
    """
    limit, offset = select.args.get("limit"), select.args.get("offset")
    first = limit is not None and (offset is not None or number_of(select, "limit") == 1)
    return first and gives_rows(select, found)

"""Partial rows: some columns given, some equal to others but otherwise free, the rest left to `compose`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from agro_data.databases.types import Cell
from agro_data.sql.names.resolution import Place

Values = Mapping[Place, tuple[Cell, ...]]
"""Values that a query compares a column with."""


@dataclass(frozen=True)
class Unknown:
    """A value that is not chosen yet: the same number in one proposal is the same value (a labelled null).

    `alone`: a value that no other row holds, as far as the column has as many.
    """

    number: int
    alone: bool = False


@dataclass(frozen=True)
class PartialRow:
    """Some columns of one row of `table`; a column that is absent may hold anything its column may hold."""

    table: str
    cells: Mapping[str, Cell | Unknown]


@dataclass(frozen=True)
class Proposal:
    """Rows that belong together. `kind` is `witness`, `miss`, `absent`, `sibling`, `group`, `order` or `set`; `why`
    says in words what they show.
    """

    kind: str
    why: str
    rows: tuple[PartialRow, ...]


@dataclass(frozen=True)
class Focus:
    """What a query looks at: `literals` it compares with, the columns it orders by (`ordered`), which should not hold a
    value twice lest the answer depend on chance, and those it compares with so many times their mean over the table
    (`averaged`). `shunned`: values that no row holds by chance, where a column has others. `unknown`: columns that are
    mostly NULL, where they may be.
    """

    literals: Values = field(default_factory=dict)
    ordered: frozenset[Place] = frozenset()
    averaged: frozenset[tuple[Place, float]] = frozenset()
    shunned: Values = field(default_factory=dict)
    unknown: frozenset[Place] = frozenset()

"""One draw: seeded choices over an atlas, and the frame of joined tables that a query is built on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import TypeVar

from agro_data.intent.sampling.atlas import Atlas, Edge, Row
from agro_data.intent.sampling.prior import Prior
from agro_data.intent.tree import Column, Join, Query, SetOperation, Source, TiePolicy
from agro_data.profiling.profile import ColumnProfile, TableProfile

Item = TypeVar("Item")
_SUBJECT_WEIGHT = {"entity": 4.0, "event": 3.0, "lookup": 1.5, "bridge": 0.45}


@dataclass(frozen=True)
class Draft:
    """A shape's proposal: a query and its policy for ties."""

    query: Query | SetOperation
    tie_policy: TiePolicy = "none"


@dataclass
class Scene:
    """Seeded choices for one intent. `target` is the (table, column) that this draw should put to use, if any."""

    atlas: Atlas
    prior: Prior
    rng: Random
    target: tuple[str, str] | None = None
    _aliases: int = field(default=0, init=False)

    def alias(self) -> str:
        self._aliases += 1
        return f"t{self._aliases}"

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def pick(self, items: Sequence[Item], weights: Iterable[float] | None = None) -> Item:
        if weights is None:
            return items[self.rng.randrange(len(items))]
        return self.rng.choices(items, list(weights))[0]

    def number(self, weights: Sequence[float], start: int = 0) -> int:
        return self.rng.choices(range(start, start + len(weights)), weights)[0]

    def subject(self, fits: Callable[[TableProfile], object]) -> TableProfile | None:
        """A table that fits: the target's if it does, else by how often people ask about its kind."""
        if self.target and fits(self.atlas.by_name[self.target[0]]):
            return self.atlas.by_name[self.target[0]]
        tables = [t for t in self.atlas.asked if fits(t)]
        if not tables:
            return None
        return self.pick(tables, (_SUBJECT_WEIGHT[t.kind] * (1 + len(t.columns)) ** 0.5 for t in tables))

    def column(self, table: str, columns: Sequence[ColumnProfile]) -> ColumnProfile | None:
        """One of `columns` of `table`: the target if it is among them."""
        if not columns:
            return None
        if self.target and self.target[0] == table:
            wanted = next((c for c in columns if c.name == self.target[1]), None)
            if wanted is not None:
                return wanted
        return self.pick(columns)

    def frame(self, table: TableProfile | str) -> Frame:
        return Frame(self, table if isinstance(table, str) else table.name)


class Frame:
    """Sources and joins of one query under construction, with one sample row that runs through them.

    Conditions drawn from that row hold together, so their conjunction is not empty. An alias whose row is not in
    the sample has None.
    """

    def __init__(self, scene: Scene, table: str, row: Row | None = None) -> None:
        self.scene = scene
        self.sources: list[Source] = []
        self.joins: list[Join] = []
        self.rows: dict[str, Row | None] = {}
        self.narrowed: dict[str, list[Row]] = {}  # alias -> sample rows left by what is asked of its parents
        sample = scene.atlas.rows(table)
        self.root = self._add(table, row if row is not None else (scene.pick(sample) if sample else None))

    def _add(self, table: str, row: Row | None) -> str:
        alias = self.scene.alias()
        self.sources.append(Source(alias, table))
        self.rows[alias] = row
        return alias

    @property
    def atlas(self) -> Atlas:
        return self.scene.atlas

    def table(self, alias: str) -> TableProfile:
        return self.atlas.by_name[next(s.table for s in self.sources if s.alias == alias)]

    def profile(self, column: Column) -> ColumnProfile:
        return self.table(column.source).column(column.name)

    def never_null(self, column: Column) -> bool:
        return self.table(column.source).never_null(column.name)

    @property
    def keys_up(self) -> set[Column]:
        """The key columns along which parents are joined."""
        return {Column(j.left, name) for j in self.joins if j.direction == "up" for name, _ in j.columns}

    def up(self, alias: str, edge: Edge) -> str:
        """Join the parent of `alias`; an edge already joined gives its alias again."""
        for join in self.joins:
            if join.left == alias and join.columns == edge.pairs_up and self.table(join.right).name == edge.parent:
                return join.right
        right = self._add(edge.parent, self.atlas.parent_row(edge, self.rows[alias]))
        self.joins.append(Join(alias, right, edge.pairs_up, "inner", "up"))
        return right

    def narrow(self, parent: str) -> None:
        """Only rows that share this frame's row of `parent` are left: what else is asked must tell those apart."""
        for join in self.joins:
            own = self.rows[join.left]
            if join.right == parent and own is not None:
                names = tuple(left for left, _ in join.columns)
                table = self.table(join.left).name
                self.narrowed[join.left] = self.atlas.matching(table, names, tuple(own[n] for n in names))

    def down(self, alias: str, edge: Edge, left: bool = False) -> str:
        """Join the children of `alias`."""
        row = self.rows[alias]
        key = None if row is None else tuple(row[c] for c in edge.parent_columns)
        found = [] if key is None else self.atlas.matching(edge.child, edge.child_columns, key)
        right = self._add(edge.child, self.scene.pick(found) if found else None)
        self.joins.append(Join(alias, right, edge.pairs_down, "left" if left else "inner", "down"))
        return right

    def beside(self, row: Row) -> dict[str, Row]:
        """A row of the subject and, by alias, its parents' rows that are joined and in the sample."""
        rows = {self.root: row}
        for join in self.joins:
            names = tuple(right for _, right in join.columns)
            found = (
                self.atlas.matching(
                    self.table(join.right).name, names, tuple(rows[join.left][left] for left, _ in join.columns)
                )
                if join.left in rows
                else ()
            )
            if found:
                rows[join.right] = found[0]
        return rows

    def _ways(self, alias: str) -> list[Edge]:
        """The keys of `alias` to other tables by which a question goes on from the rows that the frame is of."""
        table = self.table(alias).name
        meant = self.atlas.ways(self.table(self.root).name)
        return [e for e in self.atlas.up[table] if e in meant]

    def climb(self, hops: int) -> list[str]:
        """Join up to `hops` further parents, one at a time; returns the aliases that lead nowhere further."""
        for _ in range(hops):
            ways = [
                (source.alias, edge)
                for source in self.sources
                for edge in self._ways(source.alias)
                if self._is_new(source.alias, edge)
            ]
            if not ways:
                break
            self.up(*self.scene.pick(ways))
        lefts = {join.left for join in self.joins}
        return [s.alias for s in self.sources[1:] if s.alias not in lefts]

    def _is_new(self, alias: str, edge: Edge) -> bool:
        """Whether a parent can be joined: of a table that is none yet, or only along other keys of the same rows."""
        joined = [j for j in self.joins if self.table(j.right).name == edge.parent]
        if edge not in self.atlas.roles or not joined:
            return all(s.table != edge.parent for s in self.sources)
        along = all(j.left == alias and j.direction == "up" and j.columns != edge.pairs_up for j in joined)
        return along and sum(s.table == edge.parent for s in self.sources) == len(joined)

    def query(self, **parts: object) -> Query:
        """The query of this frame. Keyword arguments are the fields of `Query` after `joins`."""
        return Query(sources=tuple(self.sources), joins=tuple(self.joins), **parts)  # type: ignore[arg-type]

    def labels(self, alias: str, whole: bool = False) -> list[Column]:
        """Columns that name a row of `alias`.

        Rows without a name are called by a parent's name, which may join that parent, or by what tells most. With
        `whole` no row is left out for want of a parent: what is ranked or summed up is all that the question speaks of.
        """
        table = self.table(alias)
        found = self.atlas.labels(table.name)
        if found:
            return [Column(alias, c.name) for c in found[:2]]
        named = [e for e in self._ways(alias) if self.atlas.labels(e.parent) and (e.whole or not whole)]
        if named and self.scene.chance(0.5):
            edge = self.scene.pick(named)
            parent = self.up(alias, edge)
            return [Column(parent, c.name) for c in self.atlas.labels(edge.parent)[:2]]
        shown = [c for c in self.atlas.columns(table.name) if c.kind != "blob"]
        plain = [c for c in shown if not self.atlas.is_reference(table.name, c.name)]
        for roles in (
            ("text",),
            ("date", "category"),
            ("identifier",),
            ("year", "measure", "free_text", "boolean"),
        ):
            for column in plain:
                if column.role in roles:
                    return [Column(alias, column.name)]
        return [Column(alias, c.name) for c in (shown or self.atlas.columns(table.name))[:1]]

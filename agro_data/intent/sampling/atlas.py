"""What a profile offers to ask about: columns by use, joins along foreign keys, and linked sample rows."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from agro_data.databases.types import Cell
from agro_data.intent.questions.naming.relatives import key_phrase, key_role
from agro_data.profiling.profile import ColumnProfile, DatabaseProfile, ForeignKey, TableProfile

CONFIDENT = 0.8  # an inferred foreign key below this is not joined along
_WRITTEN = re.compile(r"\b(?:updated?|modified|modification|inserted|loaded|ingested|synced|refreshed)\b")
_PROSE = frozenset(
    ("comment", "comments", "description", "descriptions", "details", "note", "notes", "remark", "remarks")
)
NEVER = "9999-"  # begins a day that stands for none: the latest of such dates is of no thing
_SHOWN = 3  # sample rows that a value has on average where it is seen what goes with it
FEW = 60  # a text column of at most this many values can group rows
Row = dict[str, Cell]


@dataclass(frozen=True)
class Edge:
    """A foreign key to join along: each row of `child` has at most one row of `parent`."""

    child: str
    child_columns: tuple[str, ...]
    parent: str
    parent_columns: tuple[str, ...]
    whole: bool = True  # each row of `child` has one: joining the parent leaves no row out

    @property
    def pairs_up(self) -> tuple[tuple[str, str], ...]:
        return tuple(zip(self.child_columns, self.parent_columns, strict=True))

    @property
    def pairs_down(self) -> tuple[tuple[str, str], ...]:
        return tuple(zip(self.parent_columns, self.child_columns, strict=True))


class Atlas:
    """Read-only view of one profile. Tables without rows and columns without values are left out."""

    def __init__(self, profile: DatabaseProfile) -> None:
        self.profile = profile
        self.tables = tuple(
            t for t in profile.tables if t.rows > 0 and not t.hidden and any(usable(c) for c in t.columns)
        )
        self.by_name = {t.name: t for t in self.tables}
        self.asked = tuple(t for t in self.tables if t.rows > 1) or self.tables  # of one row all answers are one
        self.edges = tuple(dict.fromkeys(edge for key in profile.foreign_keys if (edge := self._edge(key))))
        said = [e for e in self.edges if self._is_said(e)]
        self.up = {t.name: tuple(e for e in said if e.child == t.name) for t in self.tables}
        self.down = {t.name: tuple(e for e in said if e.parent == t.name) for t in self.tables}
        self.references = {(e.child, c) for e in self.edges for c in e.child_columns}
        self._ways: dict[str, frozenset[Edge]] = {}
        self._rows: dict[str, tuple[Row, ...]] = {}
        self._alike: dict[tuple[str, str, str], bool] = {}
        self._index: dict[tuple[str, tuple[str, ...]], dict[tuple[Cell, ...], list[Row]]] = {}

    def _edge(self, key: ForeignKey) -> Edge | None:
        child, parent = self.by_name.get(key.table), self.by_name.get(key.ref_table)
        if child is None or parent is None or (not key.declared and key.confidence < CONFIDENT):
            return None
        if key.orphan_share >= 0.5 or not key.ref_columns or len(key.columns) != len(key.ref_columns):
            return None
        known = set(key.columns) <= set(child.by_name) and set(key.ref_columns) <= set(parent.by_name)
        if not known or not all(usable(child.column(c)) for c in key.columns):
            return None
        if len(key.ref_columns) == 1 and not is_key(parent, key.ref_columns):
            return None
        if key.table == key.ref_table and self._elsewhere(key):
            return None
        whole = key.orphan_share == 0 and all(map(child.never_null, key.columns))
        return Edge(child.name, key.columns, parent.name, key.ref_columns, whole)

    @cached_property
    def roles(self) -> frozenset[Edge]:
        """Those of several keys to one parent that have a role each: the origin, and the destination."""
        sides = {
            (e.child, e.parent): [o for o in self.edges if (o.child, o.parent) == (e.child, e.parent)]
            for e in self.edges
        }
        several = [edge for side in sides.values() if len(side) > 1 and all(map(self._has_role, side)) for edge in side]
        return frozenset(several)

    def _has_role(self, edge: Edge) -> bool:
        child, parent = self.by_name[edge.child], self.by_name[edge.parent]
        return key_role(self.profile, child, edge.child_columns, parent) is not None

    def _is_said(self, edge: Edge) -> bool:
        """Whether a question can say which of several keys to one parent is meant: the origin, or the destination."""
        several = sum((e.child, e.parent) == (edge.child, edge.parent) for e in self.edges) > 1
        child, parent = self.by_name[edge.child], self.by_name[edge.parent]
        if not several or key_role(self.profile, child, edge.child_columns, parent) is not None:
            return True
        return len(edge.child_columns) == 1 and key_phrase(child, edge.child_columns[0]) == parent.singular.lower()

    def _elsewhere(self, key: ForeignKey) -> bool:
        """Whether a key into its own table is named as another table's: `actor.musical_id` of a table `musical`."""
        named = tuple(c.lower() for c in key.columns)
        others = (t.primary_key for t in self.tables if t.name != key.table)
        return any(tuple(c.lower() for c in own) == named for own in others)

    # --- ways ---

    def ways(self, table: str) -> frozenset[Edge]:
        """The last steps of the ways from `table` up to its parents and theirs that "its provider" can mean.

        Those are the shortest: the provider of a measurement is the one that it has a key to, not its visit's. If two
        ways are equally short, through the visit and through the person, neither is taken; two keys of one table that
        have a role each, the origin and the destination of its flight, both are.
        """
        if table not in self._ways:
            self._ways[table] = frozenset(self._shortest(table))
        return self._ways[table]

    def _shortest(self, table: str) -> Iterator[Edge]:
        reached, last = {table}, {table}
        while last:
            steps = [e for name in sorted(last) for e in self.up.get(name, ()) if e.parent not in reached]
            ways = Counter(e.parent for e in steps)
            alone = {parent for parent in ways if len({e.child for e in steps if e.parent == parent}) == 1}
            # If it has several keys of its own, or what it belongs to has, each is called by its role.
            yield from (
                e for e in steps if e.child == table or ways[e.parent] == 1 or (e.parent in alone and e in self.roles)
            )
            last = {parent for parent, number in ways.items() if number == 1}
            reached |= set(ways)

    # --- columns ---

    @cached_property
    def targets(self) -> tuple[tuple[str, str], ...]:
        """Every (table, column) about which somebody may ask: its values can be shown."""
        return tuple((t.name, c.name) for t in self.asked for c in t.columns if usable(c) and c.kind != "blob")

    @cached_property
    def named_references(self) -> frozenset[tuple[str, str]]:
        """The (table, column) pairs of keys to parents that have a name."""
        return frozenset((e.child, c) for e in self.edges if self.labels(e.parent) for c in e.child_columns)

    def columns(self, table: str) -> tuple[ColumnProfile, ...]:
        return tuple(c for c in self.by_name[table].columns if usable(c))

    def is_reference(self, table: str, column: str) -> bool:
        return (table, column) in self.references

    def refers_to_version(self, table: str, column: str) -> bool:
        """Whether a key leads to a version, of which nobody asks how many different ones there are."""
        keys = (e for e in self.edges if e.child == table and column in e.child_columns)
        return any(self.by_name[e.parent].versions is not None for e in keys)

    def labels(self, table: str) -> tuple[ColumnProfile, ...]:
        """The columns by which a person names a row; empty when rows have no name."""
        own = self.by_name[table]
        found = tuple(own.by_name[n] for n in own.label_columns if n in own.by_name and usable(own.by_name[n]))
        return tuple(c for c in found if c.role in ("text", "category", "identifier", "free_text") or len(found) > 1)

    def key(self, table: str) -> tuple[str, ...]:
        """Columns that tell rows apart: the primary key, else another key or a unique column without NULLs, else ()."""
        own = self.by_name[table]
        if own.primary_key and all(usable(own.by_name[c]) for c in own.primary_key if c in own.by_name):
            return own.primary_key
        alone = [c.name for c in own.columns if c.unique and own.never_null(c.name) and usable(c)]
        return tuple(sorted(alone, key=lambda name: not self.tells_apart(table, name))[:1])

    def tells_apart(self, table: str, column: str) -> bool:
        """Whether each row has the column, and no two rows the same in it on any instance."""
        return (column,) in self.profile.keys(table) and self.by_name[table].never_null(column)

    def measures(self, table: str) -> tuple[ColumnProfile, ...]:
        return tuple(
            c
            for c in self.columns(table)
            if c.role == "measure" and is_number(c) and c.distinct > 1 and not self.is_reference(table, c.name)
        )

    def dates(self, table: str) -> tuple[ColumnProfile, ...]:
        """Dates of things on which the engine's date functions work."""
        dated = (c for c in self.columns(table) if is_iso_date(c) and c.distinct > 1 and not is_kept_of_row(c))
        return tuple(c for c in dated if not str(c.maximum).startswith(NEVER))

    def ordered(self, table: str) -> tuple[ColumnProfile, ...]:
        """Columns whose order means something: quantities, years, dates."""
        years = (c for c in self.columns(table) if c.role == "year" and c.distinct > 1 and is_number(c))
        return (*self.measures(table), *self.dates(table), *years)

    def categories(self, table: str) -> tuple[ColumnProfile, ...]:
        """Columns that group rows: at least two values, values that repeat, and no blank among them."""
        rows = self.by_name[table].things
        return tuple(
            c
            for c in self.columns(table)
            if c.distinct >= 2
            and c.distinct < rows
            and not self.is_reference(table, c.name)
            and not has_blanks(c)
            and not is_prose(c)
            and c.kind != "blob"
            and not c.phrase.lower().startswith("number of ")  # "the numbers of matches with an injury" are no groups
            and (
                c.role in ("category", "boolean")
                or (c.role == "year" and c.distinct <= FEW)
                or (c.role == "text" and c.distinct <= min(FEW, rows * 0.7) and c.name not in self._sole_label(table))
            )
        )

    def kinds(self, table: str) -> tuple[ColumnProfile, ...]:
        """The categories by which people group rows: flags only where there is no other."""
        found = self.categories(table)
        return tuple(c for c in found if c.role != "boolean") or found

    def _sole_label(self, table: str) -> tuple[str, ...]:
        return tuple(c.name for c in self.labels(table))

    def whole(self, table: str, columns: Sequence[ColumnProfile]) -> Sequence[ColumnProfile]:
        """Those of `columns` that each row has, else all: rows of no value are a group that nobody asks for."""
        return [c for c in columns if not has_gaps(self.by_name[table], c)] or columns

    def is_named(self, table: str) -> bool:
        """Whether each row has a name."""
        labels = self.labels(table)
        return bool(labels) and not any(has_gaps(self.by_name[table], c) for c in labels)

    def groups_by(self, table: str) -> tuple[Edge, ...]:
        """Named parents that several rows of `table` may share. One row a parent is no group."""
        own = self.by_name[table]
        return tuple(
            e
            for e in self.up[table]
            if e.parent != e.child and self.labels(e.parent) and not is_key(own, e.child_columns)
        )

    # --- sample rows ---

    def rows(self, table: str) -> tuple[Row, ...]:
        if table not in self._rows:
            own = self.by_name[table]
            names = [c.name for c in own.columns]
            self._rows[table] = tuple(dict(zip(names, row, strict=True)) for row in own.sample_rows)
        return self._rows[table]

    def says_the_same(self, table: str, one: str, other: str) -> bool:
        """Whether two columns part rows in the same way, as far as the sample shows: a month and its name.

        Each value of either goes with one of the other, and has several rows to show it by.
        """
        name = (table, min(one, other), max(one, other))
        if name not in self._alike:
            pairs = [(row[one], row[other]) for row in self.rows(table)]
            whole = [pair for pair in pairs if None not in pair]
            sides = {a for a, _ in whole}, {b for _, b in whole}
            kinds = len(set(whole))
            self._alike[name] = 1 < kinds <= len(whole) / _SHOWN and all(len(side) == kinds for side in sides)
        return self._alike[name]

    def matching(self, table: str, columns: tuple[str, ...], values: tuple[Cell, ...]) -> list[Row]:
        """Sample rows of `table` whose `columns` hold `values`."""
        if None in values:
            return []
        if (table, columns) not in self._index:
            index: dict[tuple[Cell, ...], list[Row]] = {}
            for row in self.rows(table):
                index.setdefault(tuple(row[c] for c in columns), []).append(row)
            self._index[table, columns] = index
        return self._index[table, columns].get(values, [])

    def parent_row(self, edge: Edge, row: Row | None) -> Row | None:
        if row is None:
            return None
        found = self.matching(edge.parent, edge.parent_columns, tuple(row[c] for c in edge.child_columns))
        return found[0] if found else None


def of_several_tables(table: TableProfile, column: ColumnProfile) -> bool:
    """Whether another column says of which table a reference is: a `commentable_id` of 7 may be many things."""
    of = column.name.lower().removesuffix("id")
    return of != column.name.lower() and any(c.name.lower() == f"{of}type" and c.kind == "text" for c in table.columns)


def usable(column: ColumnProfile) -> bool:
    """Whether a question can be asked of the column at all: it holds a value and is not hidden."""
    return column.has_values and not column.hidden


def has_blanks(column: ColumnProfile) -> bool:
    """Whether '' stands for no value in some rows, as far as the common values tell."""
    return any(isinstance(value, str) and not value.strip() for value, _ in column.common)


def has_gaps(table: TableProfile, column: ColumnProfile) -> bool:
    """Whether some rows may lack the column: NULL, or a blank."""
    return not table.never_null(column.name) or has_blanks(column)


def is_prose(column: ColumnProfile) -> bool:
    """Whether the column tells of one row in words, by its name: few details that repeat are no kinds of things."""
    said = column.phrase.lower().split(" ")
    return said[-1] in _PROSE or said[0] in ("how", "why")


def is_number(column: ColumnProfile) -> bool:
    """Whether numbers are stored, whatever was declared."""
    return column.kind in ("integer", "real")


def is_iso_date(column: ColumnProfile) -> bool:
    """Whether the engine's date functions read the values, and their order is that of time: 'May 1' is no such text."""
    return column.role == "date" and column.date_format == "iso"


def is_kept_of_row(column: ColumnProfile) -> bool:
    """Whether a date says when the row was written, not when something was: people ask for it hardly ever."""
    return column.role == "date" and _WRITTEN.search(column.phrase.lower()) is not None


def has_order(column: ColumnProfile) -> bool:
    """Whether sorting by the stored values means something: dates in words and mixed types do not sort.

    Nor does text that opens with a number: as text "10" stands before "9".
    """
    if column.role == "other" or (column.role == "date" and not is_iso_date(column)):
        return False
    return is_number(column) or column.role == "date" or not _opens_with_number(column)


def _opens_with_number(column: ColumnProfile) -> bool:
    """Whether more than a quarter of the known texts do ("72.5", "$5", "+3 %")."""
    known = [v for v, _ in column.common] or [column.minimum, column.maximum]
    texts = [v.lstrip(" $€£+-(.") for v in known if isinstance(v, str)]
    return 4 * sum(text[:1].isdigit() for text in texts) > len(texts)


def is_key(table: TableProfile, columns: Iterable[str]) -> bool:
    """Whether `columns` hold no combination twice, as far as the profile knows."""
    wanted = set(columns)
    keys = [table.primary_key, *table.unique_keys, *((c.name,) for c in table.columns if c.unique)]
    return any(key and set(key) <= wanted for key in keys)


def near_unique(table: TableProfile, column: ColumnProfile) -> bool:
    """Whether hardly two rows share a value."""
    return column.unique or column.distinct >= 0.95 * table.things * (1 - column.null_share)


def extreme_is_tied(column: ColumnProfile, descending: bool) -> bool:
    """Whether more than one row is known to hold the largest (smallest) value."""
    if column.unique:
        return False
    edge = column.maximum if descending else column.minimum
    return any(count > 1 for value, count in column.common if value == edge)


def sayable(value: Cell) -> bool:
    """Whether a person could type this value in a question."""
    if isinstance(value, bool | int):
        return abs(value) < 10**15
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, str):
        return 0 < len(value) <= 60 and value == value.strip() and value.isprintable() and "\ufffd" not in value
    return False

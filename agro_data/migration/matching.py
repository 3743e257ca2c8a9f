"""Where each table and column of the old schema is in the new one, by content, type and name.

A name alone proves nothing: a column that is renamed keeps its values, and a name may come to stand for something else.
So all columns of two tables are matched at once, by the assignment for which most speaks. Uncertain matches are not
made, those included without which another assignment would be about as good; a person is then told the nearest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import sqrt

from agro_data.databases.quoting import folded
from agro_data.migration.alignment import Aligned, align
from agro_data.migration.assignment import best_pairs
from agro_data.migration.evidence import Place, Side
from agro_data.migration.likeness import family, held, keys_of, name_likeness, spread_differs, value_likeness
from agro_data.profiling.profile import ColumnProfile, TableProfile

EXACT = 0.999  # likeness from which values are the same
SURE = 0.9  # from which another column of that content is the column
FAIR = 0.6  # enough where the names are alike too
UNLIKE = 0.5  # share of known values below which a column's values are others
NAMED = 0.5  # likeness of two names that say about the same
GAP = 0.1  # by which the best candidate is ahead of the next
TELLING = 3  # different values from which content can tell columns apart
MANY = 10  # rows from which two counts that agree are no chance


@dataclass(frozen=True)
class ColumnMatch:
    """A column of the old schema. `new` is None where nothing is certain, and `why` says so.

    `likeness` compares the values, 0 to 1; None if neither side has any. `same`: no change of its values can be seen.
    `replaced`: the rows are there and its values are others.
    """

    new: Place | None
    likeness: float | None = None
    same: bool = False
    replaced: bool = False
    why: str = ""


@dataclass(frozen=True)
class TableMatch:
    """A table of the old schema. `new` holds its rows; `pieces` are further tables that hold columns of the same rows:
    each with the column of `new` and its own column that join them, row by row. `new` is None where it is gone.
    `by_rows`: found by its keys, in a table that holds other things too.
    """

    new: str | None
    pieces: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    why: str = ""
    by_rows: bool = False


@dataclass(frozen=True)
class Content:
    """How much two columns hold the same, 0 to 1. `firm`: all, and no chance. `by_rows`: told row by row, for sure."""

    share: float
    firm: bool
    by_rows: bool


@dataclass(frozen=True)
class Matching:
    """Every table and column of the old schema, by its old name."""

    tables: Mapping[str, TableMatch]
    columns: Mapping[Place, ColumnMatch]


def match(before: Side, after: Side) -> Matching:
    """The old schema found again in the new one."""
    return _Matcher(before, after).match()


class _Matcher:
    def __init__(self, before: Side, after: Side) -> None:
        self.before, self.after = before, after
        self.named = {folded(table.name): table for table in after.profile.tables}
        self.contested: dict[Place, Place] = {}  # a column whose name and whose values are in two places now
        self.contested_tables: dict[str, str] = {}
        self._likeness: dict[tuple[Place, Place], float | None] = {}
        self._aligned: dict[tuple[str, str], Aligned | None] = {}
        self._found: dict[tuple[str, str], tuple[dict[str, str], dict[str, str]]] = {}

    def match(self) -> Matching:
        tables = self._tables()
        columns: dict[Place, ColumnMatch] = {}
        taken: set[Place] = set()
        for old, new in tables.items():
            found, contested = self._paired(old, new)
            self.contested |= {(old, name): (new, place) for name, place in contested.items()}
            for name, twin in found.items():
                columns[old, name] = self._described((old, name), (new, twin))
                taken.add((new, twin))
        matches = {old: TableMatch(new, why=self._why(old, new)) for old, new in tables.items()}
        for table in self.before.profile.tables:
            self._complete(table, matches, columns, taken)
        return Matching(matches, columns)

    # --- values ---

    def likeness(self, old: Place, new: Place) -> float | None:
        """How much two columns hold the same values as often; None where neither holds any."""
        if (old, new) not in self._likeness:
            a, b = self.before.known[old], self.after.known[new]
            self._likeness[old, new] = value_likeness(
                self._profile(self.before, old), a, self._profile(self.after, new), b
            )
        return self._likeness[old, new]

    @staticmethod
    def _profile(side: Side, place: Place) -> ColumnProfile:
        return side.profile.table(place[0]).column(place[1])

    def _exact(self, old: Place, new: Place) -> bool:
        return (self.likeness(old, new) or 0.0) >= EXACT

    def _content(self, old: Place, new: Place) -> Content | None:
        """How much two columns hold the same: row by row where rows can be told again, else as a whole. None where that
        says nothing.
        """
        rows = self._rows_of(old[0], new[0])
        by_row = rows.agreement(old[1], new[1]) if rows is not None else None
        if by_row is not None:
            return Content(by_row.share, by_row.telling and by_row.share >= EXACT, by_row.telling)
        share = self.likeness(old, new)
        return None if share is None else Content(share, self._firm(old, new), False)

    def _firm(self, old: Place, new: Place) -> bool:
        """Whether two columns hold the same values as often, so many that it is no chance."""
        one, two = self._profile(self.before, old), self._profile(self.after, new)
        was, now = self.before.profile.table(old[0]), self.after.profile.table(new[0])
        many = one.distinct >= TELLING or (one.distinct > 1 and was.rows >= MANY)
        counted = was.rows == now.rows and not (was.sampled or now.sampled)
        return many and self._exact(old, new) and not (counted and spread_differs(one, two))

    def _rows_of(self, old: str, new: str) -> Aligned | None:
        if (old, new) not in self._aligned:
            was, now = self.before.profile.table(old), self.after.profile.table(new)
            self._aligned[old, new] = align(self.before, was, self.after, now)
        return self._aligned[old, new]

    # --- columns of two tables ---

    def _columns(self, old: str, new: str) -> dict[str, str]:
        """Old column name to new, as far as it is certain."""
        return self._paired(old, new)[0]

    def _paired(self, old: str, new: str) -> tuple[dict[str, str], dict[str, str]]:
        """`_columns` of two tables, and the contested ones, by which column has their values; made once."""
        if (old, new) not in self._found:
            self._found[old, new] = self._compared(self.before.profile.table(old), self.after.profile.table(new))
        return self._found[old, new]

    def _compared(self, old: TableProfile, new: TableProfile) -> tuple[dict[str, str], dict[str, str]]:
        """All columns at once: where one is now says where the others are not."""
        twins = {folded(column.name): column.name for column in new.columns}
        own = {c.name: twins[folded(c.name)] for c in old.columns if folded(c.name) in twins}
        scores = self._scores(old, new, [c.name for c in old.columns], [c.name for c in new.columns])
        certain = {a: b for (a, b), margin in best_pairs(scores).items() if margin >= GAP}
        found = {column.name: certain[column.name] for column in old.columns if column.name in certain}
        contested: dict[str, str] = {}
        for a in own.keys() - found.keys():
            elsewhere = {b: score for (one, b), score in scores.items() if one == a and b != own[a]}
            if elsewhere:
                contested[a] = max(elsewhere, key=lambda b: (elsewhere[b], b))
        # A column leaves its name for certain only where it is known whose values stand under that name now.
        while left := [
            a for a, b in found.items() if own.get(a, b) != b and not self._explained(old, new, own[a], found)
        ]:
            contested |= {a: found.pop(a) for a in left}
        return found, contested

    def _explained(self, old: TableProfile, new: TableProfile, place: str, found: Mapping[str, str]) -> bool:
        """Whether `place` holds the values of the column that is found there."""
        whose = next((a for a, b in found.items() if b == place), None)
        content = self._content((old.name, whose), (new.name, place)) if whose is not None else None
        return content is not None and content.firm

    def _scores(
        self, old: TableProfile, new: TableProfile, left: Sequence[str], free: Sequence[str]
    ) -> dict[tuple[str, str], float]:
        """What speaks for each pair of columns that may be one."""
        return {
            (a, b): self._score((old.name, a), (new.name, b))
            for a in left
            for b in free
            if folded(a) == folded(b) or self._is_likely(old, a, new, b)
        }

    def _score(self, old: Place, new: Place) -> float:
        """At most 1.8. The same values weigh more than the same name, and that more than values that are alike."""
        content = self._content(old, new) or Content(0.0, False, False)
        same = folded(old[1]) == folded(new[1])
        firm = content.firm or (same and content.by_rows and content.share >= SURE)
        return 0.6 * content.share + 0.7 * firm + 0.3 * name_likeness(old[1], new[1]) + 0.2 * same

    def _is_likely(self, old: TableProfile, a: str, new: TableProfile, b: str) -> bool:
        """Whether values, type and name together make `b` the column that was `a`."""
        content = self._content((old.name, a), (new.name, b))
        if content is None:
            return False  # neither has a value: nothing but a name would speak for it
        named = name_likeness(a, b)
        one, two = old.column(a), new.column(b)
        if family(one) != family(two) and named < NAMED:
            return False
        if one.distinct < TELLING and not content.by_rows:
            if not (named >= NAMED or (one.distinct > 1 and old.rows >= MANY)):
                return False
            return content.share >= (SURE if named >= NAMED else EXACT)
        return content.share >= SURE or (content.share >= FAIR and named >= NAMED)

    def _rows(self, table: str) -> int:
        return self.before.profile.table(table).rows

    # --- tables ---

    def _tables(self) -> dict[str, str]:
        """Old table to the new one that has its rows: the same name unless its values say otherwise, then renames."""
        names = [table.name for table in self.before.profile.tables if folded(table.name) in self.named]
        twins = {name: self.named[folded(name)].name for name in names}
        elsewhere = {old: place for old, twin in twins.items() if (place := self._moved_table(old, twin))}
        swapped = {old: place for old, place in elsewhere.items() if place in {twins[other] for other in elsewhere}}
        if set(swapped.values()) == {twins[old] for old in swapped}:
            twins |= swapped
        for old, place in elsewhere.items():
            if twins[old] != place and self._table_likeness(old, twins[old]) < UNLIKE:
                self.contested_tables[old] = place
        found = {o: n for o, n in twins.items() if o not in self.contested_tables and self._columns(o, n)}
        return found | self._renamed_tables(found)

    def _moved_table(self, old: str, twin: str) -> str | None:
        """The one other table that has exactly what `old` held, where the table of its name has not."""
        if self._table_likeness(old, twin) >= EXACT:
            return None
        others = [t.name for t in self.after.profile.tables if t.name != twin and t.rows == self._rows(old)]
        there = [name for name in others if self._table_likeness(old, name) >= EXACT]
        return there[0] if len(there) == 1 else None

    def _renamed_tables(self, found: Mapping[str, str]) -> dict[str, str]:
        left = [
            t.name for t in self.before.profile.tables if t.name not in found and t.name not in self.contested_tables
        ]
        free = [t.name for t in self.after.profile.tables if t.name not in found.values()]
        scores = {(a, b): self._table_likeness(a, b) + 0.2 * name_likeness(a, b) for a in left for b in free}
        renamed: dict[str, str] = {}
        for (a, b), score in sorted(scores.items(), key=lambda item: (-item[1], item[0])):
            if a in renamed or b in renamed.values() or self._table_likeness(a, b) < FAIR:
                continue
            rivals = [s for pair, s in scores.items() if (pair[0] == a) != (pair[1] == b)]
            if all(score - rival >= GAP for rival in rivals):
                renamed[a] = b
        return renamed

    def _table_likeness(self, old: str, new: str) -> float:
        """Mean likeness of the values of its columns, 0 for one that is not there; 0 where no column has a value."""
        pairs = self._columns(old, new)
        filled = [c.name for c in self.before.profile.table(old).columns if c.has_values]
        if not filled:
            return 0.0
        likes = [self.likeness((old, name), (new, pairs[name])) or 0.0 for name in filled if name in pairs]
        rows = self.before.profile.table(old).rows, self.after.profile.table(new).rows
        return sum(likes) / len(filled) * sqrt(min(rows) / max(*rows, 1))

    # --- columns in other tables ---

    def _complete(
        self,
        table: TableProfile,
        matches: dict[str, TableMatch],
        columns: dict[Place, ColumnMatch],
        taken: set[Place],
    ) -> None:
        """Look for the remaining columns of a table in tables that have the same rows, and say why the others were not
        found.
        """
        name = table.name
        if name in self.contested_tables:
            why = f"table {name} holds other rows now, and its own stand in {self.contested_tables[name]}"
            matches[name] = TableMatch(None, why=f"{why}: which one is meant is not certain")
        elif name not in matches:
            matches[name] = self._merged_into(table, columns, taken)
        main = matches[name].new
        left = [c.name for c in table.columns if (name, c.name) not in columns]
        if main is not None and left:
            pieces = self._pieces(table, main, left, columns, taken, by_rows=matches[name].by_rows)
            matches[name] = replace(matches[name], pieces=pieces)
        for column in left:
            if (name, column) not in columns:
                columns[name, column] = ColumnMatch(None, why=self._missing(table, column, main, columns))

    def _merged_into(self, table: TableProfile, columns: dict[Place, ColumnMatch], taken: set[Place]) -> TableMatch:
        """The table that now holds the rows of a table that is gone: it has the same keys, and columns that were not
        there before.

        Keys are often 1, 2, 3 ...: only further columns, half of them at least, tell that the rows are the same.
        """
        rest = [c.name for c in table.columns if c.distinct >= TELLING and c.name not in keys_of(table)[:1]]
        found: dict[tuple[str, str, str], set[str]] = {}
        for key in keys_of(table)[:1]:
            for other in self.after.profile.tables:
                free = [c.name for c in other.columns if (other.name, c.name) not in taken]
                for own in keys_of(other):
                    if other.rows == table.rows and self._exact((table.name, key), (other.name, own)):
                        there = {a for a in rest for b in free if self._exact((table.name, a), (other.name, b))}
                        found[other.name, key, own] = there
        if not rest or 2 * len(set().union(*found.values())) < len(rest):
            return TableMatch(None, why=f"table {table.name} is gone{self._nearest_table(table)}")
        home, key, own = max(found, key=lambda place: len(found[place]))
        columns[table.name, key] = self._described((table.name, key), (home, own))
        why = f"the rows of table {table.name} stand in {home} now: the same {key}, row by row"
        return TableMatch(home, why=why, by_rows=True)

    def _pieces(
        self,
        table: TableProfile,
        main: str,
        left: Sequence[str],
        columns: dict[Place, ColumnMatch],
        taken: set[Place],
        *,
        by_rows: bool,
    ) -> dict[str, tuple[str, str]]:
        pieces: dict[str, tuple[str, str]] = {}
        home = self.after.profile.table(main)
        left = [name for name in left if (table.name, name) not in self.contested]
        if by_rows:
            free = [c.name for c in home.columns if (main, c.name) not in taken]
            self._take(table, main, left, free, columns, taken)
        keys = [m.new[1] for (t, _), m in columns.items() if t == table.name and m.new is not None and m.new[0] == main]
        for other in self.after.profile.tables:
            waiting = [name for name in left if (table.name, name) not in columns]
            link = self._link(home, [key for key in keys if key in keys_of(home)], other)
            if link is None or not waiting:
                continue
            free = [c.name for c in other.columns if (other.name, c.name) not in taken and c.name != link[1]]
            if self._take(table, other.name, waiting, free, columns, taken):
                pieces[other.name] = link
        return pieces

    def _take(
        self,
        table: TableProfile,
        other: str,
        waiting: Sequence[str],
        free: Sequence[str],
        columns: dict[Place, ColumnMatch],
        taken: set[Place],
    ) -> bool:
        """Columns of `table` that `other` has for certain."""
        new = self.after.profile.table(other)
        pairs = best_pairs(self._scores(table, new, waiting, free))
        for (name, twin), margin in pairs.items():
            old = (table.name, name)
            content = self._content(old, (other, twin))
            share = content.share if content is not None else 0.0
            if margin >= GAP and (share >= SURE or (share >= FAIR and folded(name) == folded(twin))):
                columns[old] = self._described(old, (other, twin))
                taken.add((other, twin))
        return any(columns.get((table.name, name), ColumnMatch(None)).new is not None for name in waiting)

    def _link(self, home: TableProfile, keys: Iterable[str], other: TableProfile) -> tuple[str, str] | None:
        """The key by which `other` has exactly one row for each row of `home`."""
        if other is home or other.rows != home.rows:
            return None
        for key in keys:
            a = self.after.known[home.name, key]
            for own in keys_of(other):
                b = self.after.known[other.name, own]
                if a.complete and b.complete and a.values == b.values:
                    return key, own
        return None

    # --- words ---

    def _described(self, old: Place, new: Place) -> ColumnMatch:
        likeness = self.likeness(old, new)
        a, b = self.before.known[old], self.after.known[new]
        same = likeness is None or (likeness >= EXACT and self._rows(old[0]) == self.after.profile.table(new[0]).rows)
        share = held(a, b)
        replaced = bool(a.values) and b.complete and bool(b.values) and share < UNLIKE and self._rows_remain(old, new)
        return ColumnMatch(new, likeness, same, replaced, self._how(old, share))

    def _rows_remain(self, old: Place, new: Place) -> bool:
        """Whether the rows are still those: by their key, or by their number where there is none."""
        table, other = self.before.profile.table(old[0]), self.after.profile.table(new[0])
        twins = {folded(column.name): column.name for column in other.columns}
        keys = [key for key in keys_of(table) if folded(key) in twins and key != old[1]]
        if not keys:
            return table.rows == other.rows
        shares = [held(self.before.known[old[0], k], self.after.known[new[0], twins[folded(k)]]) for k in keys]
        return max(shares) >= UNLIKE

    def _how(self, old: Place, share: float) -> str:
        values = len(self.before.known[old].values)
        if not values:
            return "neither has a value"
        return f"{round(share * values):,} of {values:,} known values are there"

    def _why(self, old: str, new: str) -> str:
        if folded(old) == folded(new):
            return ""
        return f"table {old} is {new} now: its columns hold the same values"

    def _missing(self, table: TableProfile, column: str, main: str | None, columns: Mapping[Place, ColumnMatch]) -> str:
        where = f"{table.name}.{column}"
        if main is None:
            return f"{where} is gone with its table"
        if (table.name, column) in self.contested:
            other = ".".join(self.contested[table.name, column])
            return f"{where} holds other values now, and its own stand in {other}: which one is meant is not certain"
        taken = {match.new for match in columns.values()}
        candidates = [
            (self._score((table.name, column), (other.name, c.name)), other.name, c.name)
            for other in self.after.profile.tables
            for c in other.columns
            if (other.name, c.name) not in taken
        ]
        near = max(candidates, default=None)
        if near is None or near[0] < 0.3:
            return f"{where} is gone: no new column has its values"
        likeness = self.likeness((table.name, column), (near[1], near[2]))
        share = held(self.before.known[table.name, column], self.after.known[near[1], near[2]])
        told = "empty as well" if likeness is None else self._how((table.name, column), share)
        return f"{where} is gone; the nearest is {near[1]}.{near[2]} ({told}), which is not certain"

    def _nearest_table(self, table: TableProfile) -> str:
        known = {folded(t.name) for t in self.before.profile.tables}
        new = [t.name for t in self.after.profile.tables if folded(t.name) not in known]
        near = max(((self._table_likeness(table.name, name), name) for name in new), default=None)
        if near is None or near[0] < 0.2:
            return ""
        return f"; the nearest is {near[1]} ({near[0]:.0%} alike), which is not certain"

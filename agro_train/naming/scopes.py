"""What a query has named so far, and what its names may stand for: levels of brackets, sources, columns that wait.

Where a query may name what is defined later, only usual names pass: aliases of up to four letters and a number (`T1`,
`c`, `sub`), a table's own name, and outputs of a derived table that are columns of the schema or, without a qualifier,
as in `COMPUTED`.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, field, replace

from agro_train.naming.keyed import all_keyed, may_be_tied
from agro_train.naming.levels import EVERY, Columns, Level, Link, Names, Source
from agro_train.naming.words import AGGREGATES, ALIAS, BEFORE_TEXT, COMPUTED, SPECIAL

# A model that goes round writes one query into another, or joins without end: more than any query of Spider has (3, 5),
# and of brackets and digits more than any has.
DEEPEST = 4  # queries within queries
BRACKETS = 12  # within each other, and the query
SOURCES = 8  # of one query
DIGITS = 20  # of a number, with its point and exponent


@dataclass
class Scopes:
    """The levels of a query, the whole first. What changes them says False where a name has no table left."""

    names: Names
    levels: list[Level] = field(default_factory=lambda: [Level("query", "start")])

    def copy(self) -> Scopes:
        return Scopes(self.names, [copy(level) for level in self.levels])

    @property
    def top(self) -> Level:
        return self.levels[-1]

    @property
    def alias_may_follow(self) -> bool:
        """Whether the output that is read may be given a name without AS."""
        top = self.top
        return top.want == "after" and top.clause == "select" and top.alias_may_follow and not top.cases

    @property
    def may_deepen(self) -> bool:
        """Whether one more query may stand in those around."""
        return sum(level.kind == "query" for level in self.levels) < DEEPEST

    @property
    def may_nest(self) -> bool:
        """Whether one more bracket may stand in those around."""
        return len(self.levels) < BRACKETS

    def _query(self, place: int) -> int:
        """The place of the query that a level belongs to."""
        while self.levels[place].kind != "query":
            place -= 1
        return place

    def queries(self) -> Iterator[Level]:
        """The query that is being written, and those around it whose names it sees."""
        place = self._query(len(self.levels) - 1)
        while True:
            level = self.levels[place]
            yield level
            if place == 0:
                return
            place = self._query(place - 1)
            if not level.sees:  # what stands in FROM sees what the query sees that it stands in; a CTE sees nothing
                if self.levels[place].clause in ("", "with") or not self.levels[place].sees or place == 0:
                    return
                place = self._query(place - 1)

    def ctes(self) -> Iterator[tuple[str, Columns]]:
        """The CTEs that may be named, the nearest first."""
        for level in reversed(self.levels):
            yield from reversed(level.ctes)

    def columns(self) -> Iterator[Columns]:
        """Sets of what a name without a qualifier may be."""
        for level in self.queries():
            if not level.closed:
                yield self.names.columns
                yield from (columns for _, columns in self.ctes())
            yield level.named
            yield from (one.columns for one in level.sources)
            if level.clause == "order" and level.past:
                yield level.outputs
                yield from (one.columns for one in level.past)

    def may_be_text(self, quote: str) -> bool:
        """Whether what stands next may be a text of SQLite in double quotes: one behind a comparison, in the list of
        an IN, or in a function that computes with it, and not what is shown, counted, grouped or ordered by."""
        if quote != '"' or self.names.dialect != "sqlite":
            return False
        top = self.top
        if top.last not in ("(", ","):
            return top.last in BEFORE_TEXT
        if top.kind != "bracket":
            return False
        before = self.levels[-2].last
        computes = before in self.names.functions and before not in AGGREGATES
        return before == "in" or computes or (top.last == "(" and before in BEFORE_TEXT)

    def may_be_column(self, name: str) -> bool:
        """Whether `name` may be a column."""
        if name in SPECIAL:
            return True
        if any(has(columns, name) for columns in self.columns()):
            return True
        return COMPUTED.fullmatch(name) is not None and any(not level.closed for level in self.queries())

    def qualified_by(self, name: str) -> list[Columns]:
        """What a qualifier may stand for, as sets of columns; none where it may not be one."""
        found: list[Columns] = []
        for level in self.queries():
            own = [one.columns for one in (*level.sources, *level.past) if one.alias == name]
            if own:
                return found + own
            if level.clause == "select":
                used = {column for alias, column in level.qualified if alias == name}
                later = dict(self.ctes()) | self.names.tables
                alone = [later[name]] if name in later else []
                able = later.values() if ALIAS.fullmatch(name) else alone
                found += [one for one in able if all(has(one, column) for column in used)]
        return found

    def source_named(self, name: str) -> Source | None:
        """What FROM may name so; None where there is nothing of that name."""
        for cte, columns in self.ctes():
            if cte == name:
                return Source(name, columns)
        return Source(name, self.names.tables[name], name) if name in self.names.tables else None

    def conflicts(self, name: str, columns: Columns) -> bool:
        """Whether `name` was used for a column that is not among `columns`, or stands for another source."""
        twice = name != "" and sum(one.alias == name for one in self.top.sources) > 1
        return twice or any(alias == name and not has(columns, column) for alias, column in self.top.qualified)

    def bind(self) -> bool:
        """What FROM named last is now known by its name; False when that name was used for what it has not."""
        top = self.top
        if top.source is None:
            return True
        if len(top.sources) >= SOURCES:
            return False
        last, top.source = top.source, None
        top.sources = (*top.sources, last)
        return not self.conflicts(last.alias, last.columns)

    def refer(self, qualifier: str, name: str) -> bool:
        """Remember that a column was named. Behind a qualifier it must be one of what that may stand for."""
        if qualifier and name not in SPECIAL and not any(has(one, name) for one in self.qualified_by(qualifier)):
            return False
        if self.top.kind == "query" and self.top.clause == "select" and name != EVERY:
            self.top.outputs |= {name}
        if name in SPECIAL:
            return True
        for query in self.queries():
            if not query.closed and qualifier:
                query.qualified |= {(qualifier, name)}
            elif not query.closed:
                query.bare |= {name}
            if not query.closed or _offers(query, qualifier, name):
                return True
        return True

    def close_from(self) -> bool:
        """FROM is read: every name that waited belongs to a source, or waits for one of a query around."""
        own, *around = self.queries()
        if own.closed:
            return True
        own.closed = True
        for name in sorted(own.bare):
            if not any(has(columns, name) for columns in (own.named, *(one.columns for one in own.sources))):
                outer = next((one for one in around if not one.closed), None)
                if any(has(one.columns, name) for level in around for one in level.sources):
                    continue
                if outer is None:
                    return False
                outer.bare |= {name}
        for qualifier, name in sorted(own.qualified):
            bound = [one.columns for one in own.sources if one.alias == qualifier]
            bound = bound or [one.columns for level in around for one in level.sources if one.alias == qualifier][:1]
            if any(has(columns, name) for columns in bound):
                continue
            outer = next((one for one in around if not one.closed), None)
            if bound or outer is None:
                return False
            outer.qualified |= {(qualifier, name)}
        return True

    def begin_link(self) -> None:
        """Behind ON: the equality that follows must be over a key, if all sources have one."""
        top = self.top
        top.link = Link() if len(top.sources) > 1 and all_keyed(self.names, top.sources) else None

    def link_by(self, sign: str) -> bool:
        """A sign of that equality was read; False for any but its own."""
        top = self.top
        if top.link is None or top.link.want != "equals" or sign not in ("=", "=="):
            return False
        top.link, top.want, top.last = replace(top.link, want="right"), "operand", sign
        return True

    def link_with(self, qualifier: str, column: str) -> bool:
        """A column of that equality was read; False where it may not stand there."""
        top = self.top
        if top.link is None:
            return True
        found = frozenset(
            (place, name)
            for place, name in may_be_tied(self.names, top)
            if name == column and qualifier in ("", top.sources[place].alias)
        )
        if top.link.want == "left":
            top.link = Link("equals", found)
        else:
            top.link, top.tied = None, len(top.sources)
        return bool(found)

    def end_from(self) -> bool:
        """FROM ends here: its last source is known, and so is what every name that waited stands for."""
        return self.bind() and self.close_from()


def has(columns: Columns, name: str) -> bool:
    """Whether `name` may be one of `columns`, or stands for all of them."""
    return columns is None or name == EVERY or name in columns


def _offers(query: Level, qualifier: str, name: str) -> bool:
    """Whether a query whose FROM is read has what a name stands for."""
    sources = (*query.sources, *query.past)
    if qualifier:
        return any(one.alias == qualifier for one in sources)
    own = (query.named, query.outputs) if query.past else (query.named,)
    return any(has(columns, name) for columns in (*own, *(one.columns for one in sources)))


def outputs_of(level: Level) -> Columns:
    """The columns of a derived table, with some that it may not have; None where they are not known."""
    if not level.star:
        return level.outputs
    found = [one.columns for one in (*level.past, *level.sources)]
    known = [columns for columns in found if columns is not None]
    return frozenset(level.outputs).union(*known) if found and len(known) == len(found) else None

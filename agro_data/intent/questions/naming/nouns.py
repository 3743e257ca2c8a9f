"""What things are called: the tables, columns and joins of one query, seen from the rows that it yields."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property

from agro_data.intent.questions.naming import words
from agro_data.intent.questions.naming.relatives import key_person, key_role, linked, shortened
from agro_data.intent.questions.naming.vocabulary import CLIENTS, DEEDS, HOSTS, STATES
from agro_data.intent.questions.voice import Voice
from agro_data.intent.tree import Column, Cte, Expression, Join, Query, walk
from agro_data.profiling.kinds import day_of, named_as_people
from agro_data.profiling.profile import ColumnProfile, DatabaseProfile, TableProfile


class Scene:
    """Names for everything in scope of one query.

    The *grain* is the source that has one row for each row of the joined tables: the subject, moved to the child
    at every join from a parent to its children. Everything else is said in relation to it.
    """

    def __init__(
        self,
        query: Query,
        profile: DatabaseProfile,
        voice: Voice,
        outer: Scene | None = None,
        seen_from: TableProfile | None = None,
    ) -> None:
        self.query = query
        self.seen_from = seen_from  # of whose rows a query inside a condition is asked
        self.profile = profile
        self.voice = voice
        self.outer = outer
        self.tables = {s.alias: profile.by_name.get(s.table) for s in query.sources}
        self.ctes: dict[str, Cte] = {c.name: c for c in query.ctes}
        if outer is not None:
            self.ctes = {**outer.ctes, **self.ctes}
        self.cte_of = {s.alias: self.ctes[s.table] for s in query.sources if s.table in self.ctes}

    @cached_property
    def grain(self) -> str:
        grain = self.query.subject.alias
        for join in self.query.joins:
            if join.direction == "down" and join.left in self.lineage(grain):
                grain = join.right
        return grain

    def lineage(self, alias: str) -> set[str]:
        """The alias and all that it reaches upwards: what has exactly one row for each of its rows."""
        reached = {alias}
        for _ in self.query.joins:
            for join in self.query.joins:
                if join.direction == "up" and join.left in reached:
                    reached.add(join.right)
                elif join.direction == "down" and join.right in reached:
                    reached.add(join.left)
        return reached

    def neighbours(self, alias: str) -> list[tuple[str, Join, bool]]:
        """(other alias, join, whether the other is a parent) for each join at `alias`, in order."""
        found = []
        for join in self.query.joins:
            if join.left == alias:
                found.append((join.right, join, join.direction == "up"))
            elif join.right == alias:
                found.append((join.left, join, join.direction == "down"))
        return found

    def same(self, base: str, alias: str) -> bool:
        """Whether a row of `alias` is the very thing that a row of `base` is: the person that a gymnast is.

        So where a unique key leads from a noun of persons to "person", and the two have no column of one name; and of
        what only links, called as the other thing (`_beyond`).
        """
        if alias == base or (base in self._beyond and self._is(alias, self._beyond[base].name)):
            return True
        child, parent = self.tables.get(base), self.tables.get(alias)
        if child is None or parent is None or parent.singular != "person" or not words.is_person(child.singular):
            return False
        joins = [join for other, join, _ in self.neighbours(base) if other == alias]
        keys = [[pair[0 if join.left == base else 1] for pair in join.columns] for join in joins]
        unique = len(keys) == 1 and len(keys[0]) == 1 and child.column(keys[0][0]).unique
        return unique and self._own_phrases(base).isdisjoint(
            c.phrase.lower() for c in parent.columns if c.role != "identifier"
        )

    @cached_property
    def _days(self) -> dict[str, str]:
        """The days of a warehouse's calendar that are dates of other rows, with the source of these."""
        found: dict[str, str] = {}
        for alias, table in self.tables.items():
            of = [other for other, _, up in self.neighbours(alias) if not up]
            if table is not None and len(of) == 1 and day_of(table) and not self._grouped_by(alias):
                found[alias] = of[0]
        return found

    def is_day(self, alias: str) -> bool:
        """Whether a source is read for the date of other rows."""
        return alias in self._days

    def bearer(self, column: Column) -> str:
        """The source whose rows a column says something of, its own but for a date that is kept in a calendar: a day
        is the due date of an invoice, and its month that of the order whose only date it is.
        """
        base = self._days.get(column.source, "")
        table, child = self.tables.get(column.source), self.tables.get(base)
        if table is None or child is None:
            return column.source
        keys = [k for k in self.profile.foreign_keys if (k.table, k.ref_table) == (child.name, table.name)]
        only = len(keys) == 1 and table.by_name[column.name].phrase.lower() not in self._own_phrases(base)
        return base if only or column.name == day_of(table) else column.source

    def leaves_out(self, base: str, join: Join, other: str) -> bool:
        """Whether the join from rows of `base` up to `other` leaves out those that have none, and nothing shows it: no
        condition on what is joined, no group by it, and no list of all different such things.
        """
        child, query = self.tables.get(base), self.query
        if child is None or join.kind == "left" or (join.left if join.direction == "up" else join.right) != base:
            return False
        shown = tuple(o.expression for o in query.select) if query.distinct else ()
        groups = () if self.is_day(other) else (query.group_by, query.keep.partition if query.keep else ())
        beyond = self.beyond(base, other)
        sources = {n.source for n in walk((query.where, groups)) if isinstance(n, Column)}
        told = {n.source for n in walk(shown) if isinstance(n, Column)}
        if sources & beyond or (told and told <= beyond and not self.is_day(other)):
            return False
        lacking = any(child.by_name[name].null_share > 0 for name in self.key_columns(base, join))
        return lacking or self.dangles(base, join)

    def key_columns(self, base: str, join: Join) -> tuple[str, ...]:
        """The columns of `base` by which a join leads to what it belongs to."""
        return tuple(pair[0 if join.left == base else 1] for pair in join.columns)

    def dangles(self, base: str, join: Join) -> bool:
        """Whether some rows of `base` refer along the join to rows that are not there."""
        table, columns = self.tables.get(base), self.key_columns(base, join)
        keys = (
            k for k in self.profile.foreign_keys if table is not None and (k.table, k.columns) == (table.name, columns)
        )
        return any(key.orphan_share > 0 for key in keys)

    def beyond(self, alias: str, other: str) -> set[str]:
        """`other` and all that is joined beyond it, as seen from its neighbour `alias`."""
        found, frontier = {other}, [other]
        while frontier:
            for further, _, _ in self.neighbours(frontier.pop()):
                if further not in found and further != alias:
                    found.add(further)
                    frontier.append(further)
        return found

    def relation(self, join: Join) -> str:
        """The relation phrase of a join along a foreign key ("placed by"), where `semantics.yml` gives one."""
        child, parent = (join.left, join.right) if join.direction == "up" else (join.right, join.left)
        pairs = join.columns if join.direction == "up" else tuple((b, a) for a, b in join.columns)
        return self.verb(self.table(child), self.table(parent), pairs)

    def relation_of(self, alias: str) -> str:
        """The relation phrase by which rows of the grain belong to `alias`, or ""."""
        return next((self.relation(j) for other, j, up in self.neighbours(alias) if other == self.grain and not up), "")

    def verb(self, child: TableProfile | None, parent: TableProfile | None, pairs: Sequence[tuple[str, str]]) -> str:
        """The relation phrase of the foreign key with these (child column, parent column) pairs, or "".

        What the nouns tell is not said of a key with a role of its own: the billing customer may not have placed it.
        """
        if child is None or parent is None:
            return ""
        columns = tuple(a for a, _ in pairs)
        ends = (child.name, columns, parent.name)
        declared = next((k.verb for k in self.profile.foreign_keys if (k.table, k.columns, k.ref_table) == ends), "")
        if declared or key_role(self.profile, child, columns, parent) is not None:
            return declared
        return _deed(child.singular, parent.singular)

    def table(self, alias: str) -> TableProfile | None:
        if alias in self.tables:
            return self.tables[alias]
        return self.outer.table(alias) if self.outer is not None else None

    def column(self, column: Column) -> ColumnProfile | None:
        table = self.table(column.source)
        return table.by_name.get(column.name) if table is not None else None

    # --- nouns ---------------------------------------------------------------------------------------------------

    def one(self, alias: str) -> str:
        """Singular noun of a source; the role it plays where that is what tells two sources apart."""
        role = self._roles.get(alias)
        if role is not None:
            return role
        table = self._beyond.get(alias) or self.table(alias)
        if table is None:
            return "row"
        return self._shortened.get(alias, table.singular)

    def many(self, alias: str) -> str:
        if alias in self._roles:
            return words.plural(self._roles[alias])
        table = self._beyond.get(alias) or self.table(alias)
        if table is None:
            return "rows"
        return words.plural(self._shortened[alias]) if alias in self._shortened else table.plural

    @cached_property
    def _beyond(self) -> dict[str, TableProfile]:
        """What rows that only link two tables are called from a row of one: a track has playlists, no playlist tracks.

        So where each row of the other is met once: rows are grouped by the one, or asked for in a condition on it.
        """
        found: dict[str, TableProfile] = {}
        for alias, table in self.tables.items():
            ends = linked(self.profile, table) if table is not None else {}
            far = ends.keys() - self._near
            if len(far) != 1:
                continue
            [name] = far
            joined = [other for other, _, up in self.neighbours(alias) if up and self._is(other, name)]
            alone = len(joined) == sum(self._is(other, name) for other in self.tables)
            if alone and self._columns_of(alias) <= {column for columns in ends.values() for column in columns}:
                found[alias] = self.profile.table(name)
        return found

    @cached_property
    def _near(self) -> set[str]:
        """The tables of whose single rows the query asks: it groups by them, or is a condition on them."""
        grouped = {s.table for s in self.query.sources if self._grouped_by(s.alias)}
        return grouped if self.seen_from is None else grouped | {self.seen_from.name}

    @cached_property
    def _shortened(self) -> dict[str, str]:
        """What children of such a row are called where it is named: a form's drafts are no form drafts."""
        found: dict[str, str] = {}
        for alias, table in self.tables.items():
            if table is None or alias in self._beyond:
                continue
            beside = {other.singular for other in self.tables.values() if other is not None}
            for parent in map(self.profile.table, sorted(self._near - {table.name})):
                short = shortened(self.profile, table, parent)
                if short in beside:
                    continue  # whose "actor's name" would that actor have?
                far = next((t for t in self.profile.tables if t.singular == short), None)
                own = [table.column(name) for name in self._columns_of(alias)]
                # A flag says what the row is: a host is in charge at a party, which "is in charge" of nothing.
                mixed = far is not None and any(c.role == "boolean" or c.phrase in _phrases(far) for c in own)
                if short and not mixed:
                    found[alias] = short
        return found

    @property
    def passed_over(self) -> set[str]:
        """The tables that only link two others and are called as one of these."""
        aliases = [*self._beyond, *self._shortened]
        return {table.name for alias in aliases if (table := self.tables[alias]) is not None}

    def _is(self, alias: str, name: str) -> bool:
        table = self.tables.get(alias)
        return table is not None and table.name == name

    def _grouped_by(self, alias: str) -> bool:
        """Whether each group of the query is one row of `alias`."""
        table = self.tables[alias]
        grouped = {k.name for k in self.query.group_by if isinstance(k, Column) and k.source == alias}
        return table is not None and any(grouped.issuperset(key) for key in self.profile.keys(table.name))

    def _columns_of(self, alias: str) -> set[str]:
        """The columns of a source that the query shows or asks something of."""
        return {n.name for n in walk(self.query) if isinstance(n, Column) and n.source == alias}

    def is_person(self, alias: str) -> bool:
        """Whether rows are persons, by what they are called or by how they are named."""
        table = self.table(alias)
        return self.are_people(self.one(alias)) or (table is not None and named_as_people(table))

    def are_people(self, noun: str) -> bool:
        """Whether a noun is one of persons, or of rows that are named as persons."""
        called = (t for t in self.profile.tables if noun in (t.singular, t.plural))
        return words.is_person(noun) or any(map(named_as_people, called))

    def who(self, alias: str) -> str:
        return "who" if self.is_person(alias) else "that"

    def its(self, alias: str) -> str:
        return "their" if self.is_person(alias) else "its"

    @cached_property
    def _roles(self) -> dict[str, str]:
        roles: dict[str, str] = {}
        for join in self.query.joins:
            if join.direction not in ("up", "down") or (join.kind == "left" and join.direction == "down"):
                continue  # who wrote nothing is kept, too, and is no writer
            child, parent = (join.left, join.right) if join.direction == "up" else (join.right, join.left)
            child_columns = tuple(pair[0] if join.direction == "up" else pair[1] for pair in join.columns)
            role = self.role(child, child_columns, parent)
            if role is None and join.direction == "up":
                role = self._part_of_person(child, child_columns, parent)
            if role is not None and parent not in roles:
                roles[parent] = role
        return roles

    def plays_role(self, alias: str) -> bool:
        """Whether rows are called by what they are for others: the home team, and no team."""
        return alias in self._roles

    def _part_of_person(self, child: str, columns: tuple[str, ...], parent: str) -> str | None:
        """What `child` calls a person whom the database calls otherwise: the support rep that an employee is."""
        child_table, parent_table = self.table(child), self.table(parent)
        if child_table is None or parent_table is None or len(columns) != 1 or columns[0] not in child_table.by_name:
            return None
        phrase = key_person(child_table, columns[0], parent_table.singular)
        people = words.is_person(phrase) and words.is_person(parent_table.singular)
        nouns = {t.singular.lower() for t in self.profile.tables} | {parent_table.plural.lower()}
        return phrase if people and phrase.lower() not in nouns else None

    def role(self, child: str, columns: tuple[str, ...], parent: str) -> str | None:
        """The noun by which `child` calls its parent along this key, where the parent's own noun will not do."""
        return self.role_below(self, child, columns, parent)

    def tie(self, base: str, alias: str) -> str:
        """ "its stadium", "the city of its stadium"; "the corresponding city" where no parents lead there."""
        way = self._upwards(base, alias)
        if not way:
            return f"the corresponding {self.one(alias)}"
        said = f"{self.its(base)} {self.one(way[0])}"
        for further in way[1:]:
            said = f"the {self.one(further)} of {said}"
        return said

    def _upwards(self, base: str, alias: str) -> list[str]:
        """The aliases from `base` to `alias`, each a parent of the one before; [] where there is no such way."""
        for other, _, up in self.neighbours(base):
            if other == alias:
                return [other]
            if up and (rest := self._upwards(other, alias)):
                return [other, *rest]
        return []

    def referred(self, expression: Expression) -> tuple[TableProfile, str | None] | None:
        """The table whose rows a key column names, with the role that they play there; None where some name no row."""
        table = self.table(expression.source) if isinstance(expression, Column) else None
        if table is None or not isinstance(expression, Column):
            return None
        columns = (expression.name,)
        keys = [k for k in self.profile.foreign_keys if (k.table, k.columns) == (table.name, columns)]
        parent = self.profile.by_name.get(keys[0].ref_table) if len(keys) == 1 and not keys[0].orphan_share else None
        return None if parent is None else (parent, key_role(self.profile, table, columns, parent))

    def role_below(self, inner: Scene, child: str, columns: tuple[str, ...], parent: str) -> str | None:
        """Role that rows of `parent` here play for rows of `child` in the subquery `inner`, where it must be said."""
        child_table, parent_table = inner.table(child), self.table(parent)
        if child_table is None or parent_table is None:
            return None
        return key_role(self.profile, child_table, columns, parent_table)

    # --- columns -------------------------------------------------------------------------------------------------

    def phrase(self, column: Column) -> str:
        """Singular phrase of the column without its owner: "birth date"."""
        profile = self.column(column)
        if profile is None:
            return words.spelled(column.name)
        day = self.tables[column.source] if column.source in self._days else None
        if day is not None and column.name == day_of(day):
            return self.one(column.source)
        phrase = _flag(profile.phrase) if profile.role == "boolean" else profile.phrase
        if phrase.lower() == "id" and self._other_ids(column):
            phrase = f"{self.one(column.source)} {phrase}"
        phrase = f"{phrase} status" if profile.role == "category" and phrase in STATES else phrase
        return re.sub(r"\bID\b", "id", phrase) if self.voice.lower_id else phrase

    def _other_ids(self, column: Column) -> bool:
        """Whether the answer shows the id of something else, beside which a mere "id" might be that of anything."""
        others = [o.expression for o in self.query.select if isinstance(o.expression, Column)]
        found = [self.column(other) for other in others if other != column]
        return column in others and any(one is not None and one.phrase.lower().endswith(" id") for one in found)

    def names(self, column: Column) -> bool:
        """Whether the column alone is what rows of its source are called by."""
        table = self.table(column.source)
        return table is not None and table.label_columns == (column.name,)

    def owned(self, column: Column, base: str) -> str:
        """The column as seen from a row of `base`: "age", or "age of the customer" for another source."""
        phrase = self.phrase(column)
        bearer = self.bearer(column)
        if self.same(base, bearer):
            return phrase
        owner = self.one(bearer)
        if column.source not in self.tables:
            return f"{phrase} of the {owner}"
        return compound(owner, phrase, self.voice, self._own_phrases(base))

    def _own_phrases(self, alias: str) -> frozenset[str]:
        table = self.table(alias)
        return frozenset() if table is None else frozenset(c.phrase.lower() for c in table.columns)


def _deed(done: str, doer: str) -> str:
    """ "placed by" for the orders of a customer; "" where the nouns do not tell, or for a member of the staff."""
    participle = DEEDS.get(words.last_word(done).lower(), "")
    served = words.last_word(doer).lower() in CLIENTS and not doer.lower().startswith(HOSTS)
    return f"{participle} by" if participle and served else ""


def _phrases(table: TableProfile) -> set[str]:
    return {column.phrase for column in table.columns}


def _flag(phrase: str) -> str:
    """A yes/no column as a thing that has a value: "active" -> "active flag"."""
    nouns = ("flag", "status", "indicator", "sex", "gender", "type", "code", "value", "answer", "result")
    return phrase if phrase.rsplit(" ", 1)[-1].lower() in nouns else f"{phrase} flag"


def compound(owner: str, phrase: str, voice: Voice, taken: frozenset[str]) -> str:
    """ "name of the customer" or "customer name", the latter only where the base has no such column itself."""
    if phrase.lower().startswith(owner.lower() + " ") or phrase.lower() == owner.lower():
        return f"{phrase} of the {owner}" if phrase.lower() in taken else phrase
    short = compounded(owner, phrase)
    if short.lower() in taken or len(short.split(" ")) > 4:
        return f"{phrase} of the {owner}"
    return voice.pick(short, f"{phrase} of the {owner}")


def compounded(owner: str, phrase: str) -> str:
    """ "customer name"; "customer policy type" for the policy type of a customer policy."""
    before, _, last = owner.rpartition(" ")
    if phrase.lower().startswith((f"{owner.lower()} ", f"{last.lower()} ")):
        return phrase if phrase.lower().startswith(f"{owner.lower()} ") or not before else f"{before} {phrase}"
    return f"{owner} {phrase}"

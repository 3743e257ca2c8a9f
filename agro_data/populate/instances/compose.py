"""Partial rows closed under all constraints: what shares a key is one row, every reference has its parent, no free
column is left.

The chase of database theory, small: equal keys merge rows, a reference without a parent makes one, and a column without
a condition is drawn. Parents come before children, cycles and references to the own table last (populate.dag).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import partial

from agro_data.databases.schema.checks import allows, columns_of, order_in
from agro_data.databases.types import Cell
from agro_data.populate.dag import FillOrder, fill_order
from agro_data.populate.instances.constraints.claims import Claim, claimed_keys
from agro_data.populate.instances.constraints.states import keep_rules
from agro_data.populate.instances.constraints.trees import cut_circles
from agro_data.populate.instances.directed.balance import balance
from agro_data.populate.instances.directed.grounding import Grounding
from agro_data.populate.instances.directed.proposal import Focus, Proposal
from agro_data.populate.instances.partial_rows import Held, Key, Merged, Partial, hold, key_of, keys_of, meets, merged
from agro_data.populate.instances.values.draw import MOSTLY, Draws
from agro_data.populate.instances.values.near import above, below, fit
from agro_data.populate.schema import Columns, Rows, Schema, TableSpec, stream
from agro_data.profiling.profile import DatabaseProfile, ForeignKey
from agro_data.sql.names.resolution import Place

SELDOM, ROOTS = 0.1, 0.2  # share of references that are NULL where they may be, of those to the own table
BALANCED = 0.6  # share of instances in which the mean of a column, where it is asked for, is one of its values
FEW = 8  # of them among values that repeat
TRIES = 40  # draws for a key that no other row has, before the row is left out


def compose(
    schema: Schema,
    profile: DatabaseProfile,
    base: Rows,
    proposals: Sequence[Proposal],
    seed: int,
    focus: Focus | None = None,
) -> Rows:
    """All tables of `schema` filled with `base` and `proposals`, parents first; keys unique, foreign keys whole, checks
    kept, NULL only where a column may be NULL.

    Rows of one key are merged, and references follow; of two that disagree the first stays, and a row for which no free
    key is found, or nothing that its table's checks allow, is left out. A foreign key of `base` that points nowhere is
    drawn again. Pure: the same arguments give the same rows.
    """
    return _Composer(schema, Draws(schema, profile, focus or Focus(), seed), seed).compose(base, proposals)


def random_rows(
    schema: Schema, profile: DatabaseProfile, seed: int, rows: int | Mapping[str, int], literals: Focus | None = None
) -> Rows:
    """`rows` random rows for each table (or as many as it says for a table), closed under all constraints.

    Values are few, so that they repeat and meet each other; those that `literals` names are common among them.
    """
    counts = {t.name: rows if isinstance(rows, int) else rows.get(t.name, 0) for t in schema.tables}
    empty: dict[str, list[Partial]] = {name: [{} for _ in range(count)] for name, count in counts.items()}
    return _Composer(schema, Draws(schema, profile, literals or Focus(), seed), seed).close(empty)


@dataclass(frozen=True)
class _Filling:
    """What the rows of one table are completed with."""

    spec: TableSpec
    pools: Mapping[ForeignKey, list[Key]]  # the parents for keys to tables that have their rows
    taken: Mapping[tuple[str, ...], set[Key]]  # of each key of the table what rows have; what is made is added
    waiting: Set[str]  # columns of keys that are linked once the rows are there


class _Composer:
    def __init__(self, schema: Schema, draws: Draws, seed: int) -> None:
        self.schema, self.draws = schema, draws
        self.order: FillOrder = fill_order(schema)
        self.rng = stream(seed, "compose", schema.name)
        self.grounding = Grounding(schema, draws, self.rng)
        self.claimed: set[Claim] = set()  # keys that only some rows of a table have

    def compose(self, base: Rows, proposals: Sequence[Proposal]) -> Rows:
        made: dict[str, list[Partial]] = {table.name: [] for table in self.schema.tables}
        for proposal in proposals:
            for table, row in self.grounding.rows(proposal):
                made[table].append(row)
        for table, rows in made.items():
            for row in rows:
                for column, value in row.items():
                    self.grounding.take((table, column), value)
        for table, columns in base.items():
            names = list(columns)
            for values in zip(*columns.values(), strict=True):
                made[table].append(dict(zip(names, values, strict=True)))
        return self.close(self._without_dangling(made, base))

    def close(self, rows: dict[str, list[Partial]]) -> Rows:
        """Complete rows of partial ones."""
        self._merge(rows)
        self._add_parents(rows)
        filled: dict[str, list[Partial]] = {}
        for name in self.order.tables:
            filled[name] = self._fill(self.schema.by_name[name], rows[name], filled)
        for key in self.order.deferred:
            self._link_late(key, filled)
        for name, rows_of in filled.items():  # a key within a cycle may have come late
            filled[name] = [row for row in rows_of if meets(self.schema.by_name[name], row)]
        self._drop_orphans(filled)
        return {name: self._columns(self.schema.by_name[name], filled[name]) for name in self.order.tables}

    # --- constraints ---------------------------------------------------------------------------------------------

    def _without_dangling(self, rows: dict[str, list[Partial]], base: Rows) -> dict[str, list[Partial]]:
        """References of base rows that point nowhere are forgotten, so that they are drawn again."""
        whole = set(base)
        for key in self.schema.foreign_keys:
            if key.table not in whole:
                continue
            known = {key_of(row, key.ref_columns) for row in rows[key.ref_table]}
            count = len(base[key.table][key.columns[0]])
            for row in rows[key.table][len(rows[key.table]) - count :]:
                value = key_of(row, key.columns)
                if value is not None and self._as_parent(key, value) not in known:
                    for column in key.columns:
                        row.pop(column, None)
        return rows

    def _as_parent(self, key: ForeignKey, value: Key) -> Key:
        parent = self.schema.by_name[key.ref_table]
        return tuple(fit(cell, parent.by_name[c]) for cell, c in zip(value, key.ref_columns, strict=True))

    def _merge(self, rows: dict[str, list[Partial]]) -> None:
        """Rows that share a key become one, and what referred to any of them refers to what it became."""
        waiting = dict.fromkeys(self.order.tables)
        while waiting:
            name = next(iter(waiting))
            del waiting[name]
            rows[name], groups = merged(self.schema.by_name[name], rows[name])
            for key in self.schema.foreign_keys:
                if key.ref_table == name and self._follow(key, groups, rows[key.table]):
                    waiting[key.table] = None  # a reference may be part of a key

    def _follow(self, key: ForeignKey, groups: Sequence[Merged], rows: Sequence[Partial]) -> bool:
        """Let `rows` refer to merged rows in place of those of which each was made; whether any did not before."""
        became: dict[Key, Key] = {}
        for whole, parts in groups:
            now = key_of(whole, key.ref_columns)
            before = (key_of(part, key.ref_columns) for part in parts)
            became |= {value: now for value in before if value is not None and now is not None and value != now}
        spec = self.schema.by_name[key.table]
        found = False
        for row in rows if became else ():
            value = key_of(row, key.columns)
            if value is not None and (now := became.get(self._as_parent(key, value))) is not None:
                row.update({c: fit(cell, spec.by_name[c]) for c, cell in zip(key.columns, now, strict=True)})
                found = True
        return found

    def _add_parents(self, rows: dict[str, list[Partial]]) -> None:
        """A partial parent for each reference that has none; parents may refer on."""
        places = [(key.ref_table, key.ref_columns) for key in self.schema.foreign_keys]
        places += [(key.table, key.columns) for key in self.schema.foreign_keys if self._needs_own_parent(key)]
        index: Held = {(table, columns): set(keys_of(rows[table], columns)) for table, columns in dict.fromkeys(places)}
        work = [(name, row) for name in reversed(self.order.tables) for row in rows[name]]
        while work:
            name, row = work.pop()
            for key in self.schema.keys_of(name):
                self._own_parent(key, row, index)
                value = key_of(row, key.columns)
                if value is None:
                    continue
                value = self._as_parent(key, value)
                known = index[(key.ref_table, key.ref_columns)]
                if value in known:
                    continue
                parent = dict(zip(key.ref_columns, value, strict=True))
                hold(index, key.ref_table, parent)
                for column, cell in parent.items():
                    self.grounding.take((key.ref_table, column), cell)
                rows[key.ref_table].append(parent)
                work.append((key.ref_table, parent))

    def _needs_own_parent(self, key: ForeignKey) -> bool:
        """Whether each row of a table needs a parent that no other row has."""
        spec = self.schema.by_name[key.table]
        return len(key.columns) == 1 and not spec.by_name[key.columns[0]].nullable and spec.is_unique(key.columns)

    def _own_parent(self, key: ForeignKey, row: Partial, index: Held) -> None:
        """Give a row that no other may share its parent with a new one: it would take that of a row that has no child,
        or find none. Where a type holds no further value it is left to these.
        """
        first = key.columns[0]
        if first in row or not self._needs_own_parent(key):
            return
        value = self.grounding.new((key.table, first))
        if (value,) not in index[(key.table, key.columns)] and self.draws.can_hold((key.table, first), value):
            row[first] = value
            hold(index, key.table, row)

    # --- columns -------------------------------------------------------------------------------------------------

    def _fill(self, spec: TableSpec, rows: Sequence[Partial], filled: Mapping[str, list[Partial]]) -> list[Partial]:
        """Whole rows of the partial `rows` of a table; those that it cannot hold are left out."""
        keys = self.schema.keys_of(spec.name)
        own = [key for key in keys if key in self.order.own]
        late = [key for key in keys if key in self.order.deferred]
        now = [key for key in keys if key not in own and key not in late]
        filling = _Filling(
            spec,
            # The first of a pool have most children; rows that a query is about come first.
            pools={key: keys_of(filled[key.ref_table], key.ref_columns)[:: self.rng.choice((1, -1))] for key in now},
            taken={key: set(keys_of(rows, key)) for key in spec.keys},
            waiting=frozenset(column for key in (*own, *late) for column in key.columns),
        )
        out: list[Partial] = []
        free: list[set[str]] = []  # columns without a condition, row by row
        for given in rows:
            row = self._row(filling, given)
            if row is not None:
                out.append(row)
                free.append({column for column in row if column not in given})
        for key in own:
            self._link_own(key, out)
            cut = next((c for c in key.columns if spec.by_name[c].nullable), None)
            if key.tree and cut is not None:
                cut_circles(out, free, cut, partial(self._link, key))
        self._balance(spec, out, free)
        return out

    def _balance(self, spec: TableSpec, rows: Sequence[Partial], free: Sequence[Set[str]]) -> None:
        """Mostly one row lies at the mean of a column, or at so many times it, where the query asks for that."""
        paired = {column for check in spec.checks if len(about := columns_of(check)) > 1 for column in about}
        paired |= {rule.state for rule in spec.null_rules}
        paired |= {column for key, where in spec.partial_keys for column in (*key, *columns_of(where))}
        for column in spec.columns:
            place = (spec.name, column.name)
            loose = place not in self.grounding.key_columns and column.name not in paired
            times = sorted(often for asked, often in self.draws.focus.averaged if asked == place)
            if times and loose and self.rng.random() < BALANCED:
                often = times[0] if len(times) == 1 else self.rng.choice(times)
                balance(rows, column.name, partial(self._may, place, rows), free, self.rng, often)

    def _may(self, place: Place, rows: Sequence[Partial], number: float) -> bool:
        """Whether a number may stand in a column whose rows are made."""
        apart = place in self.draws.focus.ordered and any(row[place[1]] == number for row in rows)
        return not apart and self.draws.can_hold(place, number)

    def _row(self, filling: _Filling, given: Partial) -> Partial | None:
        """A whole row of what is `given`, with keys that no other row has; None where none is found."""
        spec = filling.spec
        if not meets(spec, given):
            return None
        free_keys = [key for key in spec.keys if any(column not in given for column in key)]
        drawn = {column for key in free_keys for column in key}
        fixed = {*given, *drawn}
        for number in range(TRIES):
            row = self._draw(filling, given, drawn, in_vain=number >= FEW)
            if row is None:
                return None
            if not keep_rules(spec.null_rules, row, fixed, lambda name: self.draws.known((spec.name, name))):
                continue
            values = [(key, key_of(row, key)) for key in free_keys]
            claims = claimed_keys(spec, row)
            is_new = all(value is None or value not in filling.taken[key] for key, value in values)
            if is_new and meets(spec, row) and self.claimed.isdisjoint(claims):
                self.claimed.update(claims)
                for key, value in values:
                    if value is not None:
                        filling.taken[key].add(value)
                return row
        return None

    def _draw(self, filling: _Filling, given: Partial, drawn: Set[str], *, in_vain: bool) -> Partial | None:
        """What is `given` with parents and values; None where it can have no parents. `in_vain`: few values that meet
        each other were tried, so that those of keys (`drawn`) are new ones, and others are put in order.
        """
        spec, row = filling.spec, dict(given)
        for key, pool in filling.pools.items():
            if not self._refer(spec, row, key, pool):
                return None
        for column in spec.columns:
            if column.name in row:
                continue
            if in_vain and column.name in drawn:
                row[column.name] = self.draws.new((spec.name, column.name))
            else:
                row[column.name] = self._cell(spec, column.name, filling.waiting)
        if spec.checks and in_vain:
            self._put_in_order(spec, row, {*given, *drawn, *filling.waiting})
        return row

    def _put_in_order(self, spec: TableSpec, row: Partial, fixed: Set[str]) -> None:
        """Values for columns that are not `fixed` beside those that their order is checked with: of a day that lies
        beyond all others no drawn one is the end.
        """
        for check in spec.checks:
            order = order_in(check) if not allows(check, row) else None
            for column, other in ((order[1], order[0]), order[:2]) if order is not None else ():
                place, value = (spec.name, column), row[other]
                if column in fixed or place in self.grounding.key_columns:
                    continue
                near = [fit(value, spec.by_name[column]), *above(value, spec.by_name[column])]
                near += below(value, spec.by_name[column])
                may = [v for v in near if self.draws.can_hold(place, v) and allows(check, {**row, column: v})]
                if may:
                    row[column] = self.rng.choice(may)
                    break

    def _refer(self, spec: TableSpec, row: Partial, key: ForeignKey, pool: list[Key]) -> bool:
        """Choose a parent for the columns of `key` that are free; False where no parent fits those that are not."""
        free = [column for column in key.columns if column not in row]
        if not free:
            return True
        if all(spec.by_name[c].nullable for c in free) and self.rng.random() < self._nulls(spec, free, SELDOM):
            row.update(dict.fromkeys(free))
            return True
        given = [(place, row[c]) for place, c in enumerate(key.columns) if c in row]
        fitting = [ref for ref in pool if all(ref[place] == value for place, value in given)] if given else pool
        if not fitting:
            if all(spec.by_name[c].nullable for c in free):
                row.update(dict.fromkeys(free))
                return True
            return False
        # the square makes some parents have many children, and leaves some without
        ref = fitting[int(len(fitting) * self.rng.random() ** 2)]
        for column, cell in zip(key.columns, ref, strict=True):
            row.setdefault(column, fit(cell, spec.by_name[column]))
        return True

    def _nulls(self, spec: TableSpec, columns: Sequence[str], usual: float) -> float:
        """The share of references in these columns that are NULL."""
        return MOSTLY if any((spec.name, column) in self.draws.focus.unknown for column in columns) else usual

    def _cell(self, spec: TableSpec, column: str, waiting: Set[str]) -> Cell:
        if column in waiting and spec.by_name[column].nullable:
            return None
        place = (spec.name, column)
        alone = spec.is_unique((column,))
        if alone:
            return self.draws.new(place)
        return self.draws.known(place) if column in spec.primary_key else self.draws.value(place)

    def _link_own(self, key: ForeignKey, rows: list[Partial]) -> None:
        """References of a table to itself that are still free or point nowhere: to an earlier row, a root to none."""
        refs = [key_of(row, key.ref_columns) for row in rows]
        known = {ref for ref in refs if ref is not None}

        def earlier(number: int) -> Key | None:
            return refs[int(number * self.rng.random())] or refs[number]

        self._link_free(key, rows, known, earlier, is_root=lambda number: number == 0)

    def _link_late(self, key: ForeignKey, filled: dict[str, list[Partial]]) -> None:
        """A key within a cycle of tables, once all of them have rows."""
        pool = keys_of(filled[key.ref_table], key.ref_columns)

        def any_of_them(_: int) -> Key | None:
            return self.rng.choice(pool) if pool else None

        self._link_free(key, filled[key.table], set(pool), any_of_them, is_root=lambda _: not pool)

    def _link_free(
        self,
        key: ForeignKey,
        rows: list[Partial],
        known: Set[Key],
        parent: Callable[[int], Key | None],
        *,
        is_root: Callable[[int], bool],
    ) -> None:
        """References that are still free or point at nothing `known` get a `parent`, or NULL where they may: a root
        always, and some of the others.
        """
        spec = self.schema.by_name[key.table]
        nullable = all(spec.by_name[c].nullable for c in key.columns)
        for number, row in enumerate(rows):
            value = key_of(row, key.columns)
            if value is not None and self._as_parent(key, value) in known:
                continue
            if nullable and (is_root(number) or self.rng.random() < self._nulls(spec, key.columns, ROOTS)):
                row.update(dict.fromkeys(key.columns))
            elif (chosen := parent(number)) is not None:
                row.update({c: fit(v, spec.by_name[c]) for c, v in zip(key.columns, chosen, strict=True)})

    def _link(self, key: ForeignKey, row: Partial) -> tuple[tuple[Cell, ...] | None, tuple[Cell, ...] | None]:
        """A row's own key, and the one that it refers to."""
        value = key_of(row, key.columns)
        return key_of(row, key.ref_columns), value and self._as_parent(key, value)

    def _drop_orphans(self, filled: dict[str, list[Partial]]) -> None:
        """What still refers to nothing goes, and what referred to that."""
        changed = True
        while changed:
            changed = False
            for key in self.schema.foreign_keys:
                known = set(keys_of(filled[key.ref_table], key.ref_columns))
                rows = filled[key.table]
                kept = [
                    row
                    for row in rows
                    if (value := key_of(row, key.columns)) is None or self._as_parent(key, value) in known
                ]
                if len(kept) < len(rows):
                    filled[key.table], changed = kept, True

    def _columns(self, spec: TableSpec, rows: list[Partial]) -> Columns:
        """Rows as columns, in an order that says nothing."""
        shuffled = random.Random(self.rng.random()).sample(rows, len(rows))
        if any(key.table == spec.name for key in self.order.own):
            shuffled = rows  # engines that check each row want the referred one first
        return {column.name: [row[column.name] for row in shuffled] for column in spec.columns}

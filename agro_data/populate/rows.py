"""Rows for every table of a schema: parents first, children over their parents, then what depends on other columns.

Pure: the same schema, plan and seed give the same rows. Structural-aware synthesis after AGRO-SQL (arXiv 2512.23366);
the fan-out of 0, 1 and many children a parent is our decision (METHODS 1.1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, TypeVar

from agro_data.databases.types import Cell
from agro_data.populate import links
from agro_data.populate.columns import RowContext, dependencies, fill, paths, rollup
from agro_data.populate.dag import fill_order
from agro_data.populate.generators import new_faker
from agro_data.populate.guess import guess_hint
from agro_data.populate.hints import After, ColumnHint, Formula, Parent, Plan, Rollup, Series, TablePlan
from agro_data.populate.schema import Columns, PopulateError, Rows, Schema, TableSpec, stream
from agro_data.profiling.profile import ForeignKey

if TYPE_CHECKING:
    from faker import Faker

DEFAULT_NULL_SHARE = 0.08
_Place = TypeVar("_Place")


@dataclass
class _Table:
    """A table while it is being filled. `parents` holds, for each foreign key, the parent's row number of each row."""

    spec: TableSpec
    plan: TablePlan
    hints: dict[str, ColumnHint]
    count: int
    columns: Columns = field(default_factory=dict)
    parents: dict[ForeignKey, list[int | None]] = field(default_factory=dict)

    def keep(self, order: Sequence[int]) -> None:
        """Keep the rows whose numbers are in `order`, in that order."""
        self.columns = {name: [values[i] for i in order] for name, values in self.columns.items()}
        self.parents = {key: [rows[i] for i in order] for key, rows in self.parents.items()}
        self.count = len(order)


def build_rows(schema: Schema, plan: Plan, seed: int) -> Rows:
    """Rows of all tables, in the order to insert them (parents first).

    `plan` needs an entry for each table. Row counts are as planned, less the rows that a composite key leaves no
    room for. Raises `PopulateError` that names table and column where a hint cannot be met.
    """
    unplanned = [table.name for table in schema.tables if table.name not in plan]
    unknown = [name for name in plan if name not in schema.by_name]
    if unplanned or unknown:
        raise PopulateError(f"{schema.name}: tables without a plan: {unplanned}; plans without a table: {unknown}")
    return _Builder(schema, plan, seed).build()


class _Builder:
    def __init__(self, schema: Schema, plan: Plan, seed: int) -> None:
        self.schema, self.seed = schema, seed
        self.order = fill_order(schema)
        if self.order.broken:
            key = self.order.broken[0]
            raise PopulateError(
                f"{schema.name}: {key.table}.{', '.join(key.columns)} is part of a key and of a cycle through "
                f"{key.ref_table}: no table of the cycle can be filled first"
            )
        self.faker: Faker = new_faker()
        self.tables = {t.name: self._start(t, plan[t.name]) for t in schema.tables}
        self.late = self._find_late()

    def build(self) -> Rows:
        for name in self.order.tables:
            self._fill(self.tables[name])
        for key in self.order.deferred:
            table = self.tables[key.table]
            if set(key.columns) <= set(table.plan.records):
                table.parents[key] = self._recorded(table, key)
            else:
                self._draw(table, key)
        self._fill_late()
        return {
            name: {c.name: self.tables[name].columns[c.name] for c in self.tables[name].spec.columns}
            for name in self.order.tables
        }

    def _start(self, spec: TableSpec, plan: TablePlan) -> _Table:
        for column in (*plan.hints, *plan.records, *((plan.sort,) if plan.sort else ())):
            if column not in spec.by_name:
                raise PopulateError(f"{self.schema.name}: {spec.name} has no column {column!r} (hint, record or sort)")
        hints = {c.name: plan.hints.get(c.name) or self._default(spec, c.name) for c in spec.columns}
        return _Table(spec, plan, hints, plan.rows)

    def _default(self, spec: TableSpec, column: str) -> ColumnHint:
        if spec.primary_key == (column,) and spec.by_name[column].kind == "integer":
            return ColumnHint(Series())
        return guess_hint(spec.name, spec.by_name[column], unique=spec.is_unique((column,)))

    # --- one table ---

    def _fill(self, table: _Table) -> None:
        for name, values in table.plan.records.items():
            table.columns[name] = list(values)
            table.count = len(values)
        late = {column for name, column in self.late if name == table.spec.name}
        for key in self._own_keys(table):
            if set(key.columns) <= set(table.plan.records) and key not in (
                *self.order.own,
                *self.order.deferred,
            ):
                table.parents[key] = self._recorded(table, key)
        held = {column for key in (*self.order.deferred, *self.order.own) for column in key.columns}
        for key in self._own_keys(table):
            waits = (*self.order.own, *self.order.deferred, *self.order.broken)
            if key not in waits and key not in table.parents:
                self._draw(table, key)
        todo = [
            c.name
            for c in table.spec.columns
            if c.name not in table.columns
            and c.name not in late
            and not (c.name in held and self._waits(table, c.name))
        ]
        ordered = self._by_dependency(table, todo)
        numbered = self._after_numbering(table, ordered)
        for name in ordered:
            if name not in numbered:
                self._make(table, name)
        self._drop_duplicates(table)
        self._sort(table)
        for name in ordered:
            if name in numbered:
                self._make(table, name)
        self._drop_duplicates(table)
        for key in self.order.own:
            if key.table == table.spec.name:
                recorded = set(key.columns) <= set(table.plan.records)
                table.parents[key] = self._recorded(table, key) if recorded else self._draw_own(table, key)
        self._order_by_key(table)

    def _own_keys(self, table: _Table) -> list[ForeignKey]:
        """Foreign keys of the table, each after those whose parents its hint reads."""
        rank = {name: i for i, name in enumerate(self.order.tables)}
        keys = self.schema.keys_of(table.spec.name)
        # of two keys that share a column the one whose parent is itself a child leaves less choice: it goes first
        return sorted(keys, key=lambda k: (bool(self._parent_hint(table, k).match), -rank[k.ref_table]))

    def _waits(self, table: _Table, column: str) -> bool:
        keys = [k for k in (*self.order.deferred, *self.order.own) if k.table == table.spec.name]
        return any(column in key.columns for key in keys) and not any(column in k for k in table.spec.keys)

    def _find_late(self) -> set[tuple[str, str]]:
        """Rollups, and the columns of any table that read one: they wait until all tables have rows."""
        hints = {(t.spec.name, c): h for t in self.tables.values() for c, h in t.hints.items()}
        late = {place for place, hint in hints.items() if isinstance(hint.maker, Rollup)}
        while True:
            more = {
                place for place, hint in hints.items() if place not in late and late & self._sources(place[0], hint)
            }
            if not more:
                return late
            late |= more

    def _sources(self, table: str, hint: ColumnHint) -> set[tuple[str, str]]:
        """The (table, column) places that a hint reads."""
        if isinstance(hint.maker, Rollup):
            return {(hint.maker.table, hint.maker.column)}
        found: set[tuple[str, str]] = set()
        for path in paths(hint):
            *heads, column = path.split(".")
            place = table
            for head in heads:
                found |= {(place, head)} & {(place, c) for c in self.schema.by_name[place].by_name}
                place = self._key(place, head).ref_table
            found.add((place, column))
        return found

    def _key(self, table: str, head: str) -> ForeignKey:
        """The foreign key that the first part of a path names: by its column, or by the parent table."""
        keys = [k for k in self.schema.keys_of(table) if k.columns == (head,) or k.ref_table == head]
        if len(keys) != 1:
            raise PopulateError(
                f"{self.schema.name}: {table}: {head!r} in a path names {len(keys)} foreign keys, expected 1"
            )
        return keys[0]

    def _after_numbering(self, table: _Table, ordered: list[str]) -> set[str]:
        """Series, and the columns that read one: they wait until the rows are sorted."""
        if not table.plan.sort:
            return set()
        found: set[str] = set()
        for name in ordered:
            hint = table.hints[name]
            if isinstance(hint.maker, Series) or found & set(dependencies(hint)):
                found.add(name)
        return found

    def _by_dependency(self, table: _Table, names: list[str]) -> list[str]:
        return self._sorted({n: [d for d in dependencies(table.hints[n]) if d in names and d != n] for n in names})

    def _sorted(self, graph: dict[_Place, list[_Place]]) -> list[_Place]:
        try:
            return list(TopologicalSorter(graph).static_order())
        except CycleError as error:
            raise PopulateError(f"{self.schema.name}: column hints read each other: {error.args[1]}") from None

    def _make(self, table: _Table, name: str) -> None:
        column, hint = table.spec.by_name[name], table.hints[name]
        rng = stream(self.seed, self.schema.name, table.spec.name, name)
        context = RowContext(table.count, lambda path: self._read(table, path), column, rng, self.faker)
        unique = hint.unique or table.spec.is_unique((name,))
        try:
            values = fill(hint.maker, context, unique)
        except PopulateError as error:
            raise PopulateError(f"{self.schema.name}: {table.spec.name}.{name}: {error}") from error
        if column.nullable:
            values = self._with_nulls(table, name, values)
        elif None in values:
            raise PopulateError(
                f"{self.schema.name}: {table.spec.name}.{name} is NOT NULL, "
                f"but its hint gave NULL in row {values.index(None)}"
            )
        table.columns[name] = values

    def _with_nulls(self, table: _Table, name: str, values: list[Cell]) -> list[Cell]:
        hint = table.hints[name]
        natural = hint.only_if or isinstance(hint.maker, After | Formula | Rollup)
        share = hint.null_share if hint.null_share is not None else (0.0 if natural else DEFAULT_NULL_SHARE)
        rng = stream(self.seed, self.schema.name, table.spec.name, name, "null")
        kept = [None if rng.random() < share else value for value in values]
        for column, allowed in hint.only_if:
            kept = [v if c in allowed else None for v, c in zip(kept, self._read(table, column), strict=True)]
        return kept

    def _read(self, table: _Table, path: str) -> list[Cell]:
        """Values of `path` for each row: a column, or `key.column` where key is an FK column or a parent table."""
        head, _, rest = path.partition(".")
        if not rest:
            if head not in table.columns:
                raise PopulateError(f"{path!r} is read before it is filled, or is no column of {table.spec.name}")
            return table.columns[head]
        key = self._key(table.spec.name, head)
        if key not in table.parents:
            raise PopulateError(f"{path!r} is read before {head!r} is filled")
        above = self._read(self.tables[key.ref_table], rest)
        return [None if i is None else above[i] for i in table.parents[key]]

    def _sort(self, table: _Table) -> None:
        if table.plan.sort:
            values = table.columns[table.plan.sort]
            table.keep(sorted(range(table.count), key=lambda i: (values[i] is None, values[i], i)))

    def _order_by_key(self, table: _Table) -> None:
        """Rows of a composite key stand in its order, as an application that adds line after line leaves them."""
        key = table.spec.primary_key
        if len(key) > 1 and not table.plan.sort and not self._is_parent(table.spec.name):
            values = list(zip(*(table.columns[c] for c in key if c in table.columns), strict=True))
            table.keep(sorted(range(table.count), key=lambda i: values[i]))

    def _is_parent(self, table: str) -> bool:
        return any(key.ref_table == table for key in self.order.own)

    def _drop_duplicates(self, table: _Table) -> None:
        for key in table.spec.keys:
            if any(column not in table.columns for column in key):
                continue
            first: dict[tuple[Cell, ...], int] = {}
            spare = []
            for i, value in enumerate(zip(*(table.columns[c] for c in key), strict=True)):
                if None in value:
                    spare.append(i)
                else:
                    first.setdefault(value, i)
            if len(first) + len(spare) < table.count:
                table.keep(sorted([*first.values(), *spare]))

    # --- foreign keys ---

    def _parent_hint(self, table: _Table, key: ForeignKey) -> Parent:
        maker = next((table.plan.hints[c].maker for c in key.columns if c in table.plan.hints), None)
        return maker if isinstance(maker, Parent) else Parent()

    def _draw(self, table: _Table, key: ForeignKey) -> None:
        parent = self.tables[key.ref_table]
        hint = self._parent_hint(table, key)
        where = f"{self.schema.name}: {table.spec.name}.{', '.join(key.columns)}"
        rng = stream(self.seed, self.schema.name, table.spec.name, *key.columns)
        refs = list(zip(*(parent.columns[c] for c in key.ref_columns), strict=True))
        pool = [i for i, ref in enumerate(refs) if None not in ref]
        if not pool:
            raise PopulateError(f"{where}: the parent table {key.ref_table} has no row to refer to")
        given = [
            (ref, table.columns[c]) for ref, c in zip(key.ref_columns, key.columns, strict=True) if c in table.columns
        ]
        given = [pair for pair in given if key not in self.order.deferred or pair[0] in dict(hint.match)]
        given += [(column, self._read(table, path)) for column, path in hint.match]
        differs = links.exclusion(refs, table.columns.get(hint.differs_from), table.count)
        if table.spec.is_unique(key.columns) and not given:
            drawn = links.one_to_one(pool, table.count, rng)
            table.keep(range(len(drawn)))
        elif given:
            drawn = links.matching(pool, parent.columns, given, table.count, rng=rng, hint=hint, allowed=differs)
        else:
            drawn = links.spread(pool, table.count, rng, hint, differs)
        drawn = self._null_links(table, key, drawn)
        if not given and key not in self.order.deferred:
            drawn = self._without_clashes(table, key, drawn, rng, differs)
        for place, column in enumerate(key.columns):
            known = table.columns.get(column)
            made: list[Cell] = [None if i is None else refs[i][place] for i in drawn]
            if known is None or key in self.order.deferred or table.spec.by_name[column].nullable:
                table.columns[column] = made
        table.parents[key] = drawn
        if any(i is None for i in drawn) and not any(table.spec.by_name[c].nullable for c in key.columns):
            table.keep([row for row, i in enumerate(drawn) if i is not None])
            if not table.count:
                raise PopulateError(f"{where}: no row of {key.ref_table} fits any row; loosen `match`")

    def _null_links(self, table: _Table, key: ForeignKey, drawn: list[int | None]) -> list[int | None]:
        free = [c for c in key.columns if table.spec.by_name[c].nullable]
        if not free:
            return drawn
        hint = table.plan.hints.get(free[0])
        share = DEFAULT_NULL_SHARE if hint is None or hint.null_share is None else hint.null_share
        rng = stream(self.seed, self.schema.name, table.spec.name, *key.columns, "null")
        drawn = [None if rng.random() < share else i for i in drawn]
        for column, allowed in hint.only_if if hint else ():
            drawn = [i if v in allowed else None for i, v in zip(drawn, self._read(table, column), strict=True)]
        return drawn

    def _without_clashes(
        self,
        table: _Table,
        key: ForeignKey,
        drawn: list[int | None],
        rng: links.Rng,
        differs: links.Allowed | None,
    ) -> list[int | None]:
        """Redraw where a bridge's key would repeat; what finds no free pair is dropped later."""
        filled = set(table.columns) | set(key.columns)
        unique = next((k for k in table.spec.keys if set(k) <= filled and set(key.columns) < set(k)), None)
        if unique is None:
            return drawn
        rest = [table.columns[c] for c in unique if c not in key.columns]
        others = list(zip(*rest, strict=True))
        return links.redraw(drawn, others, rng, differs)

    def _recorded(self, table: _Table, key: ForeignKey) -> list[int | None]:
        """Parent rows of a key whose values are written in the plan."""
        parent = self.tables[key.ref_table]
        refs = zip(*(parent.columns[c] for c in key.ref_columns), strict=True)
        number = {ref: i for i, ref in enumerate(refs)}
        values = list(zip(*(table.columns[c] for c in key.columns), strict=True))
        for row, value in enumerate(values):
            if None not in value and value not in number:
                raise PopulateError(
                    f"{self.schema.name}: {table.spec.name}: record {row + 1} has {value}, "
                    f"which is no row of {key.ref_table}"
                )
        return [number.get(value) for value in values]

    def _draw_own(self, table: _Table, key: ForeignKey) -> list[int | None]:
        """A key to the own table: each row refers to an earlier one, so that no chain closes."""
        rng = stream(self.seed, self.schema.name, table.spec.name, *key.columns)
        refs = list(zip(*(table.columns[c] for c in key.ref_columns), strict=True))
        free = all(table.spec.by_name[c].nullable for c in key.columns)
        hint = next((table.plan.hints[c] for c in key.columns if c in table.plan.hints), None)
        share = hint.null_share if hint and hint.null_share is not None else None
        drawn = links.forest(table.count, rng, share, roots_to_self=not free)
        for place, column in enumerate(key.columns):
            if column not in key.ref_columns:
                table.columns[column] = [None if i is None else refs[i][place] for i in drawn]
        return drawn

    # --- after the children ---

    def _fill_late(self) -> None:
        places = [
            (t, c.name) for t in self.order.tables for c in self.tables[t].spec.columns if (t, c.name) in self.late
        ]
        graph = {
            place: sorted(self._sources(place[0], self.tables[place[0]].hints[place[1]]) & self.late)
            for place in places
        }
        for name, column in self._sorted(graph):
            table = self.tables[name]
            maker = table.hints[column].maker
            if isinstance(maker, Rollup):
                table.columns[column] = self._rollup(table, maker)
            else:
                self._make(table, column)

    def _rollup(self, table: _Table, maker: Rollup) -> list[Cell]:
        child = self.tables.get(maker.table)
        keys = [k for k in child.parents if k.ref_table == table.spec.name] if child else []
        if child is None or len(keys) != 1:
            raise PopulateError(
                f"{self.schema.name}: {table.spec.name}: a rollup of {maker.table} needs one foreign key from it, "
                f"found {len(keys)}"
            )
        return rollup(maker, child.parents[keys[0]], child.columns[maker.column], table.count)

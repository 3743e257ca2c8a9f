"""A query written for the old schema, written for the new one.

Every name is followed through its binding, never by its text. Then the new text is resolved against the new schema:
each reference must be bound to the new place of the old one. So a column that was added cannot make a name mean
something else unnoticed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from agro_data.databases.quoting import folded
from agro_data.databases.types import Dialect
from agro_data.migration.evidence import Place
from agro_data.migration.matching import Matching
from agro_data.migration.meanings import Meaning, meanings, references
from agro_data.sql.forms.canonical import names_matter, sql_text, unchanged_by_text
from agro_data.sql.identifiers import identifier
from agro_data.sql.names.called_columns import is_star
from agro_data.sql.names.resolution import Resolution, Scope, Source
from agro_data.sql.names.scope import Schema, resolve
from agro_data.sql.parse import SqlRefused, parse_select


class CannotFollow(ValueError):
    """A query for which there is no certain text on the new schema.

    `reason` is a class: `unresolved`, `table_gone`, `column_gone`, `row_by_row`, `join_names`, `captured`.
    """

    def __init__(self, reason: str, says: str) -> None:
        super().__init__(says)
        self.reason = reason
        self.says = says


def rewrite(sql: str, dialect: Dialect, before: Schema, after: Schema, matching: Matching) -> str:
    """`sql` for the new schema; the same text if it still means the same there. Raises `CannotFollow`."""
    try:
        found = resolve(parse_select(sql, dialect), dialect, before)
    except SqlRefused as refusal:
        raise CannotFollow("unresolved", refusal.detail) from refusal
    if found.problems:
        raise CannotFollow("unresolved", f"it does not fit the schema it was written for: {found.problems[0][1]}")
    editor = _Editor(found, dialect, matching, after)
    editor.apply()
    for _ in range(2):
        text = sql_text(found.tree, dialect) if editor.edited else sql
        if meanings(text, dialect, after) == editor.expected():
            if editor.edited and not unchanged_by_text(found.tree, dialect):
                raise CannotFollow("unresolved", "it cannot be written anew without changing it")
            return text
        editor.spell_out()
    raise CannotFollow("captured", "a name in it would mean something else on the new schema")


@dataclass(frozen=True)
class _Home:
    """The new place of a source of the old query: a table, or several joined row by row (`derived`)."""

    alias: str
    table: str  # "" for a derived table
    names: Mapping[str, str]  # old column, folded -> its name there


class _Editor:
    """Edits the tree in place; references keep their identity until all is read, because bindings are keyed by it."""

    def __init__(self, found: Resolution, dialect: Dialect, matching: Matching, after: Schema) -> None:
        self.found = found
        self.dialect = dialect
        self.matching = matching
        self.after = after
        self.edited = False
        self.homes: dict[int, _Home] = {}
        self.sources = [source for scope in found.scopes for source in scope.sources]
        self.given: dict[int, Meaning] = {}  # references that were not in the old query

    def apply(self) -> None:
        starred = self._starred()
        self._free_names()
        uses = self._uses()
        for source in self.sources:
            if source.table:
                self.homes[id(source)] = self._home(source, uses.get(id(source), []), starred)
        for scope in self.found.scopes:
            self._shared_names(scope)
        for scope in self.found.scopes:
            self._items(scope)
        for node in references(self.found.tree):
            self._reference(node)
        for scope in self.found.scopes:
            self._one_row_once(scope)

    def expected(self) -> list[Meaning]:
        return [self._expected(node) for node in references(self.found.tree)]

    def spell_out(self) -> None:
        """Say of every reference which source it means, so that no other column of that name can be meant."""
        for node in references(self.found.tree):
            kind, alias, _, name = self._expected(node)
            if kind == "string":
                node.replace(exp.Literal.string(node.name))
                self.edited = True
            elif kind == "column" and not node.table and name not in self._merged(node):
                node.set("table", identifier(alias))
                self.edited = True

    def _free_names(self) -> None:
        """Call CTEs otherwise that have the new name of a table: there they would hide it."""
        new = {name for source in self.sources if source.table for name in self._new_names(source.table)}
        for cte in self.found.tree.find_all(exp.CTE):
            name = folded(cte.alias)
            if name not in new:
                continue
            other = identifier(f"{cte.alias}_rows")
            cte.args["alias"].set("this", other)
            self.edited = True
            for source in self.sources:
                node = source.node
                if not source.table and isinstance(node, exp.Table) and folded(node.name) == name:
                    if node.args.get("alias") is None:
                        node.set("alias", exp.TableAlias(this=identifier(name)))
                    node.this.replace(other.copy())

    def _new_names(self, table: str) -> set[str]:
        """Names, folded, under which a table's columns stand now and did not before."""
        match = self.matching.tables[table]
        return {folded(name) for name in (match.new, *match.pieces) if name} - {folded(table)}

    # --- what a query needs ---

    def _uses(self) -> dict[int, list[str]]:
        """Columns of each source that are referred to by name, folded."""
        uses: dict[int, list[str]] = {}
        for binding in self.found.bindings.values():
            if binding.source is not None:
                uses.setdefault(id(binding.source), []).append(binding.name)
        for scope in self.found.scopes:
            for source in scope.sources:
                uses.setdefault(id(source), []).extend(name for name in scope.merged if name in source.columns)
        return {key: list(dict.fromkeys(names)) for key, names in uses.items()}

    def _starred(self) -> set[int]:
        """Sources whose columns a star shows."""
        return {
            id(source)
            for scope in self.found.scopes
            for item in scope.select.expressions
            if is_star(item)
            for source in _shown_by(item, scope)
        }

    def _place(self, source: Source, name: str) -> Place:
        old = (source.table, source.columns[name])
        match = self.matching.columns[old]
        if match.new is None:
            raise CannotFollow("column_gone", match.why)
        return match.new

    def _home(self, source: Source, used: list[str], starred: set[int]) -> _Home:
        table = self.matching.tables[source.table]
        if table.new is None:
            raise CannotFollow("table_gone", table.why)
        if id(source) in starred:
            there = {n for n, c in source.columns.items() if self.matching.columns[source.table, c].new is not None}
            used = [name for name in source.columns if name in there or name in used]  # in the order that a star shows
        places = {name: self._place(source, name) for name in used}
        needed = list(dict.fromkeys(place[0] for place in places.values())) or [table.new]
        if len(needed) == 2 and table.new in needed:  # a key that both have
            other = next(name for name in needed if name != table.new)
            places = {n: _through(p, table.new, other, table.pieces.get(other)) for n, p in places.items()}
            needed = list(dict.fromkeys(place[0] for place in places.values()))
        if len(needed) > 1:
            return self._derived(source, places, needed)
        new = needed[0]
        names = {name: place[1] for name, place in places.items()}
        node = source.node
        if folded(new) == folded(source.table):
            return _Home(source.alias, folded(new), names)
        self.edited = True
        node.this.replace(identifier(new))
        if node.args.get("alias") is None:
            others = [s for s in self.sources if s.alias != source.alias]
            if any(folded(new) in (s.alias, self._home_of(s).alias) for s in others):  # two may be one table now
                node.set("alias", exp.TableAlias(this=identifier(source.table)))
                return _Home(source.alias, folded(new), names)
            return _Home(folded(new), folded(new), names)
        return _Home(source.alias, folded(new), names)

    def _derived(self, source: Source, places: Mapping[str, Place], needed: Sequence[str]) -> _Home:
        """The columns of several tables that hold the same rows, put side by side again."""
        table = self.matching.tables[source.table]
        main = str(table.new)
        self.edited = True
        names: dict[str, str] = {}
        items: list[exp.Expr] = []
        for name, (home, column) in places.items():
            node = self._new_column(home, column)
            taken = folded(column) in {folded(other) for other in names.values()}
            names[name] = source.columns[name] if taken else column
            items.append(exp.Alias(this=node, alias=identifier(names[name])) if taken else node)
        select = exp.Select(expressions=items, from_=exp.From(this=exp.Table(this=identifier(main))))
        for piece in (one for one in needed if one != main):
            key, own = table.pieces[piece]
            on = exp.EQ(this=self._new_column(piece, own), expression=self._new_column(main, key))
            select.append("joins", exp.Join(this=exp.Table(this=identifier(piece)), on=on))
        alias = source.node.args.get("alias") or exp.TableAlias(this=identifier(source.table))
        source.node.replace(exp.Subquery(this=select, alias=alias))
        return _Home(source.alias, "", names)

    def _new_column(self, table: str, column: str) -> exp.Column:
        node = exp.Column(this=identifier(column), table=identifier(table))
        self.given[id(node)] = ("column", folded(table), folded(table), folded(column))
        return node

    # --- writing ---

    def _shared_names(self, scope: Scope) -> None:
        """USING and NATURAL: the same name on both sides, or an ON in its place."""
        by_node = {id(source.node): source for source in scope.sources}
        for number, join in enumerate(scope.select.args.get("joins") or ()):
            natural = (join.args.get("method") or "").upper() == "NATURAL"
            names = [folded(column.name) for column in join.args.get("using") or ()]
            if not natural and not names:
                continue
            right = by_node.get(id(join.this)) or scope.sources[number + 1]  # where a derived table took its place
            left = scope.sources[: scope.sources.index(right)]
            if natural:
                names = [name for name in right.columns if any(name in source.columns for source in left)]
                if not self._shares(left, right, names):
                    raise CannotFollow("join_names", "a NATURAL JOIN would join by other columns on the new schema")
                continue
            self._using(join, names, left, right, scope)

    def _shares(self, left: Sequence[Source], right: Source, names: Sequence[str]) -> bool:
        """Whether the tables still share these names, and no others."""
        if any(not source.table or not self._home_of(source).table for source in (*left, right)):
            return not any(self._name(source, name) != name for source in (*left, right) for name in names)
        columns = {folded(table): {folded(c) for c in columns} for table, columns in self.after.items()}
        shared = {
            name
            for name in columns[self._home_of(right).table]
            if any(name in columns[self._home_of(source).table] for source in left)
        }
        kept = all(self._name(s, n) == n for s in (*left, right) for n in names if n in s.columns)
        return kept and shared == set(names)

    def _using(self, join: exp.Expr, names: Sequence[str], left: Sequence[Source], right: Source, scope: Scope) -> None:
        pairs = [(next(s for s in left if name in s.columns), name) for name in names]
        new = [(self._name(source, name), self._name(right, name)) for source, name in pairs]
        if all(a == b for a, b in new):
            if [a for a, _ in new] != list(names):
                join.set("using", [identifier(a) for a, _ in new])
                scope.merged.update(a for a, _ in new)
                self.edited = True
            return
        if any(is_star(item) for item in scope.select.expressions) or join.args.get("side") in ("RIGHT", "FULL"):
            raise CannotFollow("join_names", f"USING ({', '.join(names)}): the columns have different names now")
        self.edited = True
        conditions: list[exp.Expr] = []
        for (source, _), (a, b) in zip(pairs, new, strict=True):
            sides = [self._side(source, a), self._side(right, b)]
            conditions.append(exp.EQ(this=sides[0], expression=sides[1]))
        join.set("using", None)
        join.set("on", exp.and_(*conditions, copy=False))
        scope.merged.difference_update(names)
        for node in references(self.found.tree):
            binding = self.found.binding(node)
            if binding is not None and binding.source in [s for s, _ in pairs] and binding.name in names:
                node.set("table", identifier(self._home_of(binding.source).alias))

    def _side(self, source: Source, name: str) -> exp.Column:
        home = self._home_of(source)
        node = exp.Column(this=identifier(name), table=identifier(home.alias))
        self.given[id(node)] = ("column", home.alias, home.table, folded(name))
        return node

    def _items(self, scope: Scope) -> None:
        """Outputs that something refers to keep their names."""
        select = scope.select
        if not names_matter(select):
            return
        for item in list(select.expressions):
            if isinstance(item, exp.Column) and not isinstance(item.this, exp.Star):
                new = self._expected(item)[3]
                if new != folded(item.name):
                    alias = exp.Alias(alias=identifier(item.name))
                    item.replace(alias)
                    alias.set("this", item)
                    self.edited = True
            elif is_star(item):
                self._expand(item, scope)

    def _expand(self, item: exp.Expr, scope: Scope) -> None:
        """A star that something builds on, as the columns that it showed; left alone where nothing was renamed."""
        shown = list(_shown_by(item, scope))
        changed = any(self._name(source, name) != name for source in shown for name in self._known(source))
        if not changed:
            return
        columns: list[exp.Expr] = []
        for source in shown:
            for name in self._known(source):
                node = self._side(source, self._name(source, name))
                renamed = self._name(source, name) != name
                columns.append(exp.Alias(this=node, alias=identifier(source.columns[name])) if renamed else node)
        select = scope.select
        place = select.expressions.index(item)
        select.set("expressions", [*select.expressions[:place], *columns, *select.expressions[place + 1 :]])
        self.edited = True

    def _known(self, source: Source) -> list[str]:
        """Columns of a source that are still there, folded."""
        home = self.homes.get(id(source))
        return [name for name in source.columns if home is None or name in home.names]

    def _reference(self, node: exp.Column) -> None:
        binding = self.found.binding(node)
        if id(node) in self.given or binding is None or binding.kind != "column" or binding.source is None:
            return
        if binding.source.table == "":
            return
        home = self._home_of(binding.source)
        name = home.names[binding.name]
        if folded(name) != binding.name:
            node.this.replace(identifier(name))
            self.edited = True
        if node.table and folded(node.table) != home.alias:
            node.set("table", identifier(self._written_alias(binding.source)))

    def _written_alias(self, source: Source) -> str:
        """The alias of a source, spelled as its table is."""
        home = self._home_of(source)
        names = {folded(table): table for table in self.after}
        return names.get(home.alias, home.alias)

    def _one_row_once(self, scope: Scope) -> None:
        """Two tables that have become one, joined by its key: the row is read once."""
        for join in list(scope.select.args.get("joins") or ()):
            joined = self._joined_by_name(join, scope)
            if joined is not None and self._are_one(*joined):
                self._drop_join(join, *joined, scope)

    def _joined_by_name(self, join: exp.Join, scope: Scope) -> tuple[Source, Source] | None:
        """A source and the one that is joined with it, where ON equates one column of each, of one name by now."""
        on = join.args.get("on")
        if not isinstance(on, exp.EQ) or join.side not in ("", "LEFT") or join.kind not in ("", "INNER", "OUTER"):
            return None
        sides = [side for side in (on.this, on.expression) if isinstance(side, exp.Column)]
        bound = [self.found.binding(side) for side in sides]
        owners = [binding.source for binding in bound if binding is not None and binding.source is not None]
        right = next((source for source in scope.sources if source.node is join.this), None)
        if len(owners) != 2 or right is None or right not in owners or owners[0] is owners[1]:
            return None
        left = owners[0] if owners[1] is right else owners[1]
        alike = len({folded(side.name) for side in sides}) == 1
        return (left, right) if alike and left in scope.sources else None

    def _are_one(self, left: Source, right: Source) -> bool:
        """Whether two tables have become one, and were found to hold the same rows."""
        homes = self._home_of(left), self._home_of(right)
        if left.table == right.table or not homes[0].table or homes[0].table != homes[1].table:
            return False
        mains = [self.matching.tables[source.table] for source in (left, right)]
        return mains[0].new == mains[1].new and any(match.by_rows for match in mains)

    def _drop_join(self, join: exp.Join, left: Source, right: Source, scope: Scope) -> None:
        """Read what is of `right` from `left`."""
        select = scope.select
        select.set("joins", [other for other in select.args["joins"] if other is not join])
        for node in references(self.found.tree):
            binding = self.found.binding(node)
            if binding is not None and binding.source is right:
                node.set("table", identifier(self._written_alias(left)) if node.table else None)
        home = self._home_of(left)
        self.homes[id(right)] = _Home(home.alias, home.table, self._home_of(right).names)
        scope.sources.remove(right)

    # --- meanings ---

    def _home_of(self, source: Source) -> _Home:
        home = self.homes.get(id(source))
        return home or _Home(source.alias, "", {name: name for name in source.columns})

    def _name(self, source: Source, name: str) -> str:
        return folded(self._home_of(source).names.get(name, name))

    def _merged(self, node: exp.Column) -> set[str]:
        select = node.find_ancestor(exp.Select)
        return next((scope.merged for scope in self.found.scopes if scope.select is select), set())

    def _expected(self, node: exp.Column) -> Meaning:
        if id(node) in self.given:
            return self.given[id(node)]
        binding = self.found.binding(node)
        if binding is None:
            return "", "", "", folded(node.name)
        if binding.kind != "column" or binding.source is None:
            return binding.kind, "", "", folded(binding.name)
        home = self._home_of(binding.source)
        return "column", home.alias, home.table, folded(home.names.get(binding.name, binding.name))


def _through(place: Place, main: str, piece: str, link: tuple[str, str] | None) -> Place:
    """The key of `main` as the piece has it; other places as they are."""
    return (piece, link[1]) if link is not None and place == (main, link[0]) else place


def _shown_by(item: exp.Expr, scope: Scope) -> list[Source]:
    qualifier = folded(item.table) if isinstance(item, exp.Column) else ""
    return [source for source in scope.sources if not qualifier or source.alias == qualifier]

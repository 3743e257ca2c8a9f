"""Names in a query resolved against a schema, by the engines' own rules.

sqlglot's `qualify` follows the standard; SQLite does not: an alias of the select list may stand in WHERE, and a
double-quoted token that names nothing is a string. Spider's gold SQL lives on both. One recursive pass here
serves the gate (what is unknown), the facts (what is used) and the probes (what a key means).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from itertools import compress

from sqlglot import exp

from agro_data.databases.quoting import folded
from agro_data.databases.types import MAIN, Dialect, Placed
from agro_data.sql.names.called_columns import called, columns_in, is_star, outputs_called
from agro_data.sql.names.from_items import is_bracketed, json_columns, rows_of_json, written_columns
from agro_data.sql.names.resolution import Binding, Named, Resolution, Scope, Source, names_beside
from agro_data.sql.walks import leftmost

# A hidden column of both engines, and no data: where a row lies. A copy gives its rows other numbers, VACUUM may.
_ROWIDS = frozenset({"rowid", "oid", "_rowid_"})
_ROWID = (
    ": it is the place of a row in its file, which is another in a copy of the data; name a column, such as the key"
)
Schema = Mapping[str, Mapping[str, str]]  # {table: {column: declared type}}
Ctes = Mapping[str, Named]
MOST_SOURCES = 64  # tables of a FROM: where SQLite stops
MOST_PATTERNS = 20  # of COLUMNS in a statement: one may take the hundredth part of a second
WIDEST = 2_000  # columns that are selected: what SQLite gives at most


def resolve(tree: exp.Query, dialect: Dialect, schema: Schema) -> Resolution:
    """Every table and column reference of `tree` bound to `schema`; what cannot be bound is a problem."""
    resolver = _Resolver(tree, dialect, schema)
    resolver.query(tree, {}, None)
    return resolver.found


def _dotted(node: exp.Table) -> str:
    return ".".join(part.name for part in node.parts)


class _Resolver:
    def __init__(self, tree: exp.Query, dialect: Dialect, schema: Schema) -> None:
        self.found = Resolution(tree)
        self.patterns = 0  # of COLUMNS, that were looked at
        self.dialect = dialect
        self.schema = {folded(table): (table, {folded(c): c for c in columns}) for table, columns in schema.items()}
        self.namespaces = schema.namespaces if isinstance(schema, Placed) else {}

    def query(self, node: exp.Expr, ctes: Ctes, outer: Scope | None) -> tuple[Scope, list[str]]:
        """Resolve a query; gives the scope of its first SELECT and the names of its outputs."""
        ctes = self._with(node, ctes, outer)
        if isinstance(node, exp.Select):
            scope = self._select(node, ctes, outer)
            outputs = scope.outputs
        elif isinstance(node, exp.Subquery):
            scope, outputs = self.query(node.this, ctes, outer)
            self._trailing(node, scope, outputs, ctes)
        else:
            scope, outputs = self.query(node.this, ctes, outer)
            _, others = self.query(node.expression, ctes, outer)
            self._trailing(node, scope, [*outputs, *others], ctes)
            if node.args.get("by_name"):
                known = set(outputs)
                outputs = [*outputs, *(name for name in others if name not in known)]
        self.found.outputs[id(node)] = outputs
        return scope, outputs

    def _with(self, node: exp.Expr, ctes: Ctes, outer: Scope | None) -> Ctes:
        clause = node.args.get("with_")
        if clause is None:
            return ctes
        known = dict(ctes)
        for cte in clause.expressions:
            name = folded(cte.alias)
            alias = cte.args.get("alias")
            declared = [folded(column.name) for column in alias.args.get("columns") or ()] if alias else []
            if clause.args.get("recursive"):
                first = declared or [folded(item.alias_or_name) for item in leftmost(cte.this).selects]
                known[name] = Named(first, cte.this)
            _, outputs = self.query(cte.this, known, outer)
            known[name] = Named(self._renamed(declared, outputs), cte.this)
        return known

    def _select(self, node: exp.Select, ctes: Ctes, outer: Scope | None) -> Scope:
        scope = Scope(node, outer)
        self.found.scopes.append(scope)
        start = node.args.get("from_")
        if start is not None:
            self._source(start.this, scope, ctes)
        joins = node.args.get("joins") or []
        for join in joins:
            self._source(join.this, scope, ctes)
            self._merge(join, scope)
        for item in node.expressions:
            self._output(item, scope)
        for item in node.expressions:
            self._visit(item, scope, ctes, aliases=self.dialect == "duckdb")
        for join in joins:
            if join.args.get("on") is not None:
                self._visit(join.args["on"], scope, ctes, aliases=True)
        for clause in ("distinct", "where", "group", "having", "windows", "qualify", "limit", "offset"):
            value = node.args.get(clause)
            for part in value if isinstance(value, list) else [value]:
                if isinstance(part, exp.Expr):
                    self._visit(part, scope, ctes, aliases=True)
        if node.args.get("order") is not None:
            for key in node.args["order"].expressions:
                self._visit(key, scope, ctes, aliases=True, alias_first=isinstance(key.this, exp.Column))
        return scope

    def _trailing(self, node: exp.Expr, scope: Scope, outputs: Sequence[str], ctes: Ctes) -> None:
        """What follows a set operation: keys of its ORDER BY are output columns, or expressions over the first SELECT;
        how many rows are kept may be a query of its own."""
        order = node.args.get("order")
        for key in order.expressions if order is not None else ():
            term = key.this
            if isinstance(term, exp.Column) and not term.table and folded(term.name) in outputs:
                self.found.bindings[id(term)] = Binding("output", folded(term.name))
            else:
                self._visit(key, scope, ctes, aliases=True)
        for clause in ("limit", "offset"):
            if node.args.get(clause) is not None:
                self._visit(node.args[clause], scope, ctes, aliases=True)

    def _source(self, node: exp.Expr, scope: Scope, ctes: Ctes) -> None:
        alias = folded(node.alias_or_name)
        if len(scope.sources) >= MOST_SOURCES:
            self._problem("too_long", f"more than {MOST_SOURCES} tables are joined")
            return
        if is_bracketed(node):
            self._source(node.this, scope, ctes)
            self._joins(node, scope, ctes)
        elif isinstance(node, exp.Subquery):
            outputs = self._derived(node, scope, ctes)
            alias_node = node.args.get("alias")
            renamed = [folded(c.name) for c in alias_node.args.get("columns") or ()] if alias_node else []
            names = self._renamed(renamed, outputs)
            named = Named(names, node)
            scope.sources.append(Source(alias, "", {name: name for name in names if name}, node, named))
            self._joins(node, scope, ctes)
        elif isinstance(node, (exp.Values, exp.Unnest)):
            self._written(node, alias, scope, ctes)
            self._joins(node, scope, ctes)
        elif isinstance(node, exp.Table):
            self._table(node, alias, scope, ctes)
            self._joins(node, scope, ctes)
        else:
            self._problem("unknown_table", f"{node.sql(dialect=self.dialect)} is not a table")

    def _derived(self, node: exp.Subquery, scope: Scope, ctes: Ctes) -> list[str]:
        """The outputs of a query in a FROM. In DuckDB it may name what stands before it there."""
        if self.dialect != "duckdb":
            return self.query(node, ctes, scope.outer)[1]
        before = len(self.found.scopes)
        outputs = self.query(node, ctes, scope)[1]
        inner = self.found.scopes[before:]
        if not names_beside(node, scope, self.found):
            for one in inner:
                one.outer = scope.outer if one.outer is scope else one.outer
        return outputs

    def _renamed(self, declared: list[str], outputs: Sequence[str]) -> list[str]:
        """Columns under the names that an alias gives them; in DuckDB an alias may name only the first ones."""
        return [*declared, *outputs[len(declared) :]] if self.dialect == "duckdb" or not declared else declared

    def _joins(self, node: exp.Expr, scope: Scope, ctes: Ctes) -> None:
        """What stands beside a source in the same brackets."""
        for join in node.args.get("joins") or ():
            self._source(join.this, scope, ctes)
            self._merge(join, scope)
            if join.args.get("on") is not None:
                self._visit(join.args["on"], scope, ctes, aliases=True)

    def _written(self, node: exp.Expr, alias: str, scope: Scope, ctes: Ctes) -> None:
        """Rows of VALUES or UNNEST. In DuckDB what they are made of may name what stands before them in the FROM."""
        inside = scope if self.dialect == "duckdb" else Scope(scope.select, scope.outer)
        for item in node.expressions:
            self._visit(item, inside, ctes, aliases=False)
        scope.correlated = scope.correlated or inside.correlated
        scope.sources.append(Source(alias, "", {name: name for name in written_columns(node, self.dialect)}, node))

    def _table(self, node: exp.Table, alias: str, scope: Scope, ctes: Ctes) -> None:
        name = folded(node.name)
        if rows_of_json(node):
            for argument in node.this.expressions:
                self._visit(argument, scope, ctes, aliases=False)
            columns = node.args["alias"].args.get("columns") or () if node.args.get("alias") else ()
            names = self._renamed([folded(column.name) for column in columns], json_columns(node))
            scope.sources.append(Source(alias, "", {column: column for column in names}, node))
        elif not isinstance(node.this, exp.Identifier):
            self._problem("forbidden_function", f"table function {node.this.sql(dialect=self.dialect)}")
            scope.sources.append(Source(alias, "", {}, node))
        elif self.dialect == "duckdb" and node.db and (why := self._misplaced(node)):
            self._problem("unknown_table", f"{_dotted(node)}: {why}")
            scope.sources.append(Source(alias, "", {}, node))
        elif not node.db and name in ctes:
            named = ctes[name]
            scope.sources.append(Source(alias, "", {column: column for column in named.outputs if column}, node, named))
        elif name in self.schema:
            table, columns = self.schema[name]
            self.found.tables.add(table)
            scope.sources.append(Source(alias, table, columns, node))
        else:
            tables = {key: table for key, (table, _) in self.schema.items()}
            self._problem("unknown_table", f"no table {node.name}" + _nearest(name, tables))
            scope.sources.append(Source(alias, "", {}, node))

    def _misplaced(self, node: exp.Table) -> str:
        """Why a table of DuckDB cannot be called as it is here, with a schema before its name; "" where it can."""
        if node.catalog:
            return "a table is called without its file"
        table, _ = self.schema.get(folded(node.name), ("", {}))
        own = self.namespaces.get(table, "") or MAIN
        if not table or folded(node.db) == folded(own):
            return ""  # whether there is one is seen without the schema, too
        return f"what is read as {table} stands in the schema {own}"

    def _merge(self, join: exp.Expr, scope: Scope) -> None:
        if not scope.sources:
            return  # what was joined is no table, which has been said
        right, left = scope.sources[-1], scope.sources[:-1]
        names = [folded(column.name) for column in join.args.get("using") or ()]
        if (join.args.get("method") or "").upper() == "NATURAL":
            names = [name for name in right.columns if any(name in source.columns for source in left)]
        for name in names:
            for source in (right, *left):
                if name in source.columns:
                    self._use(source, name)
            if name not in right.columns:
                self._problem("unknown_column", f"USING ({name}): no such column in {right.table or right.alias}")
        scope.merged.update(names)

    def _output(self, item: exp.Expr, scope: Scope) -> None:
        if isinstance(item, exp.Alias):
            scope.aliases.setdefault(folded(item.alias), item.this)
        value, each = item.unalias(), columns_in(item)
        many = value if is_star(value) else each.this if each is not None else None
        shown = self._shown(item, many, scope) if many is not None else None
        if shown is None:
            scope.outputs.append(folded(item.alias_or_name))
            scope.origins.append(value)
            return
        for output, origin in shown:
            scope.outputs.append(folded(output))
            scope.origins.append(origin if value is many or value is each else value)

    def _shown(
        self, item: exp.Expr, by: exp.Expr, scope: Scope
    ) -> list[tuple[str, exp.Expr | tuple[Source, str]]] | None:
        """The names and origins of what a star or COLUMNS(...) in an item stands for; None where they are unknown."""
        qualifier = folded(by.table) if isinstance(by, exp.Column) else ""
        star = (by.this if isinstance(by, exp.Column) else by).args if is_star(by) else {}
        left_out = {(folded(one.table), folded(one.name)) for one in star.get("except_") or ()}
        renamed = {folded(one.this.name): one.alias for one in star.get("rename") or ()}
        replaced = {folded(one.alias): one.this for one in star.get("replace") or ()}
        known = any(s.alias == qualifier or (s.table and qualifier in s.columns) for s in scope.sources)  # or a struct
        if qualifier and not known:
            self._problem("unknown_table", f"{by.sql(dialect=self.dialect)}: no table or alias {qualifier} here")
        sources = [source for source in scope.sources if not qualifier or source.alias == qualifier]
        if len(scope.outputs) + sum(len(source.columns) for source in sources) > WIDEST:
            self._problem("too_long", f"more than {WIDEST} columns are selected")
            return []
        columns = [
            (source, name)
            for source in sources
            for name in source.columns
            if not {("", name), (source.alias, name)} & left_out
        ]
        names = [renamed.get(name, source.columns[name]) for source, name in columns]
        if not is_star(item.unalias()):
            self.patterns += 1
            spelled = all(source.table for source in sources)
            chosen = called(by, names, spelled) if self.patterns <= MOST_PATTERNS else None
            if chosen is None:
                return None
            columns, names = list(compress(columns, chosen)), list(compress(names, chosen))
            made = outputs_called(item.alias if isinstance(item, exp.Alias) else "", by, names)
            if made is None:
                return None
            names = made
        for source, name in columns:
            self._use(source, name)
        return [(made, replaced.get(column[1], column)) for made, column in zip(names, columns, strict=True)]

    def _visit(self, node: exp.Expr, scope: Scope, ctes: Ctes, *, aliases: bool, alias_first: bool = False) -> None:
        if is_star(node):
            self._star(node.this if isinstance(node, exp.Column) else node, scope, ctes)
        elif isinstance(node, exp.Column):
            self._column(node, scope, aliases, alias_first)
        elif isinstance(node, exp.Query):
            self.query(node, ctes, scope)
        else:
            for child in node.iter_expressions():
                self._visit(child, scope, ctes, aliases=aliases, alias_first=alias_first)

    def _star(self, star: exp.Expr, scope: Scope, ctes: Ctes) -> None:
        """What `* EXCLUDE (a) REPLACE (b + 1 AS b) RENAME (c AS d)` names. Several tables may have what is left out."""
        for one in star.args.get("replace") or ():
            self._visit(one, scope, ctes, aliases=False)
        named = [*(star.args.get("except_") or ()), *(one.this for one in star.args.get("rename") or ())]
        for one in named:
            name, table = folded(one.name), folded(one.table) if isinstance(one, exp.Column) else ""
            if not any(name in source.columns and table in ("", source.alias) for source in scope.sources):
                self._problem("unknown_column", f"no column {one.name} among those of *")

    def _column(self, node: exp.Column, scope: Scope, aliases: bool, alias_first: bool) -> None:
        name, qualifier = folded(node.name), folded(node.table)
        binding: Binding | None = None
        level: Scope | None = scope
        seen_qualifier = False
        while level is not None and binding is None:
            if not qualifier and alias_first and name in level.aliases:
                binding = Binding("alias", name, expression=level.aliases[name])
                break
            matches = [s for s in level.sources if name in s.columns and qualifier in ("", s.alias)]
            seen_qualifier = seen_qualifier or any(s.alias == qualifier for s in level.sources)
            if len(matches) > 1 and name not in level.merged and not qualifier:
                owners = ", ".join(source.alias for source in matches)
                self._problem("ambiguous_column", f"{node.name} stands in several tables: {owners}")
            if matches:
                binding = Binding("column", name, source=matches[0])
                self._use(matches[0], name)
                self._mark_correlated(scope, level)
            elif aliases and not qualifier and name in level.aliases:
                binding = Binding("alias", name, expression=level.aliases[name])
            level, aliases, alias_first = level.outer, True, False
        if binding is None and not qualifier and node.this.args.get("quoted") and self.dialect == "sqlite":
            binding = Binding("string", node.name)
        if binding is not None:
            self.found.bindings[id(node)] = binding
        elif qualifier and self._struct_field(node, scope, of_list=seen_qualifier):
            return
        elif qualifier and not seen_qualifier:
            self._problem("unknown_table", f"{node.sql(dialect=self.dialect)}: no table or alias {node.table} here")
        else:
            candidates = {key: c for s in scope.sources if qualifier in ("", s.alias) for key, c in s.columns.items()}
            owner = qualifier or ", ".join(source.table or source.alias for source in scope.sources)
            why = _ROWID if name in _ROWIDS else self._where(name, candidates)
            self._problem("unknown_column", f"no column {node.name} in {owner}{why}")

    def _struct_field(self, node: exp.Column, scope: Scope, of_list: bool) -> bool:
        """DuckDB: `a.b.c` may be a field of a field of struct column a, or of column b of table a. With `of_list` only
        columns of UNNEST are looked at, which may be called as their source is."""
        first, second, *_ = (*(folded(part.name) for part in node.parts), "")
        level: Scope | None = scope if self.dialect == "duckdb" else None
        while level is not None:
            for source in level.sources:
                if of_list and not isinstance(source.node, exp.Unnest):
                    continue
                name = first if first in source.columns else second if source.alias == first else ""
                if name in source.columns:
                    self._use(source, name)
                    self._mark_correlated(scope, level)
                    if first not in source.columns:
                        self.found.qualified[id(node)] = source
                    return True
            level = level.outer
        return False

    def _use(self, source: Source, name: str) -> None:
        if source.table:
            self.found.columns.add((source.table, source.columns[name]))

    @staticmethod
    def _mark_correlated(scope: Scope, level: Scope) -> None:
        inner: Scope | None = scope
        while inner is not None and inner is not level:
            inner.correlated = True
            inner = inner.outer

    def _problem(self, reason: str, detail: str) -> None:
        self.found.problems.append((reason, detail))

    def _where(self, name: str, columns: Mapping[str, str]) -> str:
        """A hint for a column that is none of `columns`: the same name in another table, or a similar name."""
        owners = [table for table, own in self.schema.values() if name in own]
        if owners:
            return f" ({' and '.join(owners[:3])} {'have' if len(owners) > 1 else 'has'} one)"
        others = {key: f"{table}.{column}" for table, own in self.schema.values() for key, column in own.items()}
        return _nearest(name, columns) or _nearest(name, others)


def _nearest(name: str, candidates: Mapping[str, str]) -> str:
    """Which of `candidates` is likeliest meant: as they are called, by their folded names."""
    ends = [key for key in candidates if name.endswith(f"_{key}") or key.endswith(f"_{name}")]
    near = ends or get_close_matches(name, candidates, n=1)
    return f" (did you mean {candidates[near[0]]}?)" if near else ""

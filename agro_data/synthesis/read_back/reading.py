"""SQL read back into an intent, so that a query that somebody wrote can be asked, varied and taken apart.

Only what the tree says exactly is read: inner joins along foreign keys, conditions on columns, groups, orders, nested
queries over related rows. What is read is then said anew from the tree, SQL and question alike, so that the two agree
by construction; the query that was read gave the idea. All else is `Unread`, with its reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from agro_data.hashing import seed_of
from agro_data.intent.rendering.renderings import renderings
from agro_data.intent.sampling.atlas import Atlas, Edge
from agro_data.intent.sampling.plausibility import plausibility
from agro_data.intent.sampling.sample import canonical
from agro_data.intent.tree import (
    Aggregate,
    Arithmetic,
    Case,
    Column,
    Comparison,
    DatePart,
    Days,
    Expression,
    Intent,
    Join,
    Keep,
    OrderKey,
    Output,
    Predicate,
    Query,
    SetOperation,
    Share,
    Source,
    walk,
)
from agro_data.sql.comparisons import SIGNS, TURNED
from agro_data.sql.conditions import parts_of
from agro_data.sql.names.joined_on import joined_on
from agro_data.sql.names.resolution import Scope
from agro_data.sql.names.scope import resolve
from agro_data.sql.parse import SqlRefused, parse_select
from agro_data.synthesis.read_back.condition_reading import ConditionReader
from agro_data.synthesis.read_back.existence_joins import with_existence
from agro_data.synthesis.read_back.expression_reading import Beyond, Kept, Merged, all_of
from agro_data.synthesis.read_back.figures import AGGREGATES, unrounded
from agro_data.synthesis.read_back.frame import Frame, may_lack
from agro_data.synthesis.read_back.frames import frame_of
from agro_data.synthesis.read_back.merging import merged
from agro_data.synthesis.read_back.outer_joins import edge_of, without_needless_sides
from agro_data.synthesis.read_back.places import first_places
from agro_data.synthesis.read_back.refusals import of_clause
from agro_data.synthesis.read_back.tree_forms import by_month, counted, of_one_condition, told_apart

_SETS: dict[type[exp.Expr], str] = {exp.Union: "union", exp.Intersect: "intersect", exp.Except: "except"}
_WHOLE = frozenset(
    (
        "expressions",
        "from_",
        "joins",
        "where",
        "group",
        "having",
        "qualify",
        "order",
        "limit",
        "distinct",
        "kind",
        "hint",
    )
)
CAP = 500  # rows: a limit from here on is how many a tool shows at most, and nobody asks for it
_SIDES = frozenset({"this", "expression", "distinct"})


@dataclass(frozen=True)
class Unread:
    """Why a query is no intent: a class (`syntax`, `outer_join`, `not_a_key`, ...), and a sentence for a person."""

    kind: str
    detail: str


def read_intent(sql: str, atlas: Atlas, seed: int = 0) -> Intent | Unread:
    """What `sql`, a query on the database of `atlas`, asks. Nothing is executed and nothing raises."""
    profile = atlas.profile
    try:
        tree = merged(parse_select(sql, profile.dialect), profile.dialect, profile.schema, ranks=True)
        found = resolve(tree, profile.dialect, profile.schema)
        if found.problems:
            return Unread(*found.problems[0])
        found = joined_on(found, profile.dialect, profile.schema)
        if with_existence(found, atlas):
            found = resolve(found.tree, profile.dialect, profile.schema)
        without_needless_sides(found, atlas)
        reader = _Reader(found, atlas)
        query = canonical(reader.statement(found.tree))
        frame = frame_of(query, atlas)
        if isinstance(frame, str):
            return Unread("not_said", frame)
    except SqlRefused as refusal:
        return Unread(refusal.reason, refusal.detail)
    except Beyond as beyond:
        return Unread(beyond.kind, str(beyond))
    return intent_of(query, frame, atlas, seed, reader.rendering)


def intent_of(query: Query | SetOperation, frame: Frame, atlas: Atlas, seed: int, rendering: str | None) -> Intent:
    """The intent of a tree that a frame fits, in the rendering asked for where that applies, else in one of its own."""
    options = renderings(query, atlas.profile)
    own = seed_of(seed, repr(query)) % 2**48
    chosen = rendering if rendering in options else options[own % len(options)]
    score = plausibility(query, atlas.profile)
    return Intent(atlas.profile.db_id, frame.shape, query, own, frame.tie_policy, score, chosen)


class _Reader(ConditionReader):
    def statement(self, tree: exp.Query) -> Query | SetOperation:
        if isinstance(tree, exp.Select):
            return self.select(tree)
        sides = (tree.this, tree.expression)
        further = [name for name, value in tree.args.items() if value and name not in _SIDES]
        if further or not all(isinstance(side, exp.Select) for side in sides):
            raise Beyond("set_operation", "a set operation of more than two plain lists, or in an order")
        if tree.args.get("distinct") is False:
            raise Beyond("set_operation", "ALL keeps repeats")
        return SetOperation(_SETS[type(tree)], self.select(sides[0]), self.select(sides[1]))  # type: ignore[arg-type]

    # --- one SELECT ---

    def select(self, node: exp.Select, outer: Scope | None = None) -> Query:
        strange = [name for name, value in node.args.items() if value and name not in _WHOLE]
        if strange:
            raise Beyond("clause", of_clause(strange[0]))
        scope = self.found.scope_of(node)
        around, self.scope = self.scope, scope
        own = self._sources(scope)
        outside, self.kept = self.kept, self._kept(node, scope)
        joins, order, rest = self._joined(own, *self._conditions(node, scope))
        links: list[tuple[Column, Column]] = []
        parts: list[Predicate] = []
        for part in rest:
            link = self.correlation(part, scope, outer) if outer is not None else None
            if link is not None:
                links.append(link)
                continue
            predicate = self.predicate(part, scope)
            if isinstance(predicate, Merged):
                order += predicate.sources
                joins += predicate.joins
                parts += predicate.parts
            else:
                parts.append(predicate)
        self.links = links
        query = Query(
            tuple(order),
            tuple(Output(self.output(item, in_existence=outer is not None)) for item in _without_places(node)),
            tuple(joins),
            all_of(parts),
            distinct=node.args.get("distinct") is not None and _distinct_on(node) is None,
        )
        query = self._shaped(node, self._with_kept(query))
        self.scope, self.kept = around, outside
        return query

    def _shaped(self, node: exp.Select, query: Query) -> Query:
        group, having, order, limit = (node.args.get(name) for name in ("group", "having", "order", "limit"))
        if group is not None:
            if {name for name, value in group.args.items() if value} - {"expressions"}:
                raise Beyond("clause", "subtotals: ROLLUP, CUBE or GROUPING SETS")
            keys = tuple(dict.fromkeys(self._key(self.found.meaning(key, node), query) for key in group.expressions))
            query = replace(query, group_by=self._completed(keys, query))
        if having is not None:
            if group is None:
                raise Beyond("having", "a HAVING without groups")
            query = replace(query, having=self._having(having.this))
        first = self._first(node)
        if first is not None:
            query = self._first_of_each(*first, node, query)
        elif order is not None:
            sorted_by = tuple(self._order_key(key, node, query) for key in order.expressions)
            # Weekdays stand by their names, of which nobody asks for the order.
            query = replace(query, order_by=() if _is_weekday(sorted_by[0].expression) or _bands(query) else sorted_by)
        if limit is not None:
            most = limit.expression if isinstance(limit, exp.Limit) else None
            if not (isinstance(most, exp.Literal) and most.is_int and int(most.this) > 0):
                raise Beyond("clause", "a limit is a whole number above 0")
            if int(most.this) < CAP:
                if first is not None:
                    raise Beyond("window", "a limit on the first places of rows")
                query = replace(query, limit=int(most.this))
        return told_apart(by_month(of_one_condition(counted(query, self.atlas))), self.atlas)

    def _sources(self, scope: Scope) -> dict[int, Source]:
        own: dict[int, Source] = {}
        for source in scope.sources:
            if not source.table:
                raise Beyond(
                    "derived_table",
                    "a query of groups, different rows or first rows in FROM",
                )
            if source.node.args.get("joins"):
                raise Beyond("clause", "joins in brackets")
            if source.table not in self.atlas.by_name:
                raise Beyond("no_rows", f"{source.table} has no rows to ask about")
            own[id(source)] = self.known[id(source)] = Source(f"s{len(self.known) + 1}", source.table)
        if not own:
            raise Beyond("no_source", "it reads from no table")
        return own

    def _kept(self, node: exp.Select, scope: Scope) -> Kept | None:
        """The children that are counted for each of two tables' parents, also for those without any."""
        joins = node.args.get("joins") or []
        if len(joins) != 1 or (joins[0].side or "").upper() != "LEFT" or joins[0].kind or len(scope.sources) != 2:
            return None
        child = scope.sources[1]
        edge = edge_of(joins[0], child, scope, self.found, self.atlas)
        if edge is None or edge.child != child.table or node.args.get("group") is None:
            return None
        if sum((other.child, other.parent) == (edge.child, edge.parent) for other in self.atlas.edges) > 1:
            raise Beyond("outer_join", f"{edge.child} refers to {edge.parent} in several ways, of which none is said")
        table = self.atlas.by_name[edge.child]
        # A column that is only unique and full on the source may have NULL on instances; what is joined by has none.
        key = table.primary_key[:1] or edge.child_columns[:1]
        return Kept(child.node, Column(self.known[id(child)].alias, key[0]), edge)

    def _with_kept(self, query: Query) -> Query:
        """The query with the parents as its subject, each of which is kept."""
        if self.kept is None:
            return query
        child, parent = query.sources
        return replace(
            query,
            sources=(parent, child),
            joins=(Join(parent.alias, child.alias, self.kept.edge.pairs_down, "left", "down"),),
        )

    def _conjuncts(self, node: exp.Select) -> Iterator[exp.Expr]:
        for join in node.args.get("joins") or ():
            if (join.args.get("using") or join.method == "NATURAL") and not join.side:  # what `joined_on` leaves
                raise Beyond("using", "USING or NATURAL beside *, or with several tables before that have the column")
            kept = self.kept is not None and join.this is self.kept.node
            if (join.side and not kept) or join.method or (join.kind or "").upper() not in ("", "INNER", "CROSS"):
                side = " ".join(filter(None, (join.method, join.side, join.kind))).upper()
                raise Beyond("outer_join", f"rows without one of {join.this.alias_or_name} are kept ({side} JOIN)")
            if join.args.get("on") is not None:
                yield from parts_of(join.args["on"])
        if node.args.get("where") is not None:
            yield from parts_of(node.args["where"].this)

    def _conditions(self, node: exp.Select, scope: Scope) -> tuple[list[tuple[Column, Column]], list[exp.Expr]]:
        """The columns of two tables that are to be equal, and the conditions that are left."""
        equal: list[tuple[Column, Column]] = []
        rest: list[exp.Expr] = []
        for part in self._conjuncts(node):
            sides = [self.column(side, scope) for side in (part.left, part.right)] if isinstance(part, exp.EQ) else []
            if len(sides) == 2 and sides[0] and sides[1] and sides[0].source != sides[1].source:
                equal.append((sides[0], sides[1]))
            else:
                rest.append(part)
        return equal, rest

    def _joined(
        self, own: dict[int, Source], equal: Sequence[tuple[Column, Column]], rest: list[exp.Expr]
    ) -> tuple[list[Join], list[Source], list[exp.Expr]]:
        """Joins from the rows of most detail upwards, the sources in that order, and the conditions that are left."""
        pairs: dict[tuple[str, str], set[tuple[str, str]]] = {}
        for both in equal:
            left, right = sorted(both, key=lambda c: c.source)
            pairs.setdefault((left.source, right.source), set()).add((left.name, right.name))
        tables = {source.alias: source for source in own.values()}
        ups: dict[str, list[tuple[str, Edge]]] = {alias: [] for alias in tables}
        for (one, other), columns in pairs.items():
            child, parent, edge = self._edge(tables[one], tables[other], columns)
            ups[child.alias].append((parent.alias, edge))
        parents = [parent for found in ups.values() for parent, _ in found]
        roots = [alias for alias in tables if alias not in parents]
        if len(roots) != 1 or len(parents) != len(tables) - 1:
            raise Beyond("not_a_tree", "the joins do not lead from one table's rows up to what they belong to")
        joins: list[Join] = []
        order = [roots[0]]
        for child_alias in order:
            for parent_alias, edge in ups[child_alias]:
                joins.append(Join(child_alias, parent_alias, edge.pairs_up, "inner", "up"))
                order.append(parent_alias)
        return joins, [tables[alias] for alias in order], rest

    def _edge(self, left: Source, right: Source, columns: set[tuple[str, str]]) -> tuple[Source, Source, Edge]:
        turned = {(b, a) for a, b in columns}
        for edge in self.atlas.edges:
            if (edge.child, edge.parent) == (left.table, right.table) and set(edge.pairs_up) == columns:
                return left, right, edge
            if (edge.child, edge.parent) == (right.table, left.table) and set(edge.pairs_up) == turned:
                return right, left, edge
        raise Beyond("not_a_key", f"{left.table} and {right.table} are not joined along a foreign key")

    # --- groups and orders ---

    def _key(self, node: exp.Expr, query: Query) -> Expression:
        """A grouping key; a foreign key as the key of the parent that is joined along it."""
        key = self.expression(node)
        for join in query.joins:
            if isinstance(key, Column) and key.source == join.left and join.columns[0][0] == key.name:
                shown = {o.expression.source for o in query.select if isinstance(o.expression, Column)}
                if len(join.columns) == 1 and join.right in shown:
                    return Column(join.right, join.columns[0][1])
        return key

    def _completed(self, keys: tuple[Expression, ...], query: Query) -> tuple[Expression, ...]:
        """Grouping by a parent's key, with the columns shown of that parent, which have one value in each group."""
        columns = [key for key in keys if isinstance(key, Column)]
        if len(columns) != len(keys) or len({c.source for c in columns}) != 1:
            return keys
        table = self.atlas.by_name[query.table_of(columns[0].source)]
        if not table.primary_key or not set(table.primary_key) <= {c.name for c in columns}:
            return keys
        shown = [
            o.expression
            for o in query.select
            if isinstance(o.expression, Column) and o.expression.source == columns[0].source
        ]
        if set(shown) - set(columns):
            self.rendering = "group_by_key"
        return tuple(dict.fromkeys((*keys, *shown)))

    def _having(self, node: exp.Expr) -> Predicate:
        body = node.unnest()
        if type(body) not in SIGNS:
            raise Beyond("having", "a HAVING other than one comparison")
        sides = [unrounded(self.found.aliased(side) or side) for side in (body.this.unnest(), body.expression.unnest())]
        kind, (left, right) = type(body), sides
        if type(left) not in AGGREGATES:
            kind, left, right = TURNED[kind], right, left
        value = self.value(right, None)
        if value is None or type(value.value) not in (int, float) or type(left) not in AGGREGATES:
            raise Beyond("having", "a HAVING other than a figure against a number")
        return Comparison(SIGNS[kind], self.aggregate(left), value)

    def _order_key(self, node: exp.Expr, select: exp.Select, query: Query) -> OrderKey:
        if not isinstance(node, exp.Ordered):
            raise Beyond("order", "an order of other than keys")
        descending = bool(node.args.get("desc"))
        key = self.expression(unrounded(self.found.meaning(node.this, select)))
        elsewhere = bool(node.args.get("nulls_first")) != (self.atlas.profile.dialect == "sqlite" and not descending)
        if elsewhere and self._may_be_null(key, query):
            raise Beyond("order", "an order in which what is unknown stands elsewhere than by itself on this engine")
        return OrderKey(key, descending)

    def _first(self, select: exp.Select) -> tuple[Sequence[exp.Expr], exp.Expr, int] | None:
        """What rows are grouped by of which the first are kept, their order, and how many; None of other SELECTs."""
        on, qualify = _distinct_on(select), select.args.get("qualify")
        if on is None and qualify is None:
            return None
        found = first_places(qualify.this) if qualify is not None and on is None else None
        order = select.args.get("order") if on is not None else found[0].args.get("order") if found else None
        if order is None or (on is not None and qualify is not None):
            raise Beyond("window", "a condition on a window function other than the first places of rows")
        return (on or (), order, 1) if found is None else (found[0].args.get("partition_by") or (), order, found[1])

    def _first_of_each(
        self, groups: Sequence[exp.Expr], order: exp.Expr, most: int, select: exp.Select, query: Query
    ) -> Query:
        """The first rows of each group by one key, with those that tie with the last; of all rows, the first of them.

        Further keys settle ties, which are not asked for; so is the order of the answer not.
        """
        parts = tuple(self._key(part, query) for part in groups)
        keys = [self._order_key(key, select, query) for key in order.expressions]
        key = next((one for one in keys if one.expression not in parts), None)
        if key is None or (parts and query.group_by):
            raise Beyond("window", "the first places of groups among others, or by what all rows of a group share")
        if not parts:
            return replace(query, order_by=(key,), limit=most)
        return replace(query, keep=Keep(parts, (key,), most))

    def _may_be_null(self, key: Expression, query: Query) -> bool:
        """Whether the place of NULL in an order by `key` matters: a group has at least one row."""
        if isinstance(key, Aggregate):
            counts = key.function == "count"
            of_some = key.where is not None or not query.group_by
            return not counts and (of_some or key.argument is None or self._may_be_null(key.argument, query))
        if not isinstance(key, Column | DatePart | Days | Arithmetic | Share):
            return True
        if isinstance(key, Share):
            return not query.group_by
        return any(may_lack(node, query, self.atlas.profile) for node in walk(key) if isinstance(node, Column))


def _is_weekday(key: Expression) -> bool:
    return isinstance(key, DatePart) and key.part == "weekday"


def _bands(query: Query) -> bool:
    """Whether the groups of a query are bands, which are said from the lowest up."""
    return any(isinstance(key, Case) for key in query.group_by)


def _distinct_on(select: exp.Select) -> Sequence[exp.Expr] | None:
    """What one row each is kept of: DISTINCT ON (a, b)."""
    distinct = select.args.get("distinct")
    on = distinct.args.get("on") if isinstance(distinct, exp.Distinct) else None
    return on.expressions or [on.this] if on is not None else None


def _without_places(select: exp.Select) -> list[exp.Expr]:
    """What is shown, without the number of a row by which the first are kept: it stands there for that alone."""
    qualify = select.args.get("qualify")
    found = first_places(qualify.this) if qualify is not None else None
    return [item for item in select.expressions if found is None or item.unalias() != found[0]]

"""Where an answer may hang on chance, read off the tree; and the probes that ask the database whether it does.

An engine is free in the order of rows that compare equal, in which row of a group gives a bare column, and in
which row of several a scalar subquery takes. Each such place gives a probe: a statement whose rows show whether
the freedom exists in this database. What no probe can settle (a correlated subquery with LIMIT) is left to the run
on a shuffled copy.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from sqlglot import exp

from agro_data.databases.quoting import folded
from agro_data.databases.types import Dialect
from agro_data.sql.constructs import is_aggregate, is_one_row, number_of
from agro_data.sql.forms.canonical import sql_text
from agro_data.sql.names.called_columns import columns_in, is_star
from agro_data.sql.names.resolution import Resolution, Scope
from agro_data.sql.names.visible import columns_seen, gives_rows
from agro_data.sql.walks import leftmost, local_nodes
from agro_data.verify.chance.choices import Choice, choices, distinct_on, whole_window
from agro_data.verify.chance.judging import Harmful, OrderJudge, several_rows
from agro_data.verify.equivalence import Rows

TIED = 24  # rows beyond a LIMIT that are looked at: those that compare equal may all show the same
MOST = 60  # places of a query that are looked into

_TOTAL_ORDER = (exp.RowNumber, exp.Lag, exp.Lead, exp.FirstValue, exp.LastValue, exp.NthValue, exp.Ntile)
_TIE_PROOF = (exp.Rank, exp.DenseRank, exp.PercentRank, exp.CumeDist)
_COLLECTING = (exp.GroupConcat, exp.ArrayAgg, exp.AnyValue, exp.First, exp.Last, exp.JSONObjectAgg, exp.JSONArrayAgg)
_COLLECTING_NAMES = frozenset({
    "group_concat", "string_agg", "listagg", "json_group_array", "json_group_object", "list", "array_agg",
    "any_value", "arbitrary", "first", "last",
})  # fmt: skip


@dataclass(frozen=True)
class Chance:
    """A place where the tree alone shows that chance decides."""

    reason: str
    detail: str


@dataclass(frozen=True)
class Probe:
    """A statement to run, and what its rows mean: "" is harmless, else a sentence for a person."""

    reason: str
    sql: str
    judge: Callable[[Rows], str]


def chance_in(found: Resolution) -> Chance | None:
    """The first place where the answer is left open whatever the data: `unordered_limit`, `unordered_window`,
    `unordered_aggregate`, `tie` (ordered by what DISTINCT has dropped).
    """
    for node in found.tree.walk():
        if isinstance(node, exp.Query) and node.args.get("limit") is not None:
            if node.args.get("order") is None and not is_one_row(node) and columns_seen(node, found) != frozenset():
                return Chance("unordered_limit", "LIMIT without ORDER BY: which rows are kept is left to the engine")
        elif isinstance(node, exp.Window):
            window = whole_window(node)
            used = not isinstance(node.this, exp.Identifier)  # and not one of a WINDOW clause
            if used and _needs_total_order(window) and window.args.get("order") is None:
                what = node.this.sql_name() if isinstance(node.this, exp.Func) else "a window frame"
                return Chance("unordered_window", f"{what} over rows without an order")
        elif _collects(node):
            return Chance("unordered_aggregate", "values are gathered without an order")
        elif isinstance(node, exp.Select) and node.args.get("order") is None and _keeps_any(node):
            return Chance("unordered_limit", "DISTINCT ON without ORDER BY: which rows are kept is left to the engine")
    root = found.tree
    plain = isinstance(root, exp.Select) and root.args.get("distinct") is not None and not distinct_on(root)
    if plain and root.args.get("order") is not None:
        _, added = _key_positions(root, found)
        if added:
            return Chance("tie", "rows are ordered by something that is not among the DISTINCT columns")
    return None


def too_many(found: Resolution) -> bool:
    """Whether a query orders in more places than are looked into."""
    return sum(1 for _ in islice(found.tree.find_all(exp.Order, exp.Window), MOST + 1)) > MOST


def probes_of(found: Resolution, dialect: Dialect, *, any_cut: bool = False) -> list[Probe]:
    """The probes that this query calls for; most queries call for none or one.

    With `any_cut`, a tie at a LIMIT that is seen is harm even if the tied rows show the same: another right query may
    keep them all.
    """
    context = _Context(found, dialect, any_cut)
    return [probe for scope in found.scopes for probe in context.of_select(scope)] + context.of_orders()


class _Context:
    def __init__(self, found: Resolution, dialect: Dialect, any_cut: bool) -> None:
        self.found = found
        self.dialect = dialect
        self.any_cut = any_cut
        clause = found.tree.args.get("with_")
        self.prefix = sql_text(clause, dialect) + " " if clause is not None else ""

    def statement(self, node: exp.Expr) -> str:
        """A subquery as a statement of its own, with the CTEs it may name."""
        text = sql_text(node, self.dialect)
        return text if node.args.get("with_") is not None else self.prefix + text

    def wrapped(self, columns: str, inner: exp.Expr, rest: str) -> str:
        inner = inner.copy()
        inner.set("with_", None)
        return f"{self.prefix}SELECT {columns} FROM ({sql_text(inner, self.dialect)}) AS agro {rest}"

    # --- ORDER BY and LIMIT --------------------------------------------------------------------------------------

    def of_orders(self) -> list[Probe]:
        probes: list[Probe] = []
        for node in self.found.tree.find_all(exp.Select, exp.SetOperation):
            top = node is self.found.tree
            limited = node.args.get("limit") is not None
            if node.args.get("order") is None or not (top or limited) or is_one_row(node):
                continue
            if top or not self._correlated(node):
                probe = self._order_probe(node, top)
                if probe is not None:
                    probes.append(probe)
        if self.dialect == "sqlite":
            probes.extend(self._scalar_probes())
        return probes

    def _correlated(self, node: exp.Expr) -> bool:
        return any(self.found.scope_of(select).correlated for select in _branches(node))

    def _order_probe(self, node: exp.Expr, top: bool) -> Probe | None:
        limited = node.args.get("limit") is not None
        positions, added = _key_positions(node, self.found)
        if positions is None:
            return None
        width = 0 if any(_is_many(item) for item in leftmost(node).expressions) else len(leftmost(node).expressions)
        caseless = tuple(key.find(exp.Collate) is not None for key in node.args["order"].expressions)
        any_cut = self.any_cut and limited and gives_rows(node, self.found)
        seen = None if top else columns_seen(node, self.found)
        shown = frozenset(range(width)) if seen is None else seen
        if (width or seen is not None) and shown <= {*positions} and not any(caseless) and not any_cut:
            return None  # rows that compare equal are equal, as far as they are seen
        probe = node.copy()
        for number, expression in enumerate(added):
            probe.args["expressions"].append(exp.alias_(expression.copy(), f"agro_key_{number}"))
        limit, offset = number_of(node, "limit"), number_of(node, "offset") or 0
        clauses = [clause for clause in ("limit", "offset") if node.args.get(clause) is not None]
        computed = any(number_of(node, clause) is None for clause in clauses)
        if computed:  # how many rows are kept is not known here: they may end anywhere
            limit, offset = None, 0
            for clause in clauses:
                probe.set(clause, None)
        first = max(offset - TIED, 0)
        if limit is not None:
            last = offset + limit + TIED
            probe.set("limit", exp.Limit(expression=exp.Literal.number(last - first)))
            probe.set("offset", exp.Offset(expression=exp.Literal.number(first)) if first else None)
        cuts = tuple(cut - first for cut in (offset, offset + limit) if cut > first) if limit is not None else ()
        kept = range(offset - first + 1, offset - first + limit) if limit is not None else range(1, sys.maxsize)
        whole = (first == 0, last - first if limit is not None else 0)
        judge = OrderJudge(
            positions=tuple(positions),
            added=len(added),
            folded=caseless,
            cuts=cuts,
            ordered=top or computed,
            kept=kept,
            whole=whole,
            any_cut=any_cut,
            seen=seen,
            width=len(self.found.outputs[id(node)]),
        )
        return Probe("tie", self.statement(probe), judge)

    def _scalar_probes(self) -> Iterator[Probe]:
        """SQLite takes the first row of a scalar subquery that has several."""
        for node in self.found.tree.find_all(exp.Subquery):
            select = node.this
            value = not isinstance(node.parent, (exp.In, exp.Exists, exp.From, exp.Join, exp.SetOperation, exp.CTE))
            if not value or not isinstance(select, exp.Query) or is_one_row(select) or number_of(select, "limit") == 1:
                continue
            if not self._correlated(select):
                sql = self.wrapped("COUNT(*)", select, "")
                yield Probe("scalar_rows", sql, several_rows)

    # --- windows and bare columns --------------------------------------------------------------------------------

    def of_select(self, scope: Scope) -> Iterator[Probe]:
        if scope.correlated:
            return
        for item in [*scope.select.expressions, scope.select.args.get("qualify")]:
            for node in local_nodes(item) if item is not None else ():
                window = whole_window(node) if isinstance(node, exp.Window) else None
                if window is not None and window.args.get("order") is not None and _needs_total_order(window):
                    yield self._window_probe(scope.select, window)
        for choice in choices(scope.select):
            yield self._choice_probe(scope, choice)
        if self.dialect == "sqlite":
            bare = _bare_columns(scope, self.found)
            if bare:
                yield self._bare_probe(scope.select, bare)

    def _window_probe(self, select: exp.Select, window: exp.Window) -> Probe:
        inner = _unordered(select)
        keys = [*(window.args.get("partition_by") or ()), *(key.this for key in window.args["order"].expressions)]
        names = [f"agro_key_{number}" for number in range(len(keys))]
        for name, key in zip(names, keys, strict=True):
            inner.args["expressions"].append(exp.alias_(key.copy(), name))
        inner.set("qualify", None)
        sql = self.wrapped("1", inner, f"GROUP BY {', '.join(names)} HAVING COUNT(*) > 1 LIMIT 1")
        return Probe("tie", sql, Harmful("rows of one window share the value they are ordered by"))

    def _choice_probe(self, scope: Scope, choice: Choice) -> Probe:
        """Rows that tie in the order of a choice and show different values."""
        inner = _unordered(scope.select)
        for clause in ("group", "having", "qualify"):
            inner.set(clause, None)
        terms = (*choice.within, *(key.term for key in choice.keys))
        alike = [_expanded(self.found.meaning(term, scope.select), self.found) for term in terms]
        shown = [_expanded(value, self.found) for value in _columns_shown(choice.values, scope)]
        values = [f"agro_value_{number}" for number in range(len(shown))]
        groups = [f"agro_key_{number}" for number in range(len(alike))]
        outputs = [exp.alias_(node, name) for node, name in zip((*shown, *alike), (*values, *groups), strict=True)]
        within, keys = alike[: len(choice.within)], alike[len(choice.within) :]
        if choice.most is not None:
            order = [
                exp.Ordered(this=term.copy(), desc=key.descending, nulls_first=key.nulls_first)
                for term, key in zip(keys, choice.keys, strict=True)
            ]
            partition = [term.copy() for term in within]
            rank = exp.Window(this=exp.Rank(), partition_by=partition, order=exp.Order(expressions=order))
            outputs.append(exp.alias_(rank, "agro_rank"))
        inner.set("expressions", outputs)
        for condition in choice.where:
            inner.where(_expanded(condition, self.found), copy=False)
        for node in (*shown, *keys) if choice.known else ():
            inner.where(exp.Not(this=exp.Is(this=exp.paren(node), expression=exp.Null())), copy=False)
        differ = " OR ".join(f"MIN({v}) <> MAX({v}) OR COUNT({v}) BETWEEN 1 AND COUNT(*) - 1" for v in values)
        first = f"WHERE agro_rank <= {choice.most} " if choice.most is not None else ""
        sql = self.wrapped("1", inner, f"{first}GROUP BY {', '.join(groups)} HAVING {differ} LIMIT 1")
        return Probe("tie", sql, Harmful(f"rows that {choice.what} puts in order tie, and show different values"))

    def _bare_probe(self, select: exp.Select, bare: Sequence[exp.Column]) -> Probe:
        inner = _unordered(select)
        tests: list[str] = []
        for number, column in enumerate(bare):
            for name, function in (("low", exp.Min), ("high", exp.Max), ("known", exp.Count)):
                call = function(this=column.copy())
                inner.args["expressions"].append(exp.alias_(call, f"agro_{name}_{number}"))
            tests.append(f"agro_low_{number} <> agro_high_{number}")
            tests.append(f"agro_known_{number} BETWEEN 1 AND agro_rows - 1")
        inner.args["expressions"].append(exp.alias_(exp.Count(this=exp.Star()), "agro_rows"))
        named = ", ".join(dict.fromkeys(column.name for column in bare))
        sql = self.wrapped("1", inner, f"WHERE {' OR '.join(tests)} LIMIT 1")
        return Probe("bare_column", sql, Harmful(f"{named} differs within a group that shows one value of it"))


# --- reading trees -----------------------------------------------------------------------------------------------


def _key_positions(node: exp.Expr, found: Resolution) -> tuple[list[int] | None, list[exp.Expr]]:
    """Where each ORDER BY key stands in a row: an output's index, or one of the expressions to be added (negative).

    None when a set operation is ordered by something that is not an output.
    """
    items = leftmost(node).expressions
    star = any(_is_many(item) for item in items)
    texts = {} if star else {item.unalias().unnest(): index for index, item in reversed(list(enumerate(items)))}
    names = {folded(item.alias_or_name): index for index, item in reversed(list(enumerate(items)))}
    positions: list[int | exp.Expr] = []
    added: list[exp.Expr] = []
    for key in node.args["order"].expressions:
        term = key.this.this if isinstance(key.this, exp.Collate) else key.this
        binding = found.binding(term)
        index: int | None = None
        if isinstance(term, exp.Literal) and term.is_int:
            index = int(term.this) - 1
        elif binding is not None and binding.kind == "output":
            index = names.get(binding.name)
        else:
            term = found.meaning(term, leftmost(node))
            index = texts.get(term.unnest())
        if index is not None and (not star or isinstance(term, exp.Literal)):
            positions.append(index)
        elif isinstance(node, exp.SetOperation):
            return None, []
        else:
            added.append(_expanded(term, found))
            positions.append(added[-1])
    placed = [
        p if isinstance(p, int) else next(i for i, a in enumerate(added) if a is p) - len(added) for p in positions
    ]
    return placed, added


def _expanded(term: exp.Expr, found: Resolution) -> exp.Expr:
    """The term with references to output aliases replaced: they may not stand in a SELECT list."""
    copy = term.copy()
    pairs = zip(list(term.walk()), list(copy.walk()), strict=True)
    for original, twin in pairs:
        named = found.aliased(original)
        if named is not None:
            replacement = exp.paren(named.copy())
            if twin is copy:
                return replacement
            twin.replace(replacement)
    return copy


def _columns_shown(items: Sequence[exp.Expr], scope: Scope) -> list[exp.Expr]:
    """The values that outputs show, with the columns of every source for a star."""
    values: list[exp.Expr] = []
    for item in items:
        if not _is_many(item):
            values.append(item.unalias())
            continue
        for source in scope.sources:
            values += [exp.column(name, table=source.alias, quoted=True) for name in source.columns.values()]
    return values


def _bare_columns(scope: Scope, found: Resolution) -> list[exp.Column]:
    """Columns of a grouped SELECT that stand outside aggregates and are no grouping key, each once."""
    select = scope.select
    group = select.args.get("group")
    clauses = [*select.expressions]
    for clause in ("having", "order"):
        one_row = group is None and clause == "order"  # nothing to order
        if select.args.get(clause) is not None and not one_row:
            clauses.append(select.args[clause])
    if group is None and not any(is_aggregate(node) for item in clauses for node in local_nodes(item)):
        return []
    keys = [found.meaning(key, select) for key in (group.expressions if group is not None else ())]
    named = {_identity(key, found) for key in keys if isinstance(key, exp.Column)}
    local = {id(source) for source in scope.sources}
    bare: dict[tuple[int, str], exp.Column] = {}
    for clause in clauses:
        for column in _outside_aggregates(clause, keys):
            if isinstance(column, exp.Star):
                for source in scope.sources:
                    for name in source.columns.values():
                        bare.setdefault((id(source), folded(name)), exp.column(name, table=source.alias, quoted=True))
                continue
            identity = _identity(column, found)
            if identity is not None and identity[0] in local:
                bare.setdefault(identity, column)
    return [column for identity, column in bare.items() if identity not in named]


def _identity(column: exp.Expr, found: Resolution) -> tuple[int, str] | None:
    binding = found.binding(column)
    if binding is None or binding.source is None:
        return None
    return id(binding.source), folded(binding.name)


def _outside_aggregates(node: exp.Expr, keys: Sequence[exp.Expr]) -> Iterator[exp.Column | exp.Star]:
    taken_in = is_aggregate(node) or (isinstance(node, exp.Filter) and is_aggregate(node.this))
    if taken_in or isinstance(node, (exp.Query, exp.Window)) or any(node == key for key in keys):
        return
    if is_star(node):
        yield exp.Star()
    elif isinstance(node, exp.Column):
        yield node
    else:
        for child in node.iter_expressions():
            yield from _outside_aggregates(child, keys)


def _unordered(select: exp.Select) -> exp.Select:
    copy = select.copy()
    for clause in ("order", "limit", "offset", "distinct"):
        copy.set(clause, None)
    return copy


def _branches(node: exp.Expr) -> Iterator[exp.Select]:
    """The SELECTs that a query's rows come from, through parentheses and set operations."""
    if isinstance(node, exp.Select):
        yield node
    else:
        yield from _branches(node.this)
        if isinstance(node, exp.SetOperation):
            yield from _branches(node.expression)


def _is_many(item: exp.Expr) -> bool:
    """Whether an item of a select list may give more than one output."""
    return is_star(item) or columns_in(item) is not None


def _keeps_any(select: exp.Select) -> bool:
    """Whether DISTINCT ON shows more than what it keeps one row of."""
    on = distinct_on(select)
    return bool(on) and any(item.unalias() not in on for item in select.expressions)


def _needs_total_order(window: exp.Window) -> bool:
    """Whether rows with equal keys could exchange their values."""
    function = window.this
    while isinstance(function, (exp.IgnoreNulls, exp.RespectNulls, exp.Filter)):
        function = function.this
    if isinstance(function, _TOTAL_ORDER):
        return True
    if isinstance(function, _TIE_PROOF):
        return False
    spec = window.args.get("spec")
    if spec is None or (spec.args.get("kind") or "").upper() != "ROWS":
        return False
    return not (spec.args.get("start") == "UNBOUNDED" and spec.args.get("end") == "UNBOUNDED")


def _collects(node: exp.Expr) -> bool:
    named = isinstance(node, exp.Anonymous) and node.name.lower() in _COLLECTING_NAMES
    if not named and not isinstance(node, _COLLECTING):
        return False
    return node.find(exp.Order) is None and not isinstance(node.parent, exp.WithinGroup)

"""A resolved tree as terms."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from sqlglot import exp

from agro_data.databases.quoting import folded
from agro_data.databases.types import Dialect
from agro_data.sql.constructs import is_many_groupings
from agro_data.sql.names.called_columns import is_star
from agro_data.sql.names.resolution import Resolution, Scope, Source, names_beside
from agro_data.sql.walks import leftmost
from agro_data.verify.proofs.terms import (
    Combined,
    From,
    Key,
    NotUnderstood,
    Query,
    Select,
    Term,
    columns_in,
    combined,
    conjuncts,
    lowered,
    negated,
)

_COMPARED: dict[type[exp.Expr], tuple[str, bool]] = {
    exp.EQ: ("=", False),
    exp.NEQ: ("<>", False),
    exp.LT: ("<", False),
    exp.LTE: ("<=", False),
    exp.GT: ("<", True),
    exp.GTE: ("<=", True),
}
_AGGREGATES: dict[type[exp.Expr], str] = {
    exp.Count: "count",
    exp.Sum: "sum",
    exp.Avg: "avg",
    exp.Min: "min",
    exp.Max: "max",
    exp.Median: "median",
    exp.Stddev: "stddev",
    exp.StddevSamp: "stddev",
    exp.StddevPop: "stddev_pop",
    exp.Variance: "variance",
    exp.VariancePop: "variance_pop",
}
_UNSTABLE = (exp.Rand, exp.Randn, exp.Uuid)
_WITHOUT_TERM = (exp.AggFunc, exp.SubqueryPredicate, exp.Star)  # unless of a window
_UNSTABLE_NAMES = frozenset({"random", "randomblob", "changes", "last_insert_rowid", "total_changes", "setseed"})
_AGGREGATE_NAMES = frozenset({  # that sqlglot has no class for
    "total", "group_concat", "string_agg", "percentile", "json_group_array", "json_group_object", "jsonb_group_array",
    "jsonb_group_object", "arbitrary", "bitstring_agg", "count_star", "entropy", "favg", "fsum", "geomean",
    "geometric_mean", "histogram", "histogram_exact", "kahan_sum", "mad", "mean", "product", "reservoir_quantile",
    "sem", "sumkahan", "weighted_avg",
})  # fmt: skip
_NOISE = frozenset({"big_int", "safe", "typed"})
_GIVEN = _NOISE | {"this"}  # of DuckDB's max(x, 2) the 2 stands elsewhere


def read(found: Resolution, dialect: Dialect) -> Query:
    """The query of a resolved tree. Raises `NotUnderstood`."""
    if found.problems:
        raise NotUnderstood(found.problems[0][1])
    return _Reader(found, dialect).query(found.tree)


def is_unstable(node: exp.Expr) -> bool:
    """Whether it is a function that gives another value each time."""
    return isinstance(node, _UNSTABLE) or (isinstance(node, exp.Anonymous) and node.name.lower() in _UNSTABLE_NAMES)


def _is_truth(node: exp.Expr) -> bool:
    """Whether it is written as what is true or false, and no value that the engine takes for it."""
    return isinstance(node.unnest(), (exp.Predicate, exp.Connector, exp.Not))


class _Reader:
    def __init__(self, found: Resolution, dialect: Dialect) -> None:
        self.found = found
        self.dialect = dialect
        self.aliases: dict[int, str] = {}
        self.positions: dict[str, dict[str, int]] = {}  # alias of a derived table -> column -> position
        self.made = 0

    def query(self, node: exp.Expr) -> Query:
        clause = node.args.get("with_")
        if clause is not None and clause.args.get("recursive"):
            raise NotUnderstood("a recursive CTE")
        if isinstance(node, exp.Select):
            return self._select(node)
        if isinstance(node, exp.Subquery):
            if any(node.args.get(name) is not None for name in ("order", "limit", "offset", "joins")):
                raise NotUnderstood("a parenthesised query with clauses of its own")
            return self.query(node.this)
        if not isinstance(node, exp.SetOperation):
            raise NotUnderstood(type(node).__name__)
        if node.args.get("by_name") or (not isinstance(node, exp.Union) and node.args.get("distinct") is False):
            raise NotUnderstood("a set operation BY NAME or INTERSECT ALL")
        operation = node.key + ("" if node.args.get("distinct") or not isinstance(node, exp.Union) else " all")
        branches = (self.query(node.this), self.query(node.expression))
        scope = self.found.scope_of(leftmost(node))
        order = node.args.get("order")
        keys = tuple(self._key(key, self._output(key.this, scope)) for key in (order.expressions if order else ()))
        limit, offset = (self._bound(node.args.get(name)) for name in ("limit", "offset"))
        return Combined(operation, branches, keys, limit, offset)

    def _output(self, term: exp.Expr, scope: Scope) -> Term:
        binding = self.found.binding(term)
        if isinstance(term, exp.Literal) and term.is_int:
            return ("output", int(term.this) - 1)
        if binding is None or binding.kind != "output" or scope.outputs.count(binding.name) != 1:
            raise NotUnderstood("a set operation ordered by an expression")
        return ("output", scope.outputs.index(binding.name))

    @staticmethod
    def _key(key: exp.Expr, term: Term) -> Key:
        return Key(term, bool(key.args.get("desc")), bool(key.args.get("nulls_first")))

    def _bound(self, node: exp.Expr | None) -> Term | None:
        if node is None:
            return None
        value = node.args.get("expression")
        if not isinstance(value, exp.Literal):
            raise NotUnderstood("a LIMIT that is computed")
        return ("lit", "number", str(value.this))

    def _select(self, node: exp.Select) -> Select:
        scope = self.found.scope_of(node)
        distinct = node.args.get("distinct")
        if node.args.get("qualify") is not None or node.args.get("windows") or (distinct and distinct.args.get("on")):
            raise NotUnderstood("QUALIFY, WINDOW or DISTINCT ON")
        joins = node.args.get("joins") or []
        if len(scope.sources) != len(joins) + (node.args.get("from_") is not None):
            raise NotUnderstood("a parenthesised join")
        if any(source.query is not None and names_beside(source.node, scope, self.found) for source in scope.sources):
            raise NotUnderstood("a query in FROM that names what stands beside it")
        sources = [self._source(source) for source in scope.sources]
        where: list[Term] = []
        for number, join in enumerate(joins, 1):
            side = (join.side or "").upper()
            odd = join.args.get("using") or join.args.get("method") or side in ("RIGHT", "FULL")
            if odd or (join.kind or "").upper() not in ("", "INNER", "OUTER", "CROSS"):
                raise NotUnderstood(f"a {join.method} {side} {join.kind} JOIN")
            on = conjuncts([self.term(join.args["on"], scope)]) if join.args.get("on") is not None else ()
            if side == "LEFT":
                if {column[1] for column in columns_in(on)} & {source.alias for source in sources[number + 1 :]}:
                    raise NotUnderstood("a LEFT JOIN whose ON names what is joined after it")
                sources[number] = replace(sources[number], left=True, on=on)
            else:
                where.extend(on)
        outputs = tuple(term for item in node.expressions for term in self._item(item, scope))
        group = node.args.get("group")
        further = group is not None and any(value for slot, value in group.args.items() if slot != "expressions")
        if group is not None and (further or is_many_groupings(group)):
            raise NotUnderstood("GROUP BY ALL or GROUPING SETS")
        order = node.args.get("order")
        keys = order.expressions if order is not None else ()
        if node.args.get("where") is not None:
            where.append(self.term(node.args["where"].this, scope))
        having = [self.term(node.args["having"].this, scope)] if node.args.get("having") is not None else []
        return Select(
            outputs,
            tuple(sources),
            where=conjuncts(where),
            group=None if group is None else tuple(self._place(key, scope, outputs) for key in group.expressions),
            having=conjuncts(having),
            distinct=distinct is not None,
            order=tuple(self._key(key, self._place(key.this, scope, outputs)) for key in keys),
            limit=self._bound(node.args.get("limit")),
            offset=self._bound(node.args.get("offset")),
        )

    def _place(self, node: exp.Expr, scope: Scope, outputs: tuple[Term, ...]) -> Term:
        """A key of GROUP BY or ORDER BY: a number is a position."""
        if isinstance(node, exp.Literal) and node.is_int and 0 < int(node.this) <= len(outputs):
            return outputs[int(node.this) - 1]
        return self.term(node, scope)

    def _source(self, source: Source) -> From:
        alias = f"s{self.made}"
        self.made += 1
        self.aliases[id(source)] = alias
        if source.table:
            return From(alias, source.table, tuple(source.columns))
        if source.query is None:
            raise NotUnderstood("rows of JSON, or that are written out")
        names = source.query.outputs
        if len(set(names)) != len(names):
            raise NotUnderstood("a derived table with two columns of one name")
        self.positions[alias] = {name: place for place, name in enumerate(names)}
        return From(alias, "", tuple(f"#{place}" for place in range(len(names))), self.query(source.query.query))

    def _item(self, item: exp.Expr, scope: Scope) -> Iterator[Term]:
        if not is_star(item):
            yield self.term(item.unalias(), scope)
            return
        further = (item.this if isinstance(item, exp.Column) else item).args  # of t.*, its star has them
        if further.get("replace") or further.get("rename"):
            raise NotUnderstood("* with REPLACE or RENAME")
        without = {folded(node.name) for node in further.get("except_") or ()}
        qualifier = folded(item.table) if isinstance(item, exp.Column) else ""
        for source in scope.sources:
            if not qualifier or source.alias == qualifier:
                yield from (self._column(source, name) for name in source.columns if name not in without)

    def _column(self, source: Source, name: str) -> Term:
        alias = self.aliases.get(id(source))
        if alias is None:
            raise NotUnderstood("a reference to a source that is not read yet")
        positions = self.positions.get(alias)
        return ("col", alias, name if positions is None else f"#{positions[name]}")

    def term(self, node: exp.Expr, scope: Scope) -> Term:
        if isinstance(node, exp.Paren):
            return self.term(node.this, scope)
        if isinstance(node, exp.Column):
            return self._reference(node, scope)
        if isinstance(node, exp.Literal):
            return ("lit", "text" if node.is_string else "number", str(node.this))
        if isinstance(node, exp.Neg) and isinstance(node.this, exp.Literal):
            return ("lit", "number", f"-{node.this.this}")
        if isinstance(node, (exp.And, exp.Or)):
            made = combined(node.key, (self.term(node.this, scope), self.term(node.expression, scope)))
            if made[0] not in ("and", "or") and not (_is_truth(node.this) and _is_truth(node.expression)):
                raise NotUnderstood("a truth of one value")  # 5 AND 5 is 1 in SQLite, not 5
            return made
        if isinstance(node, exp.Not):
            return self._not(node, scope)
        if type(node) in _COMPARED:
            word, turned = _COMPARED[type(node)]
            left, right = self.term(node.args["this"], scope), self.term(node.args["expression"], scope)
            sides = (right, left) if turned else (left, right)
            return (word, *(sorted(sides, key=repr) if word in ("=", "<>") else sides))
        if isinstance(node, exp.Is) and isinstance(node.expression, exp.Null):
            return ("isnull", self.term(node.this, scope))
        if isinstance(node, exp.Between) and not node.args.get("symmetric"):
            subject = self.term(node.this, scope)
            low, high = self.term(node.args["low"], scope), self.term(node.args["high"], scope)
            return combined("and", (("<=", low, subject), ("<=", subject, high)))
        if isinstance(node, exp.In):
            return self._in(node, scope)
        if isinstance(node, exp.Exists):
            return ("exists", self.query(node.this))
        if isinstance(node, exp.Query):
            return ("scalar", self.query(node))
        if type(node) in _AGGREGATES and not (isinstance(node, (exp.Max, exp.Min)) and node.expressions):
            return self._aggregate(node, scope)
        if isinstance(node, exp.Filter):
            return self._filtered(node, scope)
        return self._other(node, scope)

    def _not(self, node: exp.Not, scope: Scope) -> Term:
        inner = node.this.unnest()
        if _is_truth(inner):
            if isinstance(inner, exp.Not) and not isinstance(inner.this.unnest(), (exp.Predicate, exp.Connector)):
                return ("not", self.term(inner, scope))
            return negated(self.term(inner, scope))
        return ("not", self.term(inner, scope))

    def _reference(self, node: exp.Column, scope: Scope) -> Term:
        named, binding = self.found.aliased(node), self.found.binding(node)
        if binding is not None and binding.kind == "string":
            return ("lit", "text", binding.name)
        if named is not None:
            return self.term(named, scope)
        if binding is None or binding.source is None:
            raise NotUnderstood(f"a reference {node.name}")
        return self._column(binding.source, binding.name)

    def _in(self, node: exp.In, scope: Scope) -> Term:
        subject = self.term(node.this, scope)
        if node.args.get("query") is not None:
            return ("in", subject, self.query(node.args["query"]))
        if not node.expressions or node.args.get("unnest") or node.args.get("field"):
            raise NotUnderstood("IN over something that is no list")
        items = [self.term(item, scope) for item in node.expressions]
        if not all(item[0] == "lit" for item in items):
            return ("fn", "In", (("this", subject), ("expressions", tuple(sorted(items, key=repr)))))
        return combined("or", (("=", *sorted((subject, item), key=repr)) for item in items))

    def _filtered(self, node: exp.Filter, scope: Scope) -> Term:
        """An aggregate of some rows as one of a CASE that is NULL for the others."""
        inner = self.term(node.this, scope)
        if inner[0] != "agg":
            raise NotUnderstood("FILTER of something that is no aggregate")
        condition = self.term(node.expression.this, scope)
        value = inner[3] if inner[3] is not None else ("lit", "number", "1")
        branch = ("fn", "If", (("this", condition), ("true", value)))
        return (*inner[:3], ("fn", "Case", (("ifs", (branch,)),)))

    def _aggregate(self, node: exp.Expr, scope: Scope) -> Term:
        name, inner = _AGGREGATES[type(node)], node.this
        distinct = isinstance(inner, exp.Distinct)
        if distinct:
            if len(inner.expressions) != 1:
                raise NotUnderstood("an aggregate over several columns")
            inner = inner.expressions[0]
        if isinstance(inner, exp.Order) or any(value for slot, value in node.args.items() if slot not in _GIVEN):
            raise NotUnderstood("an ordered aggregate, or one that is given more than a value")
        if isinstance(inner, exp.Star) or (name == "count" and isinstance(inner, exp.Literal) and not distinct):
            return ("agg", name, False, None)
        argument = self.term(inner, scope)
        own = {self.aliases[id(source)] for source in scope.sources}
        if any(column[1] not in own for column in columns_in([argument])):
            raise NotUnderstood("an aggregate over a column from outside")
        return ("agg", name, distinct and name not in ("min", "max"), argument)

    def _other(self, node: exp.Expr, scope: Scope) -> Term:
        if is_unstable(node):
            raise NotUnderstood("a function that gives another value each time")
        if isinstance(node, _WITHOUT_TERM) and not isinstance(node.parent, exp.Window):
            raise NotUnderstood(type(node).__name__)
        if isinstance(node, exp.Lambda):
            raise NotUnderstood("a function of a list")
        if isinstance(node, exp.Columns):
            raise NotUnderstood("columns that are named by what they are like")
        if isinstance(node, exp.UDTF):
            raise NotUnderstood("rows of a list")
        if isinstance(node, exp.Anonymous) and node.name.lower() in _AGGREGATE_NAMES:
            raise NotUnderstood(node.name)
        values = self._values(node, scope)
        if isinstance(node, exp.Anonymous):  # engines do not see the case of a function's name
            values = tuple((slot, node.name.lower() if slot == "this" else value) for slot, value in values)
        if self._caseless(node):
            values = tuple((slot, lowered(value) if slot == "expression" else value) for slot, value in values)
        if isinstance(node, (exp.Like, exp.ILike)) and node.args.get("negate"):
            asked = tuple((slot, value) for slot, value in values if slot != "negate")
            return ("not", ("fn", type(node).__name__, asked))
        if isinstance(node, (exp.Add, exp.Mul)):
            sides = sorted((value for _, value in values), key=repr)
            return ("fn", type(node).__name__, (("left", sides[0]), ("right", sides[1])))
        return ("fn", type(node).__name__, values)

    def _caseless(self, node: exp.Expr) -> bool:
        """A LIKE that does not see the case of ASCII letters, and has no letter for an escape."""
        like = isinstance(node, exp.ILike) or (isinstance(node, exp.Like) and self.dialect == "sqlite")
        return like and not isinstance(node.parent, exp.Escape)

    def _values(self, node: exp.Expr, scope: Scope) -> tuple[Term, ...]:
        return tuple(
            (slot, self._value(value, scope))
            for slot, value in sorted(node.args.items())
            if value is not None and value is not False and value != [] and slot not in _NOISE
        )

    def _value(self, value: object, scope: Scope) -> Any:
        if isinstance(value, exp.Identifier):
            return ("lit", "name", folded(value.name))
        if isinstance(value, exp.Expr):
            return self.term(value, scope)
        if isinstance(value, list):
            return tuple(self._value(item, scope) for item in value)
        return ("lit", "setting", str(value))

"""Does every condition of a query matter to its answer? A condition that changes nothing cannot be learnt from it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from sqlglot import exp

from agro_data.databases.types import Dialect
from agro_data.sql.conditions import conditions, joined, links, parts_of
from agro_data.sql.constructs import number_of
from agro_data.sql.forms.canonical import sql_text
from agro_data.sql.names.resolution import Resolution, Scope, Source
from agro_data.verify.edits import Change, edited, swap

MOST = 60  # variants of a query: each is run


@dataclass(frozen=True)
class Variant:
    """The query without one of its conditions. `name` says which, as SQL: "WHERE age > 56", "JOIN concert"."""

    name: str
    sql: str


def drop_variants(found: Resolution, dialect: Dialect) -> list[Variant]:
    """The query with each condition dropped in turn: conjuncts and disjuncts of WHERE, HAVING and QUALIFY, further
    conjuncts of ON, joins that only filter, branches of set operations, LIMIT; in subqueries and CTEs too.

    Left in are guards that say only "a missing value does not count": IS NOT NULL on a column that the same SELECT or
    the NOT IN around it uses anyway; and the WHERE of a SELECT that keeps its first row, which often is the first
    without it: whether it matters is for instances to tell (a mutant drops it). The tree is edited in place and
    restored. If there are more than `MOST`, only the first.
    """
    return list(islice(_Dropper(found, dialect).variants(), MOST))


@dataclass(frozen=True)
class _Dropper:
    found: Resolution
    dialect: Dialect

    def text(self, node: exp.Expr) -> str:
        return sql_text(node, self.dialect)

    def variants(self) -> Iterator[Variant]:
        for scope in self.found.scopes:
            yield from self._conditions(scope)
            yield from self._joins(scope)
        for operation in list(self.found.tree.find_all(exp.SetOperation)):
            yield from self._branches(operation)
        for query in list(self.found.tree.find_all(exp.Select, exp.SetOperation)):
            yield from self._limit(query)

    def _with(self, name: str, *changes: Change) -> Variant:
        return Variant(name, edited(self.found.tree, changes, self.dialect))

    def _conditions(self, scope: Scope) -> Iterator[Variant]:
        for clause, holder, slot, condition in conditions(scope):
            if clause == "WHERE" and number_of(scope.select, "limit") == 1:
                continue
            if clause == "ON" and not isinstance(condition.unnest(), exp.And):
                continue  # without it: all pairs
            for label, rest in self._weakened(condition, scope):
                if rest is not None:
                    yield self._with(f"{clause} {label}", Change(holder, slot, rest))
                elif clause != "ON":
                    yield self._with(f"{clause} {label}", Change(scope.select, clause.lower(), None))

    def _weakened(self, condition: exp.Expr, scope: Scope) -> Iterator[tuple[str, exp.Expr | None]]:
        """Each conjunct or disjunct, and the condition without it (None: nothing is left)."""
        parts = list(parts_of(condition))
        for index, part in enumerate(parts):
            others = [other for number, other in enumerate(parts) if number != index]
            if not self._is_guard(part, scope) and not links(self.found, part, scope):  # without a link: all pairs
                yield self.text(part), joined(others) if others else None
            choices = list(parts_of(part, exp.Or))
            for number, choice in enumerate(choices if len(choices) > 1 else ()):
                rest = exp.paren(joined([c for place, c in enumerate(choices) if place != number], exp.Or), copy=False)
                yield self.text(choice), joined([*others, rest])

    def _is_guard(self, part: exp.Expr, scope: Scope) -> bool:
        bare = part.unnest()
        if not (isinstance(bare, exp.Not) and isinstance(bare.this.unnest(), exp.Is)):
            return False
        test = bare.this.unnest()
        if not isinstance(test.expression, exp.Null) or not isinstance(test.this, exp.Column):
            return False
        guarded = self.found.binding(test.this)
        if guarded is None:
            return False
        around = scope.select.find_ancestor(exp.In)
        if around is not None and isinstance(around.parent, exp.Not):
            return True
        inside = {id(node) for node in part.walk()}
        for column in scope.select.find_all(exp.Column):
            other = self.found.binding(column)
            if id(column) in inside or other is None:
                continue
            if other.source is guarded.source and other.name == guarded.name:
                return True
        return False

    def _joins(self, scope: Scope) -> Iterator[Variant]:
        select = scope.select
        joins = list(select.args.get("joins") or ())
        if not joins or any(join.args.get("using") or join.method for join in joins) or _has_star(select):
            return
        if len(scope.sources) != len(joins) + 1:
            return  # parenthesised joins
        for index, join in enumerate(joins):
            if not self._is_used(scope.sources[index + 1], select, join):
                name = f"{join.side + ' ' if join.side else ''}JOIN {join.this.name or join.this.alias}"
                yield self._with(name, Change(select, "joins", joins[:index] + joins[index + 1 :]))
        if len(joins) == 1 and not joins[0].side and not self._is_used(scope.sources[0], select, joins[0]):
            first = select.args["from_"].this
            name = f"JOIN {first.name or first.alias}"
            yield self._with(name, Change(select, "joins", None), swap(first, joins[0].this.copy()))

    def _is_used(self, source: Source, select: exp.Select, join: exp.Expr) -> bool:
        """Whether anything but the join's own condition names a column of the source."""
        own = {id(node) for node in join.args["on"].walk()} if join.args.get("on") is not None else set()
        for column in select.find_all(exp.Column):
            binding = self.found.binding(column)
            if binding is not None and binding.source is source and id(column) not in own:
                return True
        return False

    def _branches(self, node: exp.SetOperation) -> Iterator[Variant]:
        if node.args.get("limit") is not None:
            return
        word = node.key.upper()
        sides = (
            [("second", node.this)]
            if isinstance(node, exp.Except)
            else [("second", node.this), ("first", node.expression)]
        )
        for dropped, kept in sides:
            branch = kept.copy()
            if node is self.found.tree:
                clause = node.args.get("with_")
                if clause is not None:
                    branch.set("with_", clause.copy())
                yield Variant(f"{dropped} branch of {word}", self.text(branch))
            else:
                yield self._with(f"{dropped} branch of {word}", swap(node, branch))

    def _limit(self, node: exp.Expr) -> Iterator[Variant]:
        limit = node.args.get("limit")
        holder = node.parent.parent if isinstance(node.parent, exp.Subquery) else node.parent
        counted = node is self.found.tree or isinstance(holder, (exp.In, exp.From, exp.Join, exp.CTE, exp.Subquery))
        if limit is not None and counted:
            yield self._with(self.text(limit).strip(), Change(node, "limit", None))


def _has_star(select: exp.Select) -> bool:
    return any(item.is_star for item in select.expressions)

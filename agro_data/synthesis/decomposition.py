"""Any SELECT as ordered, named steps (AGRO-SQL, 2512.23366): each runs by itself, is used by a later one, and says what
it does. Whether each gives rows is for the caller to see, who runs them.

Steps are the query's own parts: its CTEs, the sides of a set operation, queries in FROM, subqueries that stand alone,
and the rows before they are grouped. An intent has better words for its steps (`intent.steps.decompose`).
"""

from __future__ import annotations

from sqlglot import exp

from agro_data.databases.quoting import folded
from agro_data.databases.types import Dialect
from agro_data.intent.sampling.atlas import Atlas
from agro_data.intent.steps.decompose import MOST, Step, StepNames, decompose, not_read
from agro_data.intent.tree import Intent
from agro_data.sql.constructs import is_aggregate
from agro_data.sql.facts import facts_of, sql_facts
from agro_data.sql.forms.canonical import sql_text
from agro_data.sql.names.scope import Schema, resolve
from agro_data.sql.parse import SqlRefused, parse_select
from agro_data.synthesis.read_back.reading import read_intent
from agro_data.words import cut

SHOWN = 80  # characters of a clause in a step's line


def steps_of(sql: str, dialect: Dialect, schema: Schema) -> tuple[Step, ...]:
    """One to `MOST` steps that lead to `sql`; the last is `sql` itself. Raises `SqlRefused` for what is no query on the
    tables and columns of `schema`.
    """
    return _Decomposition(sql, dialect, schema).steps()


def steps_in_words(sql: str, atlas: Atlas) -> tuple[Step, ...]:
    """The same for SQL that somebody wrote: in the words of an intent where it can be read as one (of people's queries
    four in five), else clause by clause. The last step's SQL may be another way to write it.
    """
    read = read_intent(sql, atlas)
    if isinstance(read, Intent):
        return decompose(read, atlas.profile)
    return steps_of(sql, atlas.profile.dialect, atlas.profile.schema)


class _Decomposition:
    def __init__(self, sql: str, dialect: Dialect, schema: Schema) -> None:
        self.sql, self.dialect, self.schema = sql, dialect, schema
        self.tree = parse_select(sql, dialect)
        self.found = resolve(self.tree, dialect, schema)
        if self.found.problems:  # parts of it may not have been looked at
            raise SqlRefused(*self.found.problems[0])
        self.names = StepNames(schema)
        self.made: list[Step] = []
        self.named: dict[str, tuple[str, exp.CTE]] = {}  # CTE by lower-case name -> the step's name, and the CTE

    def steps(self) -> tuple[Step, ...]:
        clause = self.tree.args.get("with_")
        if clause is not None and clause.args.get("recursive"):
            return (self._last(),)
        for cte in clause.expressions if clause is not None else ():
            self._add(cte.alias, cte.this, cte)
        if isinstance(self.tree, exp.SetOperation):
            for name, side in (("first_part", self.tree.this), ("second_part", self.tree.expression)):
                self._add(name, side)
        for node in self.tree.find_all(exp.Subquery, exp.Exists):
            self._nested(node)
        of_these = isinstance(self.tree, exp.Select) and self._rows_before_groups(self.tree)
        return (*self.made, self._last(of_these))

    def _nested(self, node: exp.Expr) -> None:
        """A query within the query that stands alone: it sees no row of the one around it."""
        inner = node.this
        if not isinstance(inner, exp.Select) or self.found.scope_of(inner).correlated:
            return
        if node.find_ancestor(exp.CTE) is not None or isinstance(node.parent, (exp.SetOperation, exp.CTE)):
            return
        name = node.alias_or_name if isinstance(node.parent, (exp.From, exp.Join)) and node.alias else "inner_rows"
        if isinstance(node.parent, (exp.Binary, exp.Between)):
            name = "figure"
        self._add(name, inner)

    def _rows_before_groups(self, tree: exp.Select) -> bool:
        """The joined and filtered rows of a query that then groups or counts them; whether they are a step."""
        grouped = tree.args.get("group") is not None or any(is_aggregate(i.unalias()) for i in tree.expressions)
        joined = tree.args.get("joins") or tree.args.get("where") is not None
        columns = [c for c in self._columns_of(tree) if c.table or not tree.args.get("joins")]
        if not grouped or not joined or not columns:
            return False
        rows = exp.Select(expressions=[column.copy() for column in columns])
        for clause in ("from_", "joins", "where"):
            value = tree.args.get(clause)
            copied = [part.copy() for part in value] if isinstance(value, list) else value.copy() if value else None
            rows.set(clause, copied)
        return self._add("matching_rows", rows)

    def _columns_of(self, tree: exp.Select) -> list[exp.Column]:
        """Columns that the SELECT list and the groups of `tree` read, each once."""
        parts = [*tree.expressions, *([tree.args["group"]] if tree.args.get("group") is not None else [])]
        found: dict[str, exp.Column] = {}
        for part in parts:
            for column in part.find_all(exp.Column):
                binding = self.found.binding(column)
                if binding is not None and binding.kind == "column" and not isinstance(column.this, exp.Star):
                    found.setdefault(column.sql().lower(), column)
        return list(found.values())

    def _add(self, wanted: str, query: exp.Expr, cte: exp.CTE | None = None) -> bool:
        """One more step, unless it needs a name that only the query around it has; whether it is one."""
        if len(self.made) == MOST - 1:
            return False
        body = query.unnest().copy() if isinstance(query, exp.Subquery) else query.copy()
        inputs = self._with_what_it_reads(body)
        sql = sql_text(body, self.dialect)
        try:
            found = resolve(parse_select(sql, self.dialect), self.dialect, self.schema)
        except SqlRefused:
            return False
        if found.problems:
            return False
        name = self.names.new(wanted)
        self.made.append(Step(name, _line(body, self.dialect), sql, inputs, facts_of(found, self.dialect).columns))
        if cte is not None:
            self.named[folded(cte.alias)] = (name, cte.copy())
        return True

    def _with_what_it_reads(self, body: exp.Expr) -> tuple[str, ...]:
        """Put the CTEs before `body` that it reads, directly or through others; the names of their steps."""
        needed: list[str] = []
        waiting = [body]
        while waiting:
            for table in waiting.pop().find_all(exp.Table):
                name = folded(table.name)
                if name in self.named and name not in needed:
                    needed.append(name)
                    waiting.append(self.named[name][1])
        order = [name for name in self.named if name in needed]
        if order:
            ctes = [self.named[name][1].copy() for name in order]
            own = body.args.get("with_")
            body.set("with_", exp.With(expressions=[*ctes, *(own.expressions if own is not None else [])]))
        return tuple(self.named[name][0] for name in order)

    def _last(self, of_these: bool = False) -> Step:
        inputs = not_read(self.made)
        facts = sql_facts(self.sql, self.dialect, self.schema)
        line = _line(self.tree, self.dialect, of_these)
        return Step(self.names.new("answer"), line, self.sql, inputs, facts.columns)


def _line(tree: exp.Expr, dialect: Dialect, of_these: bool = False) -> str:
    """What a query does, clause by clause: "Find name, COUNT(*) of singer for each country, largest COUNT(*) first".

    `of_these`: the step before has said of which tables, and which of their rows.
    """
    if isinstance(tree, exp.SetOperation):
        both = {exp.Union: "Put both lists together", exp.Intersect: "Keep what is in both lists"}
        return f"{both.get(type(tree), 'Keep what is in the first list but not in the second')}."
    if not isinstance(tree, exp.Select):
        return "Give the answer."

    def said(node: exp.Expr) -> str:
        return cut(" ".join(sql_text(node.unalias(), dialect).split()), SHOWN)

    different = "different " if tree.args.get("distinct") is not None else ""
    line = f"{'Of these, find' if of_these else 'Find'} {different}{', '.join(said(item) for item in tree.expressions)}"
    start = tree.args.get("from_")
    if start is not None and not of_these:
        sources = [start.this, *(join.this for join in tree.args.get("joins") or ())]
        line += f" of {' and '.join(source.name or source.alias_or_name for source in sources)}"
    where, group, having, order, limit = (tree.args.get(n) for n in ("where", "group", "having", "order", "limit"))
    line += f" where {said(where.this)}" if where is not None and not of_these else ""
    line += f" for each {', '.join(map(said, group.expressions))}" if group is not None and group.expressions else ""
    line += f", keeping those with {said(having.this)}" if having is not None else ""
    if order is not None:
        key = order.expressions[0]
        line += f", {'largest' if key.args.get('desc') else 'smallest'} {said(key.this)} first"
    line += f", only the first {said(limit.expression)}" if limit is not None else ""
    return f"{line}."

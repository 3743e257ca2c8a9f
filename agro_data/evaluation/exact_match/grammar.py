"""The SQL that Spider's parser reads (arXiv 1809.08887, the script `process_sql.py`), refusals and oddities included.

It knows one SELECT with FROM tables joined by JOIN ... ON, WHERE, GROUP BY, HAVING, ORDER BY, LIMIT, and one INTERSECT,
UNION or EXCEPT after it. Aliases need AS and exist for tables only; a list of values, an outer join, a window, CASE,
CAST, IS NOT, a CTE are refused. Text after a whole query is ignored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agro_data.evaluation.exact_match.tokens import NotRead, words

CLAUSES = frozenset(("select", "from", "where", "group", "order", "limit", "intersect", "union", "except"))
JOINING = frozenset(("join", "on", "as"))
COMPARISONS = ("not", "between", "=", ">", "<", ">=", "<=", "!=", "in", "like", "is", "exists")
ARITHMETIC = frozenset(("none", "-", "+", "*", "/"))
AGGREGATES = frozenset(("none", "max", "min", "count", "sum", "avg"))
SET_OPERATIONS = ("intersect", "union", "except")

Columns = Mapping[str, Sequence[str]]  # {table: columns}, all in lower case


@dataclass(frozen=True)
class ColumnUnit:
    """`aggregate(DISTINCT column)`; `column` is "table.column" or "*"."""

    aggregate: str
    column: str
    distinct: bool


@dataclass(frozen=True)
class ValueUnit:
    """A column, or two with an arithmetic operator between them."""

    operator: str
    left: ColumnUnit
    right: ColumnUnit | None = None


@dataclass(frozen=True)
class Condition:
    """`unit [NOT] operator first [AND second]`; a value is a query, a column, a quoted text or a number."""

    negated: bool
    operator: str
    unit: ValueUnit
    first: Query | ColumnUnit | str | float | None
    second: Query | ColumnUnit | str | float | None = None


Conditions = tuple[Condition | str, ...]  # conditions and, between them, "and" or "or"


@dataclass(frozen=True)
class Query:
    """`order` is one direction (the last that is written) and the keys. Only the presence of a LIMIT is known, not its
    number.
    """

    tables: tuple[str | Query, ...] = ()
    joins: Conditions = ()
    distinct: bool = False
    select: tuple[tuple[str, ValueUnit], ...] = ()
    where: Conditions = ()
    group: tuple[ColumnUnit, ...] = ()
    having: Conditions = ()
    order: tuple[str, tuple[ValueUnit, ...]] | None = None
    limit: bool = False
    combined: tuple[str, Query] | None = None


def parse(sql: str, columns: Columns) -> Query:
    """The parse of a statement on a database with these tables. Raises `NotRead` where the official parser fails."""
    found = words(sql)
    tables = dict(_aliases(found))
    for table in columns:
        if table in tables:
            raise NotRead(f"alias {table} is the name of a table")
        tables[table] = table
    try:
        return _Parser(found, tables, columns).query(0)[1]
    except RecursionError as error:
        raise NotRead("nested too deeply") from error


def _aliases(found: Sequence[str]) -> list[tuple[str, str]]:
    places = [place for place, word in enumerate(found) if word == "as"]
    if places and places[-1] + 1 == len(found):
        raise NotRead("nothing after AS")
    return [(found[place + 1], found[place - 1]) for place in places]


class _Parser:
    """Each method reads from a place in the words; it gives the place behind what it has read, and the result."""

    def __init__(self, found: Sequence[str], tables: Mapping[str, str], columns: Columns) -> None:
        self.words = found
        self.tables = tables  # alias or name -> table
        self.columns = columns

    def word(self, at: int) -> str:
        if at >= len(self.words):
            raise NotRead("the statement ends too early")
        return self.words[at]

    def has(self, at: int, *expected: str) -> bool:
        return at < len(self.words) and self.words[at] in expected

    def expect(self, at: int, expected: str) -> int:
        if self.word(at) != expected:
            raise NotRead(f"expected {expected}, found {self.words[at]}")
        return at + 1

    def clause_ends(self, at: int) -> bool:
        return at >= len(self.words) or self.words[at] in CLAUSES or self.words[at] in (")", ";")

    def query(self, at: int) -> tuple[int, Query]:
        block = self.word(at) == "("
        end, tables, joins, owners = self.sources(at)
        distinct, select = self.select(at + block, owners)
        at = end
        where: Conditions = ()
        having: Conditions = ()
        if self.has(at, "where"):
            at, where = self.conditions(at + 1, owners)
        at, group = self.group(at, owners)
        if self.has(at, "having"):
            at, having = self.conditions(at + 1, owners)
        at, order = self.order(at, owners)
        limit = self.has(at, "limit")
        at = self.past_semicolons(at + 2 * limit)
        if block:
            at = self.expect(at, ")")
        at = self.past_semicolons(at)
        combined = None
        if self.has(at, *SET_OPERATIONS):
            operation = self.words[at]
            at, other = self.query(at + 1)
            combined = operation, other
        return at, Query(
            tables=tables,
            joins=joins,
            distinct=distinct,
            select=select,
            where=where,
            group=group,
            having=having,
            order=order,
            limit=limit,
            combined=combined,
        )

    def past_semicolons(self, at: int) -> int:
        while self.has(at, ";"):
            at += 1
        return at

    def sources(self, at: int) -> tuple[int, tuple[str | Query, ...], Conditions, list[str]]:
        """FROM; the first one after `at`, wherever it stands. Also the tables that bare columns may belong to."""
        try:
            at = self.words.index("from", at) + 1
        except ValueError:
            raise NotRead("no FROM") from None
        tables: list[str | Query] = []
        joins: list[Condition | str] = []
        owners: list[str] = []
        while at < len(self.words):
            block = self.words[at] == "("
            at += block
            if self.word(at) == "select":
                at, inner = self.query(at)
                tables.append(inner)
            else:
                at += self.has(at, "join")
                table = self.table(self.word(at))
                at += 3 if self.has(at + 1, "as") else 1
                tables.append(table)
                owners.append(table)
            if self.has(at, "on"):
                at, found = self.conditions(at + 1, owners)
                joins += ["and", *found] if joins else found
            if block:
                at = self.expect(at, ")")
            if self.clause_ends(at):
                break
        return at, tuple(tables), tuple(joins), owners

    def table(self, name: str) -> str:
        table = self.tables.get(name)
        if table is None or table not in self.columns:
            raise NotRead(f"no table {name}")
        return table

    def select(self, at: int, owners: Sequence[str]) -> tuple[bool, tuple[tuple[str, ValueUnit], ...]]:
        at = self.expect(at, "select")
        distinct = self.has(at, "distinct")
        at += distinct
        found: list[tuple[str, ValueUnit]] = []
        while at < len(self.words) and self.words[at] not in CLAUSES:
            aggregate = "none"
            if self.words[at] in AGGREGATES:
                aggregate = self.words[at]
                at += 1
            at, unit = self.value_unit(at, owners)
            found.append((aggregate, unit))
            at += self.has(at, ",")
        return distinct, tuple(found)

    def group(self, at: int, owners: Sequence[str]) -> tuple[int, tuple[ColumnUnit, ...]]:
        found: list[ColumnUnit] = []
        if not self.has(at, "group"):
            return at, ()
        at = self.expect(at + 1, "by")
        while not self.clause_ends(at):
            at, unit = self.column_unit(at, owners)
            found.append(unit)
            if not self.has(at, ","):
                break
            at += 1
        return at, tuple(found)

    def order(self, at: int, owners: Sequence[str]) -> tuple[int, tuple[str, tuple[ValueUnit, ...]] | None]:
        if not self.has(at, "order"):
            return at, None
        at = self.expect(at + 1, "by")
        direction = "asc"
        found: list[ValueUnit] = []
        while not self.clause_ends(at):
            at, unit = self.value_unit(at, owners)
            found.append(unit)
            if self.has(at, "asc", "desc"):
                direction = self.words[at]
                at += 1
            if not self.has(at, ","):
                break
            at += 1
        return at, (direction, tuple(found))

    def conditions(self, at: int, owners: Sequence[str]) -> tuple[int, Conditions]:
        found: list[Condition | str] = []
        while at < len(self.words):
            at, unit = self.value_unit(at, owners)
            negated = self.word(at) == "not"
            at += negated
            operator = self.word(at)
            if operator not in COMPARISONS:
                raise NotRead(f"expected a comparison, found {operator}")
            at, first = self.value(at + 1, owners)
            second = None
            if operator == "between":
                at, second = self.value(self.expect(at, "and"), owners)
            found.append(Condition(negated, operator, unit, first, second))
            if self.clause_ends(at) or self.words[at] in JOINING:
                break
            if self.has(at, "and", "or"):
                found.append(self.words[at])
                at += 1
        return at, tuple(found)

    def value(self, at: int, owners: Sequence[str]) -> tuple[int, Query | ColumnUnit | str | float]:
        start = at
        block = self.word(at) == "("
        at += block
        word = self.word(at)
        found: Query | ColumnUnit | str | float
        if word == "select":
            at, found = self.query(at)
        elif '"' in word:
            at, found = at + 1, word
        elif (number := _number(word)) is not None:
            at, found = at + 1, number
        else:
            end = at
            stops = CLAUSES | JOINING | {",", ")", "and"}
            while end < len(self.words) and self.words[end] not in stops:
                end += 1
            _, found = _Parser(self.words[start:end], self.tables, self.columns).column_unit(0, owners)
            at = end
        return (self.expect(at, ")") if block else at), found

    def value_unit(self, at: int, owners: Sequence[str]) -> tuple[int, ValueUnit]:
        block = self.word(at) == "("
        at, left = self.column_unit(at + block, owners)
        operator, right = "none", None
        if at < len(self.words) and self.words[at] in ARITHMETIC:
            operator = self.words[at]
            at, right = self.column_unit(at + 1, owners)
        return (self.expect(at, ")") if block else at), ValueUnit(operator, left, right)

    def column_unit(self, at: int, owners: Sequence[str]) -> tuple[int, ColumnUnit]:
        block = self.word(at) == "("
        at += block
        if self.word(at) in AGGREGATES:
            aggregate = self.words[at]
            at = self.expect(at + 1, "(")
            distinct = self.word(at) == "distinct"
            at, column = self.column(at + distinct, owners)
            return self.expect(at, ")"), ColumnUnit(aggregate, column, distinct)  # a bracket around it stays open
        distinct = self.words[at] == "distinct"
        at, column = self.column(at + distinct, owners)
        return (self.expect(at, ")") if block else at), ColumnUnit("none", column, distinct)

    def column(self, at: int, owners: Sequence[str]) -> tuple[int, str]:
        word = self.word(at)
        if word == "*":
            return at + 1, word
        if "." in word:
            owner, _, name = word.partition(".")
            table = self.tables.get(owner, "")
            if name not in self.columns.get(table, ()):
                raise NotRead(f"no column {word}")
            return at + 1, f"{table}.{name}"
        for owner in owners:
            if word in self.columns[owner]:
                return at + 1, f"{owner}.{word}"
        raise NotRead(f"no column {word}")


def _number(word: str) -> float | None:
    try:
        return float(word)
    except ValueError:
        return None

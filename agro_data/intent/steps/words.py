"""Short English for the lines of a decomposition: plain and literal, not a question."""

from __future__ import annotations

from agro_data.intent.tree import (
    Aggregate,
    And,
    Arithmetic,
    Between,
    Case,
    Column,
    Comparison,
    DatePart,
    Days,
    Exists,
    Expression,
    InList,
    InQuery,
    IsNull,
    Like,
    MetricCall,
    Not,
    Or,
    OrderKey,
    Predicate,
    Query,
    Scalar,
    SetOperation,
    Share,
    Source,
    TextFunction,
    Value,
    Window,
    walk,
)
from agro_data.profiling.profile import DatabaseProfile

_COMPARED = {"=": "is", "!=": "is not", "<": "is below", "<=": "is at most", ">": "is above", ">=": "is at least"}
_AGGREGATES = {"count": "number", "sum": "total", "avg": "average", "min": "smallest", "max": "largest"}
_ARITHMETIC = {"+": "plus", "-": "minus", "*": "times", "/": "divided by"}
_LIKES = {"contains": "contains", "starts": "starts with", "ends": "ends with"}


class StepWords:
    """Phrases for the nodes of one tree. Never raises on a tree that renders to SQL."""

    def __init__(self, query: Query | SetOperation, profile: DatabaseProfile) -> None:
        self.profile = profile
        self.others = {  # a table that is joined to itself: salaries of employees, and of other employees
            source.alias
            for one in walk(query)
            if isinstance(one, Query)
            for place, source in enumerate(one.sources)
            if source.table in {before.table for before in one.sources[:place]}
        }
        first = query.left.subject if isinstance(query, SetOperation) else query.subject
        self.counted = self.rows(first) if len({n.alias for n in walk(query) if isinstance(n, Source)}) == 1 else "rows"
        self.alone = len({n.table for n in walk(query) if isinstance(n, Source)}) == 1
        self.tables = {n.alias: n.table for n in walk(query) if isinstance(n, Source)}

    def rows(self, source: Source) -> str:
        table = self.profile.by_name.get(source.table)
        plural = table.plural if table else source.table.replace("_", " ")
        return f"other {plural}" if source.alias in self.others else plural

    def row(self, source: Source) -> str:
        table = self.profile.by_name.get(source.table)
        return table.singular if table else "row"

    def expression(self, node: Expression) -> str:
        match node:
            case Column():
                table = self.profile.by_name.get(self.tables[node.source])
                if table is None:
                    return node.name.replace("_", " ")
                phrase = table.column(node.name).phrase
                if node.source in self.others:
                    return f"other {table.singular} {phrase}"
                plain = self.alone or set(table.singular.split()) & set(phrase.split())
                return phrase if plain else f"{table.singular} {phrase}"
            case Value():
                return repr(node.value) if isinstance(node.value, str) else str(node.value)
            case Aggregate():
                test = f" where {self.predicate(node.where)}" if node.where is not None else ""
                if node.argument is None:
                    return f"number{test}" if test else f"number of {self.counted}"
                kind = "different " if node.distinct else ""
                of = "of " if node.function in ("count", "sum") else ""
                return f"{_AGGREGATES[node.function]} {of}{kind}{self.expression(node.argument)}{test}"
            case Arithmetic():
                return f"{self.expression(node.left)} {_ARITHMETIC[node.operator]} {self.expression(node.right)}"
            case DatePart():
                return f"{node.part.replace('year_month', 'year and month')} of {self.expression(node.argument)}"
            case Days():
                return f"days from {self.expression(node.start)} to {self.expression(node.end)}"
            case TextFunction():
                inner = " and ".join(self.expression(a) for a in node.arguments)
                return {
                    "upper": f"{inner} in upper case",
                    "lower": f"{inner} in lower case",
                    "length": f"length of {inner}",
                    "prefix": f"first {node.size} characters of {inner}",
                    "join_words": f"{inner} as one text",
                }[node.function]
            case Case():
                return "band"
            case Share():
                return f"percentage of rows where {self.predicate(node.where)}"
            case Window():
                inner = f" of {self.expression(node.argument)}" if node.argument is not None else ""
                words = {"row_number": "row number", "dense_rank": "dense rank", "lag": "previous value",
                         "sum": "running total" if node.order else "total", "avg": "average"}  # fmt: skip
                within = f" within each {self.listed(node.partition)}" if node.partition else ""
                by = f" ({self.ordered(node.order)})" if node.order else ""
                return f"{words.get(node.function, node.function)}{inner}{within}{by}"
            case Scalar():
                return f"the {self.expression(node.query.select[0].expression)}"
            case MetricCall():
                return node.name

    def predicate(self, node: Predicate) -> str:
        match node:
            case Comparison():
                return f"{self.expression(node.left)} {_COMPARED[node.operator]} {self.expression(node.right)}"
            case Between():
                low, high = self.expression(node.low), self.expression(node.high)
                return f"{self.expression(node.argument)} is between {low} and {high}"
            case Like():
                negation = "not " if node.negated else ""
                return f"{self.expression(node.argument)} {negation}{_LIKES[node.kind]} {self.expression(node.text)}"
            case InList():
                values = ", ".join(self.expression(v) for v in node.values)
                return f"{self.expression(node.argument)} is {'none' if node.negated else 'one'} of {values}"
            case IsNull():
                return f"{self.expression(node.argument)} is {'known' if node.negated else 'missing'}"
            case InQuery():
                return f"{self.expression(node.argument)} is {'not ' if node.negated else ''}among those found"
            case Exists():
                return f"there is {'no' if node.negated else 'a'} related {self.row(node.query.subject)}"
            case And():
                return " and ".join(self.predicate(p) for p in node.parts)
            case Or():
                return " or ".join(self.predicate(p) for p in node.parts)
            case Not():
                return f"it is not so that {self.predicate(node.part)}"

    def listed(self, nodes: tuple[Expression, ...]) -> str:
        words = list(dict.fromkeys(self.expression(n) for n in nodes))
        return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"

    def ordered(self, keys: tuple[OrderKey, ...]) -> str:
        """Which rows come first: "largest total first, then smallest name"."""
        first, *others = (f"{'largest' if k.descending else 'smallest'} {self.expression(k.expression)}" for k in keys)
        return ", then ".join([f"{first} first", *others])

    def bands(self, case: Case) -> str:
        """The labels of a CASE with what they stand for."""
        told = [f"{self.expression(label)} where {self.predicate(test)}" for test, label in case.branches]
        return ", ".join([*told, *([f"else {self.expression(case.otherwise)}"] if case.otherwise else [])])

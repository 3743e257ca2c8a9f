"""How likely a person asks this: a product of simple, stated penalties, in [0, 1]."""

from __future__ import annotations

from collections.abc import Iterator

from agro_data.intent.sampling.kept_counts import counts_what_is_kept
from agro_data.intent.sampling.known_members import without_known
from agro_data.intent.sampling.one_unit import mixes_units
from agro_data.intent.sampling.undeleted import without_marks
from agro_data.intent.tree import (
    And,
    Arithmetic,
    Between,
    Case,
    Column,
    Comparison,
    DatePart,
    Exists,
    Expression,
    InList,
    InQuery,
    IsNull,
    Like,
    Or,
    Predicate,
    Query,
    Scalar,
    SetOperation,
    Share,
    TextFunction,
    Window,
    conjuncts,
    walk,
)
from agro_data.profiling.profile import ColumnProfile, DatabaseProfile, TableProfile

_SHOWN = {"identifier": 0.75, "other": 0.3, "free_text": 0.7, "boolean": 0.8}
_ALONE = {"identifier": 0.55, "boolean": 0.5, "other": 0.3}  # further, when nothing else is shown
_TESTED = {"identifier": 0.4, "other": 0.2, "free_text": 0.5}
_SUBJECT = {"entity": 1.0, "event": 0.9, "lookup": 0.85, "bridge": 0.75}
_KINDS: tuple[tuple[type, float], ...] = (
    (Window, 0.7), (Case, 0.7), (TextFunction, 0.7), (Share, 0.8), (Arithmetic, 0.85), (Scalar, 0.9), (DatePart, 0.9),
)  # fmt: skip
_TESTS = Comparison | Between | Like | InList | IsNull | InQuery | Exists


def plausibility(query: Query | SetOperation, profile: DatabaseProfile) -> float:
    """Product of these factors, rounded to 4 digits; 0 where amounts of several units are set against each other, or
    children are counted whose number their parents keep.

    Columns shown: codes, long texts, flags and untyped columns are asked for less, and less again when alone; a column
    that a condition holds to one value, or to one parent, counts 0.4; a key beside the column that it refers to 0.1;
    each column beyond the second 0.75; columns of two lists count once.
    Columns tested: the same kinds, less still. Conditions of one SELECT: each beyond the first 0.85, beyond the second
    0.6 more. Joins: each beyond the first 0.9, beyond the second 0.8 more. Each query inside another beyond the first
    0.8. Windows, bands, shares and the like by `_KINDS`, once each. A limit other than 1 0.85; more than one order key
    0.7; a list in order of a column that it does not show 0.85. Bounds that include their value and negated lists 0.9.
    That rows are not deleted, or stand for a thing, nobody says, and it counts nothing.
    A subject that links or codes others by `_SUBJECT`, one nobody named rows of 0.85. The best of each group 0.75.
    """
    if mixes_units(query, profile) or counts_what_is_kept(query, profile):
        return 0.0
    query, _ = without_known(without_marks(query, profile)[0], profile)
    nodes = list(walk(query))
    queries = [n for n in nodes if isinstance(n, Query)]
    tables = {s.alias: profile.by_name.get(s.table) for q in queries for s in q.sources}
    score = 1.0
    again = query.right if isinstance(query, SetOperation) else None
    for body in queries:
        shown = _of_shown(body, tables) if body is not again else 1.0
        score *= shown * _of_tested(body, tables) * _of_form(body)
    for kind, factor in _KINDS:
        score *= factor if any(isinstance(n, kind) for n in nodes) else 1.0
    score *= 0.8 ** max(0, len(queries) - 2 - (again is not None))
    subject = tables[queries[0].subject.alias]
    if subject is not None:
        score *= _SUBJECT[subject.kind] * (1.0 if subject.label_columns else 0.85)
    return round(score, 4)


def _of_shown(query: Query, tables: dict[str, TableProfile | None]) -> float:
    """What is shown, by the roles of the columns."""
    score = 0.75 ** max(0, len(query.select) - 2)
    held = _held(query, tables)
    shown = {output.expression for output in query.select}
    for output in query.select:
        column = _profile(output.expression, tables)
        if column is not None:
            score *= _SHOWN.get(column.role, 1.0) * (_ALONE.get(column.role, 1.0) if len(query.select) == 1 else 1.0)
            score *= 0.4 if output.expression in held else 1.0
    return score * 0.1 ** sum(pair <= shown for pair in _equal(query))


def _held(query: Query, tables: dict[str, TableProfile | None]) -> set[Expression]:
    """Columns of one value in the answer: a condition says which, or of which parent that it names they are the key.

    With them those of all values but one.
    """
    tests = [t for t in conjuncts(query.where) if isinstance(t, Comparison)]
    held = {t.left for t in tests if t.operator == "="}
    named = {c.source for c in held if isinstance(c, Column) and _names(c, tables[c.source])}
    keys = (pair for pair in _equal(query) if any(isinstance(c, Column) and c.source in named for c in pair))
    return held.union({t.left for t in tests if t.operator == "!="}, *keys)


def _names(column: Column, table: TableProfile | None) -> bool:
    return table is not None and (table.label_columns == (column.name,) or table.column(column.name).unique)


def _equal(query: Query) -> Iterator[frozenset[Expression]]:
    """The pairs of columns that a join makes equal."""
    for join in query.joins:
        if join.direction in ("up", "down"):
            yield from (frozenset((Column(join.left, a), Column(join.right, b))) for a, b in join.columns)


def _of_tested(query: Query, tables: dict[str, TableProfile | None]) -> float:
    """What is tested, by the roles of the columns."""
    score = 1.0
    for test in _tests(query.where):
        if isinstance(test, Exists):
            continue
        column = _profile(test.left if isinstance(test, Comparison) else test.argument, tables)
        if column is not None and not isinstance(test, InQuery):
            score *= _TESTED.get(column.role, 1.0)
        odd = (isinstance(test, Comparison) and test.operator in ("<=", ">=")) or (
            isinstance(test, InList) and test.negated
        )
        score *= 0.9 if odd else 1.0
    return score


def _of_form(query: Query) -> float:
    """How much is asked at once."""
    conditions = sum(1 for _ in _tests(query.where, alternatives=False))
    joins = len(query.joins)
    score = 0.85 ** max(0, conditions - 1) * 0.6 ** max(0, conditions - 2)
    score *= 0.9 ** max(0, joins - 1) * 0.8 ** max(0, joins - 2)
    score *= 0.85 if query.limit is not None and query.limit != 1 else 1.0
    score *= 0.7 ** max(0, len(query.order_by) - 1)
    if query.order_by and query.limit is None and not query.group_by:
        shown = {o.expression for o in query.select}
        score *= 1.0 if query.order_by[0].expression in shown else 0.85
    return score * (0.75 if query.keep else 1.0)


def _tests(node: Predicate | None, alternatives: bool = True) -> Iterator[_TESTS]:
    """The conditions of one WHERE; a choice of several counts once where `alternatives` is False."""
    if isinstance(node, And | Or):
        parts = node.parts if alternatives or isinstance(node, And) else node.parts[:1]
        for part in parts:
            yield from _tests(part, alternatives)
    elif isinstance(node, _TESTS):
        yield node


def _profile(node: Expression, tables: dict[str, TableProfile | None]) -> ColumnProfile | None:
    table = tables.get(node.source) if isinstance(node, Column) else None
    return table.column(node.name) if table is not None and isinstance(node, Column) else None

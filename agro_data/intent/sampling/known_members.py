"""A dimension's row for what is unknown is no thing: who asks which customer has the most sales does not mean it.

Sales that refer to it are sales, and count wherever nothing is asked of customers themselves.
"""

from __future__ import annotations

from collections.abc import Iterator

from agro_data.intent.sampling.row_tests import (
    Test,
    Tree,
    bodies,
    counted_once,
    keys_to,
    tables_of,
    with_tests,
    without_tests,
)
from agro_data.intent.tree import (
    Aggregate,
    Column,
    Comparison,
    InList,
    Like,
    Or,
    Predicate,
    Query,
    SetOperation,
    Value,
    Window,
    conjuncts,
    walk,
)
from agro_data.profiling.keys.unknown_members import stands_for_nothing
from agro_data.profiling.profile import DatabaseProfile, TableProfile, Unknown


def held_to_known(query: Tree, profile: DatabaseProfile) -> Tree | None:
    """`query` without rows that stand for none where it asks of what such a table holds.

    None where it asks for what is unknown, keeps rows without such a thing, as a LEFT JOIN does, or tells things apart
    by the keys that refer to them.
    """
    for table, unknown in _kept(profile):
        if _tells_by_key(query, table, profile):
            return None
        if table.name not in tables_of(query):
            continue
        read = bodies(query, table.name)
        outer = any(join.kind == "left" and join.right in aliases for body, aliases in read for join in body.joins)
        if outer or any(_asks(body, aliases, unknown) for body, aliases in read) or _names_nothing(query, table):
            return None
        sides = (query.left, query.right) if isinstance(query, SetOperation) else ()
        once = [body.distinct or any(body is side for side in sides) for body, _ in read]
        asked = {
            alias
            for (body, aliases), alike in zip(read, once, strict=True)
            for alias in aliases
            if _is_asked_of(body, alias, alike)
        }
        query = with_tests(query, table.name, _test(table, unknown), asked)
    return query


def without_known(query: Tree, profile: DatabaseProfile) -> tuple[Tree, list[str]]:
    """What a question says of `query`: nothing of rows that stand for none, and what it then needs to be told."""
    definitions = []
    for table, unknown in _kept(profile):
        free = without_tests(query, table.name, _test(table, unknown))
        if free != query:
            query = free
            numbers = " or ".join(map(str, unknown.numbers))
            definitions.append(f"{table.plural} with {unknown.key} {numbers} stand for unknown ones and do not count")
    return query, definitions


def _kept(profile: DatabaseProfile) -> Iterator[tuple[TableProfile, Unknown]]:
    return ((table, table.unknown) for table in profile.tables if table.unknown is not None)


def _test(table: TableProfile, unknown: Unknown) -> Test:
    """That rows of a source are of known things."""
    value = Value(max(unknown.numbers), (table.name, unknown.key))
    return lambda alias: Comparison("!=" if len(unknown.numbers) == 1 else ">", Column(alias, unknown.key), value)


def _tells_by_key(query: Tree, table: TableProfile, profile: DatabaseProfile) -> bool:
    """Whether different values of a key that refers to the table are counted, or make groups."""
    groups = [key for node in walk(query) if isinstance(node, Query) for key in node.group_by]
    return any(map(keys_to(query, profile, {table.name}), [*counted_once(query), *groups]))


def _asks(body: Query, aliases: set[str], unknown: Unknown) -> bool:
    """Whether the number that tells such rows is itself under a condition."""
    return any(isinstance(n, Column) and n.source in aliases and n.name == unknown.key for n in walk(body.where))


def _names_nothing(query: Tree, table: TableProfile) -> bool:
    """Whether a condition compares with what stands for nothing in the table: a country "Unknown"."""
    values = (n for n in walk(query) if isinstance(n, Value) and n.column is not None and n.column[0] == table.name)
    return any(stands_for_nothing(value.value) for value in values)


def _is_asked_of(body: Query, alias: str, once: bool) -> bool:
    """Whether the answer is of things of a source: its rows, or groups by them, what is put in order by them, and what
    each has that is shown `once`. What is only shown beside other rows is not, nor what has to be something.
    """
    tests = conjuncts(body.where)
    if any(_is_positive(part) and _sources(part) == {alias} for part in tests):
        return False
    if alias == body.subject.alias or not any(join.right == alias and join.direction == "up" for join in body.joins):
        return True
    figures = tuple(n for n in walk(body.select) if isinstance(n, Aggregate | Window))
    shown = body.select if once else ()
    return alias in _sources((figures, tests, shown, body.group_by, body.having, body.order_by, body.keep))


def _sources(parts: object) -> set[str]:
    return {n.source for n in walk(parts) if isinstance(n, Column)}


def _is_positive(part: Predicate) -> bool:
    """Whether only what is known to be something meets a condition."""
    if isinstance(part, Or):
        return all(map(_is_positive, part.parts))
    if isinstance(part, InList | Like):
        return not part.negated
    return isinstance(part, Comparison) and part.operator == "=" and isinstance(part.right, Value)

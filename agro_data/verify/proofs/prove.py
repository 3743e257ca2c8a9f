"""Is another query the same as the gold on every database that obeys the schema? Only what these rules show.

Both queries are brought into a normal form; equal forms are equal queries. Each rule is sound by itself:

| rule | what it says |
| --- | --- |
| `normal_form` | names, parentheses, order of AND, OR, =, +, * and inner joins; BETWEEN; IN a list; NOT inward; LIKE |
| `not_null` | COUNT(c) is COUNT(*), COALESCE(c, 0) is c, `c IS NOT NULL` is true, where c is never NULL |
| `derived` | a query in FROM that only joins and selects is its tables and conditions |
| `unasked` | a column of a query in FROM that nobody asks for |
| `null_rejected` | LEFT JOIN is JOIN where a condition rejects the rows without a partner |
| `null_ignored` | LEFT JOIN is JOIN where only totals of its columns are shown; COUNT(c) is of rows with c |
| `null_together` | columns of a LEFT JOINed table that are never NULL by themselves are NULL for want of a partner |
| `foreign_key` | a parent joined along an enforced key (or part, under `set`), unasked; LEFT JOIN; IN; their count |
| `key` | what a key determines: DISTINCT, GROUP BY, ORDER BY, ranks beyond it, a self join on it, LEFT JOIN to it, IN |
| `equality` | two columns that a condition equates stand for each other |
| `single_row` | one row, or the first, needs no DISTINCT, one no ORDER BY or LIMIT; SQLite compares with the first |
| `set` | IN, EXISTS, UNION, INTERSECT, EXCEPT, MIN and MAX do not see duplicates |
| `extreme` | no value lies beyond MAX or MIN over the table, or rows like its own; HAVING MIN(x) < 5 is WHERE x < 5 |
| `labels` | GROUP BY CASE: what the branches are called does not count, if no two are called the same |
| `one_value` | COUNT(DISTINCT c) is 1 in a group by c; COUNT(*) is 1 where HAVING says so |
| `partners` | HAVING over a LEFT JOIN: COUNT(c) < 5 is COUNT(*) < 5, = 0 is WHERE c IS NULL, > 1 makes it a JOIN |
| `from_zero` | a count is never below 0: `COUNT(x) <= 0` is `= 0`; a mean is 0, above or below, as the sum is |
| `from_one` | ranks, rows of a group count from 1: `COUNT(*) <> 1` is `> 1`, `r <= 1` is `r = 1`, dense or not |
| `check` | what a CHECK lets a column hold: of `rating BETWEEN 1 AND 5`, `rating >= 5` is `rating = 5` |
| `state` | what a state says of NULL in every row of the source: `status = 'pending'` is `shipped_at IS NULL` |
| `form` | LIKE a whole text that no other text of its column's form has in it |
| `collation` | letter case of what is compared with, or ordered by, a column of COLLATE NOCASE |
| `unordered` | an order that nobody sees |
| `group_distinct` | GROUP BY without aggregates is DISTINCT; HAVING on group keys is WHERE |
| `same_from` | a set operation of two SELECTs of one FROM is one SELECT with OR, AND, AND NOT |

What the rules have no term for need not be known where both queries make the same of their rows (`same_rows`).

What is assumed: the schema's keys, NOT NULL and foreign keys hold (`populate.instances.instance_schema`), values
have the kind of their column. Where a column compares texts by a collation, equal ones need not be the same, and it
stands for no other column (`Known.interchangeable`). Equal means up to chance: a gold is only graded where no tie, bare
column or LIMIT without order can be seen.
"""

from __future__ import annotations

from functools import lru_cache

from agro_data.databases.types import Dialect
from agro_data.populate.schema import Schema
from agro_data.sql.names.joined_on import joined_on
from agro_data.sql.names.resolution import Resolution
from agro_data.sql.names.scope import resolve
from agro_data.sql.parse import SqlRefused, parse_select
from agro_data.verify.proofs.reading import read
from agro_data.verify.proofs.rules import Normaliser
from agro_data.verify.proofs.same_rows import Parts, parts_of
from agro_data.verify.proofs.terms import NotUnderstood, Query
from agro_data.verify.proofs.text import shown


def proved_equivalent(gold_sql: str, other_sql: str, dialect: Dialect, schema: Schema) -> str | None:
    """The name of the rule (several joined by " + ") by which `other_sql` gives the gold's answer everywhere, or None.

    The order of rows counts only if the gold has an ORDER BY at top level. None says that nothing was proved, not
    that the queries differ.
    """
    return _by_form(gold_sql, other_sql, dialect, schema) or _by_rows(gold_sql, other_sql, dialect, schema)


def _by_rows(gold_sql: str, other_sql: str, dialect: Dialect, schema: Schema) -> str | None:
    """The rule that shows that two queries read the same rows, where they make the same of them."""
    gold, other = (_parts(sql, dialect, schema) for sql in (gold_sql, other_sql))
    if gold is None or other is None or gold.made != other.made:
        return None
    return _by_form(gold.rows, other.rows, dialect, schema)


def _by_form(gold_sql: str, other_sql: str, dialect: Dialect, schema: Schema) -> str | None:
    plain_gold, _ = _form(gold_sql, dialect, schema, False, True)
    if plain_gold is None:
        return None
    plain_other, _ = _form(other_sql, dialect, schema, False, True)
    if plain_other is None:
        return None
    if plain_gold == plain_other:
        return "normal_form"
    ordered = bool(_read(gold_sql, dialect, schema).order)
    gold, gold_rules = _form(gold_sql, dialect, schema, True, ordered)
    other, other_rules = _form(other_sql, dialect, schema, True, ordered)
    if gold is None or gold != other:
        return None
    rules = (gold_rules ^ other_rules) or (gold_rules | other_rules)
    return " + ".join(sorted(rules)) or "equality"


@lru_cache(maxsize=4096)
def _read(sql: str, dialect: Dialect, schema: Schema) -> Query:
    return read(_resolved(sql, dialect, schema), dialect)


@lru_cache(maxsize=4096)
def _parts(sql: str, dialect: Dialect, schema: Schema) -> Parts | None:
    try:
        return parts_of(_resolved(sql, dialect, schema), dialect)
    except (NotUnderstood, SqlRefused):
        return None


@lru_cache(maxsize=64)  # both parts of a pair are asked of, one after the other; trees are large
def _resolved(sql: str, dialect: Dialect, schema: Schema) -> Resolution:
    columns = {table.name: {c.name: c.declared_type for c in table.columns} for table in schema.tables}
    columns |= {view.name: dict.fromkeys(view.columns, "") for view in schema.views}  # of which nothing else is known
    found = resolve(parse_select(sql, dialect), dialect, columns)
    return joined_on(found, dialect, columns)


@lru_cache(maxsize=4096)
def _form(sql: str, dialect: Dialect, schema: Schema, rules: bool, ordered: bool) -> tuple[str | None, frozenset[str]]:
    """Normal form as text, and the rules that fired; None for a query that is not understood."""
    try:
        query = _read(sql, dialect, schema)
        normaliser = Normaliser(schema, query, dialect)
        if normaliser.known.sides_differ(query):
            raise NotUnderstood("columns of two collations that are compared")
        if not rules:
            return shown(query), frozenset()
        text = normaliser.shown(normaliser.query(query, repeats=True, ordered=ordered))
        return text, frozenset(normaliser.fired)
    except (NotUnderstood, SqlRefused, RecursionError):
        return None, frozenset()

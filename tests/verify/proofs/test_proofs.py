"""A proof says what is so: every rule shows its pairs, and no pair that differs somewhere is proved."""

from __future__ import annotations

import sqlite3
from collections import Counter
from contextlib import closing
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from proof_pairs import filled, pairs, shop

from agro_data.databases.types import Dialect
from agro_data.populate.schema import read_ddl
from agro_data.sql.names.scope import resolve
from agro_data.sql.parse import parse_select
from agro_data.verify.mutants import mutants_of
from agro_data.verify.proofs import proved_equivalent

EQUIVALENT = pairs("proofs_equivalent.sql")
DIFFERENT = pairs("proofs_different.sql")
SHOP = shop()
COLUMNS = {table.name: {c.name: c.declared_type for c in table.columns} for table in SHOP.tables}


def answer(connection: sqlite3.Connection, sql: str) -> Counter[tuple[object, ...]]:
    return Counter(tuple(row) for row in connection.execute(sql))


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
@pytest.mark.parametrize(("rule", "gold", "other"), EQUIVALENT)
def test_the_rule_shows_it(rule: str, gold: str, other: str, dialect: Dialect) -> None:
    assert proved_equivalent(gold, other, dialect, SHOP) == rule


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
@pytest.mark.parametrize(("why", "gold", "other"), DIFFERENT)
def test_nothing_is_proved_of_what_differs(why: str, gold: str, other: str, dialect: Dialect) -> None:
    assert proved_equivalent(gold, other, dialect, SHOP) is None
    assert proved_equivalent(other, gold, dialect, SHOP) is None or "ORDER BY" in gold


@pytest.mark.parametrize(("rule", "gold", "other"), EQUIVALENT)
def test_the_pairs_of_the_fixture_agree_when_they_are_run(rule: str, gold: str, other: str) -> None:
    for seed in range(40):
        with closing(filled(seed)) as connection:
            assert answer(connection, gold) == answer(connection, other), f"seed {seed}"


@pytest.mark.parametrize(("why", "gold", "other"), [p for p in DIFFERENT if "order" not in p[0]])
def test_the_different_ones_do_differ_somewhere(why: str, gold: str, other: str) -> None:
    def differs(seed: int) -> bool:
        with closing(filled(seed)) as connection:
            return answer(connection, gold) != answer(connection, other)

    assert any(differs(seed) for seed in range(400))


GOLDS = sorted({gold for _, *both in (*EQUIVALENT, *DIFFERENT) for gold in both if "LIMIT" not in gold})


@settings(max_examples=60, deadline=None)
@given(gold=st.sampled_from(GOLDS), seed=st.integers(0, 10_000))
def test_every_mutant_that_is_proved_equivalent_agrees(gold: str, seed: int) -> None:
    """Golds without LIMIT: their answers as multisets are never open to chance."""
    found = resolve(parse_select(gold, "sqlite"), "sqlite", COLUMNS)
    with closing(filled(seed)) as connection:
        for mutant in mutants_of(found, "sqlite", COLUMNS):
            rule = proved_equivalent(gold, mutant.sql, "sqlite", SHOP)
            if rule is not None:
                assert answer(connection, gold) == answer(connection, mutant.sql), f"{rule}: {mutant.sql}"


CLUB = """
CREATE TABLE person (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE member (person INTEGER NOT NULL REFERENCES person (id), year INTEGER NOT NULL, PRIMARY KEY (person, year));
CREATE TABLE fee (id INTEGER PRIMARY KEY, person INTEGER NOT NULL, year INTEGER{null}, paid REAL NOT NULL,
  FOREIGN KEY (person, year) REFERENCES member (person, year));
"""


@pytest.mark.parametrize(
    ("null", "other", "same"),
    [
        (" NOT NULL", "SELECT id FROM child", True),
        ("", "SELECT id FROM child", False),  # a row without a parent is not in it
        ("", "SELECT id FROM child WHERE parent IS NOT NULL", True),
    ],
)
def test_who_has_a_parent_is_among_its_keys(null: str, other: str, same: bool) -> None:
    child = f"CREATE TABLE child (id INTEGER PRIMARY KEY, parent INTEGER{null} REFERENCES parent (id));"
    schema = read_ddl("family", f"CREATE TABLE parent (id INTEGER PRIMARY KEY); {child}")
    asked = "SELECT id FROM child WHERE parent IN (SELECT id FROM parent)"
    assert (proved_equivalent(asked, other, "sqlite", schema) is not None) is same


@pytest.mark.parametrize(("null", "rule"), [(" NOT NULL", "foreign_key + not_null"), ("", None)])
def test_a_key_refers_on_over_another_table(null: str, rule: str | None) -> None:
    """Of a key of two columns with a NULL in one, nothing is enforced."""
    queries = ("SELECT paid FROM fee", "SELECT paid FROM fee JOIN person ON fee.person = person.id")
    assert proved_equivalent(*queries, "sqlite", read_ddl("club", CLUB.format(null=null))) == rule


@pytest.mark.parametrize(
    ("asked", "on", "rule"),
    [
        ("DISTINCT f.paid", "f.person = g.person", "key + set"),
        ("f.paid", "f.person = g.person", None),
        ("DISTINCT f.paid", "f.person = g.year", None),
        ("DISTINCT f.paid", "f.year = g.year", None),  # NULL is not equal to itself
    ],
)
def test_each_row_is_a_partner_of_its_own(asked: str, on: str, rule: str | None) -> None:
    queries = (f"SELECT {asked} FROM fee AS f", f"SELECT {asked} FROM fee AS f JOIN fee AS g ON {on}")
    assert proved_equivalent(*queries, "sqlite", read_ddl("club", CLUB.format(null=""))) == rule


@pytest.mark.parametrize(
    ("inner", "rule"),
    [
        ("SELECT person AS who, paid FROM fee WHERE paid > 3", "derived"),
        ("SELECT DISTINCT person AS who, paid FROM fee WHERE paid > 3", None),
        ("SELECT person AS who, paid FROM fee WHERE paid > 3 LIMIT 5", None),
    ],
)
def test_a_query_in_from_that_only_selects_is_its_table(inner: str, rule: str | None) -> None:
    plain = "SELECT COUNT(paid) FROM fee WHERE paid > 3 AND person = 1"
    schema = read_ddl("club", CLUB.format(null=""))
    for source in (f"({inner}) AS f", "f"):
        start = f"WITH f AS ({inner}) " if source == "f" else ""
        other = f"{start}SELECT COUNT(f.paid) FROM {source} WHERE who = 1"
        assert proved_equivalent(plain, other, "sqlite", schema) == rule


@pytest.mark.parametrize(
    ("null", "asked", "other", "rule"),
    [
        (" NOT NULL", "MAX(paid)", "MAX(paid)", "foreign_key + set"),
        (" NOT NULL", "COUNT(DISTINCT paid)", "COUNT(DISTINCT paid)", "foreign_key + set"),
        (" NOT NULL", "COUNT(paid)", "COUNT(paid)", None),  # a member of two years counts twice
        (" NOT NULL", "MAX(paid)", "MAX(member.year)", None),
        ("", "MAX(paid)", "MAX(paid)", None),
    ],
)
def test_a_parent_by_a_part_of_its_key_repeats_rows_and_drops_none(
    null: str, asked: str, other: str, rule: str | None
) -> None:
    queries = (f"SELECT {asked} FROM fee", f"SELECT {other} FROM fee JOIN member ON fee.person = member.person")
    assert proved_equivalent(*queries, "sqlite", read_ddl("club", CLUB.format(null=null))) == rule


@pytest.mark.parametrize(("number", "same"), [("INTEGER", True), ("REAL", False)])
def test_columns_of_one_kind_stand_for_each_other_if_they_hold_the_same(number: str, same: bool) -> None:
    """REAL holds 1 as 1.0, of which half is 0.5 in SQLite, not 0."""
    schema = read_ddl(
        "halves",
        f"CREATE TABLE one (id {number} PRIMARY KEY); CREATE TABLE two (id INTEGER PRIMARY KEY, one INTEGER NOT NULL);",
    )
    tables = (
        replace(table, columns=tuple(replace(column, kind="integer") for column in table.columns))
        for table in schema.tables
    )
    queries = (f"SELECT {key} / 2 FROM one JOIN two ON one.id = two.one" for key in ("one.id", "two.one"))
    assert (proved_equivalent(*queries, "sqlite", replace(schema, tables=tuple(tables))) is not None) == same


@pytest.mark.parametrize(("aggregate", "dialect"), [("jsonb_group_array", "sqlite"), ("product", "duckdb")])
def test_an_aggregate_without_a_class_sees_how_often_a_row_comes(aggregate: str, dialect: Dialect) -> None:
    inner = f"SELECT {aggregate}(T1.age) FROM customer AS T1"
    queries = (
        f"SELECT name FROM customer WHERE age IN ({inner}{join})"
        for join in ("", " LEFT JOIN purchase AS T2 ON T1.id = T2.customer_id")
    )
    assert proved_equivalent(*queries, dialect, SHOP) is None


@pytest.mark.parametrize(
    ("join", "rule"),
    [("T1.customer_id = T2.id", "foreign_key + not_null"), ("T1.customer_id <= T2.id", None)],
)
def test_medians_and_deviations_are_aggregates(join: str, rule: str | None) -> None:
    shown = "MEDIAN(T1.total), STDDEV_POP(T1.total), VAR_SAMP(T1.total)"
    queries = (f"SELECT {shown} FROM purchase AS T1{more}" for more in ("", f" JOIN customer AS T2 ON {join}"))
    assert proved_equivalent(*queries, "duckdb", SHOP) == rule
    single = "SELECT id, {}(total) FROM purchase GROUP BY id"
    assert proved_equivalent(single.format("STDDEV"), single.format("SUM"), "duckdb", SHOP) is None


@pytest.mark.parametrize("sql", ["SELECT", "SELECT nothing FROM customer", "SELECT random() FROM customer"])
def test_what_is_not_understood_is_not_proved(sql: str) -> None:
    assert proved_equivalent(sql, sql, "sqlite", SHOP) is None


@pytest.mark.parametrize(
    ("sql", "other"),
    [
        ("SELECT c.* EXCLUDE (age) FROM customer AS c", "SELECT c.* FROM customer AS c"),
        ("SELECT c.* EXCLUDE (age) FROM customer AS c", "SELECT c.* EXCLUDE (name) FROM customer AS c"),
        ("SELECT c.* REPLACE (age + 1 AS age) FROM customer AS c", "SELECT c.* FROM customer AS c"),
        ("SELECT c.* RENAME (age AS years) FROM customer AS c", "SELECT c.* RENAME (id AS years) FROM customer AS c"),
        (
            "SELECT COLUMNS('day|city') FROM customer AS c LEFT JOIN purchase AS p ON c.id = p.id",
            "SELECT COLUMNS('day|city') FROM customer AS c",
        ),
    ],
)
def test_columns_that_are_listed_by_a_pattern_or_but_for_some_are_not_understood(sql: str, other: str) -> None:
    assert proved_equivalent(sql, other, "duckdb", SHOP) is None


@pytest.mark.parametrize(
    ("dialect", "pattern", "other", "same"),
    [
        ("sqlite", "LIKE 'Fra%'", "LIKE 'fRA%'", True),
        ("sqlite", "LIKE 'Ä%'", "LIKE 'ä%'", False),  # SQLite folds ASCII letters only
        ("sqlite", "LIKE 'aA%' ESCAPE 'A'", "LIKE 'aa%' ESCAPE 'A'", False),
        ("sqlite", "GLOB 'Fra*'", "GLOB 'fra*'", False),
        ("duckdb", "ILIKE 'Fra%'", "ILIKE 'fRA%'", True),
        ("duckdb", "LIKE 'Fra%'", "LIKE 'fra%'", False),
        ("duckdb", "ILIKE 'fra%'", "NOT ILIKE 'fra%'", False),
    ],
)
def test_the_case_of_a_pattern_counts_where_the_engine_sees_it(
    dialect: Dialect, pattern: str, other: str, same: bool
) -> None:
    queries = [f"SELECT city FROM customer WHERE name {test}" for test in (pattern, other)]
    assert (proved_equivalent(*queries, dialect, SHOP) is not None) == same


@pytest.mark.parametrize(
    ("collation", "other", "rule"),
    [
        ("COLLATE NOCASE", "SELECT id FROM a WHERE NOT name <> 'OSLO'", "collation"),
        ("COLLATE NOCASE", "SELECT id FROM a WHERE name IN ('oslo')", "collation"),
        ("COLLATE NOCASE", "SELECT id FROM a WHERE town = 'Oslo'", None),
        ("COLLATE RTRIM", "SELECT id FROM a WHERE name = 'OSLO'", None),
        ("", "SELECT id FROM a WHERE name = 'OSLO'", None),
    ],
)
def test_case_counts_as_the_column_compares(collation: str, other: str, rule: str | None) -> None:
    schema = read_ddl("towns", f"CREATE TABLE a (id INTEGER PRIMARY KEY, name TEXT {collation}, town TEXT)")
    assert proved_equivalent("SELECT id FROM a WHERE name = 'Oslo'", other, "sqlite", schema) == rule


@pytest.mark.parametrize(("collation", "rule"), [("COLLATE NOCASE", "collation"), ("", None)])
def test_an_order_without_regard_to_case_is_that_of_the_column(collation: str, rule: str | None) -> None:
    schema = read_ddl("towns", f"CREATE TABLE a (id INTEGER PRIMARY KEY, name TEXT {collation})")
    queries = ("SELECT id FROM a ORDER BY name DESC", "SELECT id FROM a ORDER BY LOWER(name) DESC")
    assert proved_equivalent(*queries, "sqlite", schema) == rule


@pytest.mark.parametrize(("collation", "rule"), [("COLLATE NOCASE", None), ("", "equality")])
def test_texts_that_are_equal_only_by_a_collation_are_not_the_same(collation: str, rule: str | None) -> None:
    schema = read_ddl("towns", f"CREATE TABLE a (name TEXT {collation} NOT NULL, town TEXT {collation} NOT NULL)")
    queries = ("SELECT name FROM a WHERE name = town", "SELECT town FROM a WHERE name = town")
    assert proved_equivalent(*queries, "sqlite", schema) == rule


@pytest.mark.parametrize(
    ("asked", "turned"),
    [
        ("SELECT COUNT(*) FROM a, b WHERE a.name = b.town", "SELECT COUNT(*) FROM a, b WHERE b.town = a.name"),
        ("SELECT COUNT(*) FROM a, b WHERE a.name < b.town", "SELECT COUNT(*) FROM a, b WHERE b.town > a.name"),
        (
            "SELECT COUNT(*) FROM a, (SELECT town AS t FROM b) AS q WHERE name = t",
            "SELECT COUNT(*) FROM a, (SELECT town AS t FROM b) AS q WHERE t = name",
        ),
        (
            "SELECT COUNT(*) FROM a, b WHERE CAST(name AS TEXT) = town",
            "SELECT COUNT(*) FROM a, b WHERE town = CAST(name AS TEXT)",
        ),
        ("SELECT name FROM a UNION SELECT town FROM b", "SELECT town FROM b UNION SELECT name FROM a"),
        (
            "SELECT CAST(name AS TEXT) FROM a UNION SELECT town FROM b",
            "SELECT town FROM b UNION SELECT CAST(name AS TEXT) FROM a",
        ),
    ],
)
@pytest.mark.parametrize(("collation", "rule"), [("", None), ("COLLATE NOCASE", "normal_form")])
def test_the_left_of_two_columns_says_how_they_compare(
    asked: str, turned: str, collation: str, rule: str | None
) -> None:
    schema = read_ddl("towns", f"CREATE TABLE a (name TEXT COLLATE NOCASE); CREATE TABLE b (town TEXT {collation})")
    assert proved_equivalent(asked, turned, "sqlite", schema) == rule


@pytest.mark.parametrize(("table", "rule"), [("customer", "derived"), ("purchase", None)])
def test_a_cte_reads_what_was_named_before_it(table: str, rule: str | None) -> None:
    """Not what a query that reads it calls by the same name."""
    named = "WITH q AS (SELECT id FROM customer), w AS (SELECT id FROM q) "
    inside = f"{named} SELECT id FROM (WITH q AS (SELECT id FROM purchase) SELECT id FROM w) AS r"
    assert proved_equivalent(f"SELECT id FROM {table}", inside, "sqlite", SHOP) == rule


@pytest.mark.parametrize("other", ["MAX(age, 3)", "MAX(age)"])
def test_the_two_greatest_are_not_the_greatest(other: str) -> None:
    queries = (f"SELECT {shown} FROM customer" for shown in ("MAX(age, 2)", other))
    assert proved_equivalent(*queries, "duckdb", SHOP) is None


@pytest.mark.parametrize(
    ("gold", "other", "rule"),
    [
        ("SELECT * EXCLUDE (age) FROM customer", "SELECT DISTINCT * EXCLUDE (age) FROM customer", "key"),
        ("SELECT * EXCLUDE (id) FROM customer", "SELECT DISTINCT * EXCLUDE (id) FROM customer", None),
        ("SELECT c.* EXCLUDE (age) FROM customer c", "SELECT id, name, city FROM customer", "normal_form"),
        (
            "SELECT city, COUNT(*) FROM customer GROUP BY ALL",
            "SELECT city, COUNT(id) FROM customer GROUP BY 1",
            "not_null",
        ),
    ],
)
def test_what_duckdb_leaves_out_and_groups_by(gold: str, other: str, rule: str | None) -> None:
    assert proved_equivalent(gold, other, "duckdb", SHOP) == rule


@pytest.mark.parametrize(
    ("key", "mine", "rule"),
    [
        ("TEXT", "TEXT", "key"),
        ("TEXT", "INTEGER", None),  # 1 is '1', '01' and '1.0'
        ("TEXT", "TEXT COLLATE NOCASE", None),  # 'a' is 'a' and 'A'
    ],
)
def test_in_is_a_join_where_equal_values_are_the_same(key: str, mine: str, rule: str | None) -> None:
    schema = read_ddl("towns", f"CREATE TABLE a (k {key} NOT NULL UNIQUE, n INTEGER); CREATE TABLE b (x {mine});")
    member = "SELECT COUNT(*) FROM b WHERE x IN (SELECT k FROM a WHERE n > 1)"
    assert proved_equivalent(member, "SELECT COUNT(*) FROM b JOIN a ON b.x = a.k WHERE n > 1", "sqlite", schema) == rule


@pytest.mark.parametrize(
    ("inner", "dialect", "rule"),
    [
        ("SELECT city FROM customer GROUP BY city ORDER BY COUNT(*) DESC LIMIT 2", "sqlite", "single_row"),
        ("SELECT city FROM customer GROUP BY city ORDER BY COUNT(*) DESC", "sqlite", "single_row"),
        ("SELECT city FROM customer GROUP BY city ORDER BY COUNT(*) DESC LIMIT 1 OFFSET 1", "sqlite", None),
        ("SELECT city FROM customer GROUP BY city ORDER BY COUNT(*) DESC LIMIT 0", "sqlite", None),
        ("SELECT city FROM customer GROUP BY city ORDER BY COUNT(*) DESC LIMIT 2", "duckdb", None),  # an error
    ],
)
def test_sqlite_compares_with_the_first_row_of_several(inner: str, dialect: Dialect, rule: str | None) -> None:
    asked = "SELECT name FROM customer WHERE city <> ({})"
    first = asked.format("SELECT city FROM customer GROUP BY city ORDER BY COUNT(*) DESC LIMIT 1")
    assert proved_equivalent(first, asked.format(inner), dialect, SHOP) == rule


LATEST = "SELECT DISTINCT ON (customer_id) customer_id, day FROM purchase p {} ORDER BY customer_id, day DESC, p.id"
FIRSTS = (
    "SELECT customer_id, day FROM purchase p {} QUALIFY ROW_NUMBER() OVER (PARTITION BY customer_id ORDER BY p.id) <= 2"
)
SETS = "SELECT p.day, COUNT(*) FROM purchase p {} GROUP BY GROUPING SETS ((p.day), ())"
EVERY = "SELECT * FROM purchase p {} QUALIFY ROW_NUMBER() OVER (ORDER BY p.id) = 1"


@pytest.mark.parametrize(
    ("asked", "further", "rule"),
    [
        (LATEST, "JOIN customer c ON p.customer_id = c.id", "foreign_key"),
        (LATEST, "WHERE NOT p.day IS NULL", "not_null"),
        (LATEST, "WHERE NOT p.total IS NULL", None),
        (LATEST, "JOIN customer c ON p.customer_id = c.age", None),
        (FIRSTS, "WHERE p.total = p.total OR p.total IS NULL OR p.total <> 1", None),
        (FIRSTS, "LEFT JOIN customer c ON p.customer_id = c.id", "foreign_key"),
        (FIRSTS, "LEFT JOIN customer c ON p.customer_id = c.age", None),
        (SETS, "JOIN customer c ON p.customer_id = c.id", "foreign_key"),
        (SETS, "JOIN customer c ON p.customer_id = c.age", None),
        (EVERY, "JOIN customer c ON p.customer_id = c.id", None),  # a star shows the customer, too
    ],
)
def test_what_is_made_of_the_same_rows_is_the_same(asked: str, further: str, rule: str | None) -> None:
    found = proved_equivalent(asked.format(""), asked.format(further), "duckdb", SHOP)
    assert (found is None) == (rule is None)
    assert found is None or rule in found.split(" + ")


def test_what_is_made_of_rows_counts() -> None:
    once, twice = FIRSTS.format(""), FIRSTS.format("").replace("<= 2", "<= 3")
    assert proved_equivalent(once, twice, "duckdb", SHOP) is None
    assert proved_equivalent(LATEST.format(""), LATEST.format("").replace("DESC", "ASC"), "duckdb", SHOP) is None


@pytest.mark.parametrize(("null", "rule"), [("", None), (" NOT NULL", "foreign_key")])
def test_a_row_that_refers_to_no_parent_is_one_more_than_no_parents(null: str, rule: str | None) -> None:
    child = f"CREATE TABLE b (id INTEGER PRIMARY KEY, a INT{null} REFERENCES a (id))"
    ddl = f"CREATE TABLE a (id INTEGER PRIMARY KEY); {child}"
    asked = "SELECT id FROM b GROUP BY id HAVING COUNT(*) {} (SELECT COUNT(*) FROM a)"
    found = proved_equivalent(asked.format("="), asked.format(">="), "sqlite", read_ddl("ab", ddl))
    assert (found is None) == (rule is None)
    assert found is None or rule in found.split(" + ")


@pytest.mark.parametrize("tables", ["a", "a JOIN b ON b.a = a.id", "a LEFT JOIN b ON b.a = a.id"])
@pytest.mark.parametrize("having", ["a.name {} (SELECT c FROM b)", "COUNT(*) {} (SELECT c FROM b)"])
def test_groups_may_be_held_against_a_query(tables: str, having: str) -> None:
    """Which stood where terms were looked for: the whole of a database's pairs was lost with one such query."""
    ddl = "CREATE TABLE a (id INTEGER PRIMARY KEY, name TEXT); CREATE TABLE b (id INTEGER PRIMARY KEY, a INT, c INT)"
    asked = f"SELECT a.name FROM {tables} GROUP BY a.name HAVING {having}"
    schema = read_ddl("ab", ddl)
    assert proved_equivalent(asked.format("IN"), asked.format("IN").replace("a.name", '"a"."name"'), "sqlite", schema)
    assert proved_equivalent(asked.format("IN"), asked.format("NOT IN"), "sqlite", schema) is None


VERSIONS = read_ddl(
    "versions",
    "CREATE TABLE dim (id INTEGER PRIMARY KEY, person TEXT NOT NULL, alias TEXT, state TEXT NOT NULL, now INTEGER);",
)
ONE_EACH = ((("person",), '"now" = 1'), (("alias",), """"state" = 'a' AND "now" = 1"""))
VERSIONS = replace(VERSIONS, tables=(replace(VERSIONS.tables[0], partial_keys=ONE_EACH),))


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
@pytest.mark.parametrize(
    ("where", "column", "proved"),
    [
        ("now = 1", "person", True),
        ("now = 1 AND state = 'b'", "person", True),
        ("now = 2", "person", False),
        ("now >= 1", "person", False),
        ("now = 1 OR state = 'a'", "person", False),
        ("state = 'a'", "person", False),
        ("now = 1 AND state = 'a'", "alias", True),  # COUNT takes no NULL either
        ("now = 1 AND state = 'b'", "alias", False),
        ("now IS NULL", "person", False),
    ],
)
def test_a_key_of_rows_that_meet_a_condition(where: str, column: str, proved: bool, dialect: Dialect) -> None:
    gold = f"SELECT COUNT({column}) FROM dim WHERE {where}"
    other = f"SELECT COUNT(DISTINCT {column}) FROM dim WHERE {where}"
    assert (proved_equivalent(gold, other, dialect, VERSIONS) is not None) is proved


@pytest.mark.parametrize(
    ("where", "kind", "proved"),
    [
        ("now = TRUE", "BOOLEAN", True),
        ("now", "BOOLEAN", True),
        ("now = FALSE", "BOOLEAN", False),
        ("NOT now", "BOOLEAN", False),
        ("now", "INTEGER", False),  # 5 is true, too
    ],
)
def test_a_key_of_rows_of_which_a_flag_is_true(where: str, kind: str, proved: bool) -> None:
    (dim,) = VERSIONS.tables
    columns = tuple(replace(one, declared_type=kind) if one.name == "now" else one for one in dim.columns)
    schema = replace(VERSIONS, tables=(replace(dim, columns=columns),))
    gold, other = (f"SELECT COUNT({each}person) FROM dim WHERE {where}" for each in ("", "DISTINCT "))
    assert (proved_equivalent(gold, other, "duckdb", schema) is not None) is proved

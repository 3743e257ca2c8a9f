"""Surrogates: the schema of a profile, no value of its source, and rows worth asking about."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path

import duckdb
import pytest

from agro_data.populate.surrogate import build_surrogate
from agro_data.profiling.profile import ColumnProfile, DatabaseProfile, ForeignKey, TableProfile

SPIDER = Path(__file__).resolve().parents[2] / "../shared/data/spider/database"


def column(name, declared, kind, role, **facts):
    words = re.sub(r"[_ ]+", " ", name).lower()
    return ColumnProfile(name=name, declared_type=declared, kind=kind, role=role, phrase=words, **facts)


def profile(dialect="sqlite", extra=()):
    text = "TEXT" if dialect == "sqlite" else "VARCHAR"
    customer = TableProfile(
        name="Customer List",
        rows=5000,
        columns=(
            column("id", "INTEGER", "integer", "identifier", nullable=False, distinct=5000, unique=True),
            column("e-mail", text, "text", "identifier", distinct=4000, null_share=0.2, unique=True),
            column("city", text, "text", "category", distinct=7),
            column("status", text, "text", "category", distinct=4),
            column("birth date", "DATE", "date", "date", distinct=3000),
            column("income", "DECIMAL(9,2)", "real", "measure", distinct=4900, null_share=0.1),
            column("member since", "INTEGER", "integer", "year", distinct=20),
            column("vip", "BOOLEAN", "boolean", "boolean", distinct=2),
        ),
        singular="customer",
        plural="customers",
        primary_key=("id",),
        label_columns=("e-mail",),
    )
    order = TableProfile(
        name="order",
        rows=20000,
        columns=(
            column("nr", "INTEGER", "integer", "identifier", nullable=False, distinct=20000, unique=True),
            column("customer", "INTEGER", "integer", "identifier", distinct=4000),
            column("parent", "INTEGER", "integer", "identifier", distinct=100, null_share=0.9),
            column("kind", "ENUM('secret one', 'secret two')", "text", "category", distinct=2),
            column("placed", "TIMESTAMP", "datetime", "date", distinct=20000),
            column("quantity", "TINYINT", "integer", "measure", distinct=90, integral=True),
        ),
        singular="order",
        plural="orders",
        primary_key=("nr",),
        kind="event",
    )
    return DatabaseProfile(
        db_id="firm",
        dialect=dialect,
        content_hash="0" * 64,
        tables=(order, customer, *extra),
        foreign_keys=(
            ForeignKey("order", ("customer",), "Customer List", ("id",), declared=False, confidence=0.9),
            ForeignKey("order", ("parent",), "order", ("nr",)),
        ),
    )


@pytest.fixture(scope="module")
def con(tmp_path_factory):
    path = build_surrogate(profile(), tmp_path_factory.mktemp("surrogate") / "firm.sqlite", 11)
    connection = sqlite3.connect(path)
    yield connection
    connection.close()


def values(con, statement):
    return [row[0] for row in con.execute(statement)]


def test_names_types_and_keys_are_the_same(con):
    assert sorted(values(con, "SELECT name FROM sqlite_master WHERE type = 'table'")) == ["Customer List", "order"]
    info = con.execute("SELECT name, type, pk FROM pragma_table_info('Customer List')").fetchall()
    assert info[:2] == [("id", "INTEGER", 1), ("e-mail", "TEXT", 0)]
    assert [row[0] for row in info] == [c.name for c in profile().table("Customer List").columns]
    keys = con.execute('SELECT "from", "table", "to" FROM pragma_foreign_key_list(\'order\')').fetchall()
    assert sorted(keys) == [("customer", "Customer List", "id"), ("parent", "order", "nr")]
    assert con.execute("PRAGMA foreign_key_check").fetchall() == []


def test_values_fit_the_names(con):
    assert all("@" in v for v in values(con, 'SELECT "e-mail" FROM "Customer List"') if v is not None)
    assert 2 <= len(set(values(con, 'SELECT status FROM "Customer List"'))) <= 4
    assert 4 <= len(set(values(con, 'SELECT city FROM "Customer List"'))) <= 7
    assert all("1940" < v < "2006" for v in values(con, 'SELECT "birth date" FROM "Customer List"') if v)
    years = [v for v in values(con, 'SELECT "member since" FROM "Customer List"') if v]
    assert all(1950 <= v <= 2024 for v in years)


def test_null_shares_and_ties(con):
    share = values(con, 'SELECT AVG("e-mail" IS NULL) FROM "Customer List"')[0]
    assert 0.1 < share < 0.3
    assert values(con, 'SELECT COUNT(*) FROM "Customer List" WHERE city IS NULL') == [0]
    income = [v for v in values(con, 'SELECT income FROM "Customer List"') if v is not None]
    assert len(set(income)) >= 0.95 * len(income)


def test_some_customers_have_no_order_and_some_many(con):
    counts = values(
        con, 'SELECT COUNT(o.nr) FROM "Customer List" c LEFT JOIN "order" o ON o.customer = c.id GROUP BY c.id'
    )
    assert min(counts) == 0
    assert 1 in counts
    assert max(counts) >= 5


def test_a_type_that_lists_values_is_not_carried_over(tmp_path):
    for dialect, suffix in (("sqlite", ".sqlite"), ("duckdb", ".duckdb")):
        path = build_surrogate(profile(dialect), tmp_path / f"x{suffix}", 11)
        assert b"secret" not in path.read_bytes()


def test_same_seed_same_bytes(tmp_path):
    paths = [build_surrogate(profile(), tmp_path / f"{i}.sqlite", seed) for i, seed in enumerate((3, 3, 4))]
    first, second, other = (path.read_bytes() for path in paths)
    assert first == second
    assert first != other


def test_duckdb_has_the_types(tmp_path):
    path = build_surrogate(profile("duckdb"), tmp_path / "firm.duckdb", 5)
    con = duckdb.connect(str(path), read_only=True)
    types = dict(
        con.execute(
            "SELECT column_name, data_type FROM information_schema.columns WHERE table_name <> 'order'"
        ).fetchall()
    )
    assert types["birth date"] == "DATE"
    assert types["income"] == "DECIMAL(9,2)"
    assert types["vip"] == "BOOLEAN"
    orphans = con.execute(
        'SELECT COUNT(*) FROM "order" WHERE customer NOT IN (SELECT id FROM "Customer List")'
    ).fetchone()
    assert orphans == (0,)
    con.close()


def test_what_is_rounded_stays_within_a_narrow_decimal(tmp_path):
    """Else the engine refuses the row, and there is no database."""
    narrow = TableProfile(
        name="assay",
        rows=50,
        singular="assay",
        plural="assays",
        columns=(
            column("id", "INTEGER", "integer", "identifier", nullable=False, distinct=50, unique=True),
            column("purity", "DECIMAL(3,3)", "real", "measure", distinct=40),
            column("yield", "DECIMAL(4,2)", "real", "measure", distinct=40, integral=True),
            column("level", "DECIMAL(2,2)", "real", "measure", distinct=1, integral=True),
        ),
        primary_key=("id",),
    )
    path = build_surrogate(profile("duckdb", (narrow,)), tmp_path / "firm.duckdb", 5)
    with duckdb.connect(str(path), read_only=True) as con:
        counted = con.execute("SELECT COUNT(DISTINCT purity), COUNT(DISTINCT yield), MAX(level) FROM assay").fetchone()
    assert counted[0] > 5
    assert counted[1] > 5
    assert counted[2] == 0


def test_numbers_of_any_length_are_numbers(tmp_path):
    odd = TableProfile(
        name="ledger",
        rows=50,
        singular="ledger",
        plural="ledgers",
        columns=(
            column("total", "BIGNUM", "text", "category", distinct=12),
            column("number", "BIGNUM", "text", "identifier", nullable=False, distinct=50, unique=True),
        ),
        primary_key=("number",),
    )
    con = duckdb.connect(str(build_surrogate(profile("duckdb", (odd,)), tmp_path / "firm.duckdb", seed=11)))
    types = {t for (t,) in con.execute("SELECT data_type FROM duckdb_columns() WHERE table_name = 'ledger'").fetchall()}
    assert types == {"BIGNUM"}
    assert con.execute("SELECT COUNT(*) FROM ledger WHERE total > 0").fetchone()[0] > 0
    con.close()


def test_a_cycle_of_primary_keys_loses_one_foreign_key_and_no_table(tmp_path):
    twin = {
        name: TableProfile(
            name=name,
            rows=50,
            columns=(column("id", "INTEGER", "integer", "identifier", nullable=False, distinct=50, unique=True),),
            singular=name,
            plural=name,
            primary_key=("id",),
        )
        for name in ("a", "b")
    }
    keys = (ForeignKey("a", ("id",), "b", ("id",)), ForeignKey("b", ("id",), "a", ("id",)))
    both = DatabaseProfile("twins", "sqlite", "0", tuple(twin.values()), foreign_keys=keys)
    con = sqlite3.connect(build_surrogate(both, tmp_path / "twins.sqlite", 1))
    kept = [con.execute(f"PRAGMA foreign_key_list({name})").fetchall() for name in twin]
    assert sum(map(len, kept)) == 1
    assert all(con.execute(f"SELECT COUNT(*) FROM {name}").fetchone()[0] >= 50 for name in twin)
    con.close()


@pytest.mark.parametrize("db_id", ["concert_singer", "store_1", "flight_2", "cre_Theme_park", "small_bank_1"])
def test_a_real_schema_is_kept_whole(db_id, tmp_path):
    source = SPIDER / db_id / f"{db_id}.sqlite"
    if not source.exists():
        pytest.skip("needs ../shared/data/spider beside the repository")
    from agro_data.databases.discovery.catalog import find_databases
    from agro_data.profiling.profiler import profile_database

    (database,) = find_databases(source).databases
    known = profile_database(database, values=False)
    con = sqlite3.connect(build_surrogate(known, tmp_path / "made.sqlite", 1))
    for table in known.tables:
        names = values(con, f"SELECT name FROM pragma_table_info('{table.name}')")
        assert names == [c.name for c in table.columns]
        assert values(con, f'SELECT COUNT(*) FROM "{table.name}"')[0] >= 2
    for key in known.foreign_keys:
        pairs = zip(key.columns, key.ref_columns, strict=True)
        link = " AND ".join(f'c."{c}" = p."{r}"' for c, r in pairs)
        filled = " AND ".join(f'c."{c}" IS NOT NULL' for c in key.columns)
        orphans = values(
            con,
            f'SELECT COUNT(*) FROM "{key.table}" c WHERE {filled} AND NOT EXISTS'
            f' (SELECT 1 FROM "{key.ref_table}" p WHERE {link})',
        )
        assert orphans == [0], key
    con.close()

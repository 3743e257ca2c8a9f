"""Mistakes that once survived every instance are told apart: each mutant named here is killed, not proved."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

from agro_data.databases.discovery.catalog import find_databases
from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.databases.types import Database, Dialect
from agro_data.profiling.profiler import profile_database
from agro_data.verify.certificates.budget import Budget
from agro_data.verify.certificates.certifier import Certifier
from agro_data.verify.certificates.pool import Certificate

CLINIC = """
CREATE TABLE doctor (id INTEGER PRIMARY KEY, name VARCHAR NOT NULL UNIQUE, ward VARCHAR NOT NULL, pay INTEGER NOT NULL,
  hired DATE NOT NULL);
CREATE TABLE school (id INTEGER PRIMARY KEY, city VARCHAR NOT NULL);
CREATE TABLE nurse (id INTEGER PRIMARY KEY, name VARCHAR NOT NULL, pay INTEGER NOT NULL, school_id INTEGER REFERENCES
  school (id));
CREATE TABLE review (id INTEGER PRIMARY KEY, stars INTEGER NOT NULL CHECK (stars BETWEEN 1 AND 5), day DATE NOT NULL);
CREATE TABLE visit (doctor_id INTEGER NOT NULL REFERENCES doctor (id), day DATE NOT NULL, minutes INTEGER NOT NULL,
  PRIMARY KEY (doctor_id, day));
"""
WARDS = ("North", "South", "East")


def clinic(folder: Path, dialect: Dialect) -> Database:
    doctors = [(n, f"Dr {n:02}", WARDS[n % 3], 90 + n, f"{2010 + n % 9}-0{1 + n % 7}-11") for n in range(1, 19)]
    visits = [(1 + n % 17, f"2016-0{1 + n % 9}-{10 + n % 19}", 5 * (n % 11) + 5) for n in range(60)]
    nurses = [(n, f"Nurse {n % 13}", 70 + 3 * n % 17, n % 5 or None) for n in range(1, 21)]
    reviews = [(n, 1 + n * n % 5, f"2017-0{1 + n % 9}-03") for n in range(1, 31)]
    rows = {"doctor": doctors, "school": [(n, f"City {n}") for n in range(1, 5)], "nurse": nurses, "review": reviews}
    visits = list({row[:2]: row for row in visits}.values())
    rows["visit"] = visits
    path = folder / f"clinic.{dialect}"
    if dialect == "sqlite":
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.executescript(CLINIC)
            for table, values in rows.items():
                connection.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(values[0]))})", values)
    else:
        with duckdb.connect(str(path)) as connection:
            connection.execute(CLINIC)
            for table, values in rows.items():
                connection.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(values[0]))})", values)
    (found,) = find_databases(folder).databases
    return found


YEAR = {"sqlite": "STRFTIME('%Y', hired) = '2014'", "duckdb": "EXTRACT(YEAR FROM hired) = 2014"}
MONTH = {"sqlite": "SUBSTR(day, 6, 2) = '03'", "duckdb": "EXTRACT(MONTH FROM day) = 3"}
SURVIVED = [
    ("years", "SELECT name FROM doctor WHERE {year}"),
    ("years under DISTINCT", "SELECT DISTINCT ward FROM doctor WHERE {year}"),
    ("months", "SELECT SUM(minutes) FROM visit WHERE {month}"),
    ("dates at a boundary", "SELECT COUNT(*) FROM visit WHERE day >= '2016-04-12'"),
    ("an average", "SELECT name FROM doctor WHERE pay > (SELECT AVG(pay) FROM doctor)"),
    ("a group of many", "SELECT doctor_id FROM visit GROUP BY doctor_id HAVING COUNT(*) > 52"),
    ("the average of a group", "SELECT ward FROM doctor GROUP BY ward HAVING AVG(pay) < 99"),
    ("values shown elsewhere", "SELECT DISTINCT ward FROM doctor WHERE pay > 97"),
    ("values in both sets", "SELECT ward FROM doctor WHERE pay > 99 INTERSECT SELECT ward FROM doctor WHERE pay < 94"),
    ("equals under a window", "SELECT ward, RANK() OVER (ORDER BY pay DESC) FROM doctor"),
    ("the greatest average", "SELECT ward FROM doctor GROUP BY ward ORDER BY AVG(pay) DESC LIMIT 1"),
    ("the least average", "SELECT ward, AVG(pay) FROM doctor GROUP BY ward ORDER BY AVG(pay) LIMIT 1"),
    ("the first of some", "SELECT name FROM doctor WHERE ward = 'North' ORDER BY pay DESC LIMIT 1"),
    (
        "groups of few values, many rows of others",
        "SELECT stars, COUNT(*) FROM review GROUP BY stars HAVING COUNT(*) > 2",
    ),
    ("reviews of a day", "SELECT COUNT(*) FROM review WHERE day > '2017-03-03'"),
    ("reviews of some stars", "SELECT day FROM review WHERE stars >= 4"),
    (
        "the next key of an order, and a reference that its first row lacks",
        "SELECT name FROM nurse ORDER BY pay DESC, name LIMIT 1",
    ),
    (
        "the most of what there may be none of",
        "SELECT d.name FROM doctor AS d JOIN visit AS v ON d.id = v.doctor_id GROUP BY d.id, d.name "
        "ORDER BY COUNT(*) DESC LIMIT 1",
    ),
    ("a share of nothing", "SELECT 100.0 * SUM(CASE WHEN pay > 99 THEN 1 ELSE 0 END) / COUNT(*) FROM doctor"),
]


@pytest.fixture(scope="module", params=["sqlite", "duckdb"])
def certificates(
    request: pytest.FixtureRequest, sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Certificate]:
    """Of all these golds, certified together, so that they share files."""
    dialect: Dialect = request.param
    folder = tmp_path_factory.mktemp(dialect)
    database = clinic(folder, dialect)
    golds = [sql.format(year=YEAR[dialect], month=MONTH[dialect]) for _, sql in SURVIVED]
    pool = Certifier(database, profile_database(database), sandbox, folder / "pool", 0, Budget()).certify(golds)
    assert not pool.problems, pool.problems
    return dict(zip([what for what, _ in SURVIVED], pool.certificates, strict=True))


@pytest.mark.parametrize("what", [what for what, _ in SURVIVED])
def test_nothing_survives(what: str, certificates: dict[str, Certificate]) -> None:
    certificate = certificates[what]
    assert certificate.ok, certificate.detail
    assert certificate.count("killed") >= 3
    assert not certificate.survivors, [fate.what for fate in certificate.survivors]

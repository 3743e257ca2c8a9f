"""Statements that must do nothing but fail: those of the fixtures, and those that cannot stand in a text file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

FIXTURES = Path(__file__).parent / "fixtures"
MEGABYTE = 2**20


@dataclass(frozen=True)
class Hostile:
    """A statement and the statuses it may end with; "ok" means that it is harmless."""

    sql: str
    expected: frozenset[str]

    @property
    def slow(self) -> bool:
        """Whether it may run until a limit stops it."""
        return self.expected != {"error"}

    def __str__(self) -> str:
        return self.sql if len(self.sql) < 300 else f"{self.sql[:300]}... ({len(self.sql)} characters)"


def hostile(engine: str) -> list[Hostile]:
    """The corpus of "sqlite" or "duckdb"."""
    cases = (FIXTURES / f"hostile_{engine}.sql").read_text(encoding="utf-8").split("\n-- expect:")[1:]
    written = [case.split("\n", 1) for case in cases]
    found = [Hostile(sql.strip(), frozenset(expected.split())) for expected, sql in written] + _built()
    if engine == "sqlite":
        return found
    # An allocation that fails within DuckDB may take the process with it: that costs the worker, and nothing else.
    return [Hostile(c.sql, c.expected | {"crashed"}) if "too_large" in c.expected else c for c in found]


def _built() -> list[Hostile]:
    """For both engines."""

    def of(sql: str, expected: str) -> Hostile:
        return Hostile(sql, frozenset(expected.split()))

    deep = 30_000
    return [
        # 10 MB, and what just passes the limit on length
        of("SELECT '" + "x" * 10 * MEGABYTE + "'", "too_large"),
        of("SELECT 1" + " " * 10 * MEGABYTE + "; DROP TABLE t", "too_large"),
        of("SELECT a FROM t /*" + "*" * 10 * MEGABYTE + "*/", "too_large"),
        of("-- " + "x" * 90_000 + "\nDROP TABLE t", "error"),
        of(" " * 90_000 + "DROP TABLE t", "error"),
        # names of columns, and columns without end
        of(
            f'SELECT {", ".join("*" * 1_500)} FROM (SELECT 1 AS "{"x" * 60_000}") LIMIT 0',
            "too_large error timeout",
        ),
        of(f"SELECT {', '.join('*' * 2_000)} FROM {', '.join('t' * 2_000)}", "error too_large crashed timeout"),
        # nesting, and what sqlglot reads again and again
        of("SELECT 1 FROM t " + "JOIN t " * 40, "error too_large crashed ok timeout"),
        of("SELECT 1 FROM t " + "LEFT JOIN t " * 40, "error too_large crashed ok timeout"),
        of("SELECT " + "DATE(" * 60 + "1" + ")" * 60, "error ok"),
        of("SELECT " + "CHAR(" * 60 + "1" + ")" * 60, "error ok"),
        of("SELECT " + "ARRAY[" * 60 + "1" + "]" * 60, "error ok too_large"),
        of("SELECT " + "(" * deep + "1" + ")" * deep, "error too_large crashed timeout"),
        of("SELECT " + "-" * deep + "1", "error"),  # a comment
        of("SELECT " + "- " * deep + "1", "error too_large crashed timeout"),
        of("SELECT " + "NOT " * 20_000 + "1", "error too_large crashed timeout"),
        of("SELECT 1" + " + 1" * 20_000, "error too_large crashed timeout"),
        of("SELECT 1 WHERE 1" + " AND 1" * 15_000, "error too_large crashed ok timeout"),
        of("SELECT " + "abs(" * 15_000 + "1" + ")" * 15_000, "error too_large crashed timeout"),
        of("SELECT " + "CASE WHEN 1 THEN " * 3_000 + "1" + " END" * 3_000, "error too_large crashed timeout"),
        of("SELECT * FROM " + "(SELECT * FROM " * 5_000 + "t" + ")" * 5_000, "error too_large crashed timeout"),
        of("SELECT 1" + " UNION SELECT 1" * 6_000, "error too_large crashed timeout ok"),
        of("SELECT * FROM t" + ", t" * 20_000, "error too_large crashed timeout"),
        of("SELECT " + ", ".join(["a"] * 30_000) + " FROM t", "error too_large ok timeout"),
        of("WITH " + ", ".join(_doubling(60)) + " SELECT count(*) FROM c60", "timeout too_large error crashed"),
        # NUL bytes and other characters that are not seen
        of("SELECT a FROM t\0; DROP TABLE t", "error"),
        of("\0DROP TABLE t", "error"),
        of("SELECT 'x\0y'; DROP TABLE t", "error"),
        of("DROP\0 TABLE t", "error"),
        of("SELECT load_extension\0('x')", "error"),
        of("\ufeffDROP TABLE t", "error"),
        of("DROP\u00a0TABLE t", "error"),
        of("DROP\u200b TABLE t", "error"),
        of("SELECT\u2028a FROM nothing", "error"),
        of("\u202eSELECT 1; DROP TABLE t", "error"),
        of("SELECT a FROM t -- \u2029\r\n; DROP TABLE t", "error"),
        of("DROP TABLE t -- \u202e\u2066", "error"),
        of("SELECT '\ud800'", "error"),  # half of a character
        of("\r\n\t\v\f DROP TABLE t", "error"),
        of("SELECT CAST(" * 9_000 + "1" + " AS INTEGER)" * 9_000, "error too_large crashed timeout"),
    ]


def _doubling(most: int) -> list[str]:
    """Common table expressions of which each reads the one before twice: 2^most rows."""
    return [
        "c0 AS (SELECT 1 AS x)",
        *(f"c{n} AS (SELECT p.x FROM c{n - 1} p, c{n - 1} q UNION ALL SELECT 2)" for n in range(1, most + 1)),
    ]

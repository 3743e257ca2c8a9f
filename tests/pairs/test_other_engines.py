"""SQL of another engine, and in a code fence: told with what would run here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pairs.market import duckdb_market, sqlite_market, write_pairs

from agro_data.pairs.verify import verify_pairs

FENCED = "```sql\nSELECT COUNT(*) FROM stall\n```"


@pytest.mark.parametrize(
    ("market", "sql", "says", "here"),
    [
        (sqlite_market, "SELECT TOP 2 [name] FROM [stall] ORDER BY name", "SQL of SQL Server",
         'SELECT "name" FROM "stall" ORDER BY name LIMIT 2'),
        (sqlite_market, "SELECT name FROM public.stall WHERE town ILIKE 'y%'", "SQL of PostgreSQL",
         "SELECT name FROM stall WHERE LOWER(town) LIKE LOWER('y%')"),
        (duckdb_market, "SELECT `name` FROM `stall` LIMIT 0, 2", "SQL of SQLite",
         'SELECT "name" FROM "stall" LIMIT 2 OFFSET 0'),
        (sqlite_market, FENCED, "in a code fence", "SELECT COUNT(*) FROM stall"),
    ],
)  # fmt: skip
def test_what_runs_in_our_sql_is_shown(
    market: Callable[[Path], Path], sql: str, says: str, here: str, tmp_path: Path
) -> None:
    place = market(tmp_path / "db")
    found = verify_pairs(write_pairs(tmp_path / "a.json", [("Which?", sql)]), place, cache=tmp_path / "c", workers=1)
    (told,) = (one for one in found.checked[0].findings if one.kind != "unordered_limit")
    assert says in told.says
    assert told.witness == here
    assert not told.mended


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT nane FROM stall",
        "SELECT name FROM stall WHERE",
        "SELECT TOP 2 nane FROM stall",  # of another engine, and wrong there
        "SELECT TOP 2 name FROM stall WHERE name = @name",  # of whom?
        "DELETE FROM stall",
        "```\nDELETE FROM stall\n```",
    ],
)
def test_what_runs_nowhere_has_no_such_witness(sql: str, tmp_path: Path) -> None:
    place = sqlite_market(tmp_path / "db")
    found = verify_pairs(write_pairs(tmp_path / "a.json", [("Which?", sql)]), place, cache=tmp_path / "c", workers=1)
    assert not any("SQL of" in one.says or "fence" in one.says for one in found.checked[0].findings)

"""Running statements in the sandbox, each once."""

from __future__ import annotations

from collections.abc import Sequence

from agro_data.databases.digest import result_digest
from agro_data.databases.hostile.sandbox import Sandbox, Want
from agro_data.databases.types import Database, Result

COUNTS_NOTHING = result_digest(1, [(0,)], ordered=False)  # of a result that is the one value 0


def execute(pairs: Sequence[tuple[Database, str]], sandbox: Sandbox, want: Want = "digest") -> list[Result]:
    """One result for each (database, SQL), in order; pairs that occur twice run once."""
    keys = [(database.content_hash, str(database.path), sql) for database, sql in pairs]
    first = dict(zip(keys, pairs, strict=True))
    unique = dict.fromkeys(keys)
    results = sandbox.run_many([first[key] for key in unique], want)
    by_key = dict(zip(unique, results, strict=True))
    return [by_key[key] for key in keys]


FAILURES = {
    "error": "execution_error",
    "timeout": "timeout",
    "too_large": "too_large",
    "crashed": "crashed",
}


def failure(result: Result) -> tuple[str, str]:
    """Reason and detail of a result that is not "ok"."""
    return FAILURES[result.status], result.error or result.status

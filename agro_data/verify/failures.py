"""Why a prediction is not right: the classes of faults, and that of a result of which the engine says what failed."""

from __future__ import annotations

from collections.abc import Callable

from agro_data.databases.types import Result

ERROR_CLASSES = (
    "missing",  # no prediction
    "syntax",  # the engine cannot parse it
    "schema",  # a table or column that is not there
    "refused",  # not one read-only SELECT, one that reads what is the engine's own, or whose answer is chance
    "constant",  # an answer that is read from no table
    "execution",  # it parses, and fails when run
    "time_limit",
    "too_large",
    "empty",  # no row where rows are expected
    "columns",  # another number of columns, or the same in another order
    "wrong_rows",
    "order",  # the rows are right, their order is not
    "gold_failed",  # the gold does not run: nothing can be right
    "ungradable",  # the gold is empty on every instance: nothing can be told from it
    "unanswerable",  # an answer to a question that has none
    "no_database",
    "no_gold",  # nothing to compare with
    "wrong_form",  # exact set match: another query than the gold, whatever its rows
)


def failure_class(result: Result) -> tuple[str, str]:
    """Error class and reason of a result that is not "ok", from either engine's message."""
    error = result.error or result.status
    if result.status == "timeout":
        return "time_limit", f"stopped: {error}"
    if result.status == "too_large":
        return "too_large", error
    if result.status == "crashed":
        return "execution", error
    lowered = error.lower()
    return next((name for name, test in _SAYS if test(lowered)), "execution"), error


def _says(*words: str) -> Callable[[str], bool]:
    return lambda text: any(word in text for word in words)


_SAYS: tuple[tuple[str, Callable[[str], bool]], ...] = (
    ("refused", _says("not authorized", "one select statement is allowed", "not a select", "one statement at a time")),
    ("schema", _says("no such column", "no such table", "ambiguous column", "catalog error", "binder error")),
    ("syntax", _says("syntax error", "incomplete input", "unrecognized token", "parser error", "no tables specified")),
    ("schema", _says("no such function", "cannot join using column")),
    ("refused", _says("and is not allowed", "is prohibited", "authorization denied")),  # what is the engine's own
)

"""What SQLite's functions of dates do not read: `strftime('%Y', '03/29/2009')` is NULL, and a number counts days from
4714 BC on: `strftime('%Y', 2009)` is '-4707'.

Each finding is demonstrated: none of the values of the column is read as a day of our time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sqlglot import exp

from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.databases.quoting import quoted
from agro_data.databases.types import Cell, Database
from agro_data.pairs.finding import Finding
from agro_data.pairs.mending import rewritten
from agro_data.pairs.places import column_of
from agro_data.pairs.values.readings import ways_to_read
from agro_data.pairs.values.sizes import LOOKED_AT
from agro_data.pairs.values.written_dates import Dates
from agro_data.sql.forms.canonical import sql_text
from agro_data.sql.names.resolution import Place, Resolution
from agro_data.verify.execution import execute

_NAMED = {"date": 0, "time": 0, "datetime": 0, "julianday": 0, "unixepoch": 0, "strftime": 1}  # which argument is read
_AS_NUMBERS = frozenset({"unixepoch", "auto", "julianday"})  # modifiers, after which numbers are read
_OF_OURS = "julianday(v) BETWEEN julianday('0001-01-01') AND julianday('9999-12-31')"


@dataclass(frozen=True)
class _Use:
    """A column that a function of dates reads: the call, the column's node there, and where it stands."""

    call: exp.Expr
    column: exp.Expr
    place: Place


def check_read_as_dates(
    database: Database, names: Mapping[str, Resolution], sandbox: Sandbox
) -> dict[str, list[Finding]]:
    """Findings of each statement. DuckDB refuses what it does not read."""
    findings: dict[str, list[Finding]] = {sql: [] for sql in names}
    if database.dialect != "sqlite":
        return findings
    uses = {sql: some for sql, found in names.items() if (some := list(_uses(found)))}
    places = list(dict.fromkeys(use.place for some in uses.values() for use in some))
    texts = execute([(database, _values(place)) for place in places], sandbox, "rows")
    unread = {
        place: [row[0] for row in result.rows]
        for place, result in zip(places, texts, strict=True)
        if result.ok and result.rows and not any(row[1] for row in result.rows)
    }
    for sql, some in uses.items():
        wrong = [use for use in some if use.place in unread]
        if wrong:
            findings[sql].append(_finding(names[sql], wrong, unread))
    return findings


def _uses(found: Resolution) -> Iterator[_Use]:
    for call in found.tree.find_all(exp.TimeToStr, exp.Date, exp.Anonymous):
        operand = _operand(call)
        column = column_of(operand, found) if operand is not None else None
        place = found.place(column) if column is not None else None
        if operand is not None and place is not None:
            yield _Use(call, operand.unnest(), place)


def _operand(call: exp.Expr) -> exp.Expr | None:
    """What a function reads as a date; None of others, and where a modifier has it read numbers."""
    inner: exp.Expr | None = call.this
    if isinstance(call, exp.Anonymous):
        place = _NAMED.get(call.name.lower(), len(call.expressions))
        modifiers = {str(one.name).lower() for one in call.expressions if isinstance(one, exp.Literal)}
        known = place < len(call.expressions) and not modifiers & _AS_NUMBERS
        inner = call.expressions[place] if known else None
    return inner.this if isinstance(inner, exp.TsOrDsToTimestamp) else inner


def _values(place: Place) -> str:
    """The values of a column, and whether each is read as a day of our time."""
    table, column = place
    known = f"SELECT DISTINCT {quoted(column)} AS v FROM {quoted(table)} WHERE {quoted(column)} <> ''"
    return f"SELECT v, COALESCE({_OF_OURS}, 0) FROM ({known} LIMIT {LOOKED_AT}) AS known"


def _finding(found: Resolution, uses: list[_Use], unread: Mapping[Place, list[Cell]]) -> Finding:
    """What is told of the calls of one statement; mended where one way to read the texts is left."""
    said: dict[str, None] = {}
    mended: list[tuple[exp.Expr, exp.Expr]] = []
    for use in uses:
        values = unread[use.place]
        said[f"{sql_text(use.call, 'sqlite')} reads no value of {'.'.join(use.place)} as a date ({values[0]!r})"] = None
        ways = ways_to_read(values, "sqlite")
        if len(ways) == 1 and isinstance(ways[0], Dates):
            mended.append((use.column, ways[0].read(use.column)))
    text = rewritten(found, mended, "sqlite") if len(mended) == len(uses) else ""
    return Finding("date_not_read", f"{'; '.join(said)}.", mended=text)

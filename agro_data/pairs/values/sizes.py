"""Numbers and dates that are kept as text, where their size counts: '9' is greater than '10', and 'null' than both; and
of dates only the years are subtracted.

Each finding is demonstrated: the statement runs again with these columns read as what they are, and gives another
answer; where they may be read in several ways (is 3/4/20 in March?), in each of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from agro_data.databases.files.number_texts import MOST_MARKERS
from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.databases.quoting import quoted
from agro_data.databases.types import Cell, Database, Dialect, Result
from agro_data.pairs.finding import Finding
from agro_data.pairs.mending import rewritten
from agro_data.pairs.places import column_of, profile_at
from agro_data.pairs.values.readings import Reading, may_be_read, ways_to_read
from agro_data.profiling.columns.statistics import as_number
from agro_data.profiling.profile import DatabaseProfile
from agro_data.sql.constructs import is_aggregate
from agro_data.sql.forms.canonical import sql_text
from agro_data.sql.names.resolution import Place, Resolution, value_of
from agro_data.sql.walks import around
from agro_data.verify.execution import execute
from agro_data.words import capital

LOOKED_AT = 5_000  # distinct values of a column
_COMPARED, _COMPUTED = (exp.GT, exp.GTE, exp.LT, exp.LTE), (exp.Add, exp.Sub, exp.Mul, exp.Div)
_BY_SIZE = (*_COMPARED, *_COMPUTED)
_AGGREGATES = (exp.Min, exp.Max, exp.Sum, exp.Avg)
_NUMERIC = exp.DataType.NUMERIC_TYPES
Row = tuple[Cell, ...]


@dataclass(frozen=True)
class _Use:
    """A column where its size counts: the node that stands there, the literals that it is compared with and their
    nodes, whether it is computed with, and whether it is what MIN or MAX gives.
    """

    node: exp.Expr
    column: exp.Expr
    place: Place
    literals: tuple[tuple[exp.Expr, exp.Expr], ...]
    computed: bool
    comes_out: bool

    @property
    def value(self) -> exp.Expr:
        """What it is as it stands there, without the name of an output."""
        return self.node if isinstance(self.node, exp.Cast) else self.column

    def fits(self, reading: Reading) -> bool:
        """Whether it can be read so here."""
        return (reading.sums or not self.computed) and all(reading.literal(one) is not None for _, one in self.literals)

    def read(self, reading: Reading) -> Iterator[tuple[exp.Expr, exp.Expr]]:
        """The nodes that are read so, with what they are then. What is missing is not the least: it comes last. A CAST
        stays one to its own type.
        """
        read, key = reading.read(self.column), self.node.parent
        if isinstance(self.node, exp.Cast) and isinstance(read, exp.Cast):
            read = exp.Cast(this=read.this, to=self.node.to.copy())
        if reading.markers and isinstance(key, exp.Ordered) and not key.args.get("desc"):
            yield key, exp.Ordered(this=read, desc=False, nulls_first=False)
        else:
            yield self.node, read
        for node, one in self.literals:
            meant = reading.literal(one)
            if meant is not None and meant != one:
                yield node, meant


def check_sizes(
    database: Database, names: Mapping[str, Resolution], profile: DatabaseProfile, sandbox: Sandbox
) -> dict[str, list[Finding]]:
    """Findings of each statement whose answer is another when the texts that it sorts, compares, averages or subtracts
    are read as the numbers and dates that they are.
    """
    uses = {sql: list(_uses(found, profile)) for sql, found in names.items()}
    ways = _ways(database, [use.place for some in uses.values() for use in some], sandbox)
    offered: dict[str, list[_Offer]] = {}
    for sql, found in names.items():
        kept = [use for use in uses[sql] if use.place in ways and all(map(use.fits, ways[use.place]))]
        days = list(_days(found, profile)) if database.dialect == "sqlite" else []
        if kept or days:
            offered[sql] = list(_offers(found, kept, days, ways, database.dialect))
    asked = [
        (database, text)
        for sql, some in offered.items()
        for text in (_as_texts(names[sql], uses[sql], database.dialect), *(one.finding.witness for one in some))
    ]
    results = iter(execute(asked, sandbox, "rows"))
    findings: dict[str, list[Finding]] = {sql: [] for sql in names}
    for sql, some in offered.items():
        as_it_is, read = next(results), [next(results) for _ in some]
        if all(_differs(as_it_is, one, offer, names[sql].ordered) for offer, one in zip(some, read, strict=True)):
            findings[sql].append(some[0].finding)
    return findings


def _as_texts(found: Resolution, uses: Sequence[_Use], dialect: Dialect) -> str:
    """The statement ordered by expressions, as it is when they are read: an index may hold equal rows another way."""
    keys = [use for use in uses if isinstance(use.node.parent, exp.Ordered)]
    return rewritten(found, [(use.node, exp.func("COALESCE", use.value.copy(), exp.Null())) for use in keys], dialect)


@dataclass(frozen=True)
class _Offer:
    """The finding if the answer proves to be another when columns are read in one way."""

    finding: Finding
    readings: tuple[Reading, ...]


def _differs(as_it_is: Result, read: Result, offer: _Offer, ordered: bool) -> bool:
    return as_it_is.ok and read.ok and not same_answer(as_it_is.rows, read.rows, ordered, offer.readings)


def _offers(
    found: Resolution,
    uses: Sequence[_Use],
    days: Sequence[tuple[exp.Sub, exp.Expr]],
    ways: Mapping[Place, Sequence[Reading]],
    dialect: Dialect,
) -> Iterator[_Offer]:
    """What is offered for each of the ways in which the columns may be read: the fault is one whichever is meant."""
    many = max((len(ways[use.place]) for use in uses), default=1)
    for number in range(many):
        readings = {use.place: ways[use.place][min(number, len(ways[use.place]) - 1)] for use in uses}
        read = [pair for use in uses for pair in use.read(readings[use.place])]
        witness = rewritten(found, [*read, *days], dialect)
        said = [reading.held(".".join(place)) for place, reading in readings.items()]
        said += [f"the difference {sql_text(node, dialect)} is one of years" for node, _ in days]
        cut = (
            " (CAST reads what comes before the first sign)" if any(isinstance(u.node, exp.Cast) for u in uses) else ""
        )
        says = f"{capital('; '.join(dict.fromkeys(said)))}: read as what they are{cut}, they give another answer."
        sure = many == 1 and _is_sure(found, uses, days, readings)
        yield _Offer(Finding("text_as_number", says, witness, witness if sure else ""), tuple(readings.values()))


def _is_sure(
    found: Resolution,
    uses: Sequence[_Use],
    days: Sequence[tuple[exp.Sub, exp.Expr]],
    readings: Mapping[Place, Reading],
) -> bool:
    """Whether one way is left. It is not sure if the number is united with another SELECT's texts; if a date would come
    out in another form; or if an average of days may be asked for in years.
    """
    out = [use for use in uses if use.comes_out]
    shown = bool(out) and (isinstance(found.tree, exp.SetOperation) or not all(readings[use.place].sums for use in out))
    averaged = any(holder is not None and is_aggregate(holder) for holder in (around(node) for node, _ in days))
    return not shown and not averaged


# --- where size counts -------------------------------------------------------------------------------------------


def _uses(found: Resolution, profile: DatabaseProfile) -> Iterator[_Use]:
    """Columns that may hold texts: compared by size, computed with, sorted by, aggregated as numbers or cast."""
    for node in found.tree.find_all(*_BY_SIZE, exp.Between, exp.Ordered, *_AGGREGATES):
        if isinstance(node, _AGGREGATES) and not is_aggregate(node):
            continue  # the greater of two
        for operand in (node.this, node.expression) if isinstance(node, _BY_SIZE) else (node.this,):
            column = column_of(operand, found)
            place = found.place(column) if column is not None else None
            if column is not None and place is not None and _may_be_text(place, profile):
                computed = isinstance(node, (exp.Sum, exp.Avg, *_COMPUTED))
                sides = [(side, value_of(side, found)) for side in _against(node, operand)]
                literals = tuple((side, one) for side, one in sides if isinstance(one, exp.Literal))
                yield _Use(operand, column, place, literals, computed, isinstance(node, (exp.Min, exp.Max)))
    for node in found.tree.find_all(exp.Cast) if profile.dialect == "sqlite" else ():  # DuckDB refuses such texts
        column = column_of(node.this, found)
        place = found.place(column) if column is not None else None
        if column is not None and place is not None and node.to.is_type(*_NUMERIC) and _may_be_text(place, profile):
            yield _Use(node, column, place, (), True, False)


def _against(node: exp.Expr, operand: exp.Expr) -> Sequence[exp.Expr]:
    """What a comparison holds an operand against."""
    if isinstance(node, exp.Between):
        return node.args["low"], node.args["high"]
    if isinstance(node, _COMPARED):
        return (node.expression if operand is node.this else node.this,)
    return ()


def _may_be_text(place: Place, profile: DatabaseProfile) -> bool:
    """What is known of its values does not speak against numbers. Codes that name rows may well be sorted as texts."""
    column = profile_at(place, profile)
    strange = sum(not may_be_read(value) for value, _ in column.common)
    text = column.kind in ("text", "date", "datetime", "other")
    return text and column.role != "identifier" and strange <= MOST_MARKERS


def _ways(database: Database, places: Sequence[Place], sandbox: Sandbox) -> dict[Place, tuple[Reading, ...]]:
    """The columns among these some of whose values are texts that are numbers or dates, with how they may be read."""
    asked = list(dict.fromkeys(places))
    statements = [
        f"SELECT DISTINCT {quoted(column)} FROM {quoted(table)} WHERE {quoted(column)} IS NOT NULL LIMIT {LOOKED_AT}"
        for table, column in asked
    ]
    results = execute([(database, sql) for sql in statements], sandbox, "rows")
    found = {
        place: ways_to_read([row[0] for row in result.rows], database.dialect)
        for place, result in zip(asked, results, strict=True)
        if result.ok
    }
    return {place: some for place, some in found.items() if some}


def _days(found: Resolution, profile: DatabaseProfile) -> Iterator[tuple[exp.Sub, exp.Expr]]:
    """Differences of dates, which SQLite takes of their years, with the ones of days. One that comes out itself, or is
    compared with a number, may be meant to be of years.
    """
    for node in found.tree.find_all(exp.Sub):
        holder = around(node)
        out = holder.parent is found.tree if isinstance(holder, exp.Alias) else holder is found.tree
        against = (holder.left, holder.right) if isinstance(holder, exp.Binary) else ()
        years = out or any(value_of(side.unnest(), found) is not None for side in against)
        if not years and all(_is_date(side, found, profile) for side in (node.this, node.expression)):
            days = [exp.func("JULIANDAY", side.copy(), dialect="sqlite") for side in (node.this, node.expression)]
            yield node, exp.Sub(this=days[0], expression=days[1])


def _is_date(node: exp.Expr, found: Resolution, profile: DatabaseProfile) -> bool:
    column = column_of(node, found)
    place = found.place(column) if column is not None else None
    return place is not None and profile_at(place, profile).date_format == "iso"


# --- answers -----------------------------------------------------------------------------------------------------


def same_answer(one: Sequence[Row], other: Sequence[Row], ordered: bool, readings: Sequence[Reading] = ()) -> bool:
    """Whether two answers are the same but for how a number, or what is read so, is written."""
    left, right = ([tuple(_plain(cell, readings) for cell in row) for row in rows] for rows in (one, other))
    return left == right if ordered else Counter(left) == Counter(right)


def _plain(cell: Cell, readings: Sequence[Reading]) -> Cell:
    for reading in readings:
        cell = reading.value(cell)
    number = as_number(cell)
    return cell if number is None else float(f"{number:.9g}")

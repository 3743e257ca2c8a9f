"""Numbers and dates that are kept as text, where their size counts: '9' is greater than '10', and 'null' than both; and
of dates only the years are subtracted.

Each finding is demonstrated: the statement runs again with these columns read as numbers, and gives another answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from agro_data.databases.number_texts import MOST_MARKERS
from agro_data.databases.quoting import quoted
from agro_data.databases.sandbox import Sandbox
from agro_data.databases.types import Cell, Database, Dialect
from agro_data.pairs.finding import Finding, capital
from agro_data.pairs.mending import rewritten
from agro_data.profiling.profile import DatabaseProfile
from agro_data.profiling.statistics import as_number, markers_among
from agro_data.sql.canonical import sql_text
from agro_data.sql.constructs import is_aggregate
from agro_data.sql.resolution import Binding, Resolution, value_of
from agro_data.sql.walks import around
from agro_data.verify.execution import execute

LOOKED_AT = 5_000  # distinct values of a column
_BY_SIZE = (exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Add, exp.Sub, exp.Mul, exp.Div)
_AGGREGATES = (exp.Min, exp.Max, exp.Sum, exp.Avg)
Place = tuple[str, str]  # table and column, as the schema spells them
Row = tuple[Cell, ...]


@dataclass(frozen=True)
class _Numbers:
    """A column of numbers some or all of which are stored as texts, or that has texts for missing values: its
    `markers`.
    """

    markers: tuple[str, ...]
    texts: bool  # some number is a text
    whole: bool

    def read(self, column: exp.Expr) -> exp.Expr:
        """The column as numbers, NULL where it says that one is missing."""
        value = column.copy()
        for marker in self.markers:
            value = exp.Nullif(this=value, expression=exp.Literal.string(marker))
        return exp.cast(value, "BIGINT" if self.whole else "DOUBLE")


@dataclass(frozen=True)
class _Use:
    """A column where its size counts, the node that stands there, and whether it is what MIN or MAX gives."""

    node: exp.Expr
    column: exp.Expr
    place: Place
    comes_out: bool


def check_sizes(
    database: Database, names: Mapping[str, Resolution], profile: DatabaseProfile, sandbox: Sandbox
) -> dict[str, list[Finding]]:
    """Findings of each statement whose answer is another when the texts that it sorts, compares, averages or subtracts
    are read as the numbers and dates that they are.
    """
    uses = {sql: list(_uses(found, profile)) for sql, found in names.items()}
    numbers = _numbers(database, [use.place for some in uses.values() for use in some], sandbox)
    offered: dict[str, Finding] = {}
    for sql, found in names.items():
        kept = [use for use in uses[sql] if use.place in numbers]
        days = list(_days(found, profile)) if database.dialect == "sqlite" else []
        if kept or days:
            offered[sql] = _finding(found, kept, days, numbers, database.dialect)
    asked = [(database, text) for sql, one in offered.items() for text in (sql, one.witness)]
    results = iter(execute(asked, sandbox, "rows"))
    findings: dict[str, list[Finding]] = {sql: [] for sql in names}
    for sql, one in offered.items():
        as_it_is, as_numbers = next(results), next(results)
        ordered = names[sql].tree.args.get("order") is not None
        if as_it_is.ok and as_numbers.ok and not same_answer(as_it_is.rows, as_numbers.rows, ordered):
            findings[sql].append(one)
    return findings


def _finding(
    found: Resolution,
    uses: Sequence[_Use],
    days: Sequence[tuple[exp.Sub, exp.Expr]],
    numbers: Mapping[Place, _Numbers],
    dialect: Dialect,
) -> Finding:
    """The finding if the answer proves to be another; its witness is the statement that shows it."""
    read = [(use.node, numbers[use.place].read(use.column)) for use in uses]
    witness = rewritten(found, [*read, *days], dialect)
    said = [_held(place, numbers[place]) for place in dict.fromkeys(use.place for use in uses)]
    said += [f"the difference {sql_text(node, dialect)} is one of years" for node, _ in days]
    says = f"{capital('; '.join(dict.fromkeys(said)))}: read as what they are, they give another answer."
    return Finding("text_as_number", says, witness, witness if _is_sure(found, uses, days, numbers) else "")


def _is_sure(
    found: Resolution, uses: Sequence[_Use], days: Sequence[tuple[exp.Sub, exp.Expr]], numbers: Mapping[Place, _Numbers]
) -> bool:
    """Whether one way is left. It is not sure if NULL would come first, since a missing value need not be the least; if
    the number is united with another SELECT's texts; or if an average of days may be asked for in years.
    """
    rising = any(not key.args.get("desc") for key in found.tree.find_all(exp.Ordered))
    united = isinstance(found.tree, exp.SetOperation) and any(use.comes_out for use in uses)
    missing = rising and any(numbers[use.place].markers for use in uses)
    averaged = any(holder is not None and is_aggregate(holder) for holder in (around(node) for node, _ in days))
    return not united and not missing and not averaged


def _held(place: Place, numbers: _Numbers) -> str:
    markers = " and ".join(map(repr, numbers.markers))
    if not numbers.texts:
        return f"{markers} stands among the numbers of {'.'.join(place)}"
    return f"numbers are kept as text in {'.'.join(place)}{f', {markers} among them' if markers else ''}"


# --- where size counts -------------------------------------------------------------------------------------------


def _uses(found: Resolution, profile: DatabaseProfile) -> Iterator[_Use]:
    """Columns that may hold texts: compared by size, computed with, sorted by, or aggregated as numbers."""
    for node in found.tree.find_all(*_BY_SIZE, exp.Between, exp.Ordered, *_AGGREGATES):
        if isinstance(node, _AGGREGATES) and not is_aggregate(node):
            continue  # the greater of two
        for operand in (node.this, node.expression) if isinstance(node, _BY_SIZE) else (node.this,):
            column = _column(operand, found)
            place = _place(found.binding(column)) if column is not None else None
            if column is not None and place is not None and _may_be_text(place, profile):
                yield _Use(operand, column, place, isinstance(node, (exp.Min, exp.Max)))


def _column(node: exp.Expr, found: Resolution) -> exp.Expr | None:
    """The column that an operand is, also by the name of an output."""
    inner = node.unnest()
    if not isinstance(inner, exp.Column):
        return None
    named = found.aliased(inner)
    return named if isinstance(named, exp.Column) else inner


def _place(binding: Binding | None) -> Place | None:
    if binding is None or binding.kind != "column" or binding.source is None or not binding.source.table:
        return None
    return binding.source.table, binding.source.columns[binding.name]


def _may_be_text(place: Place, profile: DatabaseProfile) -> bool:
    """What is known of its values does not speak against numbers. Codes that name rows may well be sorted as texts."""
    column = profile.table(place[0]).column(place[1])
    strange = sum(as_number(value) is None for value, _ in column.common)
    return column.kind in ("text", "other") and column.role != "identifier" and strange <= MOST_MARKERS


def _numbers(database: Database, places: Sequence[Place], sandbox: Sandbox) -> dict[Place, _Numbers]:
    """The columns among these whose values are numbers, with some of the numbers, or a marker for a missing one, stored
    as text.
    """
    asked = list(dict.fromkeys(places))
    statements = [
        f"SELECT DISTINCT {quoted(column)} FROM {quoted(table)} WHERE {quoted(column)} IS NOT NULL LIMIT {LOOKED_AT}"
        for table, column in asked
    ]
    found: dict[Place, _Numbers] = {}
    for place, result in zip(asked, execute([(database, sql) for sql in statements], sandbox, "rows"), strict=True):
        values = [row[0] for row in result.rows] if result.ok else []
        markers = markers_among(values)
        if markers is not None and any(isinstance(value, str) for value in values):
            numbers = [value for value in values if value not in markers]
            whole = all(number == int(number) for number in map(as_number, numbers) if number is not None)
            found[place] = _Numbers(markers, any(isinstance(value, str) for value in numbers), whole)
    return found


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
    column = _column(node, found)
    place = _place(found.binding(column)) if column is not None else None
    return place is not None and profile.table(place[0]).column(place[1]).date_format == "iso"


# --- answers -----------------------------------------------------------------------------------------------------


def same_answer(one: Sequence[Row], other: Sequence[Row], ordered: bool) -> bool:
    """Whether two answers are the same but for how a number is written."""
    left, right = ([tuple(map(_plain, row)) for row in rows] for rows in (one, other))
    return left == right if ordered else Counter(left) == Counter(right)


def _plain(cell: Cell) -> Cell:
    number = as_number(cell)
    return cell if number is None else float(f"{number:.9g}")

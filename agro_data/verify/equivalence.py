"""When two results are the same answer: the named modes of comparison, on rows.

`strict` is this project's own comparison. `bird` and `spider` are the benchmarks' official comparisons, with their
faults. `intent` also accepts differences that a question leaves open.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from math import isclose, isfinite, isnan
from struct import pack, unpack
from typing import Literal

from agro_data.databases.types import Cell

Row = tuple[Cell, ...]
Rows = Sequence[Row]
Size = tuple[int, int]  # rows, columns
Mode = Literal["strict", "intent", "spider", "bird"]

RELATIVE = 1e-9  # numeric tolerance: enough for sums in another order, too little for a rounded number
SHORT = 1e-6  # the same, where one is what DuckDB's 32-bit floats hold
ABSOLUTE = 1e-9  # what is left of sums that cancel: a cell alone does not tell of how large ones
MATCHED = 300
MAPPINGS = 100  # of columns that are tried where several make the rows the same and only their order tells
FURTHER = 40  # columns beyond the gold's that `intent` allows: a table that is listed column by column
PAIRS = 1_000_000  # comparisons of rows in search of a mapping; a result that needs more is not right


@dataclass(frozen=True)
class Comparison:
    """`reason` is "" or a class: `column_count`, `row_count`, `values`, `order`."""

    equal: bool
    reason: str = ""


EQUAL = Comparison(True)


def compare(
    mode: Mode,
    gold: Rows,
    predicted: Rows,
    *,
    ordered: bool,
    alternatives: Sequence[Rows] = (),
    keys: tuple[int, ...] | None = None,
) -> Comparison:
    """Compare under a named mode. `ordered`: the order of rows is part of the gold's answer.

    `alternatives` are further right answers, `keys` the gold's columns that it orders by; `intent` alone heeds them.
    """
    if mode == "strict":
        return strict(gold, predicted, ordered=ordered)
    if mode == "bird":
        return bird(gold, predicted)
    if mode == "spider":
        return spider(gold, predicted, ordered=ordered)
    return intent(gold, predicted, ordered=ordered, alternatives=alternatives, keys=keys)


def apart_by_size(mode: Mode, gold: Size, predicted: Size) -> str:
    """Why results of these sizes cannot be the same, as `compare` would have it; "" where their rows have to tell."""
    (rows, columns), (given, wide) = gold, predicted
    other = rows > 0 and given > 0 and (wide < columns if mode == "intent" else wide != columns)
    if mode == "bird":  # sets of rows
        return "values" if other or (rows > 0) != (given > 0) else ""
    if mode == "strict" and other:
        return "column_count"
    if rows != given:
        return "" if mode in ("strict", "intent") and {rows, given} == {0, 1} else "row_count"
    return "column_count" if other else ""


# --- strict ------------------------------------------------------------------------------------------------------


def strict(gold: Rows, predicted: Rows, *, ordered: bool) -> Comparison:
    """Equal multisets of rows, in the gold's order if `ordered`. Columns stand in the same order; NULL equals NULL,
    numbers are equal within a relative 1e-9 (1e-6 where one is what a 32-bit float holds), integers among themselves
    only if identical, text and blobs byte by byte. No row and one row of NULL are one answer, nothing: where there are
    no singers, `MAX(age)` and `ORDER BY age DESC LIMIT 1` differ in nothing that was asked.
    """
    if _say_nothing(gold, predicted):
        return EQUAL
    if gold and predicted and len(gold[0]) != len(predicted[0]):
        return Comparison(False, "column_count")
    if len(gold) != len(predicted):
        return Comparison(False, "row_count")
    if ordered and all(map(same_row, gold, predicted)):
        return EQUAL
    if not _same_multiset(gold, predicted):
        return Comparison(False, "values")
    return Comparison(False, "order") if ordered else EQUAL


def _say_nothing(gold: Rows, predicted: Rows) -> bool:
    """Whether one has no row, and the other one row of nothing but NULL."""
    rows = [*gold[:2], *predicted[:2]]
    return len(rows) == 1 and set(rows[0]) == {None}


def _same_multiset(gold: Rows, predicted: Rows) -> bool:
    """Identical rows are paired first; then rows that agree in all but numbers are matched by tolerance."""
    left, right = Counter(map(_exact, gold)), Counter(map(_exact, predicted))
    if left == right:
        return True
    groups: dict[Hashable, tuple[list[Row], list[Row]]] = defaultdict(lambda: ([], []))
    for side, rest in enumerate((left - right, right - left)):
        for row, count in rest.items():
            groups[tuple(map(_shape, row))][side].extend([tuple(cell for _, cell in row)] * count)
    return all(len(mine) == len(theirs) and _matchable(mine, theirs) for mine, theirs in groups.values())


def _exact(row: Row) -> tuple[tuple[str, Cell], ...]:
    return tuple([(_kind(cell), None if isinstance(cell, float) and isnan(cell) else cell) for cell in row])


def _kind(cell: Cell) -> str:
    if isinstance(cell, float) and isnan(cell):
        return "nan"
    if isinstance(cell, (int, float)):
        return "number"
    return type(cell).__name__


def _shape(tagged: tuple[str, Cell]) -> Hashable:
    return "number" if tagged[0] == "number" else tagged


def _matchable(left: list[Row], right: list[Row]) -> bool:
    """Whether rows can be paired one to one within the tolerance.

    Sorted order finds the pairing nearly always. Where every column alone could be paired and the rows could not,
    near-equal numbers may have crossed rows in sorting: augmenting paths decide, for up to `MATCHED` rows.
    """
    if all(map(same_row, sorted(left, key=_sortable), sorted(right, key=_sortable))):
        return True
    columns = zip(zip(*left, strict=True), zip(*right, strict=True), strict=True)
    if len(left) > MATCHED or not all(_same_column(mine, theirs) for mine, theirs in columns):
        return False
    edges = [[j for j, other in enumerate(right) if same_row(row, other)] for row in left]
    partner: dict[int, int] = {}

    def place(row: int, seen: set[int]) -> bool:
        for other in edges[row]:
            if other not in seen:
                seen.add(other)
                if other not in partner or place(partner[other], seen):
                    partner[other] = row
                    return True
        return False

    return all(place(row, set()) for row in range(len(left)))


def _same_column(left: Row, right: Row) -> bool:
    numbers = [[cell for cell in column if isinstance(cell, (int, float))] for column in (left, right)]
    return all(map(_same_cell, sorted(numbers[0]), sorted(numbers[1])))


def _sortable(row: Row) -> list[float]:
    """Rows of one group agree in all that is not a number."""
    return [cell for cell in row if isinstance(cell, (int, float))]


def same_row(left: Row, right: Row) -> bool:
    """Whether two rows agree cell by cell, as `strict` compares cells."""
    return len(left) == len(right) and all(map(_same_cell, left, right))


def _same_cell(left: Cell, right: Cell) -> bool:
    if isinstance(left, (int, float)) and isinstance(right, (int, float)):
        if isinstance(left, int) and isinstance(right, int):
            return left == right
        both_nan = isinstance(left, float) and isinstance(right, float) and isnan(left) and isnan(right)
        return both_nan or _close(left, right)
    return type(left) is type(right) and left == right


def _close(left: float, right: float) -> bool:
    try:
        if isclose(left, right, rel_tol=RELATIVE, abs_tol=ABSOLUTE):
            return True
        return isclose(left, right, rel_tol=SHORT) and (_is_short(left) or _is_short(right))
    except OverflowError:  # an integer beyond the floats
        return left == right


def _is_short(number: float) -> bool:
    """Whether 32 bits hold a number with a fraction: few of 64 are such by chance."""
    if not isinstance(number, float) or not isfinite(number) or number.is_integer():
        return False
    try:
        return bool(unpack("f", pack("f", number))[0] == number)
    except OverflowError:
        return False


# --- bird --------------------------------------------------------------------------------------------------------


def bird(gold: Rows, predicted: Rows) -> Comparison:
    """BIRD's execution accuracy (arXiv 2305.03111): the sets of rows are equal; order and repetition do not count."""
    return EQUAL if set(gold) == set(predicted) else Comparison(False, "values")


def soft_f1(gold: Rows, predicted: Rows) -> float:
    """BIRD mini-dev's soft F1, between 0 and 1: cells that two rows share, rows paired by position.

    As the official script does it: repeated rows are dropped first, shares are of the gold's width, and predicted
    rows beyond the gold's count as wrong, gold rows beyond the predicted ones as missing.
    """
    if not gold and not predicted:
        return 1.0
    right, mine = list(dict.fromkeys(gold)), list(dict.fromkeys(predicted))
    matched, extra, missing = 0.0, float(max(len(mine) - len(right), 0)), float(max(len(right) - len(mine), 0))
    for theirs, ours in zip(right, mine, strict=False):
        width = len(theirs)
        matched += sum(cell in theirs for cell in ours) / width
        extra += sum(cell not in theirs for cell in ours) / width
        missing += sum(cell not in ours for cell in theirs) / width
    precision = matched / (matched + extra) if matched + extra else 0.0
    recall = matched / (matched + missing) if matched + missing else 0.0
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


# --- spider ------------------------------------------------------------------------------------------------------


def spider(gold: Rows, predicted: Rows, *, ordered: bool) -> Comparison:
    """Spider's official execution match (test-suite evaluation, arXiv 2010.02840).

    Some permutation of the columns makes the multisets of rows equal (the lists, if `ordered`). Cells are compared
    as Python compares them: 1 equals 1.0, without a tolerance. Two empty results are always equal. The official
    script calls a gold ordered when "order by" stands anywhere in its text.
    """
    if not gold and not predicted:
        return EQUAL
    if len(gold) != len(predicted):
        return Comparison(False, "row_count")
    if len(gold[0]) != len(predicted[0]):
        return Comparison(False, "column_count")
    bags, others = [_bag(row) for row in gold], [_bag(row) for row in predicted]
    if (bags == others) if ordered else (set(bags) == set(others)):
        same: Callable[[list[Row], list[Row]], bool] = (
            (lambda a, b: a == b) if ordered else (lambda a, b: Counter(a) == Counter(b))
        )
        if next(_column_mappings(gold, predicted, same, None), None) is not None:
            return EQUAL
    return Comparison(False, "order" if ordered and spider(gold, predicted, ordered=False).equal else "values")


def _bag(row: Row) -> Row:
    """The official quick rejection sorts a row's cells by text and type; 1 and 1.0 may then fall apart."""
    return tuple(sorted(row, key=lambda cell: str(cell) + str(type(cell))))


def _column_mappings(
    gold: Rows, predicted: Rows, same: Callable[[list[Row], list[Row]], bool], most: int | None
) -> Iterator[tuple[int, ...]]:
    """Columns of `predicted`, one for each of `gold` and none twice, under which the rows are the same.

    Columns are placed one after another; a prefix that already differs is not continued, and of columns that are
    identical only the first that is free is tried. The search ends after `most` comparisons of several columns.
    """
    compared = 0
    images = [tuple((type(row[j]), row[j]) for row in predicted) for j in range(len(predicted[0]))]
    width = len(gold[0])
    candidates = [
        [j for j in range(len(predicted[0])) if same([(r[i],) for r in gold], [(r[j],) for r in predicted])]
        for i in range(width)
    ]

    def extend(chosen: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        nonlocal compared
        if len(chosen) == width:
            yield chosen
            return
        tried: set[Hashable] = set()
        for column in candidates[len(chosen)]:
            if column in chosen or images[column] in tried:
                continue
            tried.add(images[column])
            longer = (*chosen, column)
            if len(longer) == 1:
                yield from extend(longer)
                continue
            if compared == most:
                return
            compared += 1
            if same([row[: len(longer)] for row in gold], [tuple([row[j] for j in longer]) for row in predicted]):
                yield from extend(longer)

    return extend(())


# --- intent ------------------------------------------------------------------------------------------------------


def intent(
    gold: Rows,
    predicted: Rows,
    *,
    ordered: bool,
    alternatives: Sequence[Rows] = (),
    keys: tuple[int, ...] | None = None,
) -> Comparison:
    """`strict` against the gold or any alternative, but columns may stand in any order and `FURTHER` ones be there.

    With `keys`, the gold's columns that it orders by, rows that tie in them may come in any order; without, the order
    of all rows counts if `ordered`.
    """
    first = Comparison(False, "values")
    for number, right in enumerate((gold, *alternatives)):
        found = _covers(right, predicted, ordered, keys)
        if found.equal:
            return EQUAL
        if number == 0:
            first = found
    return first


def _covers(gold: Rows, predicted: Rows, ordered: bool, keys: tuple[int, ...] | None) -> Comparison:
    if _say_nothing(gold, predicted):
        return EQUAL
    if len(gold) != len(predicted):
        return Comparison(False, "row_count")
    if not gold:
        return EQUAL
    if not len(gold[0]) <= len(predicted[0]) <= len(gold[0]) + FURTHER:
        return Comparison(False, "column_count")
    loose = not ordered or keys is not None

    def same(left: list[Row], right: list[Row]) -> bool:
        return _same_multiset(left, right) if loose else all(map(same_row, left, right))

    # Up to `MATCHED` rows, each may be compared with each. More rows are sorted first and then compared, which costs a
    # few times as much.
    pairs = len(gold) * (len(gold) if len(gold) <= MATCHED else 10)
    most = 4 * len(gold[0]) + PAIRS // pairs
    mappings = list(islice(_column_mappings(gold, predicted, same, most), MAPPINGS))
    if not ordered or keys is None:
        if mappings:
            return EQUAL
    elif any(_in_order(gold, predicted, [(key, mapping[key]) for key in keys]) for mapping in mappings):
        return EQUAL
    elif mappings:
        return Comparison(False, "order")
    if not loose and _covers(gold, predicted, False, None).equal:
        return Comparison(False, "order")
    return Comparison(False, "values")


def _in_order(gold: Rows, predicted: Rows, columns: Sequence[tuple[int, int]]) -> bool:
    """Whether the keys come in one order: (column of `gold`, column of `predicted`) for each."""
    return all(_same_cell(mine[i], theirs[j]) for mine, theirs in zip(gold, predicted, strict=True) for i, j in columns)

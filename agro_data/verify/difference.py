"""Where two results part, in words: the first row that a person would point at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from agro_data.databases.types import Cell
from agro_data.verify.equivalence import Row, Rows, same_row
from agro_data.words import counted, cut

CELL_WIDTH = 40  # characters of a text that are shown
ROW_CELLS = 8  # cells of a row that are shown
PAIRED = 50  # rows of each side that are compared


def first_difference(gold: Rows, predicted: Rows, *, ordered: bool) -> str:
    """One sentence about two results that are not the same answer; "row 3: expected (2, 'a'), got (2, 'b')".

    Rows count from 1. Without an order the rows are told apart by what only one side has.
    """
    if gold and not predicted:
        return f"no row came out, expected {counted(len(gold), 'rows')}; the first: {shown(gold[0])}"
    if predicted and not gold:
        return f"expected no row, got {counted(len(predicted), 'rows')}; the first: {shown(predicted[0])}"
    if gold and len(gold[0]) != len(predicted[0]):
        wanted, given = (counted(len(rows[0]), "columns") for rows in (gold, predicted))
        return f"expected {wanted}, got {given}; row 1: {shown(predicted[0])}"
    counts = "" if len(gold) == len(predicted) else f"expected {counted(len(gold), 'rows')}, got {len(predicted):,}; "
    if ordered:
        for number, (mine, theirs) in enumerate(zip(gold, predicted, strict=False), 1):
            if not same_row(mine, theirs):
                return f"{counts}row {number}: expected {shown(mine)}, got {shown(theirs)}"
        number = min(len(gold), len(predicted))
        if len(gold) > number:
            return f"{counts}row {number + 1} is missing: {shown(gold[number])}"
        if len(predicted) > number:
            return f"{counts}row {number + 1} is not expected: {shown(predicted[number])}"
        # They part in the last digits, which the benchmarks' own metrics count.
    return counts + _by_content(gold, predicted)


def count_difference(gold: tuple[int, int], predicted: tuple[int, int]) -> str:
    """One sentence about two results, each (rows, columns), without looking at any row."""
    expected, got = (f"{counted(rows, 'rows')} of {counted(columns, 'columns')}" for rows, columns in (gold, predicted))
    return f"expected {expected}, got {got}"


def _by_content(gold: Rows, predicted: Rows) -> str:
    mine, theirs = Counter(gold), Counter(predicted)
    missing = [row for _, row in _surplus(gold, mine - theirs)]
    extra = list(_surplus(predicted, theirs - mine))
    if missing and extra:
        missing, extra = _unpaired(missing[:PAIRED], extra[:PAIRED])
    if missing and extra:
        number, row = extra[0]
        return f"row {number}: got {shown(row)}, which is not expected; {shown(missing[0])} is missing"
    if missing:
        row = missing[0]
        often = f" ({mine[row]} times, found {theirs[row]})" if mine[row] > 1 else ""
        return f"expected {shown(row)}{often} is missing"
    if extra:
        number, row = extra[0]
        often = f" more than {mine[row]} times" if mine[row] else ""
        return f"row {number}: {shown(row)} is not expected{often}"
    return "the rows are the same, their types are not"


def _surplus(rows: Rows, often: Counter[Row]) -> Iterator[tuple[int, Row]]:
    """The rows that are there more `often` than on the other side, as many of each, with their numbers."""
    for number, row in enumerate(rows, 1):
        if often[row] > 0:
            often[row] -= 1
            yield number, row


def _unpaired(missing: list[Row], extra: list[tuple[int, Row]]) -> tuple[list[Row], list[tuple[int, Row]]]:
    """Without the rows that agree but for the last digits of numbers; as they were where none is left."""
    lonely: list[Row] = []
    left = list(extra)
    for row in missing:
        partner = next((place for place, (_, other) in enumerate(left) if same_row(row, other)), None)
        if partner is None:
            lonely.append(row)
        else:
            del left[partner]
    return (lonely, left) if lonely or left else (missing, extra)


def shown(row: Row) -> str:
    """A row as a person reads it: SQL's literals, long texts and wide rows cut."""
    cells = [_cell(cell) for cell in row[:ROW_CELLS]]
    if len(row) > ROW_CELLS:
        cells.append(f"… {len(row) - ROW_CELLS} more")
    return f"({', '.join(cells)})"


def _cell(cell: Cell) -> str:
    if cell is None:
        return "NULL"
    if isinstance(cell, bytes):
        return f"x'{_cut(cell.hex())}'"
    return "'" + _cut(cell) + "'" if isinstance(cell, str) else repr(cell)


def _cut(text: str) -> str:
    return cut("".join(character if character.isprintable() else "·" for character in text), CELL_WIDTH)

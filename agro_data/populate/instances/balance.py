"""Means that are met: a column whose average is one of its own values.

`x > (SELECT AVG(x) FROM t)` and `x >= ...` differ only in a row that lies at the average, and no row does by chance.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence, Set

from agro_data.databases.types import Cell

_TARGETS = 5  # values nearest the mean that are tried


def balance(
    rows: Sequence[dict[str, Cell]],
    column: str,
    may: Callable[[float], bool],
    free: Sequence[Set[str]],
    rng: random.Random,
) -> None:
    """Change one number of `column` so that the mean of all is the number of another row.

    Only where the column is among a row's `free` ones and `may` allows the number. Nothing is changed where sums would
    not be exact (binary fractions finer than quarters), so that the order of the rows cannot decide.
    """
    numbered = [n for n, row in enumerate(rows) if isinstance(row[column], int | float)]
    loose = [n for n in numbered if column in free[n]]
    values = {n: float(rows[n][column]) for n in numbered}  # type: ignore[arg-type]
    whole = all(isinstance(rows[n][column], int) for n in numbered)
    values |= {n: round(4 * values[n]) / 4 for n in loose}
    if len(numbered) < 3 or any(not (4 * value).is_integer() or abs(value) > 2**40 for value in values.values()):
        return
    low, high, total = min(values.values()), max(values.values()), sum(values.values())
    mean, span = total / len(values), max(values.values()) - min(values.values())
    for n in rng.sample(loose, len(loose)):
        others = {value for other, value in values.items() if other != n}
        for target in sorted(others, key=lambda value: (abs(value - mean), value))[:_TARGETS]:
            number = target * len(values) - (total - values[n])
            near = (0 if low >= 0 else low - span) <= number <= high + span
            if near and number != values[n] and may(int(number) if whole else number):
                values[n] = number
                for changed in loose:
                    rows[changed][column] = int(values[changed]) if whole else values[changed]
                return

"""Values near a value: what a column may hold, one step beside a literal, and a value that was not there before."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from uuid import UUID

from agro_data.databases.types import Cell
from agro_data.populate.instances.values.forms import farthest, formed, has_form, stepped
from agro_data.populate.schema import ColumnSpec
from agro_data.populate.surrogate import largest, smallest
from agro_data.profiling.columns.statistics import UUID_FORM, is_uuid
from agro_data.profiling.profile import ColumnProfile

_WHOLE = re.compile(r"[+-]?\d{1,15}")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_SCALE = re.compile(r"\(\s*\d+\s*(?:,\s*(\d+)\s*)?\)")
_CLOCK = re.compile(r"\d{4}-\d\d-\d\d([ T])(?!00:00(:00|$))\d\d:\d\d")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
WORDS = (
    "amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "haven", "inlet", "jetty", "knoll", "larch",
    "maple", "north", "ochre", "prism", "quartz", "ridge", "slate", "tulip",
)  # fmt: skip
_FINEST = 6  # digits behind the point
_NOTHING = 1e-12  # part of a number that a float may be off
_LATEST = 5000  # year; one that stands for "for ever", such as 9999, leaves no room to count on from
_KNOWN = 12  # observed values that are worth having beside the query's own


def fit(value: Cell, column: ColumnSpec) -> Cell:
    """`value` as the column stores it: numbers as numbers, everything in a text column as text."""
    if value is None or isinstance(value, bytes):
        return value
    if column.kind in ("integer", "boolean"):
        if isinstance(value, str) and _WHOLE.fullmatch(value.strip()):
            return int(value)
        if isinstance(value, float) and value.is_integer():
            return int(value)
        return float(value) if isinstance(value, str) and _NUMBER.fullmatch(value.strip()) else value
    if column.kind == "real":
        return float(value) if isinstance(value, str) and _NUMBER.fullmatch(value.strip()) else value
    if isinstance(value, int | float) and column.kind in ("text", "date", "datetime", "time"):
        return str(value)
    return value


def holds(value: Cell, column: ColumnSpec) -> bool:
    """Whether `value` may stand in a column. In one of DuckDB a cell that it cannot hold costs the whole file; in a
    column of dates, a text that is none makes right queries wrong (`'2005-05-17 amber' < '2006-01-01'`), and so does
    one of another form where texts are taken apart (`'17/05/2005'`, `'$1,250.00'`).
    """
    if value is None or not column.typed:
        return True
    if isinstance(value, str):
        if column.formed:
            return has_form(value, column)
        readers = {"date": date.fromisoformat, "datetime": datetime.fromisoformat, "time": time.fromisoformat}
        if is_uuid(column.declared_type):
            return UUID_FORM.fullmatch(value) is not None
        return column.kind in ("text", "blob", "other") or (
            column.kind in readers and _reads(readers[column.kind], value)
        )
    if isinstance(value, int | float):
        if column.kind == "boolean":
            return value in (0, 1)
        least, most = (end(column.declared_type, column.kind) for end in (smallest, largest))
        whole = column.kind == "integer" and (isinstance(value, int) or value.is_integer())
        return least <= value <= most and (whole or (column.kind == "real" and _stays(value, column.declared_type)))
    return column.kind == "blob"


def _stays(value: float, declared_type: str) -> bool:
    """Whether a type keeps a number as it is: a DECIMAL(9,0) makes 0 of 0.3, which its table may not allow."""
    digits = decimals(declared_type)
    return digits is None or isinstance(value, int) or abs(round(value, digits) - value) <= abs(value) * _NOTHING


def _reads(reader: Callable[[str], object], value: str) -> bool:
    try:
        reader(value)
    except ValueError:
        return False
    return True


def observed(column: ColumnProfile) -> list[Cell]:
    """Values of the source, the commonest first; none of a profile that was taken without values."""
    values = [value for value, _ in column.common[:_KNOWN]]
    values += [value for value in (column.minimum, column.maximum, *column.quantiles) if value is not None]
    return list(dict.fromkeys(value for value in values if value is not None))


def decimals(declared_type: str) -> int | None:
    """Digits behind the point that a type holds; None where it says none, and holds as many as a float has."""
    scale = _SCALE.search(declared_type)
    return int(scale[1] or 0) if scale is not None else None


def finer(value: float, declared_type: str, more: int = 1) -> int | None:
    """The digits behind the point that `value` has and `more`; None where a type holds none so fine."""
    written = f"{Decimal(repr(float(value))):f}"  # 1e-07 as 0.0000001
    digits = len(written.rstrip("0").partition(".")[2]) + more
    most = decimals(declared_type)
    return digits if digits <= (_FINEST if most is None else most) else None


def later_that_day(value: Cell, others: Sequence[Cell]) -> list[Cell]:
    """A moment soon after midnight of a day, in a column whose `others` tell the time: `> '2015-06-01'` lets it in."""
    if not isinstance(value, str) or _DAY.fullmatch(value) is None:
        return []
    clocks = (clock for other in others if isinstance(other, str) and (clock := _CLOCK.match(other)) is not None)
    clock = next(clocks, None)
    return [f"{value}{clock[1]}00:10:00"] if clock is not None else []


def below(value: Cell, column: ColumnSpec) -> list[Cell]:
    """Values just under `value`, the nearest first."""
    return _shifted(value, column, -1)


def above(value: Cell, column: ColumnSpec) -> list[Cell]:
    """Values just over `value`, the nearest first."""
    return _shifted(value, column, 1)


def in_other_case(value: str) -> list[Cell]:
    """The text in other cases."""
    return [other for other in (value.swapcase(), value.lower(), value.upper(), value.title()) if other != value]


def beside(value: Cell, column: ColumnSpec) -> list[Cell]:
    """Values that a careless comparison takes for `value`: a step away, in another case, a part or an extension."""
    found: list[Cell]
    if isinstance(value, str):
        found = [*in_other_case(value), f"{value} {WORDS[0]}", value[:-1]]
        found += [f"{WORDS[1]} {value}", *_shifted(value, column, 1), *_shifted(value, column, -1)]
    else:
        found = [*_shifted(value, column, 1), *_shifted(value, column, -1)]
        if isinstance(value, int | float) and value:
            found.append(-value)
    return [other for other in dict.fromkeys(found) if other not in (value, "") and holds(other, column)]


def beyond(column: ColumnSpec, profile: ColumnProfile, upper: bool, rng: random.Random) -> Cell:
    """A value past all that `fresh` and the source give, at the upper or the lower end."""
    known = [fit(value, column) for value in observed(profile)]
    numbers = [value for value in known if isinstance(value, int | float)]
    step = rng.randint(50, 1000)
    if numbers or (not known and column.kind in ("integer", "real")):
        end = (max(numbers) if upper else min(numbers)) if numbers else 1
        far = end + step if upper else end - step
        leaves = column.kind in ("integer", "real") and not holds(far, column)
        return fit(_halfway(end, column, upper) if leaves else far, column)
    texts = [value for value in known if isinstance(value, str)]
    if texts and column.formed:
        return farthest(column, texts, upper)
    if texts and all(_WHOLE.fullmatch(value) for value in texts):
        width = max(len(value) for value in texts)
        return str(10**width - 1 - step % 9) if upper else str(step % 9).zfill(width)
    if column.kind in ("date", "datetime"):
        day = date(2090 if upper else 1910, 1, 1) + timedelta(days=step)
        return day.isoformat() + (" 00:00:00" if column.kind == "datetime" else "")
    return f"zz {rng.choice(WORDS)}" if upper else f" {rng.choice(WORDS)}"


def _halfway(value: float, column: ColumnSpec, upper: bool) -> float:
    """Between a number and the largest, or smallest, that the column's type holds."""
    end = largest if upper else smallest
    found = (value + end(column.declared_type, column.kind)) / 2
    return int(found) if column.kind == "integer" else round(found, decimals(column.declared_type) or 0)


def like(pattern: str, rng: random.Random) -> str:
    """A text that matches a LIKE pattern, with a word or nothing for each `%`."""
    out = []
    for part in re.split(r"(%|_)", pattern):
        if part == "%":
            out.append(rng.choice(("", rng.choice(WORDS), rng.choice(WORDS)[:2])))
        elif part == "_":
            out.append(rng.choice("abcxyz"))
        else:
            out.append(part)
    return "".join(out)


def as_long(pattern: str, length: int) -> str:
    """A text that matches a LIKE pattern, of that length where the pattern lets it be."""
    start, any_, end = pattern.replace("_", "a").partition("%")
    rest = end.replace("%", "")
    return start + "x" * (length - len(start) - len(rest) if any_ else 0) + rest


def matches(pattern: str, value: Cell) -> bool:
    """Whether LIKE holds, without regard to case."""
    if not isinstance(value, str):
        value = "" if value is None else str(value)
    expression = "".join(".*" if c == "%" else "." if c == "_" else re.escape(c) for c in pattern)
    return re.fullmatch(expression, value, re.IGNORECASE | re.DOTALL) is not None


def fresh(column: ColumnSpec, known: Sequence[Cell], number: int, rng: random.Random) -> Cell:
    """A plausible value; another `number` (0, 1, ...) gives another value, as far as the kind has as many."""
    if column.formed and (shown := [value for value in known if isinstance(value, str)]):
        return formed(shown, number)
    if column.kind in ("integer", "real", "boolean"):
        return _fresh_number(column, known, number, rng)
    if column.kind in ("date", "datetime", "time"):
        return _fresh_date(column, known, number)
    texts = [value for value in known if isinstance(value, str)]
    if texts and all(_WHOLE.fullmatch(value) for value in texts):
        most = max(int(value) for value in texts)
        return str(most + 1 + number)
    if number < len(texts):
        return texts[number]
    if is_uuid(column.declared_type):
        first = next((UUID(value).int for value in texts if UUID_FORM.fullmatch(value)), 0)  # SQLite holds others, too
        return str(UUID(int=(first + number + 1) % 2**128))
    word = texts[number % len(texts)] if texts else WORDS[number % len(WORDS)]
    return f"{word}{number}" if " " not in word else f"{word} {number}"


def _fresh_number(column: ColumnSpec, known: Sequence[Cell], number: int, rng: random.Random) -> Cell:
    numbers = [value for value in known if isinstance(value, int | float)]
    low, high = (min(numbers), max(numbers)) if numbers else _unseen(column)
    whole = column.kind != "real" or (all(float(value).is_integer() for value in numbers) and high >= 1)
    if whole:
        low, high = int(low), int(high)
        if high - low < 4 * number + 8:
            return low + number
        return rng.randint(low, high)
    return round(rng.uniform(low, high), 2 if numbers else decimals(column.declared_type) or 2)


def _unseen(column: ColumnSpec) -> tuple[float, float]:
    """The ends of the numbers for a column of which none is known: 1 to 100, as far as its type holds them."""
    most = largest(column.declared_type, column.kind) if column.typed else 100
    return min(1, most / 10), min(100, most)


def _fresh_date(column: ColumnSpec, given: Sequence[Cell], number: int) -> Cell:
    texts = [value for value in given if isinstance(value, str)]
    if number < len(texts):
        return texts[number]
    if column.kind == "time":
        return f"{number // 60 % 24:02}:{number % 60:02}:00"
    dated = [moment for text in texts if _DAY.match(text) and (moment := moment_of(text)) is not None]
    if texts and not dated:
        return f"{texts[number % len(texts)]} {number}"  # a format of their own
    moment = next((known for known in dated if known.year < _LATEST), datetime(2020, 1, 1))
    moment += timedelta(days=37 * number + 1)
    return moment.isoformat(" ") if column.kind == "datetime" else moment.date().isoformat()


def moment_of(text: str) -> datetime | None:
    """A date and time in ISO form; None for what only looks like one (0000-00-00)."""
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def _next_to(value: float, column: ColumnSpec, sign: int) -> list[Cell]:
    """A number so near `value` that hardly any constant lies between."""
    if column.kind != "real" or abs(value) >= 2**31:
        return []
    digits = finer(value, column.declared_type, 2) or finer(value, column.declared_type)
    return [round(value + sign * 10.0**-digits, digits)] if digits is not None else []


def _shifted(value: Cell, column: ColumnSpec, sign: int) -> list[Cell]:
    if isinstance(value, int):
        between = [value + 0.5 * sign, *_next_to(value, column, sign)] if column.kind == "real" else []
        return [value + sign, value + 7 * sign, *between]
    if isinstance(value, float):
        return [value + sign, round(value + 0.1 * sign, 6), value + 7 * sign, *_next_to(value, column, sign)]
    if not isinstance(value, str):
        return []
    if column.formed:
        return [other for other in stepped(value, sign) if has_form(other, column)]
    if _WHOLE.fullmatch(value):
        moved = int(value) + sign
        return [str(moved)] if len(str(moved)) == len(value) or sign > 0 else []
    if _DAY.fullmatch(value[:10]):
        try:
            day = date.fromisoformat(value[:10]) + timedelta(days=sign)
        except (ValueError, OverflowError):
            return []
        return [day.isoformat() + value[10:]]
    if sign > 0:
        return [value + "a", "zz" + value]
    shorter: list[Cell] = [value[:-1]] if len(value) > 1 else []
    return [*shorter, "A"] if value > "A" else shorter

"""Column hints: what the values of a column look like, as a sum of small types, and their YAML form."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any, Literal

from agro_data.databases.types import Cell
from agro_data.populate.schema import PopulateError

Distribution = Literal["uniform", "normal", "lognormal", "zipf"]
LARGEST = 10**12  # number or weight that a hint may name


@dataclass(frozen=True)
class Series:
    """Whole numbers in row order, or codes when `template` has a `{}` field: "INV-{:05}" (rows are sorted first)."""

    start: int = 1
    step: int = 1
    template: str = ""


@dataclass(frozen=True)
class Choice:
    """One of `values` with its weight. Without weights given, earlier values are commoner."""

    values: tuple[Cell, ...]
    weights: tuple[float, ...]


@dataclass(frozen=True)
class By:
    """A choice that depends on another column: the cities of the row's country. Other values give NULL."""

    path: str
    choices: tuple[tuple[Cell, Choice], ...]


@dataclass(frozen=True)
class Number:
    """A number from `low` to `high`, both included; `decimals` 0 gives integers."""

    low: float
    high: float
    distribution: Distribution = "uniform"
    decimals: int = 0


@dataclass(frozen=True)
class Moment:
    """A date, or with `time` a timestamp, from `start` to `end`; `growth` 2 makes the later ones commoner."""

    start: date
    end: date
    time: bool = False
    growth: float = 1.0


@dataclass(frozen=True)
class Clock:
    """A time of day "HH:MM:SS", on full minutes."""

    low: int = 0
    high: int = 23


@dataclass(frozen=True)
class Words:
    """Names and texts from Faker; `kind` is a key of `generators.WORDS`.

    With `pool`, at most so many different ones.
    """

    kind: str
    pool: int = 0


@dataclass(frozen=True)
class Compose:
    """`pattern` with each `{}` replaced by a word of the list in its place: product names, titles."""

    pattern: str
    parts: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class After:
    """A date or timestamp later than the latest of `anchors` (paths) by `low` to `high` days.

    What would fall after `until`, an ISO date, is NULL in a nullable column. In others, and where `until` is a path,
    it falls between `low` days after the anchors and `until`.
    """

    anchors: tuple[str, ...]
    low: float
    high: float
    until: str = ""
    time: bool = False


@dataclass(frozen=True)
class Formula:
    """Arithmetic over paths (`formula.py`): "quantity * product_id.price * uniform(0.9, 1)"."""

    expression: str
    decimals: int | None = None


@dataclass(frozen=True)
class Template:
    """Text with paths in braces: "{first_name}.{last_name}@clinic.example"; `lower` also makes it an address."""

    text: str
    lower: bool = False


@dataclass(frozen=True)
class Position:
    """1, 2, 3 ... among the rows that share `within` (a column); with `start`, dates that many steps later."""

    within: str
    start: date | None = None
    step: Literal["", "day", "week", "month", "year"] = ""


@dataclass(frozen=True)
class Rollup:
    """Aggregate over the children: "order_item.line_total" summed for each order."""

    table: str
    column: str
    function: Literal["sum", "count", "max", "min"] = "sum"
    decimals: int = 2


@dataclass(frozen=True)
class Parent:
    """How children are spread over their parents.

    `childless` share of parents has no child, `single` share exactly one, the others follow a power law with
    exponent `skew`; `even` gives all of them the same number. `differs_from` names a column with another parent
    (home and away team); `match` maps a parent's column to a path of the child that it must equal.
    """

    childless: float = 0.12
    single: float = 0.12
    skew: float = 0.8
    even: bool = False
    differs_from: str = ""
    match: tuple[tuple[str, str], ...] = ()


Maker = (
    Series
    | Choice
    | By
    | Number
    | Moment
    | Clock
    | Words
    | Compose
    | After
    | Formula
    | Template
    | Position
    | Rollup
    | Parent
)


@dataclass(frozen=True)
class ColumnHint:
    """`maker` makes the values. `null_share` None is a small default in nullable columns.

    `only_if`: (column, values) pairs; where the row's column holds none of the values, this one is NULL.
    """

    maker: Maker
    null_share: float | None = None
    unique: bool = False
    only_if: tuple[tuple[str, tuple[Cell, ...]], ...] = ()


@dataclass(frozen=True)
class TablePlan:
    """`records` fixes whole columns of the first rows; `sort` orders rows by a column before they are numbered."""

    rows: int
    hints: Mapping[str, ColumnHint] = field(default_factory=dict)
    records: Mapping[str, tuple[Cell, ...]] = field(default_factory=dict)
    sort: str = ""


Plan = Mapping[str, TablePlan]


def choice(values: Mapping[Cell, float] | list[Cell] | tuple[Cell, ...]) -> Choice:
    """A `Choice` from value -> weight, or from a list whose earlier values are commoner (rank^-0.8).

    Raises `ValueError` where no value can be drawn.
    """
    weights = values.values() if isinstance(values, Mapping) else [(i + 1) ** -0.8 for i in range(len(values))]
    made = Choice(tuple(values), tuple(float(weight) for weight in weights))
    if not any(made.weights) or not all(0 <= weight < LARGEST for weight in made.weights):
        raise ValueError("expected values with weights from 0 on, not all of them 0")
    return made


def read_hint(text: Any, where: str) -> ColumnHint:
    """The hint that a YAML value says; `where` ("clinic.yml: patient.email") begins every error."""
    if isinstance(text, str):
        return ColumnHint(Words(text))
    if not isinstance(text, dict):
        raise PopulateError(f"{where}: expected a word or a mapping, found {text!r}")
    body = dict(text)
    null_share = body.pop("null", None)
    unique = bool(body.pop("unique", False))
    only_if = tuple((column, _values(values)) for column, values in body.pop("only_if", {}).items())
    names = [name for name in body if name in _READERS]
    if len(names) != 1:
        raise PopulateError(f"{where}: expected exactly one of {', '.join(_READERS)}, found {sorted(body)}")
    value = body.pop(names[0])
    try:
        maker = _READERS[names[0]](value, body)
    except (TypeError, ValueError, LookupError) as error:
        raise PopulateError(f"{where}: {names[0]} {value!r} with {body!r} is not understood: {error}") from error
    return ColumnHint(maker, null_share, unique, only_if)


def read_table(body: Mapping[str, Any], where: str) -> TablePlan:
    """The plan of one table: `rows`, `columns`, `sort`, and `records` (a header row, then rows)."""
    if not isinstance(body, Mapping) or not isinstance(body.get("columns") or {}, Mapping):
        raise PopulateError(f"{where}: expected rows, columns (a mapping), sort and records, found {body!r}")
    records: dict[str, tuple[Cell, ...]] = {}
    if "records" in body:
        header, *lines = body["records"]
        if any(len(line) != len(header) for line in lines):
            raise PopulateError(f"{where}: every record needs {len(header)} values, as the first line names")
        for i, name in enumerate(header):
            kinds = {type(line[i]) for line in lines}
            if {bool, str} <= kinds:  # NO, the code of Norway, is false in YAML
                raise PopulateError(f"{where}.{name}: a record has true or false among texts; write a text in quotes")
        records = {name: tuple(_cell(line[i]) for line in lines) for i, name in enumerate(header)}
    count = body.get("rows") or max((len(values) for values in records.values()), default=0)
    if not count:
        raise PopulateError(f"{where}: neither `rows` nor `records` is given")
    hints = {name: read_hint(text, f"{where}.{name}") for name, text in (body.get("columns") or {}).items()}
    return TablePlan(rows=int(count), hints=hints, records=records, sort=body.get("sort", ""))


def _cell(value: Any) -> Cell:
    if isinstance(value, datetime):
        return value.isoformat(" ")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, bool):
        return int(value)
    if value is None or isinstance(value, int | float | str):
        return value
    raise TypeError(f"not a single value: {value!r}")


def _values(value: Any) -> tuple[Cell, ...]:
    return tuple(_cell(v) for v in value) if isinstance(value, list) else (_cell(value),)


def _number(value: list[float], rest: dict[str, Any], distribution: Distribution, decimals: int) -> Number:
    low, high = value
    if not -LARGEST < low <= high < LARGEST:  # between what is no number, or has no end, one would be drawn for ever
        raise ValueError("expected two numbers, the smaller first")
    return Number(low, high, rest.get("as", distribution), rest.get("decimals", decimals))


def _moment(value: list[date], rest: dict[str, Any], *, time: bool = False) -> Moment:
    start, end = value
    if not (isinstance(start, date) and isinstance(end, date)):
        raise TypeError("expected two dates")
    return Moment(start, end, time, rest.get("growth", 1.0))


def _after(value: str | list[str], rest: dict[str, Any]) -> After:
    low, high = (h / 24 for h in rest["hours"]) if "hours" in rest else rest["days"]
    until = rest.get("until", "")
    anchors = (value,) if isinstance(value, str) else tuple(value)
    return After(anchors, low, high, until if isinstance(until, str) else until.isoformat(), "hours" in rest)


def _rollup(value: str, rest: dict[str, Any]) -> Rollup:
    table, column = value.split(".")
    return Rollup(table, column, rest.get("function", "sum"), rest.get("decimals", 2))


def _parent(value: dict[str, Any] | None, _: dict[str, Any]) -> Parent:
    body = dict(value or {})
    return Parent(match=tuple(body.pop("match", {}).items()), **body)


def _choice(value: Any, _: dict[str, Any]) -> Choice:
    if isinstance(value, str):
        raise TypeError("expected several values")
    if isinstance(value, dict):
        return choice({_cell(v): weight for v, weight in value.items()})
    return choice([_cell(v) for v in value])


_READERS: dict[str, Callable[[Any, dict[str, Any]], Maker]] = {
    "series": lambda v, rest: Series(int(v), rest.get("step", 1)),
    "code": lambda v, rest: Series(rest.get("start", 1), rest.get("step", 1), v),
    "choice": _choice,
    "by": lambda v, rest: By(v, tuple((_cell(c), _choice(values, {})) for c, values in rest["values"].items())),
    "boolean": lambda v, _: choice({1: v, 0: 1 - v}),
    "integer": lambda v, rest: _number(v, rest, "uniform", 0),
    "real": lambda v, rest: _number(v, rest, "normal", 2),
    "money": lambda v, rest: _number(v, rest, "lognormal", 2),
    "year": lambda v, rest: _number(v, rest, "uniform", 0),
    "dates": _moment,
    "timestamps": lambda v, rest: _moment(v, rest, time=True),
    "clock": lambda v, _: Clock(*v),
    "words": lambda v, rest: Words(v, rest.get("pool", 0)),
    "compose": lambda v, rest: Compose(v, tuple(tuple(part) for part in rest["parts"])),
    "after": _after,
    "formula": lambda v, rest: Formula(v, rest.get("decimals")),
    "copy": lambda v, rest: Formula(v, rest.get("decimals")),
    "template": lambda v, rest: Template(v, rest.get("lower", False)),
    "position": lambda v, rest: Position(v, rest.get("start"), rest.get("step", "")),
    "rollup": _rollup,
    "parent": _parent,
}

"""One column of one table: which other columns it reads, and its values once those are known."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from agro_data.databases.types import Cell
from agro_data.populate import formula
from agro_data.populate.generators import add_months, drawer, generate, slug
from agro_data.populate.hints import After, By, ColumnHint, Formula, Maker, Parent, Position, Rollup, Template
from agro_data.populate.schema import ColumnSpec, PopulateError

if TYPE_CHECKING:
    from faker import Faker

_FIELD = re.compile(r"\{([\w.]+)(?::[^}]*)?\}")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")


@dataclass(frozen=True)
class RowContext:
    """What a column may see: `count` rows, and `read(path)` for the values of a path in each of them."""

    count: int
    read: Callable[[str], list[Cell]]
    column: ColumnSpec
    rng: random.Random
    faker: Faker


def reads(maker: Maker) -> tuple[str, ...]:
    """The paths that `maker` reads."""
    match maker:
        case Formula(expression):
            return formula.paths(expression)
        case Template(text):
            return tuple(dict.fromkeys(_FIELD.findall(text)))
        case After(anchors, until=until):
            return (*anchors, until) if until and not _DATE.match(until) else anchors
        case Position(within):
            return (within,)
        case By(path):
            return (path,)
        case _:
            return ()


def paths(hint: ColumnHint) -> tuple[str, ...]:
    """Every path that a hint reads: columns of its table, and of parents through a foreign key."""
    return tuple(dict.fromkeys((*reads(hint.maker), *(column for column, _ in hint.only_if))))


def dependencies(hint: ColumnHint) -> tuple[str, ...]:
    """The columns of its own table that a hint reads, itself or through a foreign key."""
    return tuple(dict.fromkeys(path.partition(".")[0] for path in paths(hint)))


def fill(maker: Maker, context: RowContext, unique: bool = False) -> list[Cell]:
    """Values of one column, one for each row. Raises `PopulateError` where the hint cannot be met."""
    match maker:
        case Formula():
            return _formula(maker, context)
        case Template():
            return _template(maker, context, unique)
        case After():
            return _after(maker, context)
        case Position():
            return _position(maker, context)
        case By():
            return _by(maker, context)
        case Rollup():
            raise PopulateError("a rollup is filled after its children")
        case Parent():
            raise PopulateError("a `parent` hint is for a column with a foreign key")
        case _:
            return generate(maker, context.count, context.rng, context.faker, unique)


def _lookup(paths: tuple[str, ...], context: RowContext) -> list[dict[str, Cell]]:
    columns = [context.read(path) for path in paths]
    return [{path: values[i] for path, values in zip(paths, columns, strict=True)} for i in range(context.count)]


def _formula(maker: Formula, context: RowContext) -> list[Cell]:
    rows = _lookup(formula.paths(maker.expression), context)
    values = [formula.evaluate(maker.expression, row.__getitem__, context.rng) for row in rows]
    decimals = maker.decimals if maker.decimals is not None else 0 if context.column.kind == "integer" else 2
    return [_round(value, decimals, context.column.kind == "integer") for value in values]


def _round(value: Cell, decimals: int, whole: bool) -> Cell:
    if whole and isinstance(value, int | float):
        return round(value)
    return round(value, decimals) if isinstance(value, float) else value


def _template(maker: Template, context: RowContext, unique: bool) -> list[Cell]:
    seen: dict[Cell, int] = {}
    out: list[Cell] = []
    for row in _lookup(reads(maker), context):
        if None in row.values():
            out.append(None)
            continue
        text = _FIELD.sub(lambda m, row=row: format(row[m[1]], m[0][len(m[1]) + 2 : -1]), maker.text)  # type: ignore[misc]
        text = slug(text) if maker.lower else text
        seen[text] = number = seen.get(text, 0) + 1
        if unique and number > 1:
            text = text.replace("@", f"{number}@", 1) if "@" in text else f"{text} {number}"
        out.append(text)
    return out


def _after(maker: After, context: RowContext) -> list[Cell]:
    anchors = [context.read(path) for path in maker.anchors]
    limit: list[Cell] = [maker.until or None] * context.count
    if maker.until and not _DATE.match(maker.until):
        limit = context.read(maker.until)
    out: list[Cell] = []
    for row in range(context.count):
        known = [str(values[row]) for values in anchors if values[row] is not None]
        if not known:
            out.append(None)
            continue
        start = max(datetime.fromisoformat(value) for value in known)
        moment = start + timedelta(days=context.rng.uniform(maker.low, maker.high))
        if context.column.kind == "datetime" and not maker.time:
            moment = max(_by_day(moment, context.rng), start)
        end = limit[row]
        if end is not None:
            last = datetime.fromisoformat(str(end))
            if moment > last:
                if context.column.nullable and _DATE.match(maker.until):
                    out.append(None)
                    continue
                first = start + timedelta(days=maker.low)
                moment = max(first, first + (last - first) * context.rng.random())
        to_the_second = context.column.kind == "datetime" or (maker.time and context.column.kind != "date")
        out.append(moment.replace(microsecond=0).isoformat(" ") if to_the_second else moment.date().isoformat())
    return out


def _by_day(moment: datetime, rng: random.Random) -> datetime:
    """Same day, at an hour when people are awake."""
    return moment.replace(hour=0, minute=0, second=0) + timedelta(seconds=int(rng.triangular(7, 20, 12) * 3600))


def _by(maker: By, context: RowContext) -> list[Cell]:
    draws = {value: drawer(choice, context.rng, context.faker) for value, choice in maker.choices}
    return [draws[value]() if value in draws else None for value in context.read(maker.path)]


def _position(maker: Position, context: RowContext) -> list[Cell]:
    seen: dict[Cell, int] = {}
    out: list[Cell] = []
    for group in context.read(maker.within):
        place = seen.get(group, 0)
        seen[group] = place + 1
        if maker.start is None:
            out.append(place + 1)
        elif maker.step in ("month", "year"):
            out.append(add_months(maker.start, place * (12 if maker.step == "year" else 1)).isoformat())
        else:
            out.append((maker.start + timedelta(days=place * (7 if maker.step == "week" else 1))).isoformat())
    return out


def rollup(maker: Rollup, parents: list[int | None], values: list[Cell], count: int) -> list[Cell]:
    """Aggregate of the children's `values` for each of `count` parents; without children 0, or NULL for max and min."""
    groups: dict[int, list[Cell]] = {}
    for parent, value in zip(parents, values, strict=True):
        if parent is not None and value is not None:
            groups.setdefault(parent, []).append(value)
    return [_aggregate(groups.get(i, []), maker) for i in range(count)]


def _aggregate(values: list[Cell], maker: Rollup) -> Cell:
    if maker.function == "count":
        return len(values)
    if not values:
        return 0 if maker.function == "sum" else None
    if maker.function == "sum":
        total = sum(value for value in values if isinstance(value, int | float))
        return round(total, maker.decimals) if isinstance(total, float) else total
    pick: Callable[..., Cell] = max if maker.function == "max" else min
    return pick(values)

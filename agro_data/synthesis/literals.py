"""Values in SQL: taken out of a query that somebody wrote, and drawn anew from the data.

A value that is compared with a column is replaced by a blank, and later by a value that the column holds. Several
values are taken from rows that belong together, so that the question has an answer. Numbers that stand elsewhere
(limits, bounds of figures, factors) are part of what the query means and keep one digit; a name that is no word gets
another, and a query with a text elsewhere is refused, since the text may be anything.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from random import Random
from typing import Literal

from sqlglot import exp

from agro_data.databases.quoting import folded
from agro_data.databases.types import Cell, Dialect
from agro_data.intent.sampling.atlas import Atlas, Row, sayable
from agro_data.sql.forms.bare_dates import bare_date
from agro_data.sql.forms.canonical import sql_text
from agro_data.sql.names.resolution import Resolution, Source
from agro_data.sql.names.scope import Schema, resolve
from agro_data.sql.parse import parse_select
from agro_data.synthesis.read_back.bands import labels_of
from agro_data.synthesis.read_back.merging import merged

BLANK = "?"  # for a text; a number becomes 0
EXACT = 100  # numbers up to this are kept as they are where no column decides them
MOST_LISTED = 4  # values of an IN
MOST_ZEROS = 15  # of a number that is kept: beyond, SQLite's integers and what a person would say end
_INERT = re.compile(r"[\W_]*\Z")  # a text without letters or digits: what stands between names
_FORMAT = re.compile(r"(?:%[A-Za-z]|[\W_])+\Z")
_DATE_FORMATS = {
    "%Y": slice(0, 4),
    "%m": slice(5, 7),
    "%d": slice(8, 10),
    "%Y-%m": slice(0, 7),
    "%Y-%m-%d": slice(0, 10),
}

Use = Literal["equal", "above", "below", "pattern"]


class Elsewhere(ValueError):
    """A text that is compared with no column, or a number out of all bounds: what it says of somebody is not known."""


@dataclass(frozen=True)
class Place:
    """A value in a tree: `node` is the literal, compared with `column` of `source` by way of `part`.

    `part` is a slice of the column's text ("%Y"), a function (`upper`, `lower`, `length`), or "".
    """

    node: exp.Expr
    source: Source
    column: str
    use: Use
    part: str = ""


def places_of(found: Resolution) -> list[Place]:
    """Every value of the tree that is compared with a column."""
    return [place for node in found.tree.walk() for place in _of(node, found)]


def anonymised(sql: str, dialect: Dialect, schema: Schema) -> str:
    """`sql` with a blank for every value that is compared with a column, and other numbers rounded.

    Raises `Elsewhere` for a text in any other place, `SqlRefused` for what is no query.
    """
    found = resolve(merged(parse_select(sql, dialect), dialect, schema), dialect, schema)
    known: set[int] = set()
    for place in places_of(found):
        known.add(id(place.node))
        _set(place.node, _blank(place))
    for text, label in labels_of(found.tree):
        known.add(id(text))
        text.set("this", label)
    for node in list(found.tree.find_all(exp.Literal, exp.Column)):
        binding = found.binding(node) if isinstance(node, exp.Column) else None
        if id(node) in known or (isinstance(node, exp.Column) and (binding is None or binding.kind != "string")):
            continue
        if isinstance(node, exp.Column) or node.is_string:
            _check_inert(node)
        else:
            node.set("this", _rounded(node.name))
    for listed in list(found.tree.find_all(exp.In)):
        del listed.expressions[MOST_LISTED:]
    _rename(found.tree, schema)
    return sql_text(found.tree, dialect)


def redrawn(sql: str, atlas: Atlas, rng: Random) -> str | None:
    """`sql` with other values for those that are compared with columns; None where the data offer none."""
    profile = atlas.profile
    found = resolve(parse_select(sql, profile.dialect), profile.dialect, profile.schema)
    rows = _rows(found, atlas, rng)
    taken: dict[tuple[str, str, str], set[Cell]] = {}
    places = places_of(found)
    cuts = _cuts(found.tree, places, atlas)
    for place in places:
        if place.source.table not in atlas.by_name:
            return None
        if id(place.node) in cuts:
            _set(place.node, cuts[id(place.node)])
            continue
        used = taken.setdefault((place.source.table, place.column, place.part), set())
        value = _drawn(place, rows.get(id(place.source)), used, atlas, rng)
        if value is None:
            return None
        if place.use == "equal":
            used.add(value)
        _set(place.node, value)
    return sql_text(found.tree, profile.dialect)


# --- places ------------------------------------------------------------------------------------------------------


def _of(node: exp.Expr, found: Resolution) -> Iterator[Place]:
    if isinstance(node, (exp.EQ, exp.NEQ, exp.Is)):
        for one, other in ((node.this, node.expression), (node.expression, node.this)):
            yield from _place(one, other, "equal", found)
    elif isinstance(node, (exp.LT, exp.LTE, exp.GT, exp.GTE)):
        less = isinstance(node, (exp.LT, exp.LTE))
        yield from _place(node.this, node.expression, "below" if less else "above", found)
        yield from _place(node.expression, node.this, "above" if less else "below", found)
    elif isinstance(node, exp.Between):
        yield from _place(node.this, node.args["low"], "above", found)
        yield from _place(node.this, node.args["high"], "below", found)
    elif isinstance(node, exp.In):
        for value in node.expressions:
            yield from _place(node.this, value, "equal", found)
    elif isinstance(node, (exp.Like, exp.ILike)):
        yield from _place(node.this, node.expression, "pattern", found)


def _place(tested: exp.Expr, value: exp.Expr, use: Use, found: Resolution) -> Iterator[Place]:
    """`value` where it is a literal and `tested` a column, or a part of one."""
    bare = value.unnest()
    bare = bare.this if isinstance(bare, (exp.Neg, exp.Date, exp.Cast)) and isinstance(bare.this, exp.Literal) else bare
    binding = found.binding(bare) if isinstance(bare, exp.Column) else None
    if not isinstance(bare, exp.Literal) and (binding is None or binding.kind != "string"):
        return
    column, part = _part(tested.unnest())
    held = found.binding(column) if isinstance(column, exp.Column) else None
    if held is not None and held.kind == "column" and held.source is not None and held.source.table:
        yield Place(bare, held.source, held.source.columns[held.name], use, part)


def _part(node: exp.Expr) -> tuple[exp.Expr, str]:
    if isinstance(node, exp.Cast):
        return _part(node.this)
    if isinstance(node, (exp.Upper, exp.Lower, exp.Length)):
        return node.this, type(node).__name__.lower()
    return date_part(node) or (node, "")


def date_part(node: exp.Expr) -> tuple[exp.Expr, str] | None:
    """The date from which `node` takes a part, as SQLite and DuckDB write it, and the part's format: "%Y", "%m"."""
    if isinstance(node, exp.TimeToStr):
        return bare_date(node.this)[0], node.args["format"].name
    if isinstance(node, (exp.Year, exp.Month)):
        return bare_date(node.this)[0], "%Y" if isinstance(node, exp.Year) else "%m"
    if isinstance(node, exp.Extract) and node.name.upper() in ("YEAR", "MONTH"):
        return bare_date(node.expression)[0], "%Y" if node.name.upper() == "YEAR" else "%m"
    return None


# --- taken out ---------------------------------------------------------------------------------------------------


def _blank(place: Place) -> Cell:
    if place.use == "pattern":
        text = place.node.name
        return f"{'%' if text.startswith('%') else ''}{BLANK}{'%' if text.endswith('%') or '%' not in text else ''}"
    return BLANK if isinstance(place.node, exp.Column) or place.node.args.get("is_string") else 0


def _set(node: exp.Expr, value: Cell) -> None:
    """Write `value` in the place of a literal; a number below zero in brackets of its own sign."""
    text = isinstance(value, str)
    written = str(value) if isinstance(value, str) else repr(value).lstrip("-")
    literal: exp.Expr = exp.Literal(this=written, is_string=text)
    if isinstance(value, int | float) and value < 0:
        literal = exp.Neg(this=literal)
    holder = node.parent if isinstance(node.parent, exp.Neg) else node
    if isinstance(holder, exp.Literal) and isinstance(literal, exp.Literal):
        holder.set("this", literal.this)
        holder.set("is_string", literal.is_string)
    else:
        holder.replace(literal)


def _check_inert(node: exp.Expr) -> None:
    parent = node.parent
    formats = isinstance(parent, (exp.TimeToStr, exp.StrToTime, exp.Anonymous)) and _FORMAT.match(node.name)
    if not formats and not _INERT.match(node.name):
        raise Elsewhere("a text that is compared with no column")


def _rename(tree: exp.Expr, schema: Schema) -> None:
    """Give names that are not the schema's (aliases, CTEs, their columns), and may be any text, others: tools call an
    output "Orders: Total (€)". Those of types are words.
    """
    known = {folded(name) for table, columns in schema.items() for name in (table, *columns)}
    others = [node for node in tree.find_all(exp.Identifier) if folded(node.name) not in known]
    taken = known.union(folded(node.name) for node in others if _is_word(node.name))
    free = (name for name in map("name_{}".format, count(1)) if name not in taken)
    called: dict[str, str] = {}
    for node in others:
        if not _is_word(node.name):
            if folded(node.name) not in called:
                called[folded(node.name)] = next(free)
            node.replace(exp.to_identifier(called[folded(node.name)]))
    if not all(_is_word(str(kind)) for node in tree.find_all(exp.DataType) if (kind := node.args.get("kind"))):
        raise Elsewhere("a name that is a text")


def _is_word(name: str) -> bool:
    return name.isascii() and name.isidentifier()


def _rounded(number: str) -> str:
    value = float(number)
    if value <= EXACT:
        return number
    digit, _, zeros = f"{value:.0e}".partition("e+")
    if int(zeros or MOST_ZEROS) >= MOST_ZEROS:
        raise Elsewhere("a number that no one asks for")
    return digit + int(zeros) * "0"


# --- drawn anew --------------------------------------------------------------------------------------------------


def _rows(found: Resolution, atlas: Atlas, rng: Random) -> dict[int, Row]:
    """A sample row for each table that the query reads, by `id` of its source; joined rows belong together."""
    rows: dict[int, Row] = {}
    pairs = [
        (found.binding(node.left.unnest()), found.binding(node.right.unnest()))
        for node in found.tree.find_all(exp.EQ)
        if isinstance(node.left.unnest(), exp.Column) and isinstance(node.right.unnest(), exp.Column)
    ]
    for scope in found.scopes:
        for source in scope.sources:
            if source.table not in atlas.by_name:
                continue
            linked: list[Row] = []
            for one, other in (*pairs, *((b, a) for a, b in pairs)):
                if one is None or other is None or one.source is not source or other.source is None:
                    continue
                row = rows.get(id(other.source))
                if row is not None and other.source.table:
                    value = row[other.source.columns[other.name]]
                    linked = atlas.matching(source.table, (source.columns[one.name],), (value,))
            sample = linked or atlas.rows(source.table)
            if sample:
                rows[id(source)] = sample[rng.randrange(len(sample))]
    return rows


def _drawn(place: Place, row: Row | None, used: set[Cell], atlas: Atlas, rng: Random) -> Cell:
    """A value for a place; where the same column is asked for several, one that it has not been asked for."""
    profile = atlas.by_name[place.source.table].by_name.get(place.column)
    if profile is None:
        return None
    known = [value for value, _ in profile.common if sayable(value)]
    here = row.get(place.column) if row is not None else None
    if not sayable(here):
        here = known[rng.randrange(len(known))] if known else None
    if here is None or isinstance(here, bytes):
        return None
    if place.use == "pattern":
        return _pattern(here, place.node.name, rng)
    if place.part:
        return _of_part(here, place)
    if place.use == "equal":
        others = [value for value in known if _plain(value) not in used]
        return _plain(here if _plain(here) not in used else rng.choice(others) if others else None)
    return _bound(here, [*profile.quantiles, *known], place.use)


def _cuts(tree: exp.Expr, compared: list[Place], atlas: Atlas) -> dict[int, Cell]:
    """Bounds that rise, or fall, for the bands of each CASE, by `id` of their literal: quantiles of its column."""
    made: dict[int, Cell] = {}
    of_bands = [(place.node.find_ancestor(exp.Case, exp.Select), place) for place in compared]
    for case in tree.find_all(exp.Case):
        places = [place for around, place in of_bands if around is case and place.source.table in atlas.by_name]
        uses = {(place.source.table, place.column, place.use) for place in places}
        if len(places) < 2 or len(uses) != 1 or places[0].use not in ("above", "below"):
            continue
        profile = atlas.by_name[places[0].source.table].by_name.get(places[0].column)
        held = sorted({one for one in profile.quantiles if type(one) in (int, float)}) if profile is not None else []  # type: ignore[type-var]
        if len(held) <= len(places) + 1:
            continue
        at = [held[(number + 1) * len(held) // (len(places) + 1)] for number in range(len(places))]
        if len(set(at)) == len(at):
            values = at if places[0].use == "below" else at[::-1]
            made.update(zip((id(place.node) for place in places), map(_plain, values), strict=True))
    return made


def _plain(value: Cell) -> Cell:
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 10**15 else value


def _of_part(value: Cell, place: Place) -> Cell:
    text = str(value)
    if place.part in ("upper", "lower"):
        return text.upper() if place.part == "upper" else text.lower()
    if place.part == "length":
        return len(text) if place.use == "equal" else max(len(text) + (-1 if place.use == "above" else 1), 0)
    piece = text[_DATE_FORMATS[place.part]] if place.part in _DATE_FORMATS else ""
    if not piece.replace("-", "").isdigit():
        return None
    as_text = isinstance(place.node, exp.Column) or bool(place.node.args.get("is_string"))
    return piece if as_text or "-" in piece else int(piece)


def _pattern(value: Cell, pattern: str, rng: Random) -> Cell:
    words = [word for word in re.findall(r"[^\W\d_]+", str(value)) if len(word) >= 3]
    if not words:
        return None
    ends = (pattern.startswith("%"), pattern.endswith("%"))
    text = str(value)
    if ends == (False, True) and text.startswith(words[0]):
        return f"{words[0][: 1 + rng.randrange(3)]}%"
    if ends == (True, False) and text.endswith(words[-1]):
        return f"%{words[-1]}"
    return f"%{words[rng.randrange(len(words))]}%"


def _bound(here: Cell, values: list[Cell], use: Use) -> Cell:
    """A value of the column that leaves the row's own on the right side, and others on the wrong one."""
    alike = sorted({v for v in values if isinstance(v, int | float) == isinstance(here, int | float) and sayable(v)})  # type: ignore[type-var]
    if use == "above":
        at = bisect_left(alike, here)  # type: ignore[type-var]
        return _plain(alike[max(at - 1, 0)]) if alike else None
    at = bisect_right(alike, here)  # type: ignore[type-var]
    return _plain(alike[min(at, len(alike) - 1)]) if alike else None
